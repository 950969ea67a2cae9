//! Checking an image: each tile against its check word, the list in tile order
//! and the plan; each tensor, put back in checkpoint order, against its CRC.
//!
//! Sans-I/O: the caller reads an image window by window. Checking a tile is
//! pure, so a caller may check a window's tiles in parallel; [`Verifier`] then
//! takes the windows in order.

use std::fmt;

use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::error::ImageError;
use crate::escape::Escaped;
use crate::image::Image;
use crate::manifest::{Contents, Manifest, ManifestFile, ManifestRest, ManifestTensor, RestRange};
use crate::pack::tile_crc::{check_word, read_tile_crc};
use crate::pack::{PackError, padding_damage, tile_slice, unpack_tile};
use crate::plan::Plan;
use crate::tensor_crc::TensorCrcs;
use crate::tile::Tile;
use crate::window::{SourceRange, TileTask, Window};

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
    /// A tile's bytes are not all there: its file is too short, or missing.
    Missing {
        /// Where they would be.
        place: TilePlace,
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
            Damage::Missing { place } => write!(f, "{place}: its bytes are not all there"),
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

/// Checks `image.json`, whose text as it stands is `text`: recomputes it from
/// the headers, the plan that follows from them, and what it says of the other
/// files' contents, each of which is checked by itself.
///
/// # Errors
/// A plan that has no ledger's row.
pub fn check_manifest(
    manifest: &Manifest,
    text: &[u8],
    checkpoint: &Checkpoint,
    headers: &[Vec<u8>],
    plan: &Plan,
) -> Result<Vec<Damage>, ImageError> {
    // A word that is none is another CRC than any, as it is not written again.
    let crcs = manifest.tensors.iter().map(|t| u32::from_str_radix(&t.crc32c, 16).unwrap_or(0));
    let contents = Contents {
        channels: manifest.channels.iter().map(|channel| channel.blake3).collect(),
        tiles_crc: ManifestFile {
            length: plan.image().tile_count().saturating_mul(4),
            blake3: manifest.tiles_crc.blake3,
        },
        rest: manifest.rest.clone(),
        tensor_crcs: crcs.collect(),
    };
    let difference = Manifest::difference(checkpoint, headers, plan, &contents, text)?;
    let mut found = Vec::new();
    let mut differs = |why: &str, offset| {
        let name = "image.json".to_owned();
        found.push(Damage::File { name, why: why.to_owned(), offset });
    };
    if manifest.rest.as_ref().is_some_and(|rest| !are_gaps(checkpoint, rest)) {
        differs("the ranges of rest.bin are not in the checkpoint's gaps", None);
    }
    if let Some(same) = difference {
        let why = "it is not what the headers, the layout and its own contents give";
        differs(why, Some(same as u64));
    }
    Ok(found)
}

/// Whether the ranges lie in the checkpoint's gaps, at most one in each and in
/// order, and make up the file.
fn are_gaps(checkpoint: &Checkpoint, rest: &ManifestRest) -> bool {
    let gaps = checkpoint.gaps();
    let mut free = 0;
    let mut taken = |range: &RestRange| {
        // Gaps are in order, so one alone can hold it.
        let start = (range.shard, range.offset);
        let after = gaps.partition_point(|gap| (gap.shard, gap.offset) <= start);
        let at = after.checked_sub(1).filter(|&at| at >= free);
        let gap = at.and_then(|at| gaps.get(at));
        let end = range.offset.checked_add(range.length);
        free = after;
        gap.zip(end).is_some_and(|(gap, end)| {
            let within = end <= gap.offset.saturating_add(gap.len);
            gap.shard == range.shard && within && range.length > 0
        })
    };
    let sum = rest.ranges.iter().try_fold(0u64, |sum, range| sum.checked_add(range.length));
    rest.ranges.iter().all(&mut taken) && sum == Some(rest.length)
}

/// Checks one tile: its bytes, its check word, its place in `tiles.crc` and its padding.
pub fn check_tile(
    image: &Image,
    task: &TileTask,
    tile: &[u8],
    listed: u32,
) -> Result<Vec<Damage>, PackError> {
    let check = image.layout().check;
    let (crc, _) = read_tile_crc(tile, check).ok_or(PackError::Tile { tile: task.tile.index })?;
    check_tile_of_crc(image, task, tile, crc, listed)
}

/// As [`check_tile`], of a tile whose CRC was computed elsewhere.
pub fn check_tile_of_crc(
    image: &Image,
    task: &TileTask,
    tile: &[u8],
    crc: u32,
    listed: u32,
) -> Result<Vec<Damage>, PackError> {
    let word =
        check_word(tile, image.layout().check).ok_or(PackError::Tile { tile: task.tile.index })?;
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
    /// [`unpack_tile`] gave them back from every tile but kernels'. Puts the
    /// kernels' bytes to them, once all their tiles have come by: see
    /// [`Verifier::is_whole`].
    pub fn absorb(
        &mut self,
        window: &Window,
        channel_bytes: &[u8],
        restored: &mut [u8],
    ) -> Result<(), PackError> {
        for range in &window.sources {
            let kernel = self.plan.image().tensors().get(range.tensor).is_some_and(|t| t.kernel);
            let start = usize::try_from(range.at).ok();
            let len = usize::try_from(range.len).ok();
            let bytes =
                start.zip(len).and_then(|(start, len)| restored.get_mut(start..)?.get_mut(..len));
            let bytes = bytes.ok_or(PackError::Tile { tile: window.tiles.start })?;
            if kernel {
                self.absorb_kernel(range.tensor, window, channel_bytes, bytes)?;
            } else {
                self.crcs.absorb_range(range.tensor, range.tensor_offset, bytes);
            }
        }
        Ok(())
    }

    /// Whether a window's range of source bytes is whole once the window has
    /// been taken: a kernel's is only with its last tile.
    pub fn is_whole(&self, window: &Window, range: &SourceRange) -> bool {
        let image = self.plan.image();
        let kernel = image.tensors().get(range.tensor).is_some_and(|tensor| tensor.kernel);
        let end = image.placements().get(range.tensor).map_or(0, |placement| placement.tiles.end);
        !kernel || window.tiles.end >= end
    }

    fn absorb_kernel(
        &mut self,
        tensor: usize,
        window: &Window,
        channel_bytes: &[u8],
        restored: &mut [u8],
    ) -> Result<(), PackError> {
        let image = self.plan.image();
        let mut bytes = match self.kernel.take() {
            Some((of, bytes)) if of == tensor => bytes,
            _ => vec![0; restored.len()],
        };
        for task in window.tasks.iter().filter(|task| task.tile.tensor == tensor) {
            let whole = TileTask { source: 0, ..*task };
            unpack_tile(image, &whole, tile_slice(task, channel_bytes)?, &mut bytes)?;
        }
        let end = image.placements().get(tensor).map_or(0, |placement| placement.tiles.end);
        if window.tiles.end >= end {
            self.crcs.absorb_range(tensor, 0, &bytes);
            restored.copy_from_slice(&bytes);
        } else {
            self.kernel = Some((tensor, bytes));
        }
        Ok(())
    }

    /// A tensor of which all bytes have come by, if its CRC is not the
    /// manifest's.
    pub fn tensor_damage(&self, manifest: &Manifest, tensor: usize) -> Option<Damage> {
        let (actual, taken) = self.crcs.get(tensor)?;
        let whole = self.plan.sources().get(tensor).is_some_and(|source| source.len == taken);
        let ours = manifest.tensors.get(tensor).filter(|_| whole)?;
        tensor_damage(ours, actual)
    }

    /// The tensors whose CRC is not the manifest's.
    pub fn finish(self, manifest: &Manifest) -> Vec<Damage> {
        let actual = self.crcs.finish();
        let pairs = manifest.tensors.iter().zip(actual);
        pairs.filter_map(|(tensor, actual)| tensor_damage(tensor, actual)).collect()
    }
}

fn tensor_damage(ours: &ManifestTensor, actual: u32) -> Option<Damage> {
    let expected = u32::from_str_radix(&ours.crc32c, 16).unwrap_or(!actual);
    let tensor = || ours.name.clone();
    (expected != actual).then(|| Damage::Tensor { tensor: tensor(), expected, actual })
}
