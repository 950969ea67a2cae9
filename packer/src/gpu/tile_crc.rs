//! Tiles' CRCs: what the shader is told of them, and how many lanes share one.

use wimg_shaders::tile_crc::{CrcTile, INVOCATIONS};

use super::place::Place;
use super::polynomial::crc_of_zeros;

/// Lanes a tile on software, where tiles are enough to fill its vectors: each
/// lane ends with a fixed cost, so that one is least work.
pub(super) const ONE_LANE: u32 = 1;
/// Lanes a tile where tiles are many.
pub(super) const FEW_LANES: u32 = 8;
/// Lanes a tile where tiles are few, so that a GPU would idle.
pub(super) const MANY_LANES: u32 = 32;

/// Tiles that are enough for one lane each, on software.
const TILES_FOR_ONE: usize = 256;
/// Tiles that are enough for few lanes each.
const TILES_FOR_FEW: usize = 512;

/// Lanes a tile for a window of `tiles` tiles.
pub(super) fn lanes_for(tiles: usize, software: bool) -> u32 {
    match software {
        true if tiles >= TILES_FOR_ONE => ONE_LANE,
        true => FEW_LANES,
        false if tiles >= TILES_FOR_FEW => FEW_LANES,
        false => MANY_LANES,
    }
}

/// Tiles of a workgroup.
pub(super) fn group_tiles(lanes: u32) -> u32 {
    (INVOCATIONS / lanes.max(1)).max(1)
}

/// A window's tiles, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct CrcTable {
    tiles: Vec<CrcTile>,
    /// The last length and its zeros' CRC: most tiles of a tensor are alike.
    start: Option<(u32, u32)>,
}

impl CrcTable {
    /// Adds a tile whose check word, if it has one, is written or left as it
    /// is. `None` where it has no room for the word.
    pub(super) fn push(&mut self, place: Place, check: bool, write: bool) -> Option<()> {
        let words = place.words.checked_sub(u32::from(check))?;
        let start = match self.start {
            Some((last, start)) if last == words => start,
            _ => crc_of_zeros(words),
        };
        self.start = Some((words, start));
        self.tiles.push(CrcTile {
            first: place.dest,
            words,
            start,
            check: u32::from(check && write),
        });
        Some(())
    }

    /// Tiles.
    pub(super) fn len(&self) -> usize {
        self.tiles.len()
    }

    /// The tiles, as the shader reads them.
    pub(super) fn tile_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.tiles)
    }
}
