//! The malformed and unusual files under `tests/data/malformed`: each one's
//! verdict, and the words of it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use wimg::source::Source;
use wimg_core::gguf::{Array, Value, ValueType};

use crate::prefix::same_verdict_however_it_grows;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/malformed")
}

/// Name and expected verdict of every file of the index.
fn index() -> Vec<(String, String)> {
    let text = fs::read_to_string(folder().join("index.tsv")).unwrap();
    let row = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        (cells.next().unwrap(), cells.next().unwrap())
    };
    let rows: Vec<_> = text.lines().skip(1).map(row).collect();
    assert_eq!(rows.len(), 103);
    rows
}

#[test]
fn every_file_gets_its_verdict() {
    let mut report = String::new();
    let mut wrong = Vec::new();
    let prefix = format!("{}/", folder().display());
    for (name, expected) in index() {
        let (verdict, words) = match Source::open(&folder().join(&name)) {
            Ok(source) => ("accept", summary(&source)),
            Err(error) => {
                assert!(!error.is_io(), "{name}: {error}");
                ("reject", error.to_string().replace(&prefix, ""))
            }
        };
        if verdict != expected {
            wrong.push(format!("{name}: {verdict}, not {expected}: {words}"));
        }
        writeln!(report, "{name}\n    {verdict}: {words}").unwrap();
    }
    assert_eq!(wrong, Vec::<String>::new());
    expect_file!["malformed.txt"].assert_eq(&report);
}

fn summary(source: &Source) -> String {
    let shard = |header: &wimg_core::Header| {
        format!(
            "version {}, {} keys, {} tensors, alignment {}, data at {} of {}, {} trailing",
            header.version,
            header.metadata.len(),
            header.tensors.len(),
            header.alignment,
            header.data_start,
            header.file_len,
            header.trailing
        )
    };
    source.checkpoint.shards.iter().map(shard).collect::<Vec<_>>().join("; ")
}

#[test]
fn no_verdict_depends_on_how_the_prefix_grew() {
    let mut files = 0;
    let mut folders = vec![folder()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "gguf") {
                same_verdict_however_it_grows(
                    &path.display().to_string(),
                    &fs::read(&path).unwrap(),
                );
                files += 1;
            }
        }
    }
    assert_eq!(files, 107);
}

fn open(name: &str) -> Source {
    Source::open(&folder().join(name)).unwrap()
}

#[test]
fn integers_are_exact() {
    let source = open("115-all-scalar-types.gguf");
    let integer = |key: &str| source.checkpoint.get(key).and_then(Value::integer);
    for (key, value) in [
        ("v.u8", u8::MAX.into()),
        ("v.i8", i8::MIN.into()),
        ("v.u16", u16::MAX.into()),
        ("v.i16", i16::MIN.into()),
        ("v.u32", u32::MAX.into()),
        ("v.i32", i32::MIN.into()),
        ("v.u64", u64::MAX.into()),
        ("v.i64", i64::MIN.into()),
    ] {
        assert_eq!(integer(key), Some(value), "{key}");
    }
    assert_eq!(integer("v.f32"), None);
    assert_eq!(source.checkpoint.get("v.bool_t"), Some(&Value::Bool(true)));
    assert_eq!(source.checkpoint.get("v.str").and_then(Value::string), Some(&b"text"[..]));
}

#[test]
fn floats_keep_their_bits() {
    let source = open("117-float-specials.gguf");
    let bits = |key: &str| match source.checkpoint.get(key) {
        Some(Value::F32(value)) => u64::from(value.to_bits()),
        Some(Value::F64(value)) => value.to_bits(),
        other => panic!("{key}: {other:?}"),
    };
    assert_eq!(bits("f.nan"), 0x7fc0_0001);
    assert_eq!(bits("f.nzero"), 1 << 63);
    assert_eq!(bits("f.sub"), 1);
    let elements = [0xffc0_0000_u32, 0x7f80_0000].map(u32::to_le_bytes).concat();
    let array = Array { elem: ValueType::F32, len: 2, bytes: elements };
    assert_eq!(source.checkpoint.get("f.arr"), Some(&Value::Array(array)));
}

#[test]
fn an_array_of_booleans_is_read() {
    let source = open("091-bool-array.gguf");
    let (_, value) = source.checkpoint.shards[0].metadata.last().unwrap();
    let bools = value.bools().unwrap();
    assert!(bools.contains(&true) && bools.contains(&false), "{bools:?}");
    assert_eq!(source.checkpoint.get("general.architecture").unwrap().bools(), None);
}
