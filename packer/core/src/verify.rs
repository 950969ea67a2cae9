//! Checking an image: each tile against its check word, the list in tile order
//! and the plan; each tensor, put back in checkpoint order, against its CRC.
//!
//! Sans-I/O: the caller reads an image window by window. Checking a tile is
//! pure, so a caller may check a window's tiles in parallel; [`Verifier`] then
//! takes the windows in order.

use std::fmt;

use crate::digest::Digest;
use crate::escape::Escaped;
use crate::image::Image;
use crate::manifest::Manifest;
use crate::pack::tile_crc::read_tile_crc;
use crate::pack::{PackError, padding_damage, tile_slice, unpack_tile};
use crate::plan::Plan;
use crate::tensor_crc::TensorCrcs;
use crate::tile::Tile;
use crate::window::{TileTask, Window};

/// Where a damaged tile lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TilePlace {
    /// The tile.
    pub tile: Tile,
    /// Its tensor's name.
    pub tensor: String,
    /// Its first byte in its channel's file.
    pub file_offset: u64,
}

/// What is wrong with an image, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// A tile's bytes, its check word and `tiles.crc` do not agree.
    TileCrc {
        /// Where.
        place: TilePlace,
        /// The CRC-32C of its bytes.
        crc: u32,
        /// Its check word, where the layout has them.
        word: Option<u32>,
        /// What `tiles.crc` lists.
        listed: u32,
    },
    /// A padding byte of a tile is not zero.
    Padding {
        /// Where.
        place: TilePlace,
        /// The byte in the tile.
        byte: u64,
    },
    /// A tile is not what packing the source gives.
    Source {
        /// Where.
        place: TilePlace,
        /// The first byte in the tile that differs.
        byte: u64,
    },
    /// A tensor, put back in checkpoint order, has another CRC.
    Tensor {
        /// Its name.
        tensor: String,
        /// The CRC-32C of its bytes in the checkpoint, from `image.json`.
        expected: u32,
        /// The CRC-32C of what the image gives back.
        actual: u32,
    },
    /// A file has another digest, or other bytes, than it must.
    File {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
        /// The first byte that is wrong, where that is known.
        offset: Option<u64>,
    },
}

impl Damage {
    /// A file with another digest than its manifest's, if it has one.
    pub fn digest(name: &str, expected: Digest, actual: Digest) -> Option<Damage> {
        (expected != actual).then(|| Damage::File {
            name: name.to_owned(),
            why: format!("its BLAKE3 is {actual}, image.json has {expected}"),
            offset: None,
        })
    }

    /// A file of another length than it must have, if it has.
    pub fn length(name: &str, expected: u64, actual: u64) -> Option<Damage> {
        (expected != actual).then(|| Damage::File {
            name: name.to_owned(),
            why: format!("it has {actual} bytes, it must have {expected}"),
            offset: Some(expected.min(actual)),
        })
    }
}

impl fmt::Display for TilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tile { index, first_row, end_row, channel, line, lines, .. } = self.tile;
        write!(
            f,
            "tile {index}: tensor `{}`, rows {first_row} to {}, channel {channel}, lines {line} to {}, channel-{channel}.bin byte {}",
            Escaped::new(&self.tensor),
            end_row - 1,
            line + lines - 1,
            self.file_offset,
        )
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::TileCrc { place, crc, word: Some(word), listed } => write!(
                f,
                "{place}: its bytes give {crc:08x}, its check word is {word:08x}, tiles.crc (byte {}) has {listed:08x}",
                place.tile.index * 4,
            ),
            Damage::TileCrc { place, crc, word: None, listed } => write!(
                f,
                "{place}: its bytes give {crc:08x}, tiles.crc (byte {}) has {listed:08x}",
                place.tile.index * 4,
            ),
            Damage::Padding { place, byte } => {
                write!(f, "{place}: byte {byte} of the tile is padding and not zero")
            }
            Damage::Source { place, byte } => {
                write!(f, "{place}: byte {byte} of the tile is not what packing the source gives")
            }
            Damage::Tensor { tensor, expected, actual } => write!(
                f,
                "tensor `{}`: put back in checkpoint order it gives {actual:08x}, image.json has {expected:08x}",
                Escaped::new(tensor),
            ),
            Damage::File { name, why, offset } => {
                write!(f, "{name}: {why}")?;
                offset.map_or(Ok(()), |offset| write!(f, " (from byte {offset})"))
            }
        }
    }
}

/// Where a task's tile lies, for a report.
pub fn place(image: &Image, tile: &Tile) -> TilePlace {
    let name = image.tensors().get(tile.tensor).map(|tensor| tensor.name.clone());
    TilePlace {
        tile: *tile,
        tensor: name.unwrap_or_default(),
        file_offset: tile.line * image.layout().line_bytes,
    }
}

/// Checks one tile: its bytes, its check word, its place in `tiles.crc` and its padding.
pub fn check_tile(
    image: &Image,
    task: &TileTask,
    tile: &[u8],
    listed: u32,
) -> Result<Vec<Damage>, PackError> {
    let (crc, word) = read_tile_crc(tile, image.layout().check)
        .ok_or(PackError::Tile { tile: task.tile.index })?;
    let mut found = Vec::new();
    if crc != listed || word.is_some_and(|word| word != crc) {
        found.push(Damage::TileCrc { place: place(image, &task.tile), crc, word, listed });
    }
    if let Some(byte) = padding_damage(image, task, tile) {
        let place = place(image, &task.tile);
        found.push(Damage::Padding { place, byte: byte as u64 });
    }
    Ok(found)
}

/// Compares a tile with what packing the source gives.
pub fn compare_tile(image: &Image, task: &TileTask, tile: &[u8], packed: &[u8]) -> Option<Damage> {
    if tile == packed {
        return None;
    }
    let byte = tile.iter().zip(packed).take_while(|(a, b)| a == b).count() as u64;
    Some(Damage::Source { place: place(image, &task.tile), byte })
}

/// Puts an image's tensors back in checkpoint order, window by window, and
/// holds each against its CRC.
#[derive(Debug)]
pub struct Verifier<'a> {
    plan: &'a Plan,
    crcs: TensorCrcs,
    /// A kernel whose tiles are not all there yet, whole: its tiles may come in
    /// several windows.
    kernel: Option<(usize, Vec<u8>)>,
}

impl<'a> Verifier<'a> {
    /// For all windows of a plan.
    pub fn new(plan: &'a Plan) -> Verifier<'a> {
        let crcs = TensorCrcs::new(plan.image().tensors().len());
        Verifier { plan, crcs, kernel: None }
    }

    /// Takes the next window: its channel bytes, and its source bytes as
    /// [`unpack_tile`] gave them back from every tile but kernels'.
    pub fn absorb(
        &mut self,
        window: &Window,
        channel_bytes: &[u8],
        restored: &[u8],
    ) -> Result<(), PackError> {
        for range in &window.sources {
            let kernel = self.plan.image().tensors().get(range.tensor).is_some_and(|t| t.kernel);
            if kernel {
                self.absorb_kernel(range.tensor, range.len, window, channel_bytes)?;
                continue;
            }
            let start = usize::try_from(range.at).ok();
            let len = usize::try_from(range.len).ok();
            let bytes = start.zip(len).and_then(|(start, len)| restored.get(start..)?.get(..len));
            let bytes = bytes.ok_or(PackError::Tile { tile: window.tiles.start })?;
            self.crcs.absorb_range(range.tensor, range.tensor_offset, bytes);
        }
        Ok(())
    }

    fn absorb_kernel(
        &mut self,
        tensor: usize,
        len: u64,
        window: &Window,
        channel_bytes: &[u8],
    ) -> Result<(), PackError> {
        let image = self.plan.image();
        let refuse = || PackError::Tile { tile: window.tiles.start };
        let mut bytes = match self.kernel.take() {
            Some((of, bytes)) if of == tensor => bytes,
            _ => vec![0; usize::try_from(len).map_err(|_| refuse())?],
        };
        for task in window.tasks.iter().filter(|task| task.tile.tensor == tensor) {
            let whole = TileTask { source: 0, ..*task };
            unpack_tile(image, &whole, tile_slice(task, channel_bytes)?, &mut bytes)?;
        }
        let end = image.placements().get(tensor).map_or(0, |placement| placement.tiles.end);
        if window.tiles.end >= end {
            self.crcs.absorb_range(tensor, 0, &bytes);
        } else {
            self.kernel = Some((tensor, bytes));
        }
        Ok(())
    }

    /// The tensors whose CRC is not the manifest's.
    pub fn finish(self, manifest: &Manifest) -> Vec<Damage> {
        let actual = self.crcs.finish();
        let pairs = manifest.tensors.iter().zip(actual);
        pairs
            .filter_map(|(tensor, actual)| {
                let expected = u32::from_str_radix(&tensor.crc32c, 16).unwrap_or(!actual);
                (expected != actual).then(|| Damage::Tensor {
                    tensor: tensor.name.clone(),
                    expected,
                    actual,
                })
            })
            .collect()
    }
}
