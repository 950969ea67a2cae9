//! Plain tiles: what the shader is told of them.

use wimg_shaders::plain::{LANES, PlainTile, STEPS};

use super::place::Place;
use super::table::Table;

/// An empty table of plain tiles.
pub(super) fn table() -> Table<PlainTile> {
    Table::new(LANES * STEPS)
}

/// Adds a tile of `bytes` bytes of rows. `None` past 32 bits.
pub(super) fn push(table: &mut Table<PlainTile>, place: Place, bytes: usize) -> Option<()> {
    let Place { source, dest, words } = place;
    let bytes = u32::try_from(bytes).ok()?;
    table.push(words, |first_group| PlainTile { source, dest, bytes, words, first_group })
}
