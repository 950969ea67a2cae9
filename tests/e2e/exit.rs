//! Exit codes, and readers who leave.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use wimg_tests::program::{command, wimg};

use super::{tiny, vectors_folder};

#[test]
fn of_several_failures_the_worst() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    std::fs::write(folder.path().join("bad.gguf"), [0; 64]).unwrap();
    std::os::unix::fs::symlink("loop.gguf", folder.path().join("loop.gguf")).unwrap();
    wimg(folder.path(), "pack tiny.gguf --out image --quiet").done();
    std::fs::remove_file(folder.path().join("image/header-0.gguf")).unwrap();
    for (subjects, code) in [
        ("tiny.gguf", 0),
        ("bad.gguf", 3),
        // The system's refusal: a name that leads to itself.
        ("loop.gguf", 4),
        ("bad.gguf loop.gguf tiny.gguf", 4),
        ("loop.gguf bad.gguf", 4),
        // A damaged image.
        ("image", 1),
        ("image loop.gguf bad.gguf", 1),
        ("bad.gguf loop.gguf image tiny.gguf", 1),
    ] {
        let ran = wimg(folder.path(), &format!("ledger {subjects}"));
        assert_eq!(ran.code, code, "{subjects}: {}", ran.err);
    }
}

#[test]
fn a_path_that_no_file_can_have_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let long = "x".repeat(256);
    for line in [
        format!("pack tiny.gguf --out {long} --quiet"),
        "pack tiny.gguf --out tiny.gguf/image --quiet".to_owned(),
        "pack tiny.gguf --out none/image --quiet".to_owned(),
        format!("synth qwen3.8-27b-unsloth-q4_0 --scale 512 --out {long}"),
        format!("plan {long}"),
        format!("verify {long}"),
        "verify tiny.gguf".to_owned(),
    ] {
        let ran = wimg(folder.path(), &line);
        assert_eq!(ran.code, 3, "{line}: {}", ran.err);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let mut child = command(&vectors_folder())
        .args(["plan", "tiny-q8.gguf", "--tiles", "--stripe", "1", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    // The reader closes the pipe, long before the last of 1 MB.
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("{\"tile\":0,"), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_reader_who_never_came_does_not_hide_damage() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    wimg(folder.path(), "pack tiny.gguf --out image --quiet").done();
    let verify = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command(folder.path()).args(["verify", "image"]).stdout(writer).status().unwrap().code()
    };
    assert_eq!(verify(), Some(0));
    std::fs::write(folder.path().join("image/channel-3.bin"), "").unwrap();
    assert_eq!(verify(), Some(1));
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    for line in ["plan tiny-q8.gguf", "plan tiny-q8.gguf --tiles", "ledger", "--help"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(&vectors_folder())
            .args(line.split(' '))
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4), "{line}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(err, "wimg: writing the result: No space left on device (os error 28)\n");
    }
}
