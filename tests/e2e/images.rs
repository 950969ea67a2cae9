//! `wimg pack` and `wimg verify`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};
use wimg_tests::program::{command, wimg};
use wimg_tests::vectors::{path, vectors};

use super::{scrub, tiny};

/// An image's files by name, without the one that says how it was made.
fn files(image: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(image).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        files.insert(name, fs::read(entry.path()).unwrap());
    }
    assert!(files.remove("run.json").is_some());
    files
}

#[test]
fn the_vectors_channels_by_their_flags() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = vectors();
    assert_eq!(vectors.len(), 14);
    for vector in &vectors {
        fs::copy(path(&vector.file), folder.path().join("in.gguf")).unwrap();
        let select = format!("{:?}", vector.selection).to_lowercase();
        let line = format!("--select {select} {} --format json", vector.flags.join(" "));
        let pack = format!("pack in.gguf --out image --force --quiet {line}");
        let done = wimg(folder.path(), &pack).json(0).remove(0);
        assert_eq!((&done["verified"], &done["id"].as_str().unwrap().len()), (&true.into(), &64));
        let files = files(&folder.path().join("image"));
        let digest =
            |channel| format!("{:x}", Sha256::digest(&files[&format!("channel-{channel}.bin")]));
        let found: Vec<String> = (0..vector.channel_sha256.len()).map(digest).collect();
        assert_eq!(found, vector.channel_sha256, "case {}", vector.case);
        let plan = wimg(folder.path(), &format!("plan in.gguf {line}")).json(0).remove(0);
        let json = files["image.json"].len() as u64;
        assert_eq!(
            done["written_bytes"].as_u64().unwrap(),
            plan["write_bytes"].as_u64().unwrap() + json,
            "case {}",
            vector.case
        );
        let source = "verify image --source in.gguf --format json --quiet";
        let sum = wimg(folder.path(), source).json(0).remove(0);
        assert_eq!((&sum["id"], &sum["tiles"]), (&done["id"], &vector.ledger["tiles"]));
    }
}

#[test]
fn what_is_there_stays_without_force() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    wimg(folder.path(), "pack tiny.gguf --out image --quiet").done();
    let image = folder.path().join("image");
    let before = files(&image);
    let ran = wimg(folder.path(), "pack tiny.gguf --out image --beat 72");
    assert_eq!(ran.code, 3);
    assert_eq!(ran.err, "wimg: `image` exists and is left as it is (replace it with --force)\n");
    assert_eq!(files(&image), before);
    wimg(folder.path(), "pack tiny.gguf --out image --beat 72 --force --no-verify").done();
    assert_ne!(files(&image), before);
    wimg(folder.path(), "pack tiny.gguf --out image --force").done();
    assert_eq!(files(&image), before);
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 2, "something was left behind");
    // What does not fit, and what is no checkpoint, leave nothing either.
    for line in ["pack tiny.gguf --out new --channel-lines 9", "pack none.gguf --out new"] {
        assert_eq!(wimg(folder.path(), line).code, 3);
    }
    assert_eq!(wimg(folder.path(), "pack image --out new").code, 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Breaks one thing of an image.
type Break = fn(&Path);

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// What is broken, and how.
const BREAKS: &[(&str, Break)] = &[
    ("a row", |image| flip(&image.join("channel-1.bin"), 5000)),
    ("a check word", |image| {
        let length = fs::read(image.join("channel-0.bin")).unwrap().len();
        flip(&image.join("channel-0.bin"), length - 1);
    }),
    ("tiles.crc", |image| flip(&image.join("tiles.crc"), 9)),
    ("a channel's end", |image| {
        let path = image.join("channel-2.bin");
        let bytes = fs::read(&path).unwrap();
        fs::write(path, &bytes[..bytes.len() - 72]).unwrap();
    }),
    ("a channel more", |image| {
        let path = image.join("channel-2.bin");
        let bytes = fs::read(&path).unwrap();
        fs::write(path, [bytes, vec![0; 72]].concat()).unwrap();
    }),
    ("no channel", |image| fs::remove_file(image.join("channel-0.bin")).unwrap()),
    ("no tiles.crc", |image| fs::remove_file(image.join("tiles.crc")).unwrap()),
    ("the header", |image| flip(&image.join("header-0.gguf"), 40)),
    ("image.json", |image| {
        let path = image.join("image.json");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"tiles\":85"));
        fs::write(path, text.replacen("\"tiles\":85", "\"tiles\":86", 1)).unwrap();
    }),
];

#[test]
fn damage_is_named_and_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let mut told = String::new();
    for (what, damage) in BREAKS {
        wimg(folder.path(), "pack tiny.gguf --out image --beat 72 --force --quiet").done();
        wimg(folder.path(), "verify image").done();
        damage(&folder.path().join("image"));
        let ran = wimg(folder.path(), "verify image");
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{what}: {}", ran.out);
        told += &format!("# {what}\n{}", scrub(&ran.out, " GB) in ", ' '));

        let json = wimg(folder.path(), "verify image --format json").json(1);
        let (sum, found) = json.split_last().unwrap();
        assert_eq!((&sum["kind"], &sum["damages"]), (&"summary".into(), &found.len().into()));
        let messages: Vec<&str> =
            found.iter().map(|one| one["message"].as_str().unwrap()).collect();
        let lines: Vec<&str> = ran.out.lines().collect();
        assert_eq!(messages, lines[..lines.len() - 1], "{what}");
        let csv = wimg(folder.path(), "verify image --format csv");
        assert_eq!((csv.code, csv.out.lines().count()), (1, found.len() + 1), "{what}");
        assert!(csv.err.contains(" damage"), "{what}: {}", csv.err);
    }
    expect_test::expect_file!["golden/damage.txt"].assert_eq(&told);
}

#[test]
fn a_quick_look_and_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let layout = "--layout 4x72/16+check";
    wimg(folder.path(), &format!("pack tiny.gguf --out image --quiet {layout}")).done();
    let quick = wimg(folder.path(), "verify image --quick --format json").json(0).remove(0);
    assert_eq!(quick["quick"], true);
    // 64 are drawn, of which a few may be the same.
    let looked = quick["tiles"].as_u64().unwrap();
    assert!((56..=64).contains(&looked), "{looked}");
    let path = folder.path().join("image/channel-1.bin");
    let zeros = vec![0; fs::read(&path).unwrap().len()];
    fs::write(path, zeros).unwrap();
    // A quarter of the tiles: a look at 64 of them misses all once in 10^7 images.
    assert_eq!(wimg(folder.path(), "verify image --quick").code, 1);
    let lines = |limit: &str| {
        let ran = wimg(folder.path(), &format!("verify image {limit}"));
        assert_eq!(ran.code, 1);
        (ran.out.lines().count(), ran.out.lines().last().unwrap().to_owned())
    };
    let all = wimg(folder.path(), "verify image --limit 0 --format json").json(1);
    let count = all.len() - 1;
    assert!(count > 200, "{count}");
    assert_eq!(lines("").0, 101);
    let (shown, last) = lines("--limit 3");
    assert!(
        shown == 4 && last.starts_with(&format!("{count} damages, the first 3 shown: ")),
        "{last}"
    );
    assert_eq!(lines("--limit 0").0, count + 1);
}

#[test]
fn the_source_is_compared_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = tiny(folder.path());
    wimg(folder.path(), "pack tiny.gguf --out image --quiet").done();
    wimg(folder.path(), "verify image --source tiny.gguf").done();
    let tensors = wimg(folder.path(), "plan tiny.gguf --tensors --format json").json(0);
    let last = tensors.iter().find(|tensor| tensor["tensor"] == "output.weight").unwrap();
    let at = usize::try_from(last["offset"].as_u64().unwrap()).unwrap();
    flip(&checkpoint, at + 11);
    let found = wimg(folder.path(), "verify image --source tiny.gguf --format json").json(1);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0]["kind"], "source");
    assert_eq!((&found[0]["tensor"], &found[0]["first_row"]), (&"output.weight".into(), &0.into()));
    let offset = |value: &Value| value.as_u64().unwrap();
    let row = wimg(folder.path(), "locate image output.weight --format json").json(0).remove(0);
    assert_eq!(offset(&found[0]["file_offset"]), offset(&row["file_offset"]) + 11);
    // Another checkpoint is none that it was made from.
    fs::copy(path("tiny-q8.gguf"), folder.path().join("other.gguf")).unwrap();
    let ran = wimg(folder.path(), "verify image --source other.gguf");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("is not the checkpoint that the image was made from"), "{}", ran.err);
}

#[test]
fn a_folder_that_is_no_image_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let ran = wimg(folder.path(), "verify .");
    assert_eq!((ran.code, ran.err.as_str()), (3, "wimg: `.` is no image: it has no image.json\n"));
    let out = command(folder.path()).args(["verify", "none"]).output().unwrap();
    assert_eq!(out.status.code(), Some(3));
}
