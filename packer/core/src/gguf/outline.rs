//! A header's outline: the same tensors at the same places, without the long
//! metadata. A real header is mostly its tokenizer, megabytes of it.

use crate::gguf::write::{VERSION, padded, put_len, put_string, put_value};
use crate::gguf::{Header, Value};

/// The first bytes of a file of the header's length with the same tensors at
/// the same offsets, which reads as the header does but for the metadata whose
/// values take more than `limit` bytes. It is never longer than the header.
pub fn outline(header: &Header, limit: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut count = 0;
    for (key, value) in &header.metadata {
        let bytes = value_bytes(value);
        if bytes.len() <= limit {
            put_string(&mut kept, key);
            kept.extend(bytes);
            count += 1;
        }
    }
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(VERSION.to_le_bytes());
    put_len(&mut bytes, header.tensors.len());
    put_len(&mut bytes, count);
    bytes.extend(kept);
    // Offsets count from the data's start, which follows from the length of
    // what is before it; that is the same for all offsets.
    let start = padded(bytes.len() + table(header, 0).len(), header.alignment);
    bytes.extend(table(header, start as u64));
    bytes.resize(start, 0);
    // A file without tensors may end in its header, without the padding.
    bytes.truncate(usize::try_from(header.file_len).unwrap_or(usize::MAX));
    bytes
}

/// The tensor table of a file whose data starts here.
fn table(header: &Header, start: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for tensor in &header.tensors {
        put_string(&mut bytes, tensor.name.as_bytes());
        bytes.extend(u32::try_from(tensor.dims.len()).unwrap_or(u32::MAX).to_le_bytes());
        tensor.dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
        bytes.extend(tensor.format.id().to_le_bytes());
        // No tensor starts before the data of the longer header.
        bytes.extend(tensor.offset.saturating_sub(start).to_le_bytes());
    }
    bytes
}

fn value_bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_value(&mut bytes, value);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::gguf::{Array, Read, read, write};
    use crate::tensor::TensorEntry;

    fn header(bytes: &[u8], file_len: u64) -> Header {
        match read(bytes, file_len).unwrap() {
            Read::Header(header) => header,
            Read::More { at_least } => panic!("{at_least} bytes wanted of {}", bytes.len()),
        }
    }

    fn entry(name: &str, dims: &[u64]) -> TensorEntry {
        let (name, format) = (name.to_owned(), Format::from_name("Q8_0").unwrap());
        TensorEntry { name, format, dims: dims.to_vec(), kernel: false, streamed: false }
    }

    #[test]
    fn tensors_stay_in_their_places() {
        let words: Vec<String> = (0..1000).map(|word| format!("word {word}")).collect();
        for alignment in [32, 4096] {
            let metadata = vec![
                ("general.architecture", Value::String(b"qwen35".to_vec())),
                ("tokenizer.ggml.tokens", Value::Array(Array::strings(&words))),
                ("general.alignment", Value::U32(alignment)),
                ("tokenizer.chat_template", Value::String(vec![b'x'; 5000])),
            ];
            let tensors = [entry("a", &[32, 3]), entry("b", &[64]), entry("c", &[32, 2, 2])];
            let written = write::header(&metadata, &tensors).unwrap();
            let full = header(&written.bytes, written.file_bytes);
            let short = outline(&full, 1024);
            assert!(short.len() < 5000, "{}", short.len());
            let read = header(&short, written.file_bytes);
            assert_eq!(read.tensors, full.tensors);
            assert_eq!((read.file_len, read.trailing), (full.file_len, full.trailing));
            assert_eq!(read.alignment, full.alignment);
            let keys: Vec<_> = read.metadata.iter().map(|(key, _)| key.as_slice()).collect();
            assert_eq!(keys, [&b"general.architecture"[..], b"general.alignment"]);
            // Nothing is left out: the same bytes.
            assert_eq!(outline(&full, usize::MAX), written.bytes);
        }
    }

    #[test]
    fn a_file_that_ends_in_its_header_has_an_outline() {
        let metadata = [("general.name", Value::String(b"x".to_vec()))];
        let written = write::header(&metadata, &[]).unwrap();
        let end = written.bytes.len() - 1;
        let full = header(&written.bytes[..end], end as u64);
        assert_eq!(header(&outline(&full, 1024), end as u64), full);
    }
}
