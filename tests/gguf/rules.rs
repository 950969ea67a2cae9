//! One file for each rule of the reader: a sound file with one thing broken,
//! or one thing unusual. The words of every verdict are pinned in `rules.txt`.

use std::fmt::Write;

use expect_test::expect_file;
use wimg_core::gguf::{self, Read};
use wimg_tests::gguf::{ARRAY, BOOL, Gguf, STRING, U8, U16, U32, U64, array, key, string, tensor};

use crate::prefix::same_verdict_however_it_grows;

const F32: u32 = 0;
const Q8_0: u32 = 8;
/// Q4_2, which ggml removed.
const REMOVED: u32 = 4;
/// An id that only a fork uses.
const PRIVATE: u32 = 148;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Accept,
    Reject,
}
use Want::{Accept, Reject};

type Case = (&'static str, Want, Vec<u8>);

fn check(cases: &[Case], expected: &expect_test::ExpectFile) {
    let mut report = String::new();
    assert!(!cases.is_empty());
    for (name, want, file) in cases {
        same_verdict_however_it_grows(name, file);
        let (verdict, words) = match gguf::read(file, file.len() as u64) {
            Err(error) => (Reject, error.to_string()),
            Ok(Read::More { at_least }) => panic!("{name}: {at_least} of {}", file.len()),
            Ok(Read::Header(header)) => {
                let tensor = |t: &gguf::TensorInfo| {
                    format!(
                        "{} {} {:?} {}+{:?}",
                        t.name.escape_debug(),
                        t.format,
                        t.dims,
                        t.offset,
                        t.len
                    )
                };
                let tensors: Vec<_> = header.tensors.iter().map(tensor).collect();
                (Accept, format!("[{}], {} trailing", tensors.join("; "), header.trailing))
            }
        };
        assert_eq!(verdict, *want, "{name}: {words}");
        writeln!(report, "{name}\n    {verdict:?}: {words}").unwrap();
    }
    expected.assert_eq(&report);
}

/// The text, padded so that it is longer than what is looked at.
fn padded(text: &str) -> Vec<u8> {
    format!("{text}{}", " lorem ipsum\n".repeat(100)).into_bytes()
}

#[test]
fn lookalikes() {
    let safetensors = |header: &str, data: usize| {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; data]].concat()
    };
    let utf16: Vec<u8> = "\u{feff}GGUF text".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let ggml = |magic: &[u8]| [magic, &1u32.to_le_bytes(), &[0; 64]].concat();
    let mut hole = Gguf::sound().bytes();
    hole[..40].fill(0);
    let cases: Vec<Case> = vec![
        ("empty", Reject, vec![]),
        ("one byte", Reject, b"G".to_vec()),
        ("magic only", Reject, b"GGUF".to_vec()),
        ("magic and text, short", Reject, b"GGUF\n".to_vec()),
        ("magic and text", Reject, padded("GGUF files are ")),
        ("mixed case", Reject, b"Gguf\x03\0\0\0".to_vec()),
        ("backwards", Reject, ggml(b"FUGG")),
        ("ggml", Reject, ggml(b"lmgg")),
        ("ggmf", Reject, ggml(b"fmgg")),
        ("ggjt", Reject, ggml(b"tjgg")),
        ("ggla", Reject, ggml(b"algg")),
        ("ggla, big-endian", Reject, ggml(b"ggla")),
        (
            "safetensors",
            Reject,
            safetensors(r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#, 4),
        ),
        ("safetensors, cut", Reject, [&(1u64 << 20).to_le_bytes()[..], b"{\"a\":"].concat()),
        ("safetensors, long", Reject, safetensors(&format!("{{{}}}", " ".repeat(2000)), 64)),
        ("zip", Reject, b"PK\x03\x04\x14\0\0\0".to_vec()),
        ("zip, empty", Reject, [&b"PK\x05\x06"[..], &[0; 18]].concat()),
        ("gzip", Reject, b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec()),
        ("zstd", Reject, b"\x28\xb5\x2f\xfd\x04\0".to_vec()),
        ("pickle", Reject, b"\x80\x02}q\0.".to_vec()),
        ("html", Reject, padded("<!DOCTYPE html>\n<html>")),
        ("html after blank lines", Reject, padded("\r\n  <html lang=\"en\">")),
        ("html after a BOM", Reject, padded("\u{feff}<html>")),
        ("xml", Reject, padded("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>")),
        ("html in latin-1", Reject, b"<html><title>Acc\xe8s refus\xe9</title></html>".to_vec()),
        ("json", Reject, b"{\"error\":\"Repository not found\"}".to_vec()),
        ("json array after a BOM", Reject, padded("\u{feff}\n[1, 2]")),
        ("text", Reject, padded("Access to model X is restricted.")),
        ("text after a BOM", Reject, padded("\u{feff}Zugriff verweigert, Schlüssel fehlt.")),
        ("text in UTF-16", Reject, utf16),
        ("LFS pointer", Reject, lfs.as_bytes().to_vec()),
        ("LFS pointer after a BOM", Reject, format!("\u{feff}{lfs}").into_bytes()),
        ("GGUF after a BOM", Reject, [b"\xef\xbb\xbf", &Gguf::sound().bytes()[..]].concat()),
        ("zeros", Reject, vec![0; 4096]),
        ("three zeros", Reject, vec![0; 3]),
        ("zeros, then more", Reject, hole),
        ("anything else", Reject, (0..=255).map(|i: u8| i.wrapping_mul(37) ^ 0xa5).collect()),
    ];
    check(&cases, &expect_file!["lookalikes.txt"]);
}

#[test]
fn versions_and_counts() {
    let version = |version: u32| Gguf { version, ..Gguf::sound() }.bytes();
    let counts = |tensors: u64, keys: u64| {
        let counts = Gguf { tensor_count: Some(tensors), key_count: Some(keys), ..Gguf::sound() };
        counts.bytes()
    };
    let nothing = Gguf { keys: vec![], tensors: vec![], data: vec![], ..Gguf::sound() };
    let keys_only = Gguf { tensors: vec![], data: vec![], ..Gguf::sound() };
    let cases: Vec<Case> = vec![
        ("sound", Accept, Gguf::sound().bytes()),
        ("version 0", Reject, version(0)),
        ("version 1", Reject, version(1)),
        ("version 2", Accept, version(2)),
        ("version 4", Reject, version(4)),
        ("version 1, big-endian", Reject, version(1u32.swap_bytes())),
        ("version 2, big-endian", Reject, version(2u32.swap_bytes())),
        ("version 3, big-endian", Reject, version(3u32.swap_bytes())),
        ("version 4, big-endian", Reject, version(4u32.swap_bytes())),
        ("big-endian counts", Reject, counts(1u64.swap_bytes(), 1u64.swap_bytes())),
        ("more tensors than bytes", Reject, counts(1 << 40, 1)),
        ("more keys than bytes", Reject, counts(1, 1 << 40)),
        ("sizes that wrap", Reject, counts(u64::MAX, u64::MAX)),
        ("a tensor too many", Reject, counts(2, 1)),
        ("a key too many", Reject, counts(1, 2)),
        ("a tensor too few", Accept, counts(0, 1)),
        ("no tensors, no keys", Accept, nothing.bytes()),
        ("no tensors, no keys, no padding", Accept, nothing.header()),
        ("keys only, no padding", Accept, keys_only.header()),
        ("keys only, padded", Accept, keys_only.bytes()),
        ("no architecture", Accept, Gguf { keys: vec![], ..Gguf::sound() }.bytes()),
    ];
    check(&cases, &expect_file!["counts.txt"]);
}

/// An array of `depth` levels, one element each, of u8 in the end.
fn nested(depth: usize) -> Vec<u8> {
    (1..depth).fold(array(U8, 1, &[7]), |inner, _| array(ARRAY, 1, &inner))
}

#[test]
fn metadata() {
    let one = |type_id: u32, value: &[u8]| Gguf::sound().with_key(b"k", type_id, value).bytes();
    let named = |name: &[u8]| Gguf::sound().with_key(name, U8, &[1]).bytes();
    let empties = array(ARRAY, 2, &[array(STRING, 0, &[]), array(U64, 0, &[])].concat());
    let cases: Vec<Case> = vec![
        ("empty key", Reject, named(b"")),
        ("key of 65535 bytes", Accept, named(&[b'k'; 65_535])),
        ("key of 65536 bytes", Reject, named(&[b'k'; 65_536])),
        ("key that is not UTF-8", Accept, named(b"\xff\xfe")),
        (
            "key twice, same value",
            Reject,
            Gguf::sound().with_key(b"k", U8, &[1]).with_key(b"k", U8, &[1]).bytes(),
        ),
        (
            "key with a terminal escape, twice",
            Reject,
            Gguf::sound().with_key(b"\x1b[2J\n", U8, &[1]).with_key(b"\x1b[2J\n", U8, &[1]).bytes(),
        ),
        (
            "long key with a bad value",
            Reject,
            Gguf::sound().with_key(&[b'k'; 500], BOOL, &[9]).bytes(),
        ),
        ("value type 13", Reject, one(13, &[0; 8])),
        ("bool 0", Accept, one(BOOL, &[0])),
        ("bool 1", Accept, one(BOOL, &[1])),
        ("bool 2", Reject, one(BOOL, &[2])),
        ("bool 255", Reject, one(BOOL, &[255])),
        ("bools 0 1 1", Accept, one(ARRAY, &array(BOOL, 3, &[0, 1, 1]))),
        ("bools 0 1 2", Reject, one(ARRAY, &array(BOOL, 3, &[0, 1, 2]))),
        ("nested bools 0 2", Reject, one(ARRAY, &array(ARRAY, 1, &array(BOOL, 2, &[0, 2])))),
        ("string of any bytes", Accept, one(STRING, &string(b"\0\xff\x80\xef\xbf\xbd\r\n"))),
        ("string past the end", Reject, one(STRING, &5000u64.to_le_bytes())),
        ("string of 2^64 - 1", Reject, one(STRING, &u64::MAX.to_le_bytes())),
        ("array, empty", Accept, one(ARRAY, &array(U16, 0, &[]))),
        ("array, empty, of no type", Reject, one(ARRAY, &array(13, 0, &[]))),
        ("array of arrays, empty both", Accept, one(ARRAY, &empties)),
        ("array past the end", Reject, one(ARRAY, &array(U64, 1000, &[]))),
        ("array of 2^61 u64: wraps to 0", Reject, one(ARRAY, &array(U64, 1 << 61, &[]))),
        ("array of 2^61 strings", Reject, one(ARRAY, &array(STRING, 1 << 61, &[]))),
        ("array of 2^63 arrays", Reject, one(ARRAY, &array(ARRAY, 1 << 63, &[]))),
        (
            "array of strings, one past the end",
            Reject,
            one(ARRAY, &array(STRING, 2, &[string(b"a"), 900u64.to_le_bytes().to_vec()].concat())),
        ),
        ("nested 2 deep", Accept, one(ARRAY, &nested(2))),
        ("nested 8 deep", Accept, one(ARRAY, &nested(8))),
        ("nested 9 deep", Reject, one(ARRAY, &nested(9))),
        ("nested 1000 deep", Reject, one(ARRAY, &nested(1000))),
    ];
    check(&cases, &expect_file!["metadata.txt"]);
}

#[test]
fn alignments() {
    let align = |type_id: u32, value: &[u8]| {
        Gguf::sound().with_key(b"general.alignment", type_id, value).bytes()
    };
    let aligned = |alignment: u32| {
        let gguf = Gguf::sound().with_key(b"general.alignment", U32, &alignment.to_le_bytes());
        Gguf { alignment: (alignment as usize).clamp(1, 2 << 20), ..gguf }.bytes()
    };
    let cases: Vec<Case> = vec![
        ("alignment 1", Accept, aligned(1)),
        ("alignment 2", Accept, aligned(2)),
        ("alignment 2^20", Accept, aligned(1 << 20)),
        ("alignment 2^21", Reject, aligned(1 << 21)),
        ("alignment 0", Reject, aligned(0)),
        ("alignment 24", Reject, aligned(24)),
        ("alignment 2^31", Reject, align(U32, &(1u32 << 31).to_le_bytes())),
        ("alignment as u64", Reject, align(U64, &32u64.to_le_bytes())),
        ("alignment as i32", Reject, align(5, &32u32.to_le_bytes())),
        ("alignment as u16", Reject, align(U16, &32u16.to_le_bytes())),
        ("alignment as string", Reject, align(STRING, &string(b"32"))),
        ("alignment as array", Reject, align(ARRAY, &array(U32, 1, &32u32.to_le_bytes()))),
        ("alignment twice", Reject, {
            let key = key(b"general.alignment", U32, &32u32.to_le_bytes());
            Gguf { keys: vec![key.clone(), key], ..Gguf::sound() }.bytes()
        }),
    ];
    check(&cases, &expect_file!["alignments.txt"]);
}

#[test]
fn tensor_tables() {
    let one = |name: &[u8], dims: &[u64], format: u32, data: usize| {
        Gguf::sound().with_tensors(vec![tensor(name, dims, format, 0)], data).bytes()
    };
    let big = 1 << 40;
    let cases: Vec<Case> = vec![
        ("empty name", Reject, one(b"", &[4], F32, 32)),
        ("name of 64 bytes", Accept, one(&[b'n'; 64], &[4], F32, 32)),
        ("name of 65 bytes", Reject, one(&[b'n'; 65], &[4], F32, 32)),
        ("name that is not UTF-8", Reject, one(b"a\xff", &[4], F32, 32)),
        ("name with an overlong form", Reject, one(b"\xc0\xaf", &[4], F32, 32)),
        ("name with an escape", Accept, one(b"\x1b[31m\n", &[4], F32, 32)),
        ("name with a NUL", Accept, one(b"a\0b", &[4], F32, 32)),
        (
            "name twice",
            Reject,
            Gguf::sound()
                .with_tensors(vec![tensor(b"a", &[4], F32, 0), tensor(b"a", &[4], F32, 32)], 64)
                .bytes(),
        ),
        ("no dims", Reject, one(b"a", &[], F32, 64)),
        ("4 dims", Accept, one(b"a", &[2, 1, 2, 2], F32, 32)),
        ("5 dims", Reject, one(b"a", &[1, 1, 1, 1, 1], F32, 64)),
        ("zero dim", Accept, one(b"a", &[0], F32, 0)),
        ("zero dim last", Accept, one(b"a", &[32, 0], Q8_0, 0)),
        ("zero dim among huge ones", Accept, one(b"a", &[big, big, 0], F32, 0)),
        ("zero dim, ragged row", Reject, one(b"a", &[31, 0], Q8_0, 0)),
        ("zero dim of a private type", Accept, one(b"a", &[0, 4], PRIVATE, 0)),
        ("private type", Accept, one(b"a", &[7, 5], PRIVATE, 32)),
        ("removed type", Accept, one(b"a", &[32], REMOVED, 32)),
        ("type 2^32 - 1", Accept, one(b"a", &[32], u32::MAX, 32)),
        ("private type with no data", Reject, one(b"a", &[7], PRIVATE, 0)),
        ("private type of too many elements", Reject, one(b"a", &[big, big], PRIVATE, 32)),
        ("ragged row", Reject, one(b"a", &[33, 32], Q8_0, 4096)),
        ("whole rows", Accept, one(b"a", &[64, 3], Q8_0, 224)),
        ("elements past 64 bits", Reject, one(b"a", &[big, big], F32, 32)),
        ("bytes past 64 bits", Reject, one(b"a", &[1 << 62], F32, 32)),
        ("2^63 bytes", Reject, one(b"a", &[1 << 61], F32, 32)),
    ];
    check(&cases, &expect_file!["tensors.txt"]);
}

#[test]
fn extents() {
    let f32s = |name: &[u8], count: u64, offset: u64| tensor(name, &[count], F32, offset);
    let file =
        |tensors: Vec<Vec<u8>>, data: usize| Gguf::sound().with_tensors(tensors, data).bytes();
    let cut = |tensors: Vec<Vec<u8>>, data: usize, off: usize| {
        let mut file = file(tensors, data);
        file.truncate(file.len() - off);
        file
    };
    let private = |name: &[u8], offset: u64| tensor(name, &[4], PRIVATE, offset);
    let cases: Vec<Case> = vec![
        ("in another order", Accept, file(vec![f32s(b"a", 8, 32), f32s(b"b", 8, 0)], 64)),
        ("a gap before", Accept, file(vec![f32s(b"a", 8, 64)], 96)),
        ("a gap between", Accept, file(vec![f32s(b"a", 8, 0), f32s(b"b", 8, 96)], 128)),
        ("misaligned", Reject, file(vec![f32s(b"a", 4, 0), f32s(b"b", 4, 16)], 64)),
        (
            "overlap by a byte",
            Reject,
            file(vec![tensor(b"a", &[33], 24, 0), f32s(b"b", 8, 32)], 64),
        ),
        ("the same bytes twice", Reject, file(vec![f32s(b"a", 8, 0), f32s(b"b", 8, 0)], 64)),
        ("one inside another", Reject, file(vec![f32s(b"a", 64, 0), f32s(b"b", 8, 64)], 256)),
        (
            "an empty one inside another",
            Accept,
            file(vec![f32s(b"a", 64, 0), f32s(b"b", 0, 64)], 256),
        ),
        ("an empty one at the end", Accept, file(vec![f32s(b"a", 8, 0), f32s(b"b", 0, 32)], 32)),
        ("an empty one past the end", Reject, file(vec![f32s(b"a", 8, 0), f32s(b"b", 0, 64)], 32)),
        (
            "a private type before a known one",
            Accept,
            file(vec![private(b"a", 0), f32s(b"b", 8, 96)], 128),
        ),
        (
            "a private type inside a known one",
            Reject,
            file(vec![f32s(b"a", 64, 0), private(b"b", 32)], 256),
        ),
        (
            "two private types in one place",
            Reject,
            file(vec![private(b"a", 0), private(b"b", 0)], 64),
        ),
        ("offset 2^64 - 32", Reject, file(vec![f32s(b"a", 8, 0u64.wrapping_sub(32))], 64)),
        ("end past 64 bits", Reject, file(vec![tensor(b"a", &[u64::MAX - 255], 24, 128)], 64)),
        ("last padding missing", Accept, file(vec![f32s(b"a", 4, 0)], 16)),
        ("last padding cut", Accept, file(vec![f32s(b"a", 4, 0)], 20)),
        ("trailing bytes", Accept, file(vec![f32s(b"a", 4, 0)], 133)),
        ("a byte short", Reject, file(vec![f32s(b"a", 8, 0)], 31)),
        (
            "two of three short",
            Reject,
            file(vec![f32s(b"c", 8, 64), f32s(b"b", 8, 32), f32s(b"a", 8, 0)], 40),
        ),
        ("no data", Reject, file(vec![f32s(b"a", 8, 0)], 0)),
        ("no data, padding cut", Reject, cut(vec![f32s(b"a", 8, 0)], 0, 3)),
        ("nothing but an empty tensor", Accept, file(vec![f32s(b"a", 0, 0)], 0)),
        ("cut in the table", Reject, Gguf::sound().header()[..90].to_vec()),
    ];
    check(&cases, &expect_file!["extents.txt"]);
}

/// What text tools make of the file: as UTF-8 with losses, line ends doubled.
#[test]
fn text_damage() {
    let plain = Gguf::sound().with_key(b"\n", U32, &200_000u32.to_le_bytes());
    let tokens = [string("\u{fffd}".as_bytes()), string(b"\r\n")].concat();
    let tokens = plain.with_key(b"tokens", ARRAY, &array(STRING, 2, &tokens));
    let sound = tokens.clone().with_key(b"long", STRING, &string(&[b'x'; 200])).bytes();
    let lossy = String::from_utf8_lossy(&sound).into_owned().into_bytes();
    let crlf: Vec<u8> = Gguf::sound()
        .with_key(b"long", STRING, &string(&[b'x'; 10]))
        .bytes()
        .into_iter()
        .flat_map(|byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] })
        .collect();
    let mut duplicate = tokens.clone();
    duplicate.keys.insert(1, key(b"number", U8, &[0x80]));
    duplicate.keys.push(key(b"tokens", U8, &[1]));
    let mut bad_bool = tokens.clone();
    bad_bool.keys.push(key(b"flag", BOOL, &[2]));
    let table = Gguf::sound().with_tensors(vec![tensor(b"a", &[4], 0, 128)], 160).bytes();
    let table = String::from_utf8_lossy(&table).into_owned().into_bytes();
    let mut windows = Gguf::sound().with_key(b"template", STRING, &string(b"a\r\nb\nc"));
    windows.keys.push(key(b"template", U8, &[1]));
    let short = Gguf { data: vec![], ..tokens };
    let cases: Vec<Case> = vec![
        ("sound, with U+FFFD and CRLF in it", Accept, sound),
        ("mangled", Reject, lossy),
        ("line ends", Reject, crlf),
        ("mangled in the tensor table", Reject, table),
        ("does not parse, U+FFFD in it", Reject, bad_bool.bytes()),
        ("parses, U+FFFD in it", Reject, duplicate.bytes()),
        ("parses, CRLF and a lone line feed in it", Reject, windows.bytes()),
        ("short data, U+FFFD in it", Reject, short.bytes()),
    ];
    check(&cases, &expect_file!["text.txt"]);
}
