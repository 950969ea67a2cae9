//! Packing: a window's source bytes to its channel bytes, and back.
//!
//! `pack_window` and the kernels `transpose`, `plain`, `stripe` and `tile_crc`
//! are plain functions: what a parallel or a GPU packer does is right when it
//! gives the same bytes.

pub mod plain;
pub mod stripe;
pub mod tile_crc;
pub mod transpose;

use std::ops::Range;

use thiserror::Error;

use crate::image::Image;
use crate::window::{TileTask, Window};
use plain::{plain, unplain};
use stripe::{Stripe, slot_damage, stripe, unstripe};
use tile_crc::tile_crc;
use transpose::{Transpose, transpose, untranspose};

/// A window, a plan and buffers that do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PackError {
    /// A buffer has another length than the window says.
    #[error("window of tiles {tiles:?}: {what} are {actual} bytes, it needs {expected}")]
    Length {
        /// The window's tiles.
        tiles: Range<u64>,
        /// Which buffer.
        what: &'static str,
        /// Its bytes.
        actual: u64,
        /// The window's.
        expected: u64,
    },
    /// A tile that its source or its lines do not hold.
    #[error("tile {tile}: it does not fit its window")]
    Tile {
        /// The tile's number.
        tile: u64,
    },
}

/// How a tile's rows become its bytes, in host sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Rows end to end: their bytes.
    Plain {
        /// Bytes of the tile's rows.
        bytes: usize,
    },
    /// Block-major.
    Stripe(Stripe),
    /// Tap-major.
    Transpose(Transpose),
}

impl Kernel {
    /// What packs a task's tile; `None` for a task of another image, or sizes
    /// past this machine's address space.
    pub fn of(image: &Image, task: &TileTask) -> Option<Kernel> {
        let tensor = image.tensors().get(task.tile.tensor)?;
        let cut = &image.placements().get(task.tile.tensor)?.cut;
        let size = |n: u64| usize::try_from(n).ok();
        let rows = task.tile.rows();
        Some(if tensor.kernel {
            Kernel::Transpose(Transpose {
                taps: size(*tensor.dims.first()?)?,
                channels: size(*tensor.dims.get(1)?)?,
                elem_bytes: size(cut.block_bytes)?,
                pieces: size(cut.pieces)?,
                first_row: size(task.tile.first_row)?,
                rows: size(rows)?,
            })
        } else if cut.striped {
            Kernel::Stripe(Stripe {
                rows: size(rows)?,
                row_bytes: size(cut.row_bytes)?,
                block_bytes: size(cut.block_bytes)?,
                slot_bytes: size(cut.slot_bytes)?,
            })
        } else {
            Kernel::Plain { bytes: size(rows.checked_mul(cut.row_bytes)?)? }
        })
    }

    /// The source bytes that the tile is made from: its rows, or the whole kernel.
    pub fn source_bytes(&self) -> usize {
        match self {
            Kernel::Plain { bytes } => *bytes,
            Kernel::Stripe(shape) => shape.rows * shape.row_bytes,
            Kernel::Transpose(shape) => shape.taps * shape.channels * shape.elem_bytes,
        }
    }

    /// The tile's bytes before the zeros that fill its last line.
    pub fn tile_bytes(&self) -> usize {
        match self {
            Kernel::Plain { bytes } => *bytes,
            Kernel::Stripe(shape) => shape.bytes(),
            Kernel::Transpose(shape) => {
                shape.rows * (shape.channels / shape.pieces) * shape.elem_bytes
            }
        }
    }
}

/// Packs one tile, every byte of it, and gives its CRC-32C for `tiles.crc`.
pub fn pack_tile(
    image: &Image,
    task: &TileTask,
    source: &[u8],
    tile: &mut [u8],
) -> Result<u32, PackError> {
    let mut packed = || {
        let kernel = Kernel::of(image, task)?;
        let from = source.get(usize::try_from(task.source).ok()?..)?;
        let from = from.get(..kernel.source_bytes())?;
        match kernel {
            Kernel::Plain { .. } => plain(from, tile)?,
            Kernel::Stripe(shape) => stripe(from, shape, tile)?,
            Kernel::Transpose(shape) => transpose(from, shape, tile)?,
        }
        tile_crc(tile, image.layout().check)
    };
    packed().ok_or(PackError::Tile { tile: task.tile.index })
}

/// Puts one tile's rows back where they came from among the window's source bytes.
pub fn unpack_tile(
    image: &Image,
    task: &TileTask,
    tile: &[u8],
    source: &mut [u8],
) -> Result<(), PackError> {
    let mut unpacked = || {
        let kernel = Kernel::of(image, task)?;
        let to = source.get_mut(usize::try_from(task.source).ok()?..)?;
        let to = to.get_mut(..kernel.source_bytes())?;
        match kernel {
            Kernel::Plain { .. } => unplain(tile, to),
            Kernel::Stripe(shape) => unstripe(tile, shape, to),
            Kernel::Transpose(shape) => untranspose(tile, shape, to),
        }
    };
    unpacked().ok_or(PackError::Tile { tile: task.tile.index })
}

/// The first byte of a tile's padding (slots and last line, not the check
/// word) that is not zero.
pub fn padding_damage(image: &Image, task: &TileTask, tile: &[u8]) -> Option<usize> {
    let kernel = Kernel::of(image, task)?;
    if let Kernel::Stripe(shape) = kernel
        && let Some(at) = slot_damage(tile, shape)
    {
        return Some(at);
    }
    let end = tile.len().checked_sub(usize::try_from(image.layout().check_bytes()).ok()?)?;
    let padding = tile.get(kernel.tile_bytes()..end)?;
    padding.iter().position(|&byte| byte != 0).map(|at| kernel.tile_bytes() + at)
}

/// A window's tiles among its channel bytes, in the window's order.
pub fn tile_slices_mut<'a>(
    window: &Window,
    channel_bytes: &'a mut [u8],
) -> Result<Vec<&'a mut [u8]>, PackError> {
    check_length(window, "channel bytes", channel_bytes.len(), window.channel_bytes)?;
    // On each channel the tiles lie end to end, and the channels' runs do too.
    let mut by_dest: Vec<usize> = (0..window.tasks.len()).collect();
    by_dest.sort_by_key(|&i| window.tasks.get(i).map(|task| task.dest));
    let mut slices: Vec<&mut [u8]> = Vec::new();
    slices.resize_with(window.tasks.len(), Default::default);
    let mut rest = channel_bytes;
    for i in by_dest {
        let Some(task) = window.tasks.get(i) else { continue };
        let refuse = PackError::Tile { tile: task.tile.index };
        let len = usize::try_from(task.len).map_err(|_| refuse.clone())?;
        let (tile, after) = rest.split_at_mut_checked(len).ok_or(refuse)?;
        rest = after;
        if let Some(slice) = slices.get_mut(i) {
            *slice = tile;
        }
    }
    Ok(slices)
}

/// One of a window's tiles among its channel bytes.
pub fn tile_slice<'a>(task: &TileTask, channel_bytes: &'a [u8]) -> Result<&'a [u8], PackError> {
    let slice = || {
        let start = usize::try_from(task.dest).ok()?;
        channel_bytes.get(start..)?.get(..usize::try_from(task.len).ok()?)
    };
    slice().ok_or(PackError::Tile { tile: task.tile.index })
}

/// Packs a window: every channel byte of it, and every tile's CRC-32C.
pub fn pack_window(
    image: &Image,
    window: &Window,
    source: &[u8],
    channel_bytes: &mut [u8],
) -> Result<Vec<u32>, PackError> {
    check_source(window, source)?;
    let tiles = tile_slices_mut(window, channel_bytes)?;
    let tasks = window.tasks.iter().zip(tiles);
    tasks.map(|(task, tile)| pack_tile(image, task, source, tile)).collect()
}

/// Checks that source bytes are as many as the window's.
pub fn check_source(window: &Window, source: &[u8]) -> Result<(), PackError> {
    check_length(window, "source bytes", source.len(), window.source_bytes)
}

fn check_length(
    window: &Window,
    what: &'static str,
    actual: usize,
    expected: u64,
) -> Result<(), PackError> {
    let actual = actual as u64;
    if actual == expected {
        return Ok(());
    }
    Err(PackError::Length { tiles: window.tiles.clone(), what, actual, expected })
}
