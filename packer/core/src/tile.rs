//! A tile, and how a tensor is cut into tiles.

use crate::error::ImageError;
use crate::format::Format;
use crate::layout::ImageLayout;
use crate::tensor::TensorEntry;

/// The most bytes that a tile's lines may take, so that everyone who packs,
/// checks or loads one needs bounded memory: 64 MiB.
pub const MAX_TILE_BYTES: u64 = 64 << 20;

/// Q8_0 blocks of an octet.
pub const OCTET_BLOCKS: u64 = 8;

/// A run of one tensor's rows `[first_row, end_row)` on one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The tile's number through the image, from 0.
    pub index: u64,
    /// The tensor's place in the image.
    pub tensor: usize,
    /// The first image row.
    pub first_row: u64,
    /// The image row after the last.
    pub end_row: u64,
    /// The channel.
    pub channel: u64,
    /// The channel's line that the tile starts on.
    pub line: u64,
    /// The lines it takes.
    pub lines: u64,
}

impl Tile {
    /// Image rows of the tile.
    pub fn rows(&self) -> u64 {
        self.end_row - self.first_row
    }
}

/// How a tensor is cut into tiles, whatever channel they go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Image rows: of a kernel `taps * pieces`.
    pub rows: u64,
    /// Bytes of an image row as the checkpoint has them, without slots.
    pub row_bytes: u64,
    /// Pieces of a kernel's tap, 1 for everything else.
    pub pieces: u64,
    /// Whether tiles are block-major.
    pub striped: bool,
    /// Bytes of the unit that a striped tile interleaves: the format's block,
    /// or an octet of 272.
    pub block_bytes: u64,
    /// Those bytes rounded up to the layout's slot; `block_bytes` when not striped.
    pub slot_bytes: u64,
    /// Rows of every tile but the last.
    pub tile_rows: u64,
    /// Lines of every tile but the last.
    pub tile_lines: u64,
    /// Lines of the last tile.
    pub last_tile_lines: u64,
    /// Tiles of the tensor.
    pub tiles: u64,
}

impl Cut {
    /// Cuts a tensor under a layout (which must be valid).
    pub fn new(tensor: &TensorEntry, layout: &ImageLayout) -> Result<Cut, ImageError> {
        let shape = Shape::new(tensor)?;
        let overflow = |what| ImageError::Overflow { tensor: tensor.name.clone(), what };
        let check = layout.check_bytes();
        let (rows, row_bytes, pieces) = if tensor.kernel {
            let taps = kernel(tensor)?;
            let (channels, elem) = (shape.rows, shape.block_bytes);
            let pieces = pieces(tensor, channels, elem, layout)?;
            let rows = taps.checked_mul(pieces).ok_or_else(|| overflow("rows"))?;
            (rows, channels / pieces * elem, pieces)
        } else {
            (shape.rows, shape.row_bytes, 1)
        };
        let stripe = layout.stripe.filter(|_| tensor.streamed);
        let (block_bytes, slot_bytes) = match stripe {
            None => (shape.block_bytes, shape.block_bytes),
            Some(_) => {
                let block = striped_block(tensor, &shape, layout)?;
                let slot = block.checked_next_multiple_of(layout.slot);
                (block, slot.ok_or_else(|| overflow("slots"))?)
            }
        };
        let nominal = match stripe {
            Some(pairs) => 2 * pairs,
            None => (layout.tile_bytes().saturating_sub(check) / row_bytes).max(1),
        };
        let tile_rows = nominal.min(rows);
        // Not striped, a slot is a block, and this is row_bytes again.
        let image_row =
            (row_bytes / block_bytes).checked_mul(slot_bytes).ok_or_else(|| overflow("bytes"))?;
        let lines = |rows: u64| {
            let bytes = rows.checked_mul(image_row)?.checked_add(check)?;
            Some(bytes.div_ceil(layout.line_bytes))
        };
        let tile_lines = lines(tile_rows).ok_or_else(|| overflow("bytes"))?;
        let bytes = tile_lines.checked_mul(layout.line_bytes).ok_or_else(|| overflow("bytes"))?;
        if bytes > MAX_TILE_BYTES {
            return Err(ImageError::TileTooLarge {
                tensor: tensor.name.clone(),
                tile_rows,
                bytes,
                limit: MAX_TILE_BYTES,
            });
        }
        let tiles = rows.div_ceil(tile_rows);
        let last_rows = rows - (tiles - 1) * tile_rows;
        let last_tile_lines = lines(last_rows).ok_or_else(|| overflow("bytes"))?;
        let striped = stripe.is_some();
        Ok(Cut {
            rows,
            row_bytes,
            pieces,
            striped,
            block_bytes,
            slot_bytes,
            tile_rows,
            tile_lines,
            last_tile_lines,
            tiles,
        })
    }
}

/// A tensor's rows as the checkpoint stores them.
#[derive(Clone, Copy, Debug)]
struct Shape {
    rows: u64,
    row_bytes: u64,
    block_bytes: u64,
}

impl Shape {
    fn new(tensor: &TensorEntry) -> Result<Shape, ImageError> {
        let dims_error =
            |why| ImageError::Dims { tensor: tensor.name.clone(), dims: tensor.dims.clone(), why };
        let overflow = |what| ImageError::Overflow { tensor: tensor.name.clone(), what };
        let Some((&row, outer)) = tensor.dims.split_first() else {
            return Err(dims_error("a tensor has at least one dim"));
        };
        if tensor.dims.contains(&0) {
            return Err(dims_error("a dim of zero holds nothing"));
        }
        let Some(block) = tensor.format.block() else {
            let format = tensor.format;
            return Err(ImageError::FormatUnknown { tensor: tensor.name.clone(), format });
        };
        if !row.is_multiple_of(block.elems) {
            return Err(ImageError::RowRagged {
                tensor: tensor.name.clone(),
                format: tensor.format,
                row,
                block: block.elems,
            });
        }
        let product = |all: &[u64]| all.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim));
        let rows = product(outer).ok_or_else(|| overflow("rows"))?;
        product(&tensor.dims).ok_or_else(|| overflow("elements"))?;
        let row_bytes =
            (row / block.elems).checked_mul(block.bytes).ok_or_else(|| overflow("bytes"))?;
        row_bytes.checked_mul(rows).ok_or_else(|| overflow("bytes"))?;
        Ok(Shape { rows, row_bytes, block_bytes: block.bytes })
    }
}

/// A tensor's bytes in the checkpoint.
pub fn tensor_bytes(tensor: &TensorEntry) -> Result<u64, ImageError> {
    let shape = Shape::new(tensor)?;
    Ok(shape.rows * shape.row_bytes)
}

/// A kernel's taps, once it is known to be one. Trailing dims of 1 do not count.
fn kernel(tensor: &TensorEntry) -> Result<u64, ImageError> {
    let refuse = |why| ImageError::NotAKernel {
        tensor: tensor.name.clone(),
        format: tensor.format,
        dims: tensor.dims.clone(),
        why,
    };
    if tensor.streamed {
        // It has no form in both: a stripe interleaves a matrix's blocks.
        return Err(refuse("a kernel is not streamed"));
    }
    match tensor.dims.as_slice() {
        [taps, _, rest @ ..] if rest.iter().all(|&dim| dim == 1) => {
            if tensor.format.block().is_some_and(|block| block.elems == 1) {
                Ok(*taps)
            } else {
                Err(refuse("a kernel's format has one element to a block"))
            }
        }
        _ => Err(refuse("a kernel has two dims, taps and channels")),
    }
}

/// The pieces of a tap: the smallest divisor `p` of `channels` for which
/// `channels / p` elements and the check word fit a tile.
fn pieces(
    tensor: &TensorEntry,
    channels: u64,
    elem: u64,
    layout: &ImageLayout,
) -> Result<u64, ImageError> {
    let room = layout.tile_bytes().saturating_sub(layout.check_bytes()) / elem;
    if room == 0 {
        return Err(ImageError::KernelElement {
            tensor: tensor.name.clone(),
            elem_bytes: elem,
            check_bytes: layout.check_bytes(),
            tile_bytes: layout.tile_bytes(),
        });
    }
    Ok(channels / largest_divisor(channels, room))
}

/// The largest divisor of `n` that is at most `limit` (both at least 1), in
/// O(min(limit, √n)): prime and huge channel counts come from files.
fn largest_divisor(n: u64, limit: u64) -> u64 {
    if limit >= n {
        return n;
    }
    if limit <= n / limit {
        return (1..=limit).rev().find(|&divisor| n.is_multiple_of(divisor)).unwrap_or(1);
    }
    // limit is past √n, so the answer is n over the smallest divisor that is
    // at least n / limit, or, if none is up to √n, the largest divisor up to it.
    let lows = (1u64..).take_while(|&low| low <= n / low).filter(|&low| n.is_multiple_of(low));
    let mut best = 1;
    for low in lows {
        if n / low <= limit {
            return n / low;
        }
        best = low;
    }
    best
}

/// Bytes of the unit that a striped tile interleaves: a block, or an octet.
fn striped_block(
    tensor: &TensorEntry,
    shape: &Shape,
    layout: &ImageLayout,
) -> Result<u64, ImageError> {
    if !layout.octets || tensor.format != Format::Q8_0 {
        return Ok(shape.block_bytes);
    }
    let blocks = shape.row_bytes / shape.block_bytes;
    if blocks.is_multiple_of(OCTET_BLOCKS) {
        Ok(shape.block_bytes * OCTET_BLOCKS)
    } else {
        Err(ImageError::OctetsRagged { tensor: tensor.name.clone(), blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_divisor_is_the_naive_one() {
        for n in 1..400u64 {
            for limit in 1..60 {
                let naive = (1..=limit.min(n)).rev().find(|d| n.is_multiple_of(*d));
                assert_eq!(Some(largest_divisor(n, limit)), naive, "{n} {limit}");
            }
        }
    }

    #[test]
    fn a_huge_prime_is_one_element_a_piece_and_soon_found() {
        // 2^61 - 1 is prime; so many steps as √n has would take seconds.
        assert_eq!(largest_divisor((1 << 61) - 1, 9216), 1);
        assert_eq!(largest_divisor(1_000_000_007, 1_000_000_000), 1);
        assert_eq!(largest_divisor(1 << 40, 4096), 4096);
    }
}
