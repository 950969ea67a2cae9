//! Kernels: what the shader is told of their tiles.

use wimg_shaders::transpose::{LANES, STEPS, TransposeTile};

use super::place::Place;
use super::table::Table;
use crate::core::pack::transpose::Transpose;

/// An empty table of kernels' tiles.
pub(super) fn table() -> Table<TransposeTile> {
    Table::new(LANES * STEPS)
}

/// Adds a tile of `bytes` bytes of rows. `None` past 32 bits.
pub(super) fn push(
    table: &mut Table<TransposeTile>,
    place: Place,
    shape: Transpose,
    bytes: usize,
) -> Option<()> {
    let size = |n: usize| u32::try_from(n).ok();
    let tile = TransposeTile {
        source: place.source,
        dest: place.dest,
        bytes: size(bytes)?,
        words: place.words,
        first_group: 0,
        taps: size(shape.taps)?,
        pieces: size(shape.pieces)?,
        channels: size(shape.channels.checked_div(shape.pieces)?)?,
        first_row: size(shape.first_row)?,
        elem_bytes: size(shape.elem_bytes)?,
    };
    table.push(place.words, |first_group| TransposeTile { first_group, ..tile })
}
