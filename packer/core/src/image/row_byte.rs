//! What a byte of a tile belongs to: the inverse of a location's byte.

use super::Image;
use crate::tile::Tile;

/// What a byte of a tile belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowByte {
    /// The image row.
    pub row: u64,
    /// Of a striped tile: the row's block.
    pub block: Option<u64>,
    /// The byte in the row or, of a striped tile, in the block's slot.
    pub byte: u64,
}

impl Image {
    /// What byte `byte` of a tile belongs to; `None` past its rows, where its
    /// padding and its check word lie.
    pub fn row_byte(&self, tile: &Tile, byte: u64) -> Option<RowByte> {
        let cut = &self.placements.get(tile.tensor)?.cut;
        let rows = tile.rows();
        // Block-major, a block's turn is one slot of every row.
        let (blocks, step) = match cut.striped {
            true => (cut.row_bytes / cut.block_bytes, cut.slot_bytes),
            false => (1, cut.row_bytes),
        };
        if byte >= blocks * rows * step {
            return None;
        }
        let nth = byte / step;
        Some(RowByte {
            row: tile.first_row + nth % rows,
            block: cut.striped.then_some(nth / rows),
            byte: byte % step,
        })
    }
}

#[cfg(test)]
mod tests {

    use crate::{HEADERS, Plan, Selection};

    #[test]
    fn it_undoes_locate() {
        for layout in ["4x72/512+check", "4x64/512+stripe8+octets+slot16"] {
            let selected = Selection::Machine.of(&HEADERS[0].table()).unwrap();
            let plan = Plan::of(selected, &layout.parse().unwrap(), Vec::new()).unwrap();
            let image = plan.image();
            let mut striped = 0;
            for tensor in 0..image.tensors().len() {
                let rows = image.placements()[tensor].cut.rows;
                for row in [0, rows / 2, rows - 1] {
                    let at = image.locate(tensor, row).unwrap();
                    let found = image.row_byte(&at.tile, at.byte).unwrap();
                    assert_eq!((found.row, found.byte), (row, 0));
                    assert_eq!(found.block, at.block_stride.map(|_| 0));
                    if let Some(stride) = at.block_stride {
                        let found = image.row_byte(&at.tile, at.byte + stride).unwrap();
                        assert_eq!((found.row, found.block, found.byte), (row, Some(1), 0));
                        striped += 1;
                    }
                }
                let last = image.placements()[tensor].tiles.end - 1;
                let tile = image.tile(last).unwrap();
                let past = tile.lines * image.layout().line_bytes;
                assert_eq!(image.row_byte(&tile, past), None);
            }
            assert_eq!(striped > 0, layout.contains("stripe"));
        }
    }
}
