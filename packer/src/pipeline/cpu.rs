//! The middle on the CPU: a window's tiles packed in parallel.

use rayon::prelude::*;
use wimg_core::pack::{check_source, pack_tile, tile_slices_mut};
use wimg_core::{Image, PackError, Window};

/// Packs a window, every channel byte of it, and gives the tiles' CRCs: what
/// `pack_window` does, on all cores.
pub fn pack_window(
    image: &Image,
    window: &Window,
    source: &[u8],
    channel_bytes: &mut [u8],
) -> Result<Vec<u32>, PackError> {
    check_source(window, source)?;
    let tiles = tile_slices_mut(window, channel_bytes)?;
    let tasks = window.tasks.par_iter().zip(tiles).with_min_len(8);
    tasks.map(|(task, tile)| pack_tile(image, task, source, tile)).collect()
}
