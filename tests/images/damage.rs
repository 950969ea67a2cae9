//! Whatever is changed in an image is found, and placed.

use std::fs;
use std::path::{Path, PathBuf};

use wimg::core::{Damage, Selection};
use wimg::pack::PackOptions;
use wimg::verify::{VerifyOptions, verify};
use wimg_tests::cases::random_bytes;
use wimg_tests::gguf::{Gguf, tensor};
use wimg_tests::vectors::path;

use crate::{names, options, packed, verified};

/// Three small tensors, a gap between two and bytes after the last.
fn small(folder: &Path) -> PathBuf {
    let mut gguf = Gguf::sound().with_tensors(
        vec![
            tensor(b"a", &[5, 9], 0, 0),
            tensor(b"b", &[7], 24, 224),
            tensor(b"c", &[32, 2], 8, 256),
        ],
        0,
    );
    gguf.data = random_bytes(1, 256 + 68 + 40);
    let file = folder.join("small.gguf");
    fs::write(&file, gguf.bytes()).unwrap();
    file
}

/// What a damage says of where it is: the file, or the tile's channel and bytes.
fn places(damage: &Damage, file: &str, byte: u64, line_bytes: u64) -> bool {
    match damage {
        Damage::TileCrc { place, .. }
        | Damage::Padding { place, .. }
        | Damage::Missing { place, .. } => {
            let tile = place.tile;
            let bytes = tile.line * line_bytes..(tile.line + tile.lines) * line_bytes;
            (file == format!("channel-{}.bin", tile.channel) && bytes.contains(&byte))
                || (file == "tiles.crc" && tile.index == byte / 4)
        }
        Damage::File { name, .. } => name == file,
        _ => false,
    }
}

/// Flips a bit, verifies, and flips it back. What is wrong with the outcome.
fn flip(out: &Path, name: &str, byte: usize, bit: u32, line_bytes: u64) -> Option<String> {
    let file = out.join(name);
    let sound = fs::read(&file).unwrap();
    let mut bytes = sound.clone();
    bytes[byte] ^= 1 << bit;
    fs::write(&file, &bytes).unwrap();
    let result = verify(out, &VerifyOptions::default(), &|_| {});
    fs::write(&file, &sound).unwrap();
    let tile_or_file = |damage: &Damage| match name {
        name if name.starts_with("channel-") => !matches!(damage, Damage::File { .. }),
        _ => true,
    };
    match result {
        Ok(report) => {
            let placed = |d: &&Damage| tile_or_file(d) && places(d, name, byte as u64, line_bytes);
            let found = report.damage.iter().find(placed);
            found.is_none().then(|| format!("{name} byte {byte} bit {bit}: {:?}", report.damage))
        }
        Err(error) => Some(format!("{name} byte {byte} bit {bit}: {error}")),
    }
}

fn image_files(out: &Path) -> Vec<String> {
    names(out).into_iter().filter(|name| name != "run.json").collect()
}

#[test]
fn every_flipped_bit_is_found_and_placed() {
    let folder = tempfile::tempdir().unwrap();
    let file = small(folder.path());
    let mut flips = 0;
    for (number, layout) in ["2x32/2@100", "3x8/4+check"].into_iter().enumerate() {
        let out = folder.path().join(number.to_string());
        packed(&file, &PackOptions { selection: Selection::Table, ..options(&out, layout) });
        let line_bytes = [32, 8][number];
        assert_eq!(verified(&out).damages, 0);
        let files = image_files(&out);
        assert!(files.contains(&"rest.bin".to_owned()) && files.contains(&"tiles.crc".to_owned()));
        for name in files {
            let len = fs::metadata(out.join(&name)).unwrap().len();
            for byte in 0..usize::try_from(len).unwrap() {
                // image.json is text, and much longer than the rest: two bits a byte.
                let bits = if name == "image.json" { vec![0, 4] } else { (0..8).collect() };
                for bit in bits {
                    assert_eq!(flip(&out, &name, byte, bit, line_bytes), None);
                    flips += 1;
                }
            }
        }
        assert_eq!(verified(&out).damages, 0);
    }
    assert!(flips > 10_000, "{flips} flips");
}

#[test]
fn flips_in_kernels_stripes_and_slots_are_found_and_placed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    packed(&path("tiny-edge.gguf"), &options(&out, "4x72/16+check+stripe2+slot4"));
    let mut flips = 0;
    for name in image_files(&out) {
        let len = fs::metadata(out.join(&name)).unwrap().len();
        for (bit, word) in (0..).zip(random_bytes(len, 8 * 40).as_chunks::<8>().0) {
            let byte = u64::from_le_bytes(*word) % len;
            let byte = usize::try_from(byte).unwrap();
            assert_eq!(flip(&out, &name, byte, bit % 8, 72), None);
            flips += 1;
        }
    }
    assert_eq!(flips, 7 * 40);
}

#[test]
fn equal_tiles_swapped_are_both_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    let done = packed(&path("tiny-q8.gguf"), &options(&out, "4x72/512+check"));
    let image = wimg::store::StoredImage::open(&out).unwrap();
    let tiles: Vec<_> = image.plan.image().channel_tiles(2, 0..u64::MAX).collect();
    let first = tiles[tiles.len() / 3];
    let second = *tiles.iter().rfind(|tile| tile.lines == first.lines).unwrap();
    assert_ne!(first, second);
    let file = out.join("channel-2.bin");
    let mut bytes = fs::read(&file).unwrap();
    let range = |tile: wimg::core::Tile| {
        let start = usize::try_from(tile.line * 72).unwrap();
        start..start + usize::try_from(tile.lines * 72).unwrap()
    };
    let (a, b) = (bytes[range(first)].to_vec(), bytes[range(second)].to_vec());
    assert_ne!(a, b);
    bytes[range(first)].copy_from_slice(&b);
    bytes[range(second)].copy_from_slice(&a);
    fs::write(&file, bytes).unwrap();
    let report = verified(&out);
    assert_eq!((report.tiles, report.id), (done.row.tiles, done.id));
    let named: Vec<u64> = report
        .damage
        .iter()
        .filter_map(|damage| match damage {
            // Each agrees with its own check word.
            Damage::TileCrc { place, crc, word, .. } if Some(*crc) == *word => {
                Some(place.tile.index)
            }
            _ => None,
        })
        .collect();
    assert_eq!(named, [first.index, second.index]);
    let source = VerifyOptions { source: Some(path("tiny-q8.gguf")), ..VerifyOptions::default() };
    let report = verify(&out, &source, &|_| {}).unwrap();
    let differ = report.damage.iter().filter(|d| matches!(d, Damage::Source { .. })).count();
    assert_eq!(differ, 2);
}

#[test]
fn short_missing_long_and_foreign_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = small(folder.path());
    let out = folder.path().join("image");
    packed(&file, &PackOptions { selection: Selection::Table, ..options(&out, "2x32/2") });
    let mut messages = String::new();
    for name in image_files(&out) {
        let path = out.join(&name);
        let sound = fs::read(&path).unwrap();
        let changes: [(&str, Option<Vec<u8>>); 4] = [
            ("missing", None),
            ("empty", Some(Vec::new())),
            ("a byte short", Some(sound[..sound.len() - 1].to_vec())),
            ("a byte long", Some([&sound[..], &[0]].concat())),
        ];
        for (what, bytes) in changes {
            match bytes {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            messages += &format!("{name} {what}\n");
            match verify(&out, &VerifyOptions::default(), &|_| {}) {
                Ok(report) => {
                    assert!(report.damages > 0, "{name} {what}");
                    for damage in report.damage {
                        messages += &format!("  {damage}\n");
                    }
                }
                Err(error) => messages += &format!("  {}\n", crate::tail(&error.to_string())),
            }
            fs::write(&path, &sound).unwrap();
        }
    }
    assert_eq!(verified(&out).damages, 0);
    expect_test::expect_file!["damage.txt"].assert_eq(&messages);
}

#[test]
fn another_checkpoint_is_refused_as_source() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    packed(&path("tiny-mixed.gguf"), &options(&out, "4x64/512"));
    let source = VerifyOptions { source: Some(path("tiny-q8.gguf")), ..VerifyOptions::default() };
    let error = verify(&out, &source, &|_| {}).unwrap_err();
    assert_eq!(error.exit_code(), 1);
    assert!(error.to_string().contains("shard 0 has 10036096 bytes, not 1999648"), "{error}");
}

#[test]
fn the_limit_keeps_some_and_counts_all() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    packed(&path("tiny-mixed.gguf"), &options(&out, "4x64/512"));
    let file = out.join("channel-1.bin");
    let mut bytes = fs::read(&file).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 1);
    fs::write(&file, bytes).unwrap();
    let all = verified(&out);
    assert_eq!(all.damages, all.damage.len() as u64);
    let some = verify(&out, &VerifyOptions { limit: 3, ..VerifyOptions::default() }, &|_| {});
    let some = some.unwrap();
    assert_eq!((some.damage.len(), some.damages), (3, all.damages));
    assert_eq!(some.damage[..], all.damage[..3]);
}

/// Flips a bit of a file; gives its sound bytes.
fn flipped(path: &Path, byte: usize) -> Vec<u8> {
    let sound = fs::read(path).unwrap();
    let mut bytes = sound.clone();
    bytes[byte] ^= 1;
    fs::write(path, bytes).unwrap();
    sound
}

#[test]
fn a_damaged_header_does_not_hide_a_damaged_channel() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    let done = packed(&path("tiny-mixed.gguf"), &options(&out, "4x64/512"));
    flipped(&out.join("header-0.gguf"), 100);
    flipped(&out.join("channel-1.bin"), 1000);
    let report = verified(&out);
    assert_eq!(report.tiles, done.row.tiles);
    let named = |name: &str| report.damage.iter().any(|d| places(d, name, 1000, 64));
    assert!(named("header-0.gguf") && named("channel-1.bin"), "{:?}", report.damage);
}

#[test]
fn what_stands_in_a_files_place_is_named_and_never_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("image");
    packed(
        &small(folder.path()),
        &PackOptions { selection: Selection::Table, ..options(&out, "2x32/2") },
    );
    let mut found = 0;
    for name in image_files(&out) {
        let path = out.join(&name);
        let sound = fs::read(&path).unwrap();
        for kind in ["folder", "pipe", "huge"] {
            fs::remove_file(&path).unwrap();
            match kind {
                "folder" => fs::create_dir(&path).unwrap(),
                "pipe" => {
                    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
                }
                // A hole: whoever reads it whole has no memory left.
                _ => fs::File::create(&path).unwrap().set_len(1 << 40).unwrap(),
            }
            let report = verified(&out);
            assert!(
                report.damage.iter().any(|d| places(d, &name, 0, 32)),
                "{name}: {:?}",
                report.damage
            );
            if kind == "folder" { fs::remove_dir(&path) } else { fs::remove_file(&path) }.unwrap();
            fs::write(&path, &sound).unwrap();
            found += 1;
        }
    }
    assert!(found >= 15, "{found}");
    assert_eq!(verified(&out).damages, 0);
    fs::write(out.join("channel-7.bin"), "more").unwrap();
    assert!(verified(&out).damage.iter().any(|d| places(d, "channel-7.bin", 0, 32)));
}

#[test]
fn a_source_that_differs_only_outside_its_tensors_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (out, file) = (folder.path().join("image"), small(folder.path()));
    packed(&file, &PackOptions { selection: Selection::Table, ..options(&out, "2x32/2") });
    let source = VerifyOptions { source: Some(file.clone()), ..VerifyOptions::default() };
    assert_eq!(verify(&out, &source, &|_| {}).unwrap().damages, 0);
    let last = usize::try_from(fs::metadata(&file).unwrap().len()).unwrap() - 1;
    flipped(&file, last);
    let report = verify(&out, &source, &|_| {}).unwrap();
    assert!(report.damage.iter().all(|d| places(d, "rest.bin", 0, 32)), "{:?}", report.damage);
    assert_eq!(report.damages, 1);
}

#[test]
fn a_quick_look_is_at_64_tiles_or_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let quick = VerifyOptions { quick: true, ..VerifyOptions::default() };
    for (layout, most) in [("4x64/512", u64::MAX), ("4x64/4", 64)] {
        let out = folder.path().join(layout.replace('/', "-"));
        let done = packed(&path("tiny-mixed.gguf"), &options(&out, layout));
        let looked = verify(&out, &quick, &|_| {}).unwrap();
        assert_eq!((looked.tiles, looked.damages), (done.row.tiles.min(most).min(64), 0));
    }
}
