//! gguf-py, the reference library, reads what is written here, and the other
//! way round.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use wimg::synth::{SCALE_MAX, Synth};
use wimg_core::gguf::{Header, Value};
use wimg_core::headers::find;
use wimg_core::{Format, TensorEntry};
use wimg_tests::python::python;

use super::{file, header_of, tensor};

/// What gguf-py 0.19 cannot hold: it gives a `Q8_1` block 40 bytes, where ggml
/// has 36, and does not know `Q2_0`.
const NOT_IN_GGUF_PY: [&str; 2] = ["Q8_1", "Q2_0"];
/// What it lists but does not dequantise.
const NOT_DEQUANTISED: [&str; 2] = ["Q8_K", "Q1_0"];

/// The lines that a script of this folder prints.
fn run(script: &str, path: &Path) -> Vec<Json> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("synth").join(script);
    let output = Command::new(python()).arg(script).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// How gguf-py's listing of the tensors differs from ours.
fn differences(header: &Header, listed: &[Json]) -> Vec<String> {
    assert!(!listed.is_empty());
    let mut all = Vec::new();
    if listed.len() != header.tensors.len() {
        all.push(format!("{} tensors, not {}", listed.len(), header.tensors.len()));
    }
    for (ours, theirs) in header.tensors.iter().zip(listed) {
        let ours = json!({
            "name": ours.name,
            "format": ours.format.to_string(),
            "dims": ours.dims,
            "offset": ours.offset,
            "bytes": ours.len,
        });
        for (key, value) in ours.as_object().unwrap() {
            if theirs[key] != *value {
                all.push(format!("{}: {key} {} instead of {value}", ours["name"], theirs[key]));
            }
        }
    }
    all
}

fn one_of_each() -> Vec<TensorEntry> {
    Format::all()
        .map(|format| format.to_string())
        .filter(|name| !NOT_IN_GGUF_PY.contains(&name.as_str()))
        .map(|name| tensor(&name, &name, &[512, 40]))
        .collect()
}

#[test]
fn gguf_py_dequantises_every_format_to_finite_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("formats.gguf");
    file(one_of_each(), 11).write(&path, false, &|_| {}).unwrap();
    let listed = &run("read.py", &path)[1..];
    assert_eq!(differences(&header_of(&path), listed), [""; 0]);
    assert_eq!(listed.len(), 33);
    for tensor in listed {
        let name = tensor["name"].as_str().unwrap();
        if NOT_DEQUANTISED.contains(&name) {
            assert_eq!(tensor["finite"], Json::Null, "{tensor}");
            continue;
        }
        assert_eq!(tensor["finite"], true, "{tensor}");
        let largest = tensor["largest"].as_f64().unwrap();
        assert!(largest > 0.0, "{tensor}");
        assert!(largest < 64.0 || name.starts_with('I') && !name.starts_with("IQ"), "{tensor}");
    }
}

#[test]
fn an_infinite_scale_and_a_wrong_table_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.gguf");
    file(one_of_each(), 11).write(&path, false, &|_| {}).unwrap();
    let mut header = header_of(&path);
    let mut bytes = fs::read(&path).unwrap();
    let at = header.tensors.iter().position(|t| t.name == "Q8_0").unwrap();
    let start = usize::try_from(header.tensors[at].offset).unwrap();
    bytes[start..start + 2].copy_from_slice(&[0x00, 0x7c]);
    fs::write(&path, bytes).unwrap();
    let listed = &run("read.py", &path)[1..];
    let finite: Vec<bool> = listed.iter().filter_map(|t| t["finite"].as_bool()).collect();
    assert_eq!(finite.iter().filter(|finite| !**finite).count(), 1);
    assert_eq!(listed[at]["finite"], false);

    header.tensors[at].dims[1] += 1;
    assert_eq!(differences(&header, listed), ["\"Q8_0\": dims [512,40] instead of [512,41]"]);
    header.tensors.pop();
    assert_eq!(differences(&header, listed).len(), 2);
}

#[test]
fn gguf_py_reads_a_synthetic_checkpoint() {
    for (name, count) in
        [("qwen3.8-27b-unsloth-ud-q4_k_xl", 866), ("qwen3.8-27b-ggml-org-q4_k_m", 851)]
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.gguf");
        Synth::new(find(name).unwrap(), SCALE_MAX, 5).unwrap().write(&path, false).unwrap();
        let lines = run("read.py", &path);
        let (metadata, listed) = (&lines[0], &lines[1..]);
        assert_eq!(differences(&header_of(&path), listed), [""; 0]);
        assert_eq!(listed.len(), count);
        assert!(listed.iter().all(|tensor| tensor["finite"] == true), "{name}");
        assert_eq!(metadata["general.architecture"], "qwen35");
        assert_eq!(metadata["general.name"], format!("{name} synthetic, scale 512, seed 5"));
        assert_eq!(metadata["qwen35.rope.dimension_sections"], json!([11, 11, 10, 0]));
        assert_eq!(metadata["tokenizer.ggml.tokens"].as_array().unwrap().len(), 512);
        assert_eq!(metadata["tokenizer.ggml.merges"][0], "Ā Ā");
    }
}

#[test]
fn what_gguf_py_writes_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("theirs.gguf");
    run("write.py", &path);
    let header = header_of(&path);
    let listed = &run("read.py", &path)[1..];
    assert_eq!(differences(&header, listed), [""; 0]);
    assert_eq!((header.version, header.alignment, header.tensors.len()), (3, 64, 4));
    assert_eq!(header.tensors[3].dims, [1, 1, 1]);
    let expected = [
        ("general.name", Value::String(b"written by gguf-py".to_vec())),
        ("test.u8", Value::U8(255)),
        ("test.i8", Value::I8(-128)),
        ("test.u16", Value::U16(65535)),
        ("test.i16", Value::I16(-32768)),
        ("test.u32", Value::U32(u32::MAX)),
        ("test.i32", Value::I32(i32::MIN)),
        ("test.u64", Value::U64(u64::MAX)),
        ("test.i64", Value::I64(i64::MIN)),
        ("test.f32", Value::F32(0.5)),
        ("test.f64", Value::F64(-0.25)),
        ("test.bool", Value::Bool(true)),
        ("test.strings", Value::Array(wimg_core::gguf::Array::strings(&["", "a", "zwölf"]))),
        ("test.ints", Value::Array(wimg_core::gguf::Array::i32s(&[-1, 2, 3]))),
    ];
    for (key, value) in &expected {
        assert_eq!(header.get(key), Some(value), "{key}");
    }
    assert_eq!(header.get("test.bools").unwrap().bools(), Some(vec![true, false, true]));
    assert_eq!(header.metadata.len(), expected.len() + 3);
}
