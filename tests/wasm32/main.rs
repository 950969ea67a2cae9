//! The core on wasm32 says what it says here.

use sha2::{Digest, Sha256};
use wimg_core::{Format, ledger};
use wimg_tests::twin;
use wimg_tests::vectors::{path, vectors};
use wimg_tests::wasm::Wasm;

#[test]
fn the_module_is_of_32_bits_and_moves_bytes_unchanged() {
    let mut wasm = Wasm::build().unwrap();
    assert_eq!(wasm.call("pointer-bits", b""), Ok(b"32".to_vec()));
    let bytes: Vec<u8> =
        (0..1_000_003_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert_eq!(wasm.call("echo", &bytes), Ok(bytes.clone()));
    assert_eq!(wasm.call("echo", b""), Ok(Vec::new()));
    assert_eq!(wasm.call("echo", b"a\nb"), Ok(b"a\nb".to_vec()));
    // One changed byte is noticed: the comparison is of bytes that came back.
    let mut changed = bytes.clone();
    changed[500_000] ^= 1;
    assert_ne!(wasm.call("echo", &changed), Ok(bytes));
}

#[test]
fn formats_have_the_same_blocks_on_wasm32() {
    let mut wasm = Wasm::build().unwrap();
    let mut compared = 0;
    for format in Format::all() {
        let block = format.block().unwrap();
        let expected = format!("{} {} {}", format.id(), block.elems, block.bytes);
        assert_eq!(wasm.call("format", format.to_string().as_bytes()), Ok(expected.into_bytes()));
        compared += 1;
    }
    assert_eq!(compared, 35);
}

#[test]
fn failures_come_back_as_messages() {
    let mut wasm = Wasm::build().unwrap();
    assert_eq!(wasm.call("format", b"Q9_9"), Err("no format `Q9_9`".to_owned()));
    assert_eq!(wasm.call("fly", b""), Err("no operation `fly`".to_owned()));
    let message = wasm.call("panic", b"").unwrap_err();
    assert!(message.contains("unreachable"), "{message}");
}

#[test]
fn the_ledger_is_the_same_on_wasm32() {
    let here = ledger::json::lines(&ledger::image_ledger().unwrap());
    assert_eq!(here.lines().count(), 16);
    assert_eq!(Wasm::build().unwrap().call("ledger", b""), Ok(here.into_bytes()));
}

/// Reads, plans and packs every vector with 32-bit sizes.
#[test]
fn the_vectors_channels_come_from_wasm32() {
    let mut packed = 0;
    for vector in vectors() {
        let layout = twin::layout(&vector.layout);
        let selection = twin::selection(vector.selection);
        let file = std::fs::read(path(&vector.file)).unwrap();
        let request = [format!("{layout}\n{selection}\n").as_bytes(), &file].concat();
        let answer = Wasm::build().unwrap().call("image", &request).unwrap();
        let end = answer.iter().position(|&byte| byte == b'\n').unwrap();
        let row: serde_json::Value = serde_json::from_slice(&answer[..end]).unwrap();
        for (key, value) in vector.ledger.as_object().unwrap() {
            assert_eq!(&row[key], value, "case {}: {key}", vector.case);
        }
        let mut channels = &answer[end + 1..];
        let lines = vector.ledger["channel_lines"].as_array().unwrap();
        for (lines, expected) in lines.iter().zip(&vector.channel_sha256) {
            let len = usize::try_from(lines.as_u64().unwrap() * layout.line_bytes).unwrap();
            let (channel, rest) = channels.split_at(len);
            assert_eq!(&format!("{:x}", Sha256::digest(channel)), expected, "case {}", vector.case);
            channels = rest;
        }
        assert!(channels.is_empty());
        packed += 1;
    }
    assert_eq!(packed, 14);
}
