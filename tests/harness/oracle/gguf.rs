//! The least GGUF reader that the vectors need. It believes its input: a bad file is a panic.

use std::collections::BTreeMap;

use super::format::format;

/// A metadata value, as far as the step asks for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any integer type.
    Integer(i128),
    /// A string.
    Text(String),
    /// An array of bool.
    Bools(Vec<bool>),
    /// Everything else.
    Other,
}

/// A tensor of the table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its format's id, as in the file.
    pub format: u32,
    /// Its dims, innermost first.
    pub dims: Vec<u64>,
    /// Its bytes in the checkpoint (none for an unknown format).
    pub bytes: Vec<u8>,
}

/// A checkpoint of one file.
#[derive(Clone, Debug)]
pub struct Gguf {
    /// Metadata by key.
    pub metadata: BTreeMap<String, Value>,
    /// The tensor table, in the file's order.
    pub table: Vec<Entry>,
}

struct Cursor<'a> {
    file: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn bytes(&mut self, count: usize) -> &[u8] {
        self.at += count;
        &self.file[self.at - count..self.at]
    }

    /// A little-endian integer of `size` bytes, its sign bit not looked at.
    fn uint(&mut self, size: usize) -> u64 {
        self.bytes(size).iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// The same in two's complement.
    fn int(&mut self, size: usize) -> i128 {
        let value = i128::from(self.uint(size));
        let modulus = 1_i128 << (8 * size);
        if value >= modulus / 2 { value - modulus } else { value }
    }

    fn count(&mut self) -> usize {
        usize::try_from(self.uint(8)).unwrap()
    }

    fn text(&mut self) -> String {
        let length = self.count();
        String::from_utf8_lossy(self.bytes(length)).into_owned()
    }

    fn value(&mut self, kind: u64) -> Value {
        match kind {
            0 => Value::Integer(i128::from(self.uint(1))),
            1 => Value::Integer(self.int(1)),
            2 => Value::Integer(i128::from(self.uint(2))),
            3 => Value::Integer(self.int(2)),
            4 => Value::Integer(i128::from(self.uint(4))),
            5 => Value::Integer(self.int(4)),
            10 => Value::Integer(i128::from(self.uint(8))),
            11 => Value::Integer(self.int(8)),
            8 => Value::Text(self.text()),
            6 => self.skip(4),
            7 => self.skip(1),
            12 => self.skip(8),
            9 => self.array(),
            _ => panic!("no metadata type {kind}"),
        }
    }

    fn skip(&mut self, count: usize) -> Value {
        self.bytes(count);
        Value::Other
    }

    fn array(&mut self) -> Value {
        let kind = self.uint(4);
        let count = self.count();
        if kind == 7 {
            return Value::Bools((0..count).map(|_| self.uint(1) == 1).collect());
        }
        for _ in 0..count {
            self.value(kind);
        }
        Value::Other
    }
}

/// Reads a checkpoint of one file, GGUF version 2 or 3.
pub fn read(file: &[u8]) -> Gguf {
    let mut cursor = Cursor { file, at: 0 };
    assert_eq!(cursor.bytes(4), b"GGUF");
    assert!((2..=3).contains(&cursor.uint(4)));
    let tensors = cursor.count();
    let keys = cursor.count();
    let mut metadata = BTreeMap::new();
    for _ in 0..keys {
        let key = cursor.text();
        let kind = cursor.uint(4);
        metadata.insert(key, cursor.value(kind));
    }
    let mut table = Vec::new();
    let mut offsets = Vec::new();
    for _ in 0..tensors {
        let name = cursor.text();
        let dims = (0..cursor.uint(4)).map(|_| cursor.uint(8)).collect();
        let format = u32::try_from(cursor.uint(4)).unwrap();
        offsets.push(cursor.count());
        table.push(Entry { name, format, dims, bytes: Vec::new() });
    }
    let alignment = match metadata.get("general.alignment") {
        Some(&Value::Integer(alignment)) => usize::try_from(alignment).unwrap(),
        _ => 32,
    };
    let data = cursor.at.next_multiple_of(alignment);
    for (entry, offset) in table.iter_mut().zip(offsets) {
        if let Some(format) = format(entry.format) {
            let elements = usize::try_from(entry.dims.iter().product::<u64>()).unwrap();
            let length = elements / format.elems * format.bytes;
            entry.bytes = file[data + offset..data + offset + length].to_vec();
        }
    }
    Gguf { metadata, table }
}
