//! Metadata values: GGUF's thirteen types.

use crate::bytes::Bytes;
use crate::gguf::error::{GgufError, Stop};

/// Arrays may hold arrays; this many levels in all.
pub const ARRAY_DEPTH: u32 = 8;

/// The type of a metadata value, by its id in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// 0: unsigned, one byte.
    U8,
    /// 1: signed, one byte.
    I8,
    /// 2: unsigned, two bytes.
    U16,
    /// 3: signed, two bytes.
    I16,
    /// 4: unsigned, four bytes.
    U32,
    /// 5: signed, four bytes.
    I32,
    /// 6: IEEE 754, four bytes.
    F32,
    /// 7: one byte, 0 or 1.
    Bool,
    /// 8: a 64-bit length and that many bytes.
    String,
    /// 9: an element type, a 64-bit length and that many elements.
    Array,
    /// 10: unsigned, eight bytes.
    U64,
    /// 11: signed, eight bytes.
    I64,
    /// 12: IEEE 754, eight bytes.
    F64,
}

/// Type, name and bytes of an element, in order of ids. The bytes of a string
/// or an array are the fewest that it can take.
const TYPES: [(ValueType, &str, u64); 13] = [
    (ValueType::U8, "u8", 1),
    (ValueType::I8, "i8", 1),
    (ValueType::U16, "u16", 2),
    (ValueType::I16, "i16", 2),
    (ValueType::U32, "u32", 4),
    (ValueType::I32, "i32", 4),
    (ValueType::F32, "f32", 4),
    (ValueType::Bool, "bool", 1),
    (ValueType::String, "string", 8),
    (ValueType::Array, "array", 12),
    (ValueType::U64, "u64", 8),
    (ValueType::I64, "i64", 8),
    (ValueType::F64, "f64", 8),
];

impl ValueType {
    /// The type with this id, if GGUF has one.
    pub fn from_id(id: u32) -> Option<ValueType> {
        TYPES.get(usize::try_from(id).ok()?).map(|row| row.0)
    }

    /// The id in the file.
    pub const fn id(self) -> u32 {
        self as u32
    }

    /// The name, as `u8` or `string`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Bytes of an element, or the fewest that a string or an array takes.
    fn least_bytes(self) -> u64 {
        self.row().2
    }

    fn row(self) -> (ValueType, &'static str, u64) {
        // Every type is in the table, in order of ids: a test holds it.
        let at = usize::try_from(self.id()).unwrap_or(usize::MAX);
        TYPES.get(at).copied().unwrap_or((self, "unknown", 1))
    }
}

/// A metadata value. Integers are exact, floats keep their bits, strings hold
/// any bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An unsigned byte.
    U8(u8),
    /// A signed byte.
    I8(i8),
    /// An unsigned 16-bit integer.
    U16(u16),
    /// A signed 16-bit integer.
    I16(i16),
    /// An unsigned 32-bit integer.
    U32(u32),
    /// A signed 32-bit integer.
    I32(i32),
    /// A 32-bit float.
    F32(f32),
    /// A truth value.
    Bool(bool),
    /// A string, in general UTF-8 but nothing holds it to that.
    String(Vec<u8>),
    /// An array of one type.
    Array(Array),
    /// An unsigned 64-bit integer.
    U64(u64),
    /// A signed 64-bit integer.
    I64(i64),
    /// A 64-bit float.
    F64(f64),
}

/// An array as the file has it. A tokenizer's hold 250 000 strings, so the
/// elements stay bytes; they have been checked when the header was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The elements' type.
    pub elem: ValueType,
    /// Elements.
    pub len: u64,
    /// The elements, end to end as in the file: all of a scalar's size,
    /// strings with their lengths, arrays with their types and lengths.
    pub bytes: Vec<u8>,
}

impl Value {
    /// The value's type.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::U8(_) => ValueType::U8,
            Value::I8(_) => ValueType::I8,
            Value::U16(_) => ValueType::U16,
            Value::I16(_) => ValueType::I16,
            Value::U32(_) => ValueType::U32,
            Value::I32(_) => ValueType::I32,
            Value::F32(_) => ValueType::F32,
            Value::Bool(_) => ValueType::Bool,
            Value::String(_) => ValueType::String,
            Value::Array(_) => ValueType::Array,
            Value::U64(_) => ValueType::U64,
            Value::I64(_) => ValueType::I64,
            Value::F64(_) => ValueType::F64,
        }
    }

    /// The value of any of the eight integer types.
    pub fn integer(&self) -> Option<i128> {
        match *self {
            Value::U8(v) => Some(v.into()),
            Value::I8(v) => Some(v.into()),
            Value::U16(v) => Some(v.into()),
            Value::I16(v) => Some(v.into()),
            Value::U32(v) => Some(v.into()),
            Value::I32(v) => Some(v.into()),
            Value::U64(v) => Some(v.into()),
            Value::I64(v) => Some(v.into()),
            _ => None,
        }
    }

    /// A string's bytes.
    pub fn string(&self) -> Option<&[u8]> {
        match self {
            Value::String(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// An array of booleans.
    pub fn bools(&self) -> Option<Vec<bool>> {
        match self {
            Value::Array(array) if array.elem == ValueType::Bool => {
                Some(array.bytes.iter().map(|&byte| byte != 0).collect())
            }
            _ => None,
        }
    }
}

/// Reads a value's type and the value.
pub(crate) fn value(bytes: &mut Bytes<'_>) -> Result<Value, Stop> {
    Ok(match value_type(bytes, "a value type")? {
        ValueType::U8 => Value::U8(u8::from_le_bytes(bytes.array("a u8")?)),
        ValueType::I8 => Value::I8(i8::from_le_bytes(bytes.array("an i8")?)),
        ValueType::U16 => Value::U16(u16::from_le_bytes(bytes.array("a u16")?)),
        ValueType::I16 => Value::I16(i16::from_le_bytes(bytes.array("an i16")?)),
        ValueType::U32 => Value::U32(bytes.u32("a u32")?),
        ValueType::I32 => Value::I32(i32::from_le_bytes(bytes.array("an i32")?)),
        ValueType::F32 => Value::F32(f32::from_le_bytes(bytes.array("an f32")?)),
        ValueType::U64 => Value::U64(bytes.u64("a u64")?),
        ValueType::I64 => Value::I64(i64::from_le_bytes(bytes.array("an i64")?)),
        ValueType::F64 => Value::F64(f64::from_le_bytes(bytes.array("an f64")?)),
        ValueType::Bool => {
            let offset = bytes.at();
            let byte = bytes.take("a bool", 1)?;
            check_bools(byte, offset)?;
            Value::Bool(byte == [1])
        }
        ValueType::String => Value::String(string(bytes)?.to_vec()),
        ValueType::Array => {
            let (elem, len) = array_head(bytes, 1)?;
            let mark = bytes.at();
            skip_elements(bytes, elem, len, 1)?;
            Value::Array(Array { elem, len, bytes: bytes.since(mark).to_vec() })
        }
    })
}

fn value_type(bytes: &mut Bytes<'_>, what: &'static str) -> Result<ValueType, Stop> {
    let offset = bytes.at();
    let id = bytes.u32(what)?;
    ValueType::from_id(id).ok_or_else(|| GgufError::ValueType { id, offset }.into())
}

/// Reads a string: its length, then its bytes.
fn string<'a>(bytes: &mut Bytes<'a>) -> Result<&'a [u8], Stop> {
    let len = bytes.u64("a string's length")?;
    Ok(bytes.take("a string", len)?)
}

/// Reads an array's element type and length, and holds the length against
/// what the file still has before anything is made of it.
fn array_head(bytes: &mut Bytes<'_>, depth: u32) -> Result<(ValueType, u64), Stop> {
    let offset = bytes.at();
    if depth > ARRAY_DEPTH {
        return Err(GgufError::ArrayDepth { offset, limit: ARRAY_DEPTH }.into());
    }
    let elem = value_type(bytes, "an array's element type")?;
    let len = bytes.u64("an array's length")?;
    let (remaining, file_len) = (bytes.remaining(), bytes.file_len());
    match len.checked_mul(elem.least_bytes()) {
        Some(least) if least <= remaining => Ok((elem, len)),
        _ => Err(GgufError::ArrayLength { elem: elem.name(), len, remaining, file_len }.into()),
    }
}

fn skip_elements(bytes: &mut Bytes<'_>, elem: ValueType, len: u64, depth: u32) -> Result<(), Stop> {
    match elem {
        ValueType::String => {
            for _ in 0..len {
                string(bytes)?;
            }
        }
        ValueType::Array => {
            for _ in 0..len {
                let (elem, len) = array_head(bytes, depth + 1)?;
                skip_elements(bytes, elem, len, depth + 1)?;
            }
        }
        _ => {
            let offset = bytes.at();
            // The product is known to fit: `array_head` has checked it.
            let taken =
                bytes.take("an array's elements", len.saturating_mul(elem.least_bytes()))?;
            if elem == ValueType::Bool {
                check_bools(taken, offset)?;
            }
        }
    }
    Ok(())
}

/// A bool is 0 or 1: anything else is damage.
fn check_bools(taken: &[u8], offset: u64) -> Result<(), Stop> {
    match (offset..).zip(taken).find(|&(_, &byte)| byte > 1) {
        Some((offset, &byte)) => Err(GgufError::Bool { byte, offset }.into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_index_the_table() {
        for (id, row) in (0u32..).zip(TYPES) {
            assert_eq!((row.0.id(), ValueType::from_id(id)), (id, Some(row.0)));
        }
        assert_eq!(ValueType::from_id(13), None);
        assert_eq!(ValueType::F64.name(), "f64");
    }
}
