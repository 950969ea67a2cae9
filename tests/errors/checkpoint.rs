//! Errors of finding, opening and reading a checkpoint, and of split sets.

use std::io;

use wimg::source::SourceError;
use wimg_core::{CheckpointError, GgufError};

use crate::packer::entry;
use crate::{Chapter, Entry};

fn file() -> String {
    "models/a.gguf".to_owned()
}

fn set(variant: &'static str, cause_of: CheckpointError, cause: &'static str) -> Entry {
    let error = SourceError::Checkpoint { path: file(), cause: cause_of };
    entry(
        variant,
        error,
        cause,
        "Fetch all shards of one set again; `gguf-split` makes sound ones.",
    )
}

pub(crate) fn chapter() -> Chapter {
    let mut entries = opening();
    entries.extend(reading());
    entries.extend(sets());
    Chapter { title: "Checkpoints", entries }
}

fn opening() -> Vec<Entry> {
    let failing = || io::Error::from_raw_os_error(5);
    vec![
        entry(
            "SourceError::NoCheckpoint",
            SourceError::NoCheckpoint { path: "models".into() },
            "The folder has no GGUF file; folders in it are not searched.",
            "Name the file or its folder.",
        ),
        entry(
            "SourceError::SeveralCheckpoints",
            SourceError::SeveralCheckpoints {
                path: "models".into(),
                count: 2,
                names: "`a.gguf`, `b.gguf`".into(),
            },
            "The folder has several; none is guessed.",
            "Name one.",
        ),
        entry(
            "SourceError::Open",
            SourceError::Open { path: file(), cause: io::Error::from_raw_os_error(13) },
            "The file cannot be opened. One that is not there has code 3.",
            "See to the reason.",
        ),
        entry(
            "SourceError::Read",
            SourceError::Read { path: file(), offset: 4096, cause: failing() },
            "The disk or the network file system fails.",
            "Run it again; look at the disk.",
        ),
        entry(
            "SourceError::Changed",
            SourceError::Changed { path: file(), what: "its size is another" },
            "Somebody writes the file (a download that still runs?).",
            "Run it again when the file is at rest.",
        ),
        entry(
            "SourceError::NotAFile",
            SourceError::NotAFile { path: file(), kind: "a pipe" },
            "Checkpoints are read by position, not as a stream.",
            "Name a file.",
        ),
    ]
}

fn reading() -> Vec<Entry> {
    let empty = GgufError::Counts { keys: 9, tensors: 9, file_len: 40 };
    vec![
        entry(
            "SourceError::Gguf",
            SourceError::Gguf { path: file(), cause: empty },
            "The file is not sound: see the chapter on GGUF.",
            "Fetch it again.",
        ),
        entry(
            "SourceError::Checkpoint",
            SourceError::Checkpoint { path: file(), cause: CheckpointError::Empty },
            "The shards do not agree.",
            "Fetch all shards again.",
        ),
        entry(
            "SourceError::ShardName",
            SourceError::ShardName { path: file(), number: 2, count: 3 },
            "A shard was renamed, so its siblings cannot be found.",
            "Give it its name back.",
        ),
        entry(
            "SourceError::MissingShard",
            SourceError::MissingShard {
                path: "models/a-00002-of-00003.gguf".into(),
                number: 2,
                count: 3,
            },
            "A shard of the set is not beside the others.",
            "Fetch it.",
        ),
        entry(
            "SourceError::NoShard",
            SourceError::NoShard { path: file(), shard: 7 },
            "A mistake of the program.",
            "Report it.",
        ),
    ]
}

fn sets() -> Vec<Entry> {
    vec![
        set("CheckpointError::Empty", CheckpointError::Empty, "There is no shard."),
        set(
            "CheckpointError::KeyType",
            CheckpointError::KeyType {
                shard: 1,
                key: "split.count",
                found: "u32",
                wanted: "a u16",
            },
            "A split key is of the wrong type.",
        ),
        set(
            "CheckpointError::KeyMissing",
            CheckpointError::KeyMissing { shard: 2, key: "split.no" },
            "A shard does not say which it is.",
        ),
        set(
            "CheckpointError::Count",
            CheckpointError::Count { shard: 1, found: 3, count: 2 },
            "The shards claim another number of shards.",
        ),
        set(
            "CheckpointError::Number",
            CheckpointError::Number { shard: 2, found: 0, wanted: 1 },
            "A shard is another than its name says.",
        ),
        set(
            "CheckpointError::TensorCount",
            CheckpointError::TensorCount { shard: 1, found: 9, tensors: 8 },
            "The set has another number of tensors than it claims.",
        ),
        set(
            "CheckpointError::DuplicateTensor",
            CheckpointError::DuplicateTensor { name: "a".into(), first: 1, second: 2 },
            "Shards of two sets, or a set that is not sound.",
        ),
    ]
}
