//! Checkpoints and images for the tests to open.

use std::path::Path;

use wimg::pack::{PackOptions, pack};
use wimg_core::Selection;
use wimg_tests::vectors;

/// A small checkpoint of the machine's architecture.
pub(crate) const CHECKPOINT: &str = "tiny-mixed.gguf";

/// Packs [`CHECKPOINT`] into a folder.
pub(crate) fn image(out: &Path, layout: &str) {
    let options = PackOptions {
        selection: Selection::All,
        layout: layout.parse().unwrap(),
        out: out.to_owned(),
        force: false,
        verify: false,
    };
    pack(&vectors::path(CHECKPOINT), &options, &|_| {}).unwrap();
}
