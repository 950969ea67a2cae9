//! Errors of reading a GGUF header.

use wimg::source::SourceError;
use wimg_core::gguf::Lookalike;
use wimg_core::{Format, GgufError};

use crate::packer::entry;
use crate::{Chapter, Entry};

/// What helps against nearly all.
const AGAIN: &str =
    "Fetch the file again and compare its checksum; if it is the publisher's, tell them.";

fn of(variant: &'static str, error: GgufError, cause: &'static str, remedy: &'static str) -> Entry {
    // The path is the same in all: the page shows what follows it.
    let mut entry =
        entry(variant, SourceError::Gguf { path: "a.gguf".into(), cause: error }, cause, remedy);
    entry.message = entry.message.trim_start_matches("`a.gguf`: ").to_owned();
    entry
}

fn boxed(error: GgufError) -> Box<GgufError> {
    Box::new(error)
}

pub(crate) fn chapter() -> Chapter {
    let mut entries = other_files();
    entries.extend(structure());
    entries.extend(values());
    entries.extend(tensors());
    Chapter { title: "GGUF (after the file's path)", entries }
}

fn other_files() -> Vec<Entry> {
    let convert = "Convert the checkpoint again with a current llama.cpp.";
    vec![
        of(
            "GgufError::Lookalike",
            GgufError::Lookalike(Lookalike::LfsPointer),
            "The file is something else, and the message says what.",
            "Fetch or convert the checkpoint itself.",
        ),
        of("GgufError::VersionOne", GgufError::VersionOne, "GGUF of August 2023.", convert),
        of(
            "GgufError::Version",
            GgufError::Version { version: 4 },
            "GGUF of a later version, or damage.",
            "Use a later `wimg`, or fetch the file again.",
        ),
        of(
            "GgufError::BigEndian",
            GgufError::BigEndian { version: 3 },
            "Made for a big-endian machine.",
            convert,
        ),
        of(
            "GgufError::BigEndianCounts",
            GgufError::BigEndianCounts { version: 3 },
            "A byte order half converted.",
            convert,
        ),
        of(
            "GgufError::TextRoundTrip",
            GgufError::TextRoundTrip {
                runs: 12,
                cause: boxed(GgufError::KeyLength { len: 0, limit: 65_535 }),
            },
            "An editor or a transfer took the file for text.",
            "Fetch it again, in binary mode.",
        ),
        of(
            "GgufError::LineEndings",
            GgufError::LineEndings {
                lines: 3,
                cause: boxed(GgufError::KeyLength { len: 0, limit: 65_535 }),
            },
            "A transfer in text mode.",
            "Fetch it again, in binary mode.",
        ),
    ]
}

fn structure() -> Vec<Entry> {
    let (file_len, limit) = (4096, 65_535);
    let cut = "The file is cut short, or a length in it is damaged.";
    vec![
        of(
            "GgufError::Truncated",
            GgufError::Truncated { what: "a key", offset: 4000, len: 200, file_len },
            cut,
            AGAIN,
        ),
        of(
            "GgufError::Short",
            GgufError::Short { name: "a".into(), offset: 4000, len: 200, file_len, missing: 104 },
            "The file is cut short: a download or copy that did not end.",
            "Fetch the missing bytes or the whole file.",
        ),
        of(
            "GgufError::Counts",
            GgufError::Counts { keys: 1 << 40, tensors: 3, file_len },
            "Damaged counts.",
            AGAIN,
        ),
        of(
            "GgufError::HeaderLimit",
            GgufError::HeaderLimit { needed: 1 << 30, limit: 64 << 20 },
            "A header far larger than any tokenizer's.",
            AGAIN,
        ),
        of(
            "GgufError::InKey",
            GgufError::InKey { index: 3, cause: boxed(GgufError::KeyLength { len: 0, limit }) },
            "Where a fault among the keys is.",
            AGAIN,
        ),
        of(
            "GgufError::InValue",
            GgufError::InValue {
                index: 3,
                key: "general.name".into(),
                cause: boxed(GgufError::DuplicateKey),
            },
            "Where a fault among the values is.",
            AGAIN,
        ),
        of(
            "GgufError::InName",
            GgufError::InName {
                index: 3,
                cause: boxed(GgufError::NameLength { len: 0, limit: 64 }),
            },
            "Where a fault among the names is.",
            AGAIN,
        ),
        of(
            "GgufError::InTensor",
            GgufError::InTensor {
                index: 3,
                name: "a".into(),
                cause: boxed(GgufError::DuplicateTensor),
            },
            "Where a fault among the tensors is.",
            AGAIN,
        ),
    ]
}

fn values() -> Vec<Entry> {
    vec![
        of(
            "GgufError::KeyLength",
            GgufError::KeyLength { len: 0, limit: 65_535 },
            "A damaged key.",
            AGAIN,
        ),
        of(
            "GgufError::DuplicateKey",
            GgufError::DuplicateKey,
            "A writer's mistake: which of the two counts?",
            AGAIN,
        ),
        of(
            "GgufError::ValueType",
            GgufError::ValueType { id: 13, offset: 64 },
            "A damaged value.",
            AGAIN,
        ),
        of("GgufError::Bool", GgufError::Bool { byte: 7, offset: 64 }, "A damaged value.", AGAIN),
        of(
            "GgufError::ArrayDepth",
            GgufError::ArrayDepth { offset: 64, limit: 8 },
            "No checkpoint nests arrays so deep.",
            AGAIN,
        ),
        of(
            "GgufError::ArrayLength",
            GgufError::ArrayLength { elem: "u8", len: 1 << 40, remaining: 100, file_len: 4096 },
            "A damaged length.",
            AGAIN,
        ),
        of(
            "GgufError::AlignmentType",
            GgufError::AlignmentType { found: "u64" },
            "A writer's mistake.",
            AGAIN,
        ),
        of(
            "GgufError::Alignment",
            GgufError::Alignment { value: 48, limit: 1 << 20 },
            "A writer's mistake, or damage.",
            AGAIN,
        ),
    ]
}

fn tensors() -> Vec<Entry> {
    let q8_0 = Format::Q8_0;
    vec![
        of(
            "GgufError::NameLength",
            GgufError::NameLength { len: 65, limit: 64 },
            "ggml's tensors have shorter names.",
            AGAIN,
        ),
        of(
            "GgufError::NameEncoding",
            GgufError::NameEncoding { name: "\\xff".into() },
            "A damaged name.",
            AGAIN,
        ),
        of(
            "GgufError::DuplicateTensor",
            GgufError::DuplicateTensor,
            "A writer's mistake: which of the two counts?",
            AGAIN,
        ),
        of(
            "GgufError::DimCount",
            GgufError::DimCount { count: 9, limit: 4 },
            "A damaged table.",
            AGAIN,
        ),
        of(
            "GgufError::Elements",
            GgufError::Elements { dims: vec![1 << 40, 1 << 40] },
            "A damaged table.",
            AGAIN,
        ),
        of(
            "GgufError::TensorBytes",
            GgufError::TensorBytes { dims: vec![1 << 62, 2], format: q8_0 },
            "A damaged table.",
            AGAIN,
        ),
        of(
            "GgufError::Ragged",
            GgufError::Ragged { row: 33, format: q8_0, block: 32 },
            "A row must be whole blocks.",
            AGAIN,
        ),
        of(
            "GgufError::Misaligned",
            GgufError::Misaligned { offset: 8, alignment: 32 },
            "A damaged offset.",
            AGAIN,
        ),
        of(
            "GgufError::Extent",
            GgufError::Extent { offset: u64::MAX - 31, len: 64, data_start: 96 },
            "A damaged offset.",
            AGAIN,
        ),
        of(
            "GgufError::Overlap",
            GgufError::Overlap { name: "b".into(), offset: 128, other: "a".into(), end: 160 },
            "Two tensors claim the same bytes.",
            AGAIN,
        ),
    ]
}
