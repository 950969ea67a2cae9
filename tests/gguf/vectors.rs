//! The published vectors, read by this reader and by the oracle's own.

use std::fs;

use wimg::source::Source;
use wimg_core::gguf::Value;
use wimg_tests::oracle::gguf::{self as oracle, Value as OracleValue};
use wimg_tests::vectors::path;

/// Where the two disagree about a file.
fn disagreements(source: &Source, other: &oracle::Gguf) -> Vec<String> {
    let mut found = Vec::new();
    let table = &source.checkpoint.tensors;
    if table.len() != other.table.len() {
        found.push(format!("{} tensors, not {}", table.len(), other.table.len()));
    }
    for (tensor, entry) in table.iter().zip(&other.table) {
        let mut bytes = vec![0; tensor.len.unwrap() as usize];
        source.read_exact_at(tensor.shard, tensor.offset, &mut bytes).unwrap();
        let same = (&tensor.name, tensor.format.id(), &tensor.dims, bytes)
            == (&entry.name, entry.format, &entry.dims, entry.bytes.clone());
        if !same {
            found.push(tensor.name.clone());
        }
    }
    for (key, value) in &other.metadata {
        let same = match (value, source.checkpoint.get(key)) {
            (OracleValue::Integer(integer), Some(value)) => value.integer() == Some(*integer),
            (OracleValue::Text(text), Some(value)) => value.string() == Some(text.as_bytes()),
            (OracleValue::Bools(bools), Some(value)) => value.bools().as_ref() == Some(bools),
            (OracleValue::Other, Some(Value::F32(_) | Value::F64(_) | Value::Array(_))) => true,
            (OracleValue::Other, Some(Value::Bool(_))) => true,
            _ => false,
        };
        if !same {
            found.push(key.clone());
        }
    }
    found
}

#[test]
fn two_readers_agree_about_the_vectors() {
    for name in ["tiny-q8.gguf", "tiny-mixed.gguf", "tiny-edge.gguf"] {
        let mut other = oracle::read(&fs::read(path(name)).unwrap());
        let source = Source::open(&path(name)).unwrap();
        assert_eq!(disagreements(&source, &other), Vec::<String>::new(), "{name}");
        assert!(other.table.len() > 10 && other.metadata.len() > 3, "{name}");
        let (first, last) = (other.table[0].name.clone(), other.table.last().unwrap().name.clone());
        other.table[0].bytes[0] ^= 1;
        other.table.last_mut().unwrap().dims[0] += 1;
        assert_eq!(disagreements(&source, &other), [first, last], "{name}");
    }
}
