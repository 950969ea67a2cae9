//! GGUF headers, versions 2 and 3, little-endian.
//!
//! Sans-I/O: [`read`] is given a prefix of the file and the file's length, and
//! gives the header or says how long a prefix it wants. Source: the GGUF
//! specification of the ggml project.
//!
//! Nothing is allocated by what a file claims before the claim has been held
//! against the file's length, and a header takes memory in proportion to its
//! own bytes. The same bytes give the same verdict, however the prefix grew.

pub mod error;
pub mod lookalike;
pub mod outline;
mod tensors;
pub mod value;
pub mod write;

use std::collections::BTreeSet;

use crate::bytes::Bytes;
use crate::escape::Escaped;
use crate::gguf::error::{Kind, Stop};
use crate::gguf::lookalike::{SNIFF_BYTES, is_text, sniff};

pub use crate::gguf::error::GgufError;
pub use crate::gguf::lookalike::Lookalike;
pub use crate::gguf::tensors::{DIMS_LIMIT, NAME_LIMIT, TensorInfo};
pub use crate::gguf::value::{ARRAY_DEPTH, Array, Value, ValueType};

/// `general.alignment` where the metadata does not say, in bytes.
pub const DEFAULT_ALIGNMENT: u64 = 32;
/// The largest `general.alignment`, in bytes.
pub const ALIGNMENT_LIMIT: u64 = 1 << 20;
/// The longest metadata key, in bytes.
pub const KEY_LIMIT: u64 = 65_535;
/// The longest header, in bytes, padding apart: a reader holds all of it in
/// memory. The largest tokenizers take a quarter of this.
pub const HEADER_LIMIT: u64 = 64 << 20;

/// The shortest prefix that [`read`] asks for, in bytes.
const FIRST_PREFIX: u64 = 64 << 10;
/// The fewest bytes that a metadata key and its value take: length, one byte,
/// type, one byte.
const KEY_LEAST: u64 = 8 + 1 + 4 + 1;

/// What [`read`] made of a prefix.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// The header, whole and checked.
    Header(Header),
    /// The prefix is too short.
    More {
        /// The prefix wanted next, in bytes: longer than the one given and no
        /// longer than the file. It at least doubles, so that reading again
        /// from the start each time stays linear overall.
        at_least: u64,
    },
}

/// A GGUF file's header, checked against the file's length.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The version, 2 or 3.
    pub version: u32,
    /// What tensor offsets are multiples of, in bytes.
    pub alignment: u64,
    /// Length of the file in bytes.
    pub file_len: u64,
    /// Where tensor data starts: the header's end, padded. Past the file's end
    /// when it has no tensors and leaves the padding out.
    pub data_start: u64,
    /// Bytes before the data that the file does have.
    pub header_len: u64,
    /// The metadata in file order. Keys hold any bytes and are unique.
    pub metadata: Vec<(Vec<u8>, Value)>,
    /// The tensors in the order of the file's table. Names are unique.
    pub tensors: Vec<TensorInfo>,
    /// Bytes after the last tensor's padding.
    pub trailing: u64,
}

impl Header {
    /// The value of a metadata key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.iter().find(|(k, _)| k == key.as_bytes()).map(|(_, value)| value)
    }
}

/// Reads the header of a GGUF file of `file_len` bytes that starts with
/// `prefix`. An empty prefix is a fine start.
///
/// # Errors
///
/// Whatever is wrong with the header or with where its tensors lie, down to
/// the tensor or key and byte offset; and what the file is, where it is not
/// GGUF.
pub fn read(prefix: &[u8], file_len: u64) -> Result<Read, GgufError> {
    // Cut at the limit, so that a longer prefix does not change the verdict.
    let limit = usize::try_from(HEADER_LIMIT).unwrap_or(usize::MAX);
    let mut bytes = Bytes::new(prefix.get(..limit).unwrap_or(prefix), file_len);
    match header(&mut bytes) {
        Ok(header) => Ok(Read::Header(header)),
        Err(Stop::Fault(cause)) => Err(diagnose(cause, bytes.consumed())),
        Err(Stop::More { to }) if to > HEADER_LIMIT => {
            let cause = GgufError::HeaderLimit { needed: to, limit: HEADER_LIMIT };
            Err(diagnose(cause, bytes.consumed()))
        }
        Err(Stop::More { to }) => {
            let grown = bytes.prefix_len().saturating_mul(2).max(FIRST_PREFIX);
            Ok(Read::More { at_least: to.max(grown.min(HEADER_LIMIT).min(file_len)) })
        }
    }
}

fn header(bytes: &mut Bytes<'_>) -> Result<Header, Stop> {
    let version = version(bytes)?;
    let (tensor_count, key_count) = counts(bytes, version)?;
    let metadata = metadata(bytes, key_count)?;
    let alignment = alignment(&metadata)?;
    let raw = tensors::table(bytes, tensor_count)?;
    let file_len = bytes.file_len();
    // Past 64 bits only when the file itself ends there.
    let data_start = bytes.at().checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
    let (tensors, data_end) = tensors::place(raw, data_start, alignment, file_len)?;
    Ok(Header {
        version,
        alignment,
        file_len,
        data_start,
        header_len: data_start.min(file_len),
        metadata,
        tensors,
        trailing: file_len.saturating_sub(data_end),
    })
}

/// The magic and the version: where files that are something else are told.
fn version(bytes: &mut Bytes<'_>) -> Result<u32, Stop> {
    let file_len = bytes.file_len();
    let magic = bytes.peek("the magic", file_len.min(4))?;
    if magic != b"GGUF" {
        let start = bytes.peek("the file's start", file_len.min(SNIFF_BYTES))?;
        return Err(GgufError::Lookalike(sniff(start, file_len)).into());
    }
    let word = bytes.peek("magic and version", file_len.min(8))?;
    if word.len() > 4 && is_text(word) {
        return Err(GgufError::Lookalike(Lookalike::TextAfterMagic).into());
    }
    bytes.take("the magic", 4)?;
    let version = bytes.u32("the version")?;
    match (version, version.swap_bytes()) {
        (2 | 3, _) => Ok(version),
        (1, _) => Err(GgufError::VersionOne.into()),
        (_, swapped @ 1..=3) => Err(GgufError::BigEndian { version: swapped }.into()),
        _ => Err(GgufError::Version { version }.into()),
    }
}

/// The counts of tensors and of metadata keys, held against the file's length.
fn counts(bytes: &mut Bytes<'_>, version: u32) -> Result<(u64, u64), Stop> {
    let tensors = bytes.u64("the tensor count")?;
    let keys = bytes.u64("the metadata key count")?;
    let fits = |tensors: u64, keys: u64| {
        let least = tensors
            .checked_mul(tensors::TENSOR_LEAST)
            .and_then(|tensors| tensors.checked_add(keys.checked_mul(KEY_LEAST)?));
        least.is_some_and(|least| least <= bytes.remaining())
    };
    if fits(tensors, keys) {
        return Ok((tensors, keys));
    }
    let file_len = bytes.file_len();
    Err(match fits(tensors.swap_bytes(), keys.swap_bytes()) {
        true => GgufError::BigEndianCounts { version }.into(),
        false => GgufError::Counts { keys, tensors, file_len }.into(),
    })
}

fn metadata(bytes: &mut Bytes<'_>, count: u64) -> Result<Vec<(Vec<u8>, Value)>, Stop> {
    let mut metadata = Vec::new();
    let mut seen = BTreeSet::new();
    for index in 0..count {
        let key = key(bytes).map_err(|stop| stop.at(|cause| GgufError::InKey { index, cause }))?;
        let value = match seen.insert(key) {
            true => value::value(bytes),
            false => Err(GgufError::DuplicateKey.into()),
        };
        let value = value.map_err(|stop| {
            stop.at(|cause| GgufError::InValue { index, key: shown(key), cause })
        })?;
        metadata.push((key.to_vec(), value));
    }
    Ok(metadata)
}

fn key<'a>(bytes: &mut Bytes<'a>) -> Result<&'a [u8], Stop> {
    let len = bytes.u64("a key's length")?;
    if !(1..=KEY_LIMIT).contains(&len) {
        return Err(GgufError::KeyLength { len, limit: KEY_LIMIT }.into());
    }
    Ok(bytes.take("a key", len)?)
}

/// A key for a message: escaped, and cut where it is long.
fn shown(key: &[u8]) -> String {
    const SHOWN: usize = 64;
    match key.get(..SHOWN) {
        Some(start) if key.len() > SHOWN => format!("{}…", Escaped::new(start)),
        _ => Escaped::new(key).to_string(),
    }
}

fn alignment(metadata: &[(Vec<u8>, Value)]) -> Result<u64, GgufError> {
    let value = metadata.iter().find(|(key, _)| key == b"general.alignment");
    match value.map(|(_, value)| value) {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(&Value::U32(value)) => match u64::from(value) {
            wide if value.is_power_of_two() && wide <= ALIGNMENT_LIMIT => Ok(wide),
            _ => Err(GgufError::Alignment { value, limit: ALIGNMENT_LIMIT }),
        },
        Some(other) => Err(GgufError::AlignmentType { found: other.value_type().name() }),
    }
}

/// Looks for the two ways in which text tools break a binary header: bytes
/// that are not UTF-8 became U+FFFD, or line feeds became CRLF. Good headers
/// hold either too, so only a failed one is looked at, and only as far as it
/// was read: the damage lies before the place where it was noticed.
///
/// A header that parses and says wrong things is more likely just wrong. It
/// passes for mangled only where all of it is UTF-8, which a tokenizer's
/// numbers are not.
fn diagnose(cause: GgufError, consumed: &[u8]) -> GgufError {
    let count = |pattern: &[u8]| {
        let hits = consumed.windows(pattern.len()).filter(|&window| window == pattern).count();
        u64::try_from(hits).unwrap_or(u64::MAX)
    };
    let parsed = match cause.kind() {
        Kind::Said => return cause,
        Kind::Parse => false,
        Kind::Meaning => true,
    };
    let runs = count(b"\xef\xbf\xbd");
    if runs > 0 && (!parsed || str::from_utf8(consumed).is_ok()) {
        return GgufError::TextRoundTrip { runs, cause: Box::new(cause) };
    }
    let lines = count(b"\r\n");
    if !parsed && lines > 0 && lines == count(b"\n") {
        return GgufError::LineEndings { lines, cause: Box::new(cause) };
    }
    cause
}
