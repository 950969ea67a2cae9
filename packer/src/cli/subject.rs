//! What a command is asked about: an image directory, or a checkpoint.

use std::path::Path;

use wimg_core::{ImageLayout, Plan, Selection};

use super::failure::Failure;
use crate::error::{Error, shown};
use crate::source::Source;
use crate::store::IMAGE_JSON;

/// Whether the path is an image directory: no checkpoint's folder has an
/// `image.json`.
pub(crate) fn is_image(path: &Path) -> bool {
    path.join(IMAGE_JSON).exists()
}

/// Says of an image that it is no checkpoint: its headers look like shards
/// that were cut off.
pub(crate) fn refuse_image(path: &Path) -> Result<(), Failure> {
    if !is_image(path) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "`{}` is an image; a checkpoint is a GGUF file, any shard of a set, or a folder with one",
        shown(path)
    )))
}

/// Opens a checkpoint.
pub(crate) fn checkpoint(path: &Path) -> Result<Source, Failure> {
    refuse_image(path)?;
    Ok(Source::open(path).map_err(Error::from)?)
}

/// Plans an image of the checkpoint that was found at `path`.
pub(crate) fn plan(
    path: &Path,
    source: &Source,
    selection: Selection,
    layout: &ImageLayout,
) -> Result<Plan, Failure> {
    Plan::new(&source.checkpoint, selection, layout)
        .map_err(|error| Failure::Over(path.to_owned(), error.into()))
}
