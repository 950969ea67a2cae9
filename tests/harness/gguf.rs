//! GGUF files made by hand: a sound one, of which a test breaks one thing.

/// A file in parts; the fields may contradict each other.
#[derive(Clone, Debug)]
pub struct Gguf {
    /// The version word.
    pub version: u32,
    /// The tensor count that the header claims, if not the true one.
    pub tensor_count: Option<u64>,
    /// The key count that the header claims, if not the true one.
    pub key_count: Option<u64>,
    /// Keys with their values, as [`key`] makes them.
    pub keys: Vec<Vec<u8>>,
    /// The table, as [`tensor`] makes its lines.
    pub tensors: Vec<Vec<u8>>,
    /// What the header is padded to, in bytes.
    pub alignment: usize,
    /// What follows the padding.
    pub data: Vec<u8>,
}

impl Gguf {
    /// An architecture, an F32 tensor `a` of four elements, its padding.
    pub fn sound() -> Gguf {
        Gguf {
            version: 3,
            tensor_count: None,
            key_count: None,
            keys: vec![key(b"general.architecture", STRING, &string(b"llama"))],
            tensors: vec![tensor(b"a", &[4], 0, 0)],
            alignment: 32,
            data: vec![0x11; 32],
        }
    }

    /// With one more key.
    #[must_use]
    pub fn with_key(mut self, name: &[u8], type_id: u32, value: &[u8]) -> Gguf {
        self.keys.push(key(name, type_id, value));
        self
    }

    /// With these tensors, and this many bytes of data.
    #[must_use]
    pub fn with_tensors(mut self, tensors: Vec<Vec<u8>>, data: usize) -> Gguf {
        self.tensors = tensors;
        self.data = vec![0x11; data];
        self
    }

    /// The header without its padding.
    pub fn header(&self) -> Vec<u8> {
        let tensors = self.tensor_count.unwrap_or(self.tensors.len() as u64);
        let keys = self.key_count.unwrap_or(self.keys.len() as u64);
        let mut file = [&b"GGUF"[..], &self.version.to_le_bytes()].concat();
        file.extend([tensors, keys].map(u64::to_le_bytes).concat());
        file.extend(self.keys.concat());
        file.extend(self.tensors.concat());
        file
    }

    /// The whole file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = self.header();
        file.resize(file.len().next_multiple_of(self.alignment), 0);
        file.extend(&self.data);
        file
    }
}

/// The type id of a u8.
pub const U8: u32 = 0;
/// The type id of a u16.
pub const U16: u32 = 2;
/// The type id of a u32.
pub const U32: u32 = 4;
/// The type id of an i32.
pub const I32: u32 = 5;
/// The type id of a bool.
pub const BOOL: u32 = 7;
/// The type id of a string.
pub const STRING: u32 = 8;
/// The type id of an array.
pub const ARRAY: u32 = 9;
/// The type id of a u64.
pub const U64: u32 = 10;

/// A string: its length and its bytes.
pub fn string(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

/// A key with its value.
pub fn key(name: &[u8], type_id: u32, value: &[u8]) -> Vec<u8> {
    [&string(name), &type_id.to_le_bytes()[..], value].concat()
}

/// An array: element type, length (true or not), elements.
pub fn array(type_id: u32, len: u64, elements: &[u8]) -> Vec<u8> {
    [&type_id.to_le_bytes()[..], &len.to_le_bytes(), elements].concat()
}

/// A line of the tensor table. The offset counts from the data's start.
pub fn tensor(name: &[u8], dims: &[u64], format: u32, offset: u64) -> Vec<u8> {
    let dim_count = u32::try_from(dims.len()).unwrap_or(u32::MAX);
    let mut line = string(name);
    line.extend(dim_count.to_le_bytes());
    line.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
    line.extend(format.to_le_bytes());
    line.extend(offset.to_le_bytes());
    line
}

/// The three keys of shard `number` (from 0) of a set.
pub fn split_keys(number: u16, count: u16, tensors: i32) -> Vec<Vec<u8>> {
    vec![
        key(b"split.no", U16, &number.to_le_bytes()),
        key(b"split.count", U16, &count.to_le_bytes()),
        key(b"split.tensors.count", I32, &tensors.to_le_bytes()),
    ]
}
