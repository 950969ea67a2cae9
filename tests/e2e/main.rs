//! The program from end to end: what a user types, and what comes of it.
//!
//! Goldens are in `golden/`; `UPDATE_EXPECT=1 cargo test` writes them anew.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what does not run or read fails the test")]

mod exit;
mod help;
mod images;
mod ledger;
mod locate;
mod memory;
mod names;
mod plan;
mod unpack;

use std::path::{Path, PathBuf};

use wimg_tests::vectors;

/// The folder with the published vectors' checkpoints.
fn vectors_folder() -> PathBuf {
    vectors::path("").components().collect()
}

/// A copy of the smallest of them in a new folder, as `tiny.gguf`.
fn tiny(folder: &Path) -> PathBuf {
    let path = folder.join("tiny.gguf");
    std::fs::copy(vectors::path("tiny-edge.gguf"), &path).unwrap();
    path
}

/// Replaces what follows `before`, up to `after`, by `…`: numbers that differ
/// from run to run or from machine to machine. It must be there.
fn scrub(text: &str, before: &str, after: char) -> String {
    let (head, rest) = text.split_once(before).unwrap_or_else(|| panic!("no `{before}` in {text}"));
    let end = rest.find(after).unwrap();
    format!("{head}{before}…{}", &rest[end..])
}
