//! Striped tiles: what the shader is told of them.

use wimg_shaders::stripe::{LANES, STEPS, StripeTile};

use super::place::Place;
use super::table::Table;
use crate::core::pack::stripe::Stripe;

/// An empty table of striped tiles.
pub(super) fn table() -> Table<StripeTile> {
    Table::new(LANES * STEPS)
}

/// Adds a tile. `None` past 32 bits.
pub(super) fn push(table: &mut Table<StripeTile>, place: Place, shape: Stripe) -> Option<()> {
    let size = |n: usize| u32::try_from(n).ok();
    let tile = StripeTile {
        source: place.source,
        dest: place.dest,
        words: place.words,
        rows: size(shape.rows)?,
        blocks: size(shape.row_bytes.checked_div(shape.block_bytes)?)?,
        row_bytes: size(shape.row_bytes)?,
        block_bytes: size(shape.block_bytes)?,
        slot_bytes: size(shape.slot_bytes)?,
        ..StripeTile::default()
    };
    table.push(place.words, |first_group| StripeTile { first_group, ..tile }.with_steps())
}
