//! A plan: an image, and where each of its tensors' bytes lie in the checkpoint.

use crate::checkpoint::Checkpoint;
use crate::error::ImageError;
use crate::image::Image;
use crate::layout::ImageLayout;
use crate::selection::{Pass, Selected, Selection};
use crate::tile::{MAX_TILE_BYTES, tensor_bytes};
use crate::window::{WindowLimit, Windows};

/// Where a tensor's bytes lie in the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The shard's number, from 0.
    pub shard: u32,
    /// The byte in the shard's file.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// Everything that packing, checking and showing an image needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    image: Image,
    selection: Selection,
    step: bool,
    passes: Vec<Pass>,
    sources: Vec<Source>,
}

impl Plan {
    /// Plans an image of a checkpoint.
    pub fn new(
        checkpoint: &Checkpoint,
        selection: Selection,
        layout: &ImageLayout,
    ) -> Result<Plan, ImageError> {
        let selected = selection.of(&checkpoint.table())?;
        let sources = selected
            .sources
            .iter()
            .filter_map(|&i| checkpoint.tensors.get(i))
            .map(|t| Source { shard: t.shard, offset: t.offset, len: t.len.unwrap_or(0) })
            .collect();
        Plan::of(selected, layout, sources)
    }

    /// Plans an image of selected tensors whose bytes lie at `sources`.
    pub fn of(
        selected: Selected,
        layout: &ImageLayout,
        sources: Vec<Source>,
    ) -> Result<Plan, ImageError> {
        let Selected { selection, tensors, passes, step, .. } = selected;
        Ok(Plan { image: Image::new(tensors, *layout)?, selection, step, passes, sources })
    }

    /// The same tensors of the same checkpoint under another layout.
    pub fn relaid(self, layout: &ImageLayout) -> Result<Plan, ImageError> {
        Ok(Plan { image: self.image.relaid(*layout)?, ..self })
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The selection.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// Whether a step reads the image.
    pub fn has_step(&self) -> bool {
        self.step
    }

    /// By tensor: how a pass reads it.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// By tensor: where its bytes lie in the checkpoint.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Refuses what can be planned but not packed in bounded memory: a kernel
    /// is transposed, and put back, whole.
    pub fn check_packable(&self) -> Result<(), ImageError> {
        for tensor in self.image.tensors().iter().filter(|tensor| tensor.kernel) {
            let bytes = tensor_bytes(tensor)?;
            if bytes > MAX_TILE_BYTES {
                let (tensor, limit) = (tensor.name.clone(), MAX_TILE_BYTES);
                return Err(ImageError::KernelTooLarge { tensor, bytes, limit });
            }
        }
        Ok(())
    }

    /// The plan cut into windows, in order.
    pub fn windows(&self, limit: WindowLimit) -> Windows<'_> {
        Windows::new(self, limit)
    }

    /// One tensor's tiles cut into windows, in order; none, if the image has no
    /// such tensor.
    pub fn tensor_windows(&self, tensor: usize, limit: WindowLimit) -> Windows<'_> {
        Windows::of_tensor(self, tensor, limit)
    }
}
