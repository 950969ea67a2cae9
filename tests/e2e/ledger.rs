//! `wimg ledger`.

use wimg_tests::program::wimg;

use super::{tiny, vectors_folder};
use wimg_core::ledger::{csv, json, text};

#[test]
fn without_arguments_all_known_checkpoints_at_both_beats() {
    let run = |flags: &str| wimg(&vectors_folder(), &format!("ledger {flags}")).done();
    // Its rows are pinned where they are made.
    let ledger = wimg_core::image_ledger().unwrap();
    assert_eq!(ledger.rows.len(), 16);
    assert_eq!(run(""), text::table(&ledger));
    assert_eq!(run("--format json"), json::lines(&ledger));
    assert_eq!(run("--format csv"), csv::table(&ledger));
    // A layout gives one row each.
    let one = json::read(&run("--beat 72 --format json")).unwrap();
    let at_72: Vec<_> = ledger.rows.into_iter().filter(|row| row.beat == 72).collect();
    assert_eq!((one.rows.len(), one.rows), (8, at_72));
    let streamed = json::read(&run("--select streamed --format json")).unwrap();
    assert_eq!(streamed.rows.len(), 16);
    assert!(streamed.rows.iter().all(|row| row.selection == "streamed"));
}

#[test]
fn images_and_checkpoints_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    wimg(folder.path(), "pack tiny.gguf --out image --layout 3x32/64 --select all --quiet").done();
    let rows = |line: &str| json::read(&wimg(folder.path(), line).done()).unwrap().rows;
    let both = rows("ledger image tiny.gguf --format json");
    let layouts: Vec<_> =
        both.iter().map(|row| (row.layout.as_str(), row.selection.as_str())).collect();
    assert_eq!(
        layouts,
        [("3x32/64", "all"), ("4x64/512", "machine"), ("4x72/512+check", "machine")]
    );
    // An image's row does not follow the flags, a checkpoint's does.
    let both = rows("ledger image tiny.gguf --format json --channels 2 --select table");
    let layouts: Vec<_> =
        both.iter().map(|row| (row.layout.as_str(), row.selection.as_str())).collect();
    assert_eq!(layouts, [("3x32/64", "all"), ("2x64/512", "table")]);
    assert_eq!(both[0], rows("ledger tiny.gguf --layout 3x32/64 --select all --format json")[0]);
}

#[test]
fn one_that_is_no_good_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    std::fs::write(folder.path().join("text.gguf"), "hello, hello, hello").unwrap();
    let ran = wimg(folder.path(), "ledger text.gguf tiny.gguf none.gguf --beat 64");
    assert_eq!((ran.code, ran.out.lines().count()), (3, 2), "{ran:?}");
    let errors: Vec<&str> = ran.err.lines().collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("wimg: `text.gguf`: "), "{errors:?}");
    assert!(errors[1].starts_with("wimg: `none.gguf`: "), "{errors:?}");
    let ran = wimg(folder.path(), "ledger text.gguf");
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
}
