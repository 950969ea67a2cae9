//! Writes GGUF headers: metadata and a tensor table to the bytes before the
//! tensors' data.
//!
//! Source: GGUF's public specification, version 3, little-endian.

use thiserror::Error;

use crate::escape::Escaped;
use crate::format::Format;
use crate::gguf::{ALIGNMENT_LIMIT, Array, DEFAULT_ALIGNMENT, Value, ValueType};
use crate::tensor::TensorEntry;

/// The version that is written.
pub(super) const VERSION: u32 = 3;
/// The key of the alignment, in bytes, of every tensor's data.
const ALIGNMENT_KEY: &[u8] = b"general.alignment";

/// A header, and where the data that belongs to it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Everything before the tensors' data, zeros up to the alignment included.
    pub bytes: Vec<u8>,
    /// Where each tensor's data starts, in bytes from the file's start.
    pub starts: Vec<u64>,
    /// The bytes of each tensor's data.
    pub lengths: Vec<u64>,
    /// The file's size in bytes: the last tensor is padded like the others, as
    /// the reference writer does.
    pub file_bytes: u64,
}

/// Why there is no header for a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// `general.alignment` that no reader takes.
    #[error(
        "`general.alignment` is `{0}`, but must be a u32 and a power of two up to {ALIGNMENT_LIMIT}"
    )]
    Alignment(String),
    /// A format whose block is not known.
    #[error("tensor `{}` has format `{format}`, whose block is not known", Escaped::new(name))]
    Format {
        /// The tensor.
        name: String,
        /// Its format.
        format: Format,
    },
    /// A row that ends inside a block.
    #[error(
        "tensor `{}` has rows of {elements} elements, but `{format}` has blocks of {block}",
        Escaped::new(name)
    )]
    Ragged {
        /// The tensor.
        name: String,
        /// Its format.
        format: Format,
        /// Elements of a row.
        elements: u64,
        /// Elements of a block.
        block: u64,
    },
    /// A table too long for 64-bit offsets.
    #[error("tensor `{}` ends past 2^64 bytes", Escaped::new(.0))]
    Overflow(String),
}

/// The header of a file with this metadata and these tensors, their data in the
/// table's order. The alignment is the metadata's.
///
/// Only what would give a file of no meaning is refused: a duplicate key or
/// name, or a name too long, is written as it is (a test of a reader needs it).
///
/// # Errors
/// An alignment that is not a power of two, a format without a block, a ragged
/// row, or a file past 2^64 bytes.
pub fn header<K: AsRef<[u8]>>(
    metadata: &[(K, Value)],
    tensors: &[TensorEntry],
) -> Result<Written, WriteError> {
    let alignment = alignment(metadata)?;
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"GGUF");
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    put_len(&mut bytes, tensors.len());
    put_len(&mut bytes, metadata.len());
    for (key, value) in metadata {
        put_string(&mut bytes, key.as_ref());
        put_value(&mut bytes, value);
    }
    let mut starts = Vec::with_capacity(tensors.len());
    let mut lengths = Vec::with_capacity(tensors.len());
    let mut at = 0_u64;
    for tensor in tensors {
        let overflow = || WriteError::Overflow(tensor.name.clone());
        let length = data_bytes(tensor)?;
        put_string(&mut bytes, tensor.name.as_bytes());
        bytes
            .extend_from_slice(&u32::try_from(tensor.dims.len()).unwrap_or(u32::MAX).to_le_bytes());
        for dim in &tensor.dims {
            bytes.extend_from_slice(&dim.to_le_bytes());
        }
        bytes.extend_from_slice(&tensor.format.id().to_le_bytes());
        bytes.extend_from_slice(&at.to_le_bytes());
        starts.push(at);
        lengths.push(length);
        let end = at.checked_add(length).ok_or_else(overflow)?;
        at = end.checked_next_multiple_of(alignment).ok_or_else(overflow)?;
    }
    bytes.resize(padded(bytes.len(), alignment), 0);
    let data_start = bytes.len() as u64;
    let file_bytes = data_start.checked_add(at).ok_or_else(|| {
        WriteError::Overflow(tensors.last().map(|tensor| tensor.name.clone()).unwrap_or_default())
    })?;
    for start in &mut starts {
        // No start lies past the end, which has just been added.
        *start = start.saturating_add(data_start);
    }
    Ok(Written { bytes, starts, lengths, file_bytes })
}

fn alignment<K: AsRef<[u8]>>(metadata: &[(K, Value)]) -> Result<u64, WriteError> {
    match metadata.iter().find(|(key, _)| key.as_ref() == ALIGNMENT_KEY).map(|(_, value)| value) {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(Value::U32(value))
            if value.is_power_of_two() && u64::from(*value) <= ALIGNMENT_LIMIT =>
        {
            Ok((*value).into())
        }
        Some(other) => {
            let name = other.value_type().name();
            Err(WriteError::Alignment(
                other.integer().map_or(name.to_owned(), |value| value.to_string()),
            ))
        }
    }
}

impl Array {
    /// An array of these signed 32-bit integers.
    pub fn i32s(values: &[i32]) -> Array {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Array { elem: ValueType::I32, len: values.len() as u64, bytes }
    }

    /// An array of these strings.
    pub fn strings<T: AsRef<[u8]>>(values: &[T]) -> Array {
        let mut bytes = Vec::new();
        values.iter().for_each(|value| put_string(&mut bytes, value.as_ref()));
        Array { elem: ValueType::String, len: values.len() as u64, bytes }
    }
}

/// The bytes of a tensor's data.
fn data_bytes(tensor: &TensorEntry) -> Result<u64, WriteError> {
    let (name, format) = (&tensor.name, tensor.format);
    let block = format.block().ok_or_else(|| WriteError::Format { name: name.clone(), format })?;
    let elements = tensor.dims.first().copied().unwrap_or(0);
    if !elements.is_multiple_of(block.elems) {
        return Err(WriteError::Ragged {
            name: name.clone(),
            format,
            elements,
            block: block.elems,
        });
    }
    let row = (elements / block.elems).checked_mul(block.bytes);
    tensor
        .dims
        .iter()
        .skip(1)
        .fold(row, |bytes, dim| bytes?.checked_mul(*dim))
        .ok_or_else(|| WriteError::Overflow(name.clone()))
}

pub(super) fn put_len(bytes: &mut Vec<u8>, len: usize) {
    bytes.extend_from_slice(&(len as u64).to_le_bytes());
}

pub(super) fn put_string(bytes: &mut Vec<u8>, text: &[u8]) {
    put_len(bytes, text.len());
    bytes.extend_from_slice(text);
}

/// A value after its type's id.
pub(super) fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    bytes.extend_from_slice(&value.value_type().id().to_le_bytes());
    match value {
        Value::U8(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::I8(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::U16(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::I16(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::U32(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::I32(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::U64(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::I64(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::F32(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::F64(v) => bytes.extend_from_slice(&v.to_le_bytes()),
        Value::Bool(v) => bytes.push(u8::from(*v)),
        Value::String(v) => put_string(bytes, v),
        Value::Array(array) => {
            bytes.extend_from_slice(&array.elem.id().to_le_bytes());
            bytes.extend_from_slice(&array.len.to_le_bytes());
            bytes.extend_from_slice(&array.bytes);
        }
    }
}

/// A length rounded up to the alignment, at most [`ALIGNMENT_LIMIT`].
pub(super) fn padded(len: usize, alignment: u64) -> usize {
    usize::try_from(alignment).map_or(len, |alignment| len.next_multiple_of(alignment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::{Read, read};

    fn tensor(name: &str, format: Format, dims: &[u64]) -> TensorEntry {
        TensorEntry {
            name: name.to_owned(),
            format,
            dims: dims.to_vec(),
            kernel: false,
            streamed: false,
        }
    }

    fn q4_k() -> Format {
        Format::from_name("Q4_K").unwrap()
    }

    #[test]
    fn a_header_is_the_bytes_that_the_specification_says() {
        let metadata =
            [("general.alignment".to_owned(), Value::U32(64)), ("a".to_owned(), Value::Bool(true))];
        let tensors = [tensor("w", Format::F32, &[3]), tensor("x", Format::Q8_0, &[64, 2])];
        let written = header(&metadata, &tensors).unwrap();
        let mut expected = b"GGUF\x03\0\0\0".to_vec();
        expected.extend([2_u64, 2].iter().flat_map(|n| n.to_le_bytes()));
        expected.extend(17_u64.to_le_bytes());
        expected.extend(b"general.alignment\x04\0\0\0\x40\0\0\0");
        expected.extend(b"\x01\0\0\0\0\0\0\0a\x07\0\0\0\x01");
        expected.extend(b"\x01\0\0\0\0\0\0\0w\x01\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0");
        expected.extend(0_u64.to_le_bytes());
        expected
            .extend(b"\x01\0\0\0\0\0\0\0x\x02\0\0\0\x40\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x08\0\0\0");
        expected.extend(64_u64.to_le_bytes());
        expected.resize(expected.len().next_multiple_of(64), 0);
        assert_eq!(written.bytes, expected);
        let data = written.bytes.len() as u64;
        assert_eq!(written.starts, [data, data + 64]);
        assert_eq!(written.lengths, [12, 136]);
        assert_eq!(written.file_bytes, data + 64 + 192);
    }

    #[test]
    fn no_tensors_and_no_metadata_are_a_header() {
        let written = header::<&str>(&[], &[]).unwrap();
        assert_eq!(written.bytes.len(), 32);
        assert_eq!(written.file_bytes, 32);
    }

    #[test]
    fn what_has_no_bytes_is_refused_by_name() {
        let refuse = |tensor| header::<&str>(&[], &[tensor]).unwrap_err().to_string();
        assert_eq!(
            refuse(tensor("a\n", Format::from_id(148), &[1])),
            "tensor `a\\n` has format `type 148`, whose block is not known"
        );
        assert_eq!(
            refuse(tensor("a", q4_k(), &[128, 2])),
            "tensor `a` has rows of 128 elements, but `Q4_K` has blocks of 256"
        );
        assert_eq!(refuse(tensor("a", q4_k(), &[256, 1 << 60])), "tensor `a` ends past 2^64 bytes");
        assert_eq!(
            refuse(tensor("a", Format::F32, &[(1 << 62) - 1])),
            "tensor `a` ends past 2^64 bytes"
        );
        let metadata = [("general.alignment".to_owned(), Value::U32(48))];
        assert_eq!(
            header(&metadata, &[]).unwrap_err().to_string(),
            "`general.alignment` is `48`, but must be a u32 and a power of two up to 1048576"
        );
    }

    #[test]
    fn the_reader_reads_what_is_written() {
        let values = [
            Value::U8(1),
            Value::I8(-2),
            Value::U16(3),
            Value::I16(-4),
            Value::U32(5),
            Value::I32(-6),
            Value::U64(7),
            Value::I64(-8),
            Value::F32(9.5),
            Value::F64(-10.5),
            Value::Bool(true),
            Value::String(b"\xff".to_vec()),
            Value::Array(Array::i32s(&[1, -2])),
            Value::Array(Array::strings(&["", "ab"])),
        ];
        let metadata: Vec<(Vec<u8>, Value)> = values
            .iter()
            .enumerate()
            .map(|(i, value)| (format!("key.{i}").into_bytes(), value.clone()))
            .collect();
        let tensors = [tensor("x", Format::Q8_0, &[64, 2, 1]), tensor("y", q4_k(), &[256])];
        let written = header(&metadata, &tensors).unwrap();
        let Read::Header(read) = read(&written.bytes, written.file_bytes).unwrap() else {
            panic!("more")
        };
        assert_eq!(read.metadata, metadata);
        assert_eq!(read.data_start, written.bytes.len() as u64);
        assert_eq!(read.trailing, 0);
        assert_eq!(read.tensors.len(), tensors.len());
        for (i, (info, tensor)) in read.tensors.iter().zip(&tensors).enumerate() {
            assert_eq!(
                (&info.name, info.format, &info.dims),
                (&tensor.name, tensor.format, &tensor.dims)
            );
            assert_eq!(info.offset, written.starts[i]);
        }
    }
}
