//! `wimg unpack` and `wimg diff`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use wimg_tests::program::{command, wimg};

use super::tiny;

/// A folder with a checkpoint, an image of it, and one at the other beat.
fn images() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for line in ["all --out a --beat 64", "all --out b --beat 72", "machine --out machine"] {
        let line = format!("pack tiny.gguf --quiet --backend cpu --select {line}");
        let ran = wimg(folder.path(), &line);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    folder
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn the_checkpoint_comes_back_and_so_does_a_tensor() {
    let folder = images();
    let path = folder.path();
    let out = wimg(path, "unpack b --out back.gguf").done();
    assert!(out.starts_with("back.gguf\n") && out.lines().count() == 2, "{out}");
    assert!(read(path, "back.gguf") == read(path, "tiny.gguf"));
    let json = wimg(path, "unpack b --out again.gguf --format json").json(0).remove(0);
    assert_eq!((&json["path"], &json["files"]), (&"again.gguf".into(), &1.into()));
    let name = "output_norm.weight";
    let csv = wimg(path, &format!("unpack machine --tensor {name} --out t --format csv")).done();
    assert!(csv.starts_with("id,path,files,bytes\n") && csv.contains(",t,1,"), "{csv}");
    let words = ["unpack", "a", "--tensor", name, "--out", "-"];
    let output = command(path).args(words).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(!output.stdout.is_empty() && output.stdout == read(path, "t"));
}

#[test]
fn what_cannot_be_unpacked_is_said() {
    let folder = images();
    let path = folder.path();
    fs::write(path.join("a/channel-1.bin"), "").unwrap();
    for (line, code, said) in [
        ("unpack b --out tiny.gguf", 3, "exists and is left as it is"),
        ("unpack machine --out x", 3, "name one of its tensors"),
        ("unpack b --out -", 2, "name it with --tensor"),
        ("unpack b --tensor nothing --out -", 2, "has no tensor `nothing`"),
        ("unpack b", 2, "--out <PATH>"),
        ("unpack a --out x", 1, "channel-1.bin: it has 0 bytes"),
        ("unpack nowhere --out x", 3, "No such file or directory"),
    ] {
        let ran = wimg(path, line);
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
        assert!(ran.err.starts_with("wimg: ") && ran.err.contains(said), "{line}: {}", ran.err);
        assert!(ran.out.is_empty() && !path.join("x").exists(), "{line}");
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let words = ["unpack", "b", "--tensor", "output_norm.weight", "--out", "-"];
    let output = command(path).args(words).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(path).args(words).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn images_that_differ_have_their_own_exit_code() {
    let folder = images();
    let path = folder.path();
    let same = wimg(path, "diff a a").done();
    assert!(same.starts_with("the same image: "), "{same}");
    let ran = wimg(path, "diff a b --limit 2");
    assert_eq!((ran.code, ran.err.as_str(), ran.out.lines().count()), (1, "", 3));
    assert!(ran.out.starts_with("layout: 4x64/512 and 4x72/512+check\n"), "{}", ran.out);
    assert!(ran.out.contains(", the first 2 shown: 0 tensors changed, "), "{}", ran.out);
    let json = wimg(path, "diff a b --format json").json(1);
    let (summary, rows) = json.split_last().unwrap();
    assert_eq!(summary["kind"], "summary");
    assert_eq!(summary["differences"], rows.len());
    assert!(rows.iter().any(|row| row["kind"] == "moved" && row["what"] == "tile_rows"));
    let csv = wimg(path, "diff a b --format csv");
    let rows = csv.out.lines().count();
    assert!(csv.out.starts_with("kind,tensor,what,a,b,tile,channel,line,file_offset,message\n"));
    assert_eq!((csv.code, rows, csv.err.lines().count()), (1, json.len(), 1));
    assert_eq!(wimg(path, "diff a tiny.gguf").code, 3);
}
