//! `wimg locate`.

use std::path::Path;

use expect_test::expect_file;
use serde_json::Value;
use wimg_tests::program::wimg;

use super::{tiny, vectors_folder};

#[test]
fn places_in_every_format() {
    for (name, line) in [
        ("plain", "token_embd.weight 77 --beat 72"),
        ("kernel", "blk.0.ssm_conv1d.weight 5 --layout 4x64/8+check"),
        ("kernel-row", "blk.0.ssm_conv1d.weight 5 --layout 4x64/8+check --checkpoint-row"),
        ("plain-row", "output.weight 5 --checkpoint-row"),
        ("striped", "output.weight 21 --layout 4x72/512+check+stripe8+octets+slot16"),
        ("at-plain", "--at 1:100"),
        ("at-striped", "--at 2:26000 --layout 4x72/512+check+stripe8+octets+slot16"),
        ("at-padding", "--at 0:510 --layout 4x64/512+check"),
    ] {
        let mut all = String::new();
        for format in ["text", "json", "csv"] {
            let line = format!("locate tiny-q8.gguf {line} --format {format}");
            all += &format!("$ wimg {line}\n{}", wimg(&vectors_folder(), &line).done());
        }
        expect_file![format!("golden/locate/{name}.txt")].assert_eq(&all);
    }
}

fn number(record: &Value, name: &str) -> usize {
    usize::try_from(record[name].as_u64().unwrap_or_else(|| panic!("{name}: {record}"))).unwrap()
}

/// The bytes that a record of `locate` points at in the image.
fn bytes_at(folder: &Path, place: &Value) -> Vec<u8> {
    let file = format!("image/channel-{}.bin", number(place, "channel"));
    let channel = std::fs::read(folder.join(file)).unwrap();
    let (start, length) = (number(place, "file_offset"), number(place, "length"));
    match place["block_stride"].as_u64() {
        None => channel[start..start + length].to_vec(),
        Some(_) => (0..number(place, "blocks"))
            .flat_map(|block| {
                let at = start + block * number(place, "block_stride");
                channel[at..at + number(place, "block_bytes")].to_vec()
            })
            .collect(),
    }
}

/// Holds every tensor's first and last checkpoint row against the bytes that
/// `locate` finds for it in the image; gives how many rows that were.
fn compare_rows(folder: &Path, flags: &str, checkpoint: &[u8]) -> usize {
    let line = format!("pack tiny.gguf --out image --force --quiet {flags}");
    wimg(folder, &line).done();
    let tensors = wimg(folder, &format!("plan tiny.gguf --tensors --format json {flags}")).json(0);
    let mut compared = 0;
    for tensor in &tensors {
        let name = tensor["tensor"].as_str().unwrap();
        let kernel = tensor["kernel"] == true;
        let rows = if kernel {
            usize::try_from(tensor["dims"][1].as_u64().unwrap()).unwrap()
        } else {
            number(tensor, "rows")
        };
        let row_bytes = number(tensor, "length") / rows;
        for row in [0, rows / 2, rows - 1] {
            let line = format!("locate image {name} {row} --checkpoint-row --format json");
            let places = wimg(folder, &line).json(0);
            assert_eq!(places.len() > 1, kernel, "{name}");
            let found: Vec<u8> = places.iter().flat_map(|place| bytes_at(folder, place)).collect();
            let start = number(tensor, "offset") + row * row_bytes;
            assert_eq!(found, checkpoint[start..start + row_bytes], "{name} row {row}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn what_is_located_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = std::fs::read(tiny(folder.path())).unwrap();
    for flags in ["--beat 72", "--layout 3x64/16+check+stripe3+slot48 --select all"] {
        let compared = compare_rows(folder.path(), flags, &checkpoint);
        assert!(compared >= 39 * 3, "{flags}: {compared}");
    }
    // And a byte that is another is noticed.
    let mut other = checkpoint.clone();
    let end = other.len() - 64;
    other[end] ^= 1;
    let noticed =
        std::panic::catch_unwind(|| compare_rows(folder.path(), "--select table", &other));
    assert!(noticed.is_err());
}

#[test]
fn at_is_the_inverse() {
    let tiles = wimg(&vectors_folder(), "plan tiny-edge.gguf --tiles --format json").json(0);
    assert_eq!(tiles.len(), 85);
    for tile in tiles.iter().step_by(7) {
        let (channel, line) = (number(tile, "channel"), number(tile, "line"));
        for at in [line, line + number(tile, "lines") - 1] {
            let line = format!("locate tiny-edge.gguf --at {channel}:{at} --format json");
            let found = wimg(&vectors_folder(), &line).json(0).remove(0);
            for name in ["tile", "tensor", "first_row", "end_row", "channel", "line", "lines"] {
                assert_eq!(found[name], tile[name], "{name} at {channel}:{at}");
            }
        }
    }
}

#[test]
fn an_images_layout_is_its_own() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    wimg(folder.path(), "pack tiny.gguf --out image --beat 72 --quiet").done();
    let of_image = wimg(folder.path(), "locate image output.weight 7").done();
    assert_eq!(of_image, wimg(folder.path(), "locate tiny.gguf output.weight 7 --beat 72").done());
    assert_ne!(of_image, wimg(folder.path(), "locate tiny.gguf output.weight 7").done());
    let ran = wimg(folder.path(), "locate image output.weight 7 --beat 64");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("leave the flags out"), "{}", ran.err);
}
