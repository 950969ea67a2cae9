//! Tiles' CRCs: what the shader is told of them, and how many lanes share one.

use wimg_shaders::tile_crc::{CrcTile, INVOCATIONS};

use super::place::Place;
use super::polynomial::crc_of_zeros;

/// Lanes a tile where tiles are many: each lane ends with a fixed cost, so few
/// lanes are least work.
pub(super) const FEW_LANES: u32 = 8;
/// Lanes a tile where tiles are few and the GPU would idle.
pub(super) const MANY_LANES: u32 = 32;

/// Invocations below which a GPU idles: some hundred for each of its processors.
const BUSY: usize = 1 << 15;

/// Lanes a tile for a window of `tiles` tiles.
pub(super) fn lanes_for(tiles: usize, software: bool) -> u32 {
    let busy = tiles.saturating_mul(usize::try_from(FEW_LANES).unwrap_or(1)) >= BUSY;
    if software || busy { FEW_LANES } else { MANY_LANES }
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
    /// Adds a tile. `None` where it has no room for its check word.
    pub(super) fn push(&mut self, place: Place, check: bool) -> Option<()> {
        let words = place.words.checked_sub(u32::from(check))?;
        let start = match self.start {
            Some((last, start)) if last == words => start,
            _ => crc_of_zeros(words),
        };
        self.start = Some((words, start));
        self.tiles.push(CrcTile { first: place.dest, words, start, check: u32::from(check) });
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
