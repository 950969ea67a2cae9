//! Writes GGUF headers: metadata and a tensor table to the bytes before the
//! tensors' data.
//!
//! Source: GGUF's public specification, version 3, little-endian.

use thiserror::Error;

use crate::format::Format;
use crate::tensor::TensorEntry;

/// The version that is written.
const VERSION: u32 = 3;
/// The key of the alignment, in bytes, of every tensor's data.
const ALIGNMENT_KEY: &str = "general.alignment";
/// The alignment of a file that has no such key.
const ALIGNMENT_DEFAULT: u32 = 32;

// The ids of GGUF's value types.
const U16: u32 = 2;
const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// A metadata value, of the types that a writer here needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An unsigned 16-bit integer.
    U16(u16),
    /// An unsigned 32-bit integer.
    U32(u32),
    /// A signed 32-bit integer.
    I32(i32),
    /// A 32-bit float.
    F32(f32),
    /// A boolean.
    Bool(bool),
    /// A string: any bytes.
    String(Vec<u8>),
    /// An array of signed 32-bit integers.
    I32s(Vec<i32>),
    /// An array of strings.
    Strings(Vec<Vec<u8>>),
}

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
    #[error("`general.alignment` is {0}, but must be a u32 and a power of two up to 2^20")]
    Alignment(String),
    /// A format whose block is not known.
    #[error("tensor `{}` has format `{format}`, whose block is not known", name.escape_debug())]
    Format {
        /// The tensor.
        name: String,
        /// Its format.
        format: Format,
    },
    /// A row that ends inside a block.
    #[error("tensor `{}` has rows of {elements} elements, but `{format}` has blocks of {block}", name.escape_debug())]
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
    #[error("tensor `{}` ends past 2^64 bytes", .0.escape_debug())]
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
pub fn header(
    metadata: &[(String, Value)],
    tensors: &[TensorEntry],
) -> Result<Written, WriteError> {
    let alignment = alignment(metadata)?;
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"GGUF");
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    put_len(&mut bytes, tensors.len());
    put_len(&mut bytes, metadata.len());
    for (key, value) in metadata {
        put_string(&mut bytes, key.as_bytes());
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
        at = end.checked_next_multiple_of(alignment.into()).ok_or_else(overflow)?;
    }
    bytes.resize(bytes.len().next_multiple_of(alignment as usize), 0);
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

fn alignment(metadata: &[(String, Value)]) -> Result<u32, WriteError> {
    match metadata.iter().find(|(key, _)| key == ALIGNMENT_KEY).map(|(_, value)| value) {
        None => Ok(ALIGNMENT_DEFAULT),
        Some(Value::U32(value)) if value.is_power_of_two() && *value <= 1 << 20 => Ok(*value),
        Some(other) => Err(WriteError::Alignment(format!("{other:?}"))),
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

fn put_len(bytes: &mut Vec<u8>, len: usize) {
    bytes.extend_from_slice(&(len as u64).to_le_bytes());
}

fn put_string(bytes: &mut Vec<u8>, text: &[u8]) {
    put_len(bytes, text.len());
    bytes.extend_from_slice(text);
}

/// A value after its type's id.
fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    let id = |bytes: &mut Vec<u8>, id: u32| bytes.extend_from_slice(&id.to_le_bytes());
    match value {
        Value::U16(v) => {
            id(bytes, U16);
            bytes.extend_from_slice(&v.to_le_bytes());
        }
        Value::U32(v) => {
            id(bytes, U32);
            bytes.extend_from_slice(&v.to_le_bytes());
        }
        Value::I32(v) => {
            id(bytes, I32);
            bytes.extend_from_slice(&v.to_le_bytes());
        }
        Value::F32(v) => {
            id(bytes, F32);
            bytes.extend_from_slice(&v.to_le_bytes());
        }
        Value::Bool(v) => {
            id(bytes, BOOL);
            bytes.push(u8::from(*v));
        }
        Value::String(v) => {
            id(bytes, STRING);
            put_string(bytes, v);
        }
        Value::I32s(values) => {
            id(bytes, ARRAY);
            id(bytes, I32);
            put_len(bytes, values.len());
            values.iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
        }
        Value::Strings(values) => {
            id(bytes, ARRAY);
            id(bytes, STRING);
            put_len(bytes, values.len());
            values.iter().for_each(|v| put_string(bytes, v));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let written = header(&[], &[]).unwrap();
        assert_eq!(written.bytes.len(), 32);
        assert_eq!(written.file_bytes, 32);
    }

    #[test]
    fn what_has_no_bytes_is_refused_by_name() {
        let refuse = |tensor| header(&[], &[tensor]).unwrap_err().to_string();
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
            "`general.alignment` is U32(48), but must be a u32 and a power of two up to 2^20"
        );
    }
}
