//! What a command is asked about: an image directory, or a checkpoint.

use std::path::{Path, PathBuf};

use super::failure::{Failure, shown};
use crate::source::Source;

/// Whether the path is an image directory: no checkpoint's folder has an
/// `image.json`.
pub(crate) fn is_image(path: &Path) -> bool {
    manifest_path(path).exists()
}

/// Where an image has its manifest.
pub(crate) fn manifest_path(dir: &Path) -> PathBuf {
    dir.join("image.json")
}

/// Opens a checkpoint; says of an image that it is none, as its headers look
/// like shards that were cut off.
pub(crate) fn checkpoint(path: &Path) -> Result<Source, Failure> {
    if is_image(path) {
        return Err(Failure::Usage(format!(
            "`{}` is an image; a checkpoint is a GGUF file, any shard of a set, or a folder with one",
            shown(path)
        )));
    }
    Ok(Source::open(path)?)
}
