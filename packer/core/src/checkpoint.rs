//! A checkpoint: one GGUF file or a split set of them.
//!
//! A split set is `NAME-00001-of-0000N.gguf` and so on. Each shard says which
//! it is (`split.no` from 0), of how many (`split.count`), and how many
//! tensors the set has (`split.tensors.count`); all other metadata is in the
//! first. Source: llama.cpp's `gguf-split`.

use std::collections::BTreeMap;

use crate::escape::Escaped;
use crate::format::Format;
use crate::gguf::{Header, Value};
use crate::tensor::{Meta, TensorEntry, TensorTable};

/// Why headers do not make a checkpoint. Names are escaped already; shards are
/// numbered from 1, as in their file names.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's message says what its fields are")]
pub enum CheckpointError {
    #[error("a checkpoint has no shards")]
    Empty,
    #[error("shard {shard}: `{key}` is of type {found}: it must be {wanted}")]
    KeyType { shard: usize, key: &'static str, found: &'static str, wanted: &'static str },
    #[error("shard {shard}: `{key}` is missing")]
    KeyMissing { shard: usize, key: &'static str },
    #[error("shard {shard}: `split.count` is `{found}`, and there are `{count}` shards")]
    Count { shard: usize, found: u16, count: usize },
    #[error("shard {shard}: `split.no` is `{found}`: in this place it must be `{wanted}`")]
    Number { shard: usize, found: u16, wanted: usize },
    #[error(
        "shard {shard}: `split.tensors.count` is `{found}`, and the set has `{tensors}` tensors"
    )]
    TensorCount { shard: usize, found: i32, tensors: usize },
    #[error("tensor `{name}` is in shard {first} and again in shard {second}")]
    DuplicateTensor { name: String, first: usize, second: usize },
}

impl CheckpointError {
    /// The shard at fault, from 1; of two, the later one.
    pub fn shard(&self) -> Option<usize> {
        match *self {
            CheckpointError::Empty => None,
            CheckpointError::KeyType { shard, .. }
            | CheckpointError::KeyMissing { shard, .. }
            | CheckpointError::Count { shard, .. }
            | CheckpointError::Number { shard, .. }
            | CheckpointError::TensorCount { shard, .. }
            | CheckpointError::DuplicateTensor { second: shard, .. } => Some(shard),
        }
    }
}

/// What a header says of the split set that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// `split.no`, from 0.
    pub number: u16,
    /// `split.count`, at least 2.
    pub count: u16,
    /// `split.tensors.count`, if it is there.
    pub tensors: Option<i32>,
}

impl Split {
    /// The header's split keys; `None` for an unsplit file, whose
    /// `split.count` is 0, 1 or absent. `shard` (from 1) is for the error.
    ///
    /// # Errors
    ///
    /// A key of the wrong type; a set without `split.no`.
    pub fn of(header: &Header, shard: usize) -> Result<Option<Split>, CheckpointError> {
        let wrong = |key, wanted, value: &Value| {
            let found = value.value_type().name();
            CheckpointError::KeyType { shard, key, found, wanted }
        };
        let u16_of = |key| match header.get(key) {
            None => Ok(None),
            Some(&Value::U16(value)) => Ok(Some(value)),
            Some(other) => Err(wrong(key, "a u16", other)),
        };
        let Some(count) = u16_of("split.count")?.filter(|&count| count > 1) else {
            return Ok(None);
        };
        let number =
            u16_of("split.no")?.ok_or(CheckpointError::KeyMissing { shard, key: "split.no" })?;
        let tensors = match header.get(TENSOR_COUNT) {
            None => None,
            Some(&Value::I32(value)) => Some(value),
            Some(other) => return Err(wrong(TENSOR_COUNT, "an i32", other)),
        };
        Ok(Some(Split { number, count, tensors }))
    }
}

const TENSOR_COUNT: &str = "split.tensors.count";

/// A tensor of a checkpoint, and where its bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTensor {
    /// The shard, from 0.
    pub shard: u32,
    /// The name, unique in the checkpoint.
    pub name: String,
    /// The ggml format, known or not.
    pub format: Format,
    /// 1 to 4 dims in elements, innermost first. A dim may be zero.
    pub dims: Vec<u64>,
    /// Where its bytes start in the shard's file.
    pub offset: u64,
    /// Its bytes; `None` where the format is unknown.
    pub len: Option<u64>,
}

/// Bytes of a shard that are neither its header nor a tensor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The shard, from 0.
    pub shard: u32,
    /// Where the gap starts in the shard's file.
    pub offset: u64,
    /// Its bytes, at least one.
    pub len: u64,
}

/// A whole checkpoint: the headers of all its shards, held together.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The shards' headers in their order.
    pub shards: Vec<Header>,
    /// All tensors: shard by shard, in the order of each one's table.
    pub tensors: Vec<SourceTensor>,
}

impl Checkpoint {
    /// Makes a checkpoint of the headers of all its shards, in their order.
    ///
    /// # Errors
    ///
    /// Shards that disagree about their numbers or counts, and a tensor that
    /// is in two of them.
    pub fn new(shards: Vec<Header>) -> Result<Checkpoint, CheckpointError> {
        if shards.is_empty() {
            return Err(CheckpointError::Empty);
        }
        let total = shards.iter().map(|header| header.tensors.len()).sum();
        check_split(&shards, total)?;
        let mut tensors = Vec::with_capacity(total);
        let mut seen = BTreeMap::new();
        for (index, header) in shards.iter().enumerate() {
            let second = index + 1;
            // A set has at most 65535 shards.
            let shard = u32::try_from(index).unwrap_or(u32::MAX);
            for info in &header.tensors {
                if let Some(first) = seen.insert(info.name.as_str(), second) {
                    let name = Escaped::new(&info.name).to_string();
                    return Err(CheckpointError::DuplicateTensor { name, first, second });
                }
                tensors.push(SourceTensor {
                    shard,
                    name: info.name.clone(),
                    format: info.format,
                    dims: info.dims.clone(),
                    offset: info.offset,
                    len: info.len,
                });
            }
        }
        Ok(Checkpoint { shards, tensors })
    }

    /// `general.name`, if it is there and a string.
    pub fn name(&self) -> Option<&[u8]> {
        self.get("general.name")?.string()
    }

    /// `general.architecture`, if it is there and a string.
    pub fn architecture(&self) -> Option<&[u8]> {
        self.get("general.architecture")?.string()
    }

    /// A metadata value of the set: the first shard's.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.shards.first()?.get(key)
    }

    /// What a plan needs to know: the tensors, and the metadata under the
    /// architecture's prefix. An architecture that is not UTF-8 is none.
    pub fn table(&self) -> TensorTable {
        let architecture = self.architecture().and_then(|name| str::from_utf8(name).ok());
        let mut metadata = BTreeMap::new();
        if let Some(architecture) = architecture {
            let prefix = format!("{architecture}.");
            for (key, value) in self.shards.first().into_iter().flat_map(|first| &first.metadata) {
                match str::from_utf8(key) {
                    Ok(key) if key.starts_with(&prefix) => {
                        metadata.insert(key.to_owned(), meta(value));
                    }
                    _ => {}
                }
            }
        }
        let entry = |tensor: &SourceTensor| TensorEntry {
            name: tensor.name.clone(),
            format: tensor.format,
            dims: tensor.dims.clone(),
            kernel: false,
            streamed: false,
        };
        TensorTable {
            architecture: architecture.map(str::to_owned),
            metadata,
            tensors: self.tensors.iter().map(entry).collect(),
        }
    }

    /// Every maximal run of bytes of a shard that is neither header nor a
    /// tensor, in the order of shards and offsets: padding, gaps, trailing
    /// bytes. Headers, tensors of known formats and gaps together are every
    /// byte of every shard once.
    ///
    /// A tensor of unknown format has no known end. All bytes from its start
    /// to the next known tensor, or to the file's end, count as gap, so that
    /// the checkpoint can be given back whole.
    pub fn gaps(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for (shard, header) in (0u32..).zip(&self.shards) {
            let extent = |offset, len: u64| (len > 0).then_some((offset, len));
            let mut extents: Vec<(u64, u64)> = header
                .tensors
                .iter()
                .filter_map(|tensor| extent(tensor.offset, tensor.len?))
                .chain(extent(header.file_len, 1))
                .collect();
            extents.sort_unstable();
            let mut at = header.header_len;
            for (offset, len) in extents {
                if offset > at {
                    gaps.push(Gap { shard, offset: at, len: offset - at });
                }
                at = at.max(offset.saturating_add(len));
            }
        }
        gaps
    }
}

fn meta(value: &Value) -> Meta {
    match (value.integer(), value.bools()) {
        (Some(integer), _) => Meta::Integer(integer),
        (_, Some(bools)) => Meta::Bools(bools),
        _ => Meta::Other(value.value_type().name()),
    }
}

/// Holds every shard's split keys against its place, the number of shards and
/// the number of tensors. Only the first must count the tensors.
fn check_split(shards: &[Header], tensors: usize) -> Result<(), CheckpointError> {
    let count = shards.len();
    for (index, header) in shards.iter().enumerate() {
        let shard = index + 1;
        let Some(split) = Split::of(header, shard)? else {
            if count == 1 {
                return Ok(());
            }
            return Err(CheckpointError::KeyMissing { shard, key: "split.count" });
        };
        if usize::from(split.count) != count {
            return Err(CheckpointError::Count { shard, found: split.count, count });
        }
        if usize::from(split.number) != index {
            let (found, wanted) = (split.number, index);
            return Err(CheckpointError::Number { shard, found, wanted });
        }
        match split.tensors {
            Some(found) if usize::try_from(found) != Ok(tensors) => {
                return Err(CheckpointError::TensorCount { shard, found, tensors });
            }
            None if index == 0 => {
                return Err(CheckpointError::KeyMissing { shard, key: TENSOR_COUNT });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The file name of a shard: `NAME-00001-of-0000N.gguf`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardName {
    /// What stands before the number; any bytes.
    pub prefix: Vec<u8>,
    /// The shard's number, from 1.
    pub number: u16,
    /// The shards of the set.
    pub count: u16,
}

impl ShardName {
    /// Takes a file name apart, if it is a shard's: two numbers of five
    /// digits, the first from 1 to the second.
    pub fn parse(file_name: &[u8]) -> Option<ShardName> {
        let rest = file_name.strip_suffix(b".gguf")?;
        let (rest, count) = rest.split_last_chunk::<5>()?;
        let rest = rest.strip_suffix(b"-of-")?;
        let (rest, number) = rest.split_last_chunk::<5>()?;
        let prefix = rest.strip_suffix(b"-")?;
        let digits = |digits: &[u8; 5]| {
            let all = digits.iter().all(u8::is_ascii_digit);
            all.then(|| str::from_utf8(digits).ok()?.parse::<u16>().ok()).flatten()
        };
        let (number, count) = (digits(number)?, digits(count)?);
        (1..=count).contains(&number).then(|| ShardName { prefix: prefix.to_vec(), number, count })
    }

    /// The file name of the set's shard `number`, from 1.
    pub fn sibling(&self, number: u16) -> Vec<u8> {
        let mut name = self.prefix.clone();
        name.extend_from_slice(format!("-{number:05}-of-{:05}.gguf", self.count).as_bytes());
        name
    }

    /// The file name itself.
    pub fn file_name(&self) -> Vec<u8> {
        self.sibling(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_names_come_apart_and_together() {
        let name = ShardName::parse(b"a-00002-of-00003-00002-of-00010.gguf").unwrap();
        assert_eq!((&name.prefix[..], name.number, name.count), (&b"a-00002-of-00003"[..], 2, 10));
        assert_eq!(name.file_name(), b"a-00002-of-00003-00002-of-00010.gguf");
        assert_eq!(name.sibling(10), b"a-00002-of-00003-00010-of-00010.gguf");
        for other in [
            "m.gguf",
            "m-00001-of-00002.GGUF",
            "m-00000-of-00002.gguf",
            "m-00003-of-00002.gguf",
            "m-0001-of-0002.gguf",
            "m-+0001-of-00002.gguf",
            "m-99999-of-99999.gguf",
            "m00001-of-00002.gguf",
        ] {
            assert_eq!(ShardName::parse(other.as_bytes()), None, "{other}");
        }
    }
}
