//! What was packed comes back, byte for byte, and what is damaged does not.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use wimg::Error;
use wimg::core::Selection;
use wimg::pack::{PackOptions, pack};
use wimg::source::Source;
use wimg::unpack::{UnpackOptions, Unpacked, unpack, unpack_tensor, write_tensor};
use wimg_tests::cases::{for_each, random_bytes};
use wimg_tests::gguf::{Gguf, split_keys, tensor};
use wimg_tests::vectors::{path, vectors};

use crate::{layout_of, names, options, packed, tail};

fn to(out: &Path) -> UnpackOptions {
    UnpackOptions { out: out.to_owned(), force: false }
}

fn unpacked(image: &Path, out: &Path) -> Unpacked {
    unpack(image, &to(out), &|_| {}).unwrap()
}

/// Packs, unpacks and compares.
fn round_trip(checkpoint: &Path, selection: Selection, layout: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (image, out) = (folder.path().join("image"), folder.path().join("back"));
    let done = packed(checkpoint, &PackOptions { selection, ..options(&image, layout) });
    let back = unpacked(&image, &out);
    assert_eq!(back.id, done.id);
    let source = Source::open(checkpoint).unwrap();
    assert_eq!(back.files.len(), source.files.len());
    for (ours, theirs) in back.files.iter().zip(&source.files) {
        let (ours, theirs) = (fs::read(ours).unwrap(), fs::read(&theirs.path).unwrap());
        assert!(ours == theirs, "{} {selection} {layout}", checkpoint.display());
    }
    assert_eq!(back.bytes, source.files.iter().map(|file| file.len).sum::<u64>());
    assert_eq!(names(folder.path()), ["back", "image"]);
}

#[test]
fn the_vectors_come_back() {
    let mut trips = 0;
    for vector in vectors() {
        let layout = layout_of(&vector.layout).to_string();
        for selection in [Selection::All, Selection::Table] {
            round_trip(&path(&vector.file), selection, &layout);
            trips += 1;
        }
    }
    assert_eq!(trips, 28);
}

/// A small file: tensors in any order of the table, gaps of anything before
/// and between them, and anything at the end.
fn gguf(seed: u64, tensors: &[(u64, u64)], gaps: &[u64], trailing: u64, zeros: bool) -> Gguf {
    let mut offset = 0;
    let mut table = Vec::new();
    for (i, ((inner, rows), gap)) in tensors.iter().zip(gaps).enumerate() {
        offset += gap * 32;
        table.push(tensor(format!("t{i}").as_bytes(), &[*inner, *rows], 0, offset));
        offset = (offset + inner * rows * 4).next_multiple_of(32);
    }
    if seed.is_multiple_of(2) {
        table.reverse();
    }
    let mut gguf = Gguf::sound().with_tensors(table, 0);
    gguf.data = random_bytes(seed, usize::try_from(offset + trailing).unwrap());
    if zeros {
        // So that gaps begin and end in zeros, and hold some.
        gguf.data.iter_mut().filter(|byte| **byte < 180).for_each(|byte| *byte = 0);
    }
    gguf
}

#[test]
fn whatever_is_packed_comes_back() {
    let tensors = proptest::collection::vec((1..40u64, 1..12u64), 0..5);
    let gaps = proptest::collection::vec(0..4u64, 5);
    let layout = prop_oneof![
        Just("1x4/1"),
        Just("3x8/4+check"),
        Just("2x32/2"),
        Just("4x64/512"),
        Just("5x72/3+check"),
    ];
    let strategy = (any::<u64>(), tensors, gaps, 0..90u64, any::<bool>(), layout, 1..4usize);
    let folder = tempfile::tempdir().unwrap();
    for_each(0x7EA5, 150, &strategy, |(seed, tensors, gaps, trailing, zeros, layout, shards)| {
        let checkpoint = folder.path().join("checkpoint");
        let _ = fs::remove_dir_all(&checkpoint);
        fs::create_dir(&checkpoint).unwrap();
        for shard in 0..shards {
            let mut gguf = gguf(seed + shard as u64, &tensors, &gaps, trailing, zeros);
            // Names are unique over the set.
            for line in &mut gguf.tensors {
                line[8] = b'a' + u8::try_from(shard).unwrap();
            }
            let number = u16::try_from(shard).unwrap();
            if shards > 1 {
                let all = i32::try_from(tensors.len() * shards).unwrap();
                gguf.keys.extend(split_keys(number, u16::try_from(shards).unwrap(), all));
            }
            let name = format!("m-{:05}-of-{shards:05}.gguf", shard + 1);
            fs::write(checkpoint.join(name), gguf.bytes()).unwrap();
        }
        round_trip(&checkpoint, Selection::Table, layout);
        Ok(())
    });
}

fn malformed() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/malformed");
    let index = fs::read_to_string(data.join("index.tsv")).unwrap();
    let accepted = index.lines().filter(|line| line.contains("\taccept"));
    accepted.map(|line| data.join(line.split('\t').next().unwrap())).collect()
}

#[test]
fn every_unusual_file_that_has_an_image_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (mut trips, mut without) = (0, Vec::new());
    for file in malformed() {
        let out = folder.path().join("image");
        let options = PackOptions { selection: Selection::Table, ..options(&out, "2x32/2") };
        match pack(&file, &options, &|_| {}) {
            Ok(_) => {
                fs::remove_dir_all(&out).unwrap();
                round_trip(&file, Selection::Table, "3x8/4+check");
                trips += 1;
            }
            Err(error) => {
                assert_eq!(error.exit_code(), 3, "{error}");
                without.push(error.to_string());
            }
        }
    }
    assert!(trips > 15, "{trips}");
    // No image: unknown formats and zero dims alone.
    let known = ["so the size of its blocks is not known", "a dim of zero holds nothing"];
    for error in without {
        assert!(known.iter().any(|words| error.contains(words)), "{error}");
    }
}

#[test]
fn any_image_gives_its_tensors_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut tensors = 0;
    for (file, selection, layout) in [
        ("tiny-edge.gguf", Selection::Machine, "4x72/16+check+stripe2+slot4"),
        ("tiny-mixed.gguf", Selection::Streamed, "3x64/7+check+stripe3"),
        ("tiny-q8.gguf", Selection::All, "4x64/512+stripe8+octets"),
    ] {
        let image = folder.path().join(file);
        packed(&path(file), &PackOptions { selection, ..options(&image, layout) });
        let source = Source::open(&path(file)).unwrap();
        let bytes = fs::read(path(file)).unwrap();
        let plan = wimg::store::StoredImage::open(&image).unwrap().plan;
        for entry in plan.image().tensors() {
            let info = source.checkpoint.tensors.iter().find(|t| t.name == entry.name).unwrap();
            let start = usize::try_from(info.offset).unwrap();
            let expected = &bytes[start..start + usize::try_from(info.len.unwrap()).unwrap()];
            let mut written = Vec::new();
            write_tensor(&image, &entry.name, &mut written, &|_| {}).unwrap();
            assert!(written == expected, "{file} {}", entry.name);
            tensors += 1;
        }
        let last = plan.image().tensors().last().unwrap();
        let out = folder.path().join("tensor.bin");
        unpack_tensor(&image, &last.name, &to(&out), &|_| {}).unwrap();
        let mut written = Vec::new();
        write_tensor(&image, &last.name, &mut written, &|_| {}).unwrap();
        assert_eq!(fs::read(&out).unwrap(), written);
        fs::remove_file(out).unwrap();
    }
    assert!(tensors > 40, "{tensors}");
}

#[test]
fn refusals_have_their_words() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let table = PackOptions { selection: Selection::Table, ..options(&image, "4x64/512") };
    packed(&path("tiny-mixed.gguf"), &table);
    let machine = folder.path().join("machine");
    let options = PackOptions { selection: Selection::Machine, ..options(&machine, "4x64/512") };
    packed(&path("tiny-mixed.gguf"), &options);
    fs::write(folder.path().join("there"), "mine").unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let mut messages = String::new();
    let mut refuse = |error: Error| {
        messages += &format!("{} {}\n", error.exit_code(), tail(&error.to_string()));
    };
    let force = |out: &str| UnpackOptions { out: folder.path().join(out), force: true };
    refuse(unpack(&machine, &to(&folder.path().join("x")), &|_| {}).unwrap_err());
    refuse(unpack(&image, &to(&folder.path().join("there")), &|_| {}).unwrap_err());
    refuse(unpack(&image, &force("folder"), &|_| {}).unwrap_err());
    refuse(unpack(&folder.path().join("folder"), &force("x"), &|_| {}).unwrap_err());
    refuse(write_tensor(&image, "no\nsuch", &mut Vec::new(), &|_| {}).unwrap_err());
    expect_test::expect_file!["unpack.txt"].assert_eq(&messages);
    assert_eq!(fs::read(folder.path().join("there")).unwrap(), b"mine");
    unpack(&image, &force("there"), &|_| {}).unwrap();
    let back = fs::read(folder.path().join("there")).unwrap();
    assert!(back == fs::read(path("tiny-mixed.gguf")).unwrap());
    assert_eq!(names(folder.path()), ["folder", "image", "machine", "there"]);
}

#[test]
fn damage_is_never_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let (image, out) = (folder.path().join("image"), folder.path().join("back"));
    packed(&path("tiny-edge.gguf"), &options(&image, "4x72/16+check+stripe2+slot4"));
    let mut flips = 0;
    for name in names(&image).iter().filter(|name| *name != "run.json") {
        let file = image.join(name);
        let sound = fs::read(&file).unwrap();
        for (bit, word) in (0u32..).zip(random_bytes(7, 8 * 12).as_chunks::<8>().0) {
            let byte = usize::try_from(u64::from_le_bytes(*word)).unwrap() % sound.len();
            let mut bytes = sound.clone();
            bytes[byte] ^= 1 << (bit % 8);
            fs::write(&file, &bytes).unwrap();
            let error = unpack(&image, &to(&out), &|_| {}).unwrap_err();
            assert!(matches!(error.exit_code(), 1 | 3), "{name} {byte}: {error}");
            flips += 1;
        }
        fs::write(&file, &sound[..sound.len() - 1]).unwrap();
        assert_eq!(unpack(&image, &to(&out), &|_| {}).unwrap_err().exit_code(), 1, "{name}");
        fs::write(&file, &sound).unwrap();
    }
    assert!(flips > 70, "{flips}");
    assert_eq!(names(folder.path()), ["image"]);
    unpacked(&image, &out);
}
