//! An image is put in its place whole or not at all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use wimg::Error;
use wimg::pack::{PackOptions, pack};
use wimg::store::Staging;
use wimg_tests::vectors::path;

use crate::{names, options, packed, tail, verified};

fn refusal(checkpoint: &Path, options: &PackOptions) -> Error {
    pack(checkpoint, options, &|_| {}).unwrap_err()
}

#[test]
fn what_is_there_is_replaced_only_by_force_and_only_if_it_is_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    let first = packed(&path("tiny-mixed.gguf"), &options(&out, "4x64/512"));
    let other =
        PackOptions { layout: "4x72/512+check".parse().unwrap(), ..options(&out, "4x64/512") };
    let error = refusal(&path("tiny-mixed.gguf"), &other);
    assert!(matches!(error, Error::Exists(_)));
    assert_eq!(error.exit_code(), 3);
    assert_eq!(verified(&out).id, first.id);
    let forced = packed(&path("tiny-mixed.gguf"), &PackOptions { force: true, ..other.clone() });
    assert_ne!(forced.id, first.id);
    assert_eq!(verified(&out).id, forced.id);
    assert_eq!(names(folder.path()), ["image"]);

    fs::write(out.join("notes.txt"), "mine").unwrap();
    let error = refusal(&path("tiny-mixed.gguf"), &PackOptions { force: true, ..other.clone() });
    assert!(error.to_string().contains("`notes.txt` in it, which is no part of an image"));
    assert!(out.join("notes.txt").exists());

    let force = |out: &Path| PackOptions { force: true, ..options(out, "4x64/512") };
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let link = folder.path().join("link");
    symlink(&out, &link).unwrap();
    for taken in [&file, &link] {
        let error = refusal(&path("tiny-mixed.gguf"), &force(taken));
        assert!(matches!(error, Error::Occupied { .. }), "{error}");
    }
    assert_eq!(fs::read(&file).unwrap(), b"mine");

    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    packed(&path("tiny-mixed.gguf"), &options(&empty, "4x64/512"));
    assert_eq!(names(folder.path()), ["empty", "file", "image", "link"]);
}

#[test]
fn leftovers_are_cleared_when_nobody_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    let held = Staging::create(&out, false).unwrap();
    held.write_file("channel-0.bin", b"half").unwrap();
    let dead = folder.path().join(".image.partial-host-1-0-0");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("channel-0.bin"), "half").unwrap();
    // Names that start alike, and one of ours with something in it that is not.
    let mine = [".image.partial-notes", ".image.partial-v1", ".image.partial-host-2-0-0"];
    for name in mine {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("thesis.txt"), "mine").unwrap();
    }
    let other = folder.path().join(".other.partial-host-1-0-0");
    fs::create_dir(&other).unwrap();
    packed(&path("tiny-mixed.gguf"), &options(&out, "4x64/512"));
    assert!(held.dir().exists() && !dead.exists() && other.exists());
    for name in mine {
        assert_eq!(fs::read(folder.path().join(name).join("thesis.txt")).unwrap(), b"mine");
    }
    // The other's is done later: the first one stays.
    held.write_file("image.json", b"{}").unwrap();
    let left = held.dir().to_owned();
    drop(held);
    assert!(!left.exists());
    assert_eq!(verified(&out).damages, 0);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    let mut messages = String::new();
    for (file, layout) in [
        ("tiny-mixed.gguf", "4x64/512@100"),
        ("tiny-mixed.gguf", "4x4/1+check"),
        ("tiny-mixed.gguf", "1x64/512+stripe65536+slot1048576"),
        ("missing.gguf", "4x64/512"),
        ("expected.tsv", "4x64/512"),
    ] {
        let error = refusal(&path(file), &options(&out, layout));
        messages += &format!("{} {}\n", error.exit_code(), tail(&error.to_string()));
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
    let error = refusal(&path("tiny-mixed.gguf"), &options(&out.join("a/b"), "4x64/512"));
    messages += &format!("{} {}\n", error.exit_code(), tail(&error.to_string()));
    expect_test::expect_file!["refusals.txt"].assert_eq(&messages);
}

#[test]
fn a_checkpoint_that_changes_while_it_is_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    let file = folder.path().join("tiny.gguf");
    fs::copy(path("tiny-mixed.gguf"), &file).unwrap();
    let touch = |_| {
        let bytes = fs::read(path("tiny-q8.gguf")).unwrap();
        fs::write(&file, bytes).unwrap();
    };
    let error = pack(&file, &options(&out, "4x64/512"), &touch).unwrap_err();
    assert!(error.to_string().contains("changed while it was read"), "{error}");
    assert_eq!(error.exit_code(), 4);
    assert_eq!(names(folder.path()), ["tiny.gguf"]);
}

#[test]
fn a_checkpoint_is_not_replaced_by_its_own_image() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    fs::create_dir(&out).unwrap();
    let file = out.join("channel-0.bin");
    fs::copy(path("tiny-mixed.gguf"), &file).unwrap();
    let error = refusal(&file, &PackOptions { force: true, ..options(&out, "4x64/512") });
    assert!(error.to_string().contains("where the checkpoint is"), "{error}");
    assert!(file.exists());
}
