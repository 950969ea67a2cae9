//! The published vectors: small checkpoints, and what their images must be.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a vector that does not read fails a test")]

use std::path::PathBuf;

use crate::oracle::Layout;
use crate::oracle::step::Selection;

/// A row of `expected.tsv`.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Its number, from 1.
    pub case: usize,
    /// The checkpoint's file name.
    pub file: String,
    /// What the image holds.
    pub selection: Selection,
    /// The layout, as the command line takes it.
    pub flags: Vec<String>,
    /// The layout that the flags say.
    pub layout: Layout,
    /// The ledger's sums.
    pub ledger: serde_json::Value,
    /// SHA-256 of each channel file, in hex.
    pub channel_sha256: Vec<String>,
}

/// Where a file of the vectors lies.
pub fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/vectors").join(file)
}

/// All rows of `expected.tsv`.
pub fn vectors() -> Vec<Vector> {
    let text = std::fs::read_to_string(path("expected.tsv")).unwrap();
    text.lines().skip(1).map(vector).collect()
}

fn vector(line: &str) -> Vector {
    let fields: Vec<&str> = line.split('\t').collect();
    let [case, file, selection, flags, ledger, channel_sha256] = fields[..] else {
        panic!("`{line}` has {} fields", fields.len());
    };
    let flags: Vec<String> = flags.split(' ').map(str::to_owned).collect();
    Vector {
        case: case.parse().unwrap(),
        file: file.to_owned(),
        selection: match selection {
            "machine" => Selection::Machine,
            "streamed" => Selection::Streamed,
            "all" => Selection::All,
            "table" => Selection::Table,
            _ => panic!("no selection `{selection}`"),
        },
        layout: layout(&flags),
        flags,
        ledger: serde_json::from_str(ledger).unwrap(),
        channel_sha256: channel_sha256.split(',').map(str::to_owned).collect(),
    }
}

fn layout(flags: &[String]) -> Layout {
    let mut layout = Layout::default();
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        let mut number = || words.next().unwrap().parse().unwrap();
        match flag.as_str() {
            "--channels" => layout.channels = number(),
            "--line-bytes" => layout.line_bytes = number(),
            "--tile-lines" => layout.tile_lines = number(),
            "--stripe" => layout.stripe = Some(number()),
            "--slot" => layout.slot = number(),
            "--check" => layout.check = true,
            "--octets" => layout.octets = true,
            _ => panic!("no flag `{flag}`"),
        }
    }
    layout
}
