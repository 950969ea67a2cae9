//! A window as the GPU gets it: its source bytes and the kernels' tables.

use std::ops::Range;

use wimg_shaders::tile_crc::Weights;

use super::GpuError;
use super::device::Device;
use super::place::Place;
use super::polynomial::weights;
use super::table::Table;
use super::tile_crc::{CrcTable, group_tiles};
use super::{plain, stripe, transpose};
use crate::core::PackError;
use crate::core::image::Image;
use crate::core::pack::{Kernel, check_source};
use crate::core::window::{TileTask, Window};
use wimg_shaders::plain::PlainTile;
use wimg_shaders::stripe::StripeTile;
use wimg_shaders::transpose::TransposeTile;

/// Bytes of the vectors that `tile_crc` reads.
const VECTOR_BYTES: u64 = 16;

/// A window as the GPU gets it: to be packed, or to be checked.
#[derive(Debug)]
pub(super) struct Job<'a> {
    /// The window's tiles.
    pub(super) tiles: Range<u64>,
    /// Whether it is packed; else its channel bytes are there and are checked.
    pub(super) packs: bool,
    /// Its source bytes, or the channel bytes that are checked.
    pub(super) source: &'a [u8],
    /// Bytes of its channels.
    pub(super) channel_bytes: u64,
    /// Lanes that share a tile in `tile_crc`.
    pub(super) lanes: u32,
    plain: Table<PlainTile>,
    stripe: Table<StripeTile>,
    transpose: Table<TransposeTile>,
    crc: CrcTable,
    weights: Weights,
}

/// Where a part of a job lies in a buffer, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// Where the parts of a job lie in the buffers that go up and come down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Regions {
    /// Up: what the job brings, and the words that a kernel may read past it.
    pub(super) source: Region,
    /// Up, by packing kernel: its tiles, and by workgroup its tile.
    pub(super) packers: [(Region, Region); 3],
    /// Up: `tile_crc`'s tiles.
    pub(super) crc: Region,
    /// Up: `tile_crc`'s weights.
    pub(super) weights: Region,
    /// Bytes that go up.
    pub(super) up: u64,
    /// Down: the channel bytes; none where the host has them.
    pub(super) channel: Region,
    /// Down: the channel bytes in whole vectors, as `tile_crc` reads them.
    pub(super) vectors: Region,
    /// Down: by tile, its CRC.
    pub(super) crcs: Region,
    /// Bytes that come down.
    pub(super) down: u64,
}

impl<'a> Job<'a> {
    /// A window to be packed, with `lanes` lanes a tile in `tile_crc`.
    pub(super) fn pack(
        image: &Image,
        window: &Window,
        source: &'a [u8],
        lanes: u32,
    ) -> Result<Job<'a>, GpuError> {
        check_source(window, source)?;
        let mut job = Job::new(window, source, lanes, true);
        for task in &window.tasks {
            let refuse = PackError::Tile { tile: task.tile.index };
            job.push(image, window, task).ok_or(refuse)?;
        }
        Ok(job)
    }

    /// A window whose tiles' CRCs are wanted of the channel bytes that are there.
    pub(super) fn check(
        image: &Image,
        window: &Window,
        channel_bytes: &'a [u8],
        lanes: u32,
    ) -> Result<Job<'a>, GpuError> {
        if bytes(channel_bytes) != window.channel_bytes {
            let length = PackError::Length {
                tiles: window.tiles.clone(),
                what: "channel bytes",
                actual: bytes(channel_bytes),
                expected: window.channel_bytes,
            };
            return Err(length.into());
        }
        let mut job = Job::new(window, channel_bytes, lanes, false);
        let check = image.layout().check;
        for task in &window.tasks {
            let refuse = PackError::Tile { tile: task.tile.index };
            let place = Place::of(window, task, 0, 0);
            place.and_then(|place| job.crc.push(place, check, false)).ok_or(refuse)?;
        }
        Ok(job)
    }

    fn new(window: &Window, source: &'a [u8], lanes: u32, packs: bool) -> Job<'a> {
        Job {
            tiles: window.tiles.clone(),
            packs,
            source,
            channel_bytes: window.channel_bytes,
            lanes,
            plain: plain::table(),
            stripe: stripe::table(),
            transpose: transpose::table(),
            crc: CrcTable::default(),
            weights: weights(lanes),
        }
    }

    fn push(&mut self, image: &Image, window: &Window, task: &TileTask) -> Option<()> {
        let kernel = Kernel::of(image, task)?;
        let bytes = kernel.tile_bytes();
        let place = Place::of(window, task, kernel.source_bytes(), bytes)?;
        match kernel {
            Kernel::Plain { .. } => plain::push(&mut self.plain, place, bytes)?,
            Kernel::Stripe(shape) => stripe::push(&mut self.stripe, place, shape)?,
            Kernel::Transpose(shape) => {
                transpose::push(&mut self.transpose, place, shape, bytes)?;
            }
        }
        self.crc.push(place, image.layout().check, true)
    }

    /// By packing kernel: its tiles, by workgroup its tile, and its workgroups.
    fn tables(&self) -> [(&[u8], &[u8], u32); 3] {
        [
            (self.plain.tile_bytes(), self.plain.group_bytes(), self.plain.group_count()),
            (self.stripe.tile_bytes(), self.stripe.group_bytes(), self.stripe.group_count()),
            (
                self.transpose.tile_bytes(),
                self.transpose.group_bytes(),
                self.transpose.group_count(),
            ),
        ]
    }

    /// By packing kernel: its workgroups.
    pub(super) fn groups(&self) -> [u32; 3] {
        self.tables().map(|(_, _, groups)| groups)
    }

    /// `tile_crc`'s workgroups.
    pub(super) fn crc_groups(&self) -> u32 {
        let tiles = u32::try_from(self.crc.len()).unwrap_or(u32::MAX);
        tiles.div_ceil(group_tiles(self.lanes))
    }

    /// Where the job's parts go.
    pub(super) fn regions(&self, device: &Device) -> Regions {
        let mut up = 0;
        let mut region = |len: u64| {
            let offset = device.align(up);
            up = offset + len;
            Region { offset, len }
        };
        // A shifted read takes one word more.
        let source = region(bytes(self.source).next_multiple_of(4) + 4);
        let packers =
            self.tables().map(|(tiles, groups, _)| (region(bytes(tiles)), region(bytes(groups))));
        let crc = region(bytes(self.crc.tile_bytes()));
        let weights = region(size_of::<Weights>() as u64);
        let vectors = self.channel_bytes.next_multiple_of(VECTOR_BYTES);
        let crcs = device.align(vectors);
        let crcs = Region { offset: crcs, len: 4 * self.crc.len() as u64 };
        Regions {
            source,
            packers,
            crc,
            weights,
            up,
            channel: Region { offset: 0, len: if self.packs { self.channel_bytes } else { 0 } },
            vectors: Region { offset: 0, len: vectors },
            crcs,
            down: crcs.offset + crcs.len,
        }
    }

    /// What goes up beside the source bytes, and where.
    pub(super) fn uploads(&self, regions: &Regions) -> Vec<(Region, &[u8])> {
        let mut uploads = vec![
            (regions.crc, self.crc.tile_bytes()),
            (regions.weights, bytemuck::bytes_of(&self.weights)),
        ];
        for ((tiles, groups, _), (tile_region, group_region)) in
            self.tables().into_iter().zip(regions.packers)
        {
            uploads.push((tile_region, tiles));
            uploads.push((group_region, groups));
        }
        uploads.retain(|(region, _)| region.len > 0);
        uploads
    }
}

fn bytes(slice: &[u8]) -> u64 {
    slice.len() as u64
}
