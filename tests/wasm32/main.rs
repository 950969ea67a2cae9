//! The core on wasm32 says what it says here.

use wimg_core::Format;
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
