//! What can be wrong with a GGUF header.

use crate::bytes::Shortfall;
use crate::format::Format;
use crate::gguf::lookalike::Lookalike;

/// Why a file was not read as GGUF. All of it is bad input: reading the same
/// bytes again gives the same error. Names are escaped already.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's message says what its fields are")]
pub enum GgufError {
    #[error("not a GGUF file: {0}")]
    Lookalike(Lookalike),
    #[error("GGUF version `1`: it has 32-bit lengths and is not read; versions 2 and 3 are")]
    VersionOne,
    #[error("big-endian GGUF version `{version}`: only little-endian files are read")]
    BigEndian { version: u32 },
    #[error(
        "little-endian GGUF version `{version}` over big-endian counts: the byte order is mixed"
    )]
    BigEndianCounts { version: u32 },
    #[error("GGUF version `{version}` is not known: versions 2 and 3 are read")]
    Version { version: u32 },
    #[error(
        "file of `{file_len}` bytes ends inside {what}, which takes `{len}` bytes from `{offset}` on"
    )]
    Truncated { what: &'static str, offset: u64, len: u64, file_len: u64 },
    #[error(
        "`{keys}` metadata keys and `{tensors}` tensors do not fit a file of `{file_len}` bytes"
    )]
    Counts { keys: u64, tensors: u64, file_len: u64 },
    #[error("header of at least `{needed}` bytes is longer than the limit of `{limit}`")]
    HeaderLimit { needed: u64, limit: u64 },
    #[error("metadata key `{index}`: {cause}")]
    InKey { index: u64, cause: Box<GgufError> },
    #[error("metadata key `{index}`, `{key}`: {cause}")]
    InValue { index: u64, key: String, cause: Box<GgufError> },
    #[error("tensor `{index}`: {cause}")]
    InName { index: u64, cause: Box<GgufError> },
    #[error("tensor `{index}`, `{name}`: {cause}")]
    InTensor { index: u64, name: String, cause: Box<GgufError> },
    #[error("a key of `{len}` bytes: keys have 1 to `{limit}` bytes")]
    KeyLength { len: u64, limit: u64 },
    #[error("the key appears twice")]
    DuplicateKey,
    #[error("value type `{id}` at byte `{offset}` is not one of GGUF's, 0 to 12")]
    ValueType { id: u32, offset: u64 },
    #[error("bool byte `{byte}` at byte `{offset}`: a bool is 0 or 1")]
    Bool { byte: u8, offset: u64 },
    #[error("array at byte `{offset}` is nested more than `{limit}` deep")]
    ArrayDepth { offset: u64, limit: u32 },
    #[error(
        "array of `{len}` {elem} elements does not fit the `{remaining}` bytes left of a file of \
         `{file_len}`"
    )]
    ArrayLength { elem: &'static str, len: u64, remaining: u64, file_len: u64 },
    #[error("`general.alignment` is of type {found}: it must be a u32")]
    AlignmentType { found: &'static str },
    #[error("`general.alignment` is `{value}`: it must be a power of two up to `{limit}`")]
    Alignment { value: u32, limit: u64 },
    #[error("a name of `{len}` bytes: tensor names have 1 to `{limit}` bytes")]
    NameLength { len: u64, limit: u64 },
    #[error("the name `{name}` is not UTF-8")]
    NameEncoding { name: String },
    #[error("the name appears twice")]
    DuplicateTensor,
    #[error("`{count}` dims: a tensor has 1 to `{limit}`")]
    DimCount { count: u32, limit: u32 },
    #[error("dims `{dims:?}` multiply past 64 bits")]
    Elements { dims: Vec<u64> },
    #[error("dims `{dims:?}` of {format} take more bytes than 64 bits count")]
    TensorBytes { dims: Vec<u64>, format: Format },
    #[error("row of `{row}` elements is not whole {format} blocks of `{block}`")]
    Ragged { row: u64, format: Format, block: u64 },
    #[error("offset `{offset}` is not a multiple of the alignment `{alignment}`")]
    Misaligned { offset: u64, alignment: u64 },
    #[error("offset `{offset}` and `{len}` bytes from data start `{data_start}` pass 64 bits")]
    Extent { offset: u64, len: u64, data_start: u64 },
    #[error(
        "tensor `{name}` starts at byte `{offset}`, inside tensor `{other}` that ends at `{end}`"
    )]
    Overlap { name: String, offset: u64, other: String, end: u64 },
    #[error(
        "file of `{file_len}` bytes is cut short: tensor `{name}` at byte `{offset}` needs `{len}` \
         bytes, and `{missing}` bytes are missing in all"
    )]
    Short { name: String, offset: u64, len: u64, file_len: u64, missing: u64 },
    #[error(
        "mangled by a text round trip (bytes EF BF BD where others were, `{runs}` times): {cause}"
    )]
    TextRoundTrip { runs: u64, cause: Box<GgufError> },
    #[error(
        "damaged by a transfer in text mode (every 0A of the header follows a 0D, `{lines}` \
         times): {cause}"
    )]
    LineEndings { lines: u64, cause: Box<GgufError> },
}

/// How far a fault lets the header be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the file is has been said: there is nothing to add.
    Said,
    /// The bytes do not come apart.
    Parse,
    /// They do, and mean what a header must not.
    Meaning,
}

impl GgufError {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            GgufError::Lookalike(_)
            | GgufError::VersionOne
            | GgufError::BigEndian { .. }
            | GgufError::BigEndianCounts { .. }
            | GgufError::Short { .. }
            | GgufError::TextRoundTrip { .. }
            | GgufError::LineEndings { .. } => Kind::Said,
            GgufError::AlignmentType { .. }
            | GgufError::Alignment { .. }
            | GgufError::Ragged { .. }
            | GgufError::Misaligned { .. }
            | GgufError::Extent { .. }
            | GgufError::Overlap { .. }
            | GgufError::DuplicateKey
            | GgufError::DuplicateTensor => Kind::Meaning,
            GgufError::InKey { cause, .. }
            | GgufError::InValue { cause, .. }
            | GgufError::InName { cause, .. }
            | GgufError::InTensor { cause, .. } => cause.kind(),
            GgufError::Version { .. }
            | GgufError::Truncated { .. }
            | GgufError::Counts { .. }
            | GgufError::HeaderLimit { .. }
            | GgufError::KeyLength { .. }
            | GgufError::ValueType { .. }
            | GgufError::Bool { .. }
            | GgufError::ArrayDepth { .. }
            | GgufError::ArrayLength { .. }
            | GgufError::NameLength { .. }
            | GgufError::NameEncoding { .. }
            | GgufError::DimCount { .. }
            | GgufError::Elements { .. }
            | GgufError::TensorBytes { .. } => Kind::Parse,
        }
    }
}

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The prefix must reach this far.
    More { to: u64 },
    /// The file is bad.
    Fault(GgufError),
}

impl Stop {
    /// Says where a fault is.
    pub(crate) fn at(self, place: impl FnOnce(Box<GgufError>) -> GgufError) -> Stop {
        match self {
            Stop::Fault(cause) => Stop::Fault(place(Box::new(cause))),
            more @ Stop::More { .. } => more,
        }
    }
}

impl From<GgufError> for Stop {
    fn from(error: GgufError) -> Stop {
        Stop::Fault(error)
    }
}

impl From<Shortfall> for Stop {
    fn from(shortfall: Shortfall) -> Stop {
        match shortfall {
            Shortfall::Prefix { to } => Stop::More { to },
            Shortfall::File { what, offset, len, file_len } => {
                Stop::Fault(GgufError::Truncated { what, offset, len, file_len })
            }
        }
    }
}
