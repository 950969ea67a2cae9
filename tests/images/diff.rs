//! How images differ: every kind of difference, and that nothing more is read
//! than must be.

use std::fs;
use std::path::Path;

use wimg::core::Selection;
use wimg::diff::{DiffReport, diff};
use wimg::pack::PackOptions;
use wimg_tests::gguf::{Gguf, tensor};
use wimg_tests::vectors::path;

use crate::{options, packed};

fn lines(report: &DiffReport) -> String {
    report.differences.iter().map(|difference| format!("{difference}\n")).collect()
}

fn compared(a: &Path, b: &Path) -> DiffReport {
    diff(a, b, 0).unwrap()
}

#[test]
fn an_image_does_not_differ_from_its_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    packed(&path("tiny-mixed.gguf"), &options(&a, "4x64/512"));
    packed(&path("tiny-mixed.gguf"), &options(&b, "4x64/512"));
    for image in [&a, &b] {
        // Not read: that the files hold to the manifest is another question.
        fs::remove_file(image.join("channel-0.bin")).unwrap();
        fs::remove_file(image.join("tiles.crc")).unwrap();
    }
    let report = compared(&a, &b);
    assert_eq!((report.count, report.tiles, report.a), (0, 0, report.b));
}

#[test]
fn equal_plans_are_compared_tile_by_tile() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let file = folder.path().join("m.gguf");
    let mut gguf = Gguf::sound().with_tensors(
        vec![tensor(b"first", &[16, 8], 0, 0), tensor(b"second", &[8, 2], 0, 544)],
        544 + 64,
    );
    let table = |out: &Path| PackOptions { selection: Selection::Table, ..options(out, "2x32/4") };
    fs::write(&file, gguf.bytes()).unwrap();
    packed(&file, &table(&a));
    gguf.data[70] ^= 1;
    gguf.data[300] ^= 1;
    // In the gap.
    gguf.data[520] ^= 1;
    fs::write(&file, gguf.bytes()).unwrap();
    packed(&file, &table(&b));
    let report = compared(&a, &b);
    assert_eq!((report.changed, report.moved, report.changed_tiles), (1, 0, 2));
    assert_eq!(report.tiles, 5);
    expect_test::expect_file!["diff-tiles.txt"].assert_eq(&lines(&report));
    assert_eq!(diff(&a, &b, 1).unwrap().differences.len(), 1);
    assert_eq!(diff(&a, &b, 1).unwrap().count, report.count);
    fs::remove_file(a.join("tiles.crc")).unwrap();
    assert_eq!(diff(&a, &b, 0).unwrap_err().exit_code(), 3);
}

#[test]
fn layouts_selections_and_checkpoints_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let image = |name: &str, file: &str, selection, layout| {
        let out = folder.path().join(name);
        packed(&path(file), &PackOptions { selection, ..options(&out, layout) });
        out
    };
    let all = image("all", "tiny-edge.gguf", Selection::All, "4x64/512");
    let beat = image("beat", "tiny-edge.gguf", Selection::All, "4x72/512+check");
    let streamed = image("streamed", "tiny-edge.gguf", Selection::Streamed, "4x64/512");
    let other = image("other", "tiny-q8.gguf", Selection::All, "4x64/512");
    let mut text = String::new();
    for (a, b) in [(&all, &beat), (&all, &streamed), (&streamed, &all), (&all, &other)] {
        let report = compared(a, b);
        let tensors = report.count
            - report.differences.iter().filter(|d| d.to_string().starts_with("tensor")).count()
                as u64;
        assert!(report.tiles == 0 && report.count > 0 && tensors > 0);
        text += &format!("changed {}, moved {}\n", report.changed, report.moved);
        let first: String = lines(&report).lines().take(12).map(|l| format!("  {l}\n")).collect();
        text += &first;
    }
    expect_test::expect_file!["diff.txt"].assert_eq(&text);
    let edited = fs::read_to_string(all.join("image.json")).unwrap().replacen("4x64", "4x60", 1);
    fs::write(all.join("image.json"), edited).unwrap();
    assert_eq!(diff(&all, &beat, 0).unwrap_err().exit_code(), 1);
}
