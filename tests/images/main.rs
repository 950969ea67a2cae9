//! Image directories: what packing puts on the disk, and that verifying finds
//! and places whatever is changed in it.
#![expect(clippy::unwrap_used, reason = "what does not pack fails the test")]

mod damage;
mod diff;
mod publish;
mod unpack;

use std::path::Path;

use sha2::{Digest, Sha256};
use wimg::backend::BackendOptions;
use wimg::core::{ImageLayout, Selection};
use wimg::pack::{PackDone, PackOptions, pack};
use wimg::verify::{VerifyOptions, VerifyReport, verify};
use wimg_tests::oracle;
use wimg_tests::vectors::{path, vectors};

/// The core's layout of a vector's.
fn layout_of(layout: &oracle::Layout) -> ImageLayout {
    ImageLayout {
        channels: layout.channels as u64,
        line_bytes: layout.line_bytes as u64,
        tile_lines: layout.tile_lines as u64,
        channel_lines: layout.channel_lines as u64,
        check: layout.check,
        stripe: layout.stripe.map(|pairs| pairs as u64),
        octets: layout.octets,
        slot: layout.slot as u64,
    }
}

fn options(out: &Path, layout: &str) -> PackOptions {
    PackOptions {
        selection: Selection::All,
        layout: layout.parse().unwrap(),
        out: out.to_owned(),
        force: false,
        verify: true,
        backend: BackendOptions::default(),
    }
}

fn packed(checkpoint: &Path, options: &PackOptions) -> PackDone {
    pack(checkpoint, options, &|_| {}).unwrap()
}

fn verified(dir: &Path) -> VerifyReport {
    verify(dir, &VerifyOptions::default(), &|_| {}).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_vectors_channels_are_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut packs = 0;
    for vector in vectors() {
        let out = folder.path().join(vector.case.to_string());
        let options = PackOptions {
            selection: format!("{:?}", vector.selection).to_lowercase().parse().unwrap(),
            layout: layout_of(&vector.layout),
            ..options(&out, "4x64/512")
        };
        let done = packed(&path(&vector.file), &options);
        for (channel, expected) in vector.channel_sha256.iter().enumerate() {
            let bytes = std::fs::read(out.join(format!("channel-{channel}.bin"))).unwrap();
            assert_eq!(&format!("{:x}", Sha256::digest(bytes)), expected, "case {}", vector.case);
        }
        let report = done.verified.unwrap();
        assert_eq!((report.damages, report.tiles), (0, done.row.tiles), "case {}", vector.case);
        let source = VerifyOptions { source: Some(path(&vector.file)), ..VerifyOptions::default() };
        assert_eq!(verify(&out, &source, &|_| {}).unwrap().damages, 0);
        let quick = VerifyOptions { quick: true, ..VerifyOptions::default() };
        assert_eq!(verify(&out, &quick, &|_| {}).unwrap().damages, 0);
        packs += 1;
    }
    assert_eq!(packs, 14);
}

/// The whole directory of one image, pinned: a change of any byte is a change
/// of the format and needs a new format version.
#[test]
fn a_directory_is_the_same_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    let done = packed(&path("tiny-mixed.gguf"), &options(&out, "4x72/512+check+stripe5+slot8"));
    let mut digests = format!("id {}\n", done.id);
    for name in names(&out).iter().filter(|name| *name != "run.json") {
        let bytes = std::fs::read(out.join(name)).unwrap();
        digests += &format!("{name} {} {:x}\n", bytes.len(), Sha256::digest(&bytes));
    }
    expect_test::expect_file!["directory.txt"].assert_eq(&digests);
    expect_test::expect_file!["image.json.txt"]
        .assert_eq(&std::fs::read_to_string(out.join("image.json")).unwrap());
}

/// A message without the folders of this run.
fn tail(message: &str) -> String {
    message
        .split('`')
        .map(|part| part.rsplit('/').next().unwrap_or(part))
        .collect::<Vec<_>>()
        .join("`")
}
