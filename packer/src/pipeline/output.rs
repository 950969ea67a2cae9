//! The files that a pipeline writes: the channels and `tiles.crc`.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use wimg_core::manifest::ManifestFile;
use wimg_core::{Digest, Plan};

use super::block::{ALIGN, Block};
use super::disk::{Disk, Write, set_direct};
use super::middle::Job;
use crate::error::Error;
use crate::fault;
use crate::store::{Staging, TILES_CRC, channel_name};

/// Bytes of the blocks that channels are gathered in, of all channels.
const BLOCKS_BYTES: usize = 8 << 20;
/// Bytes of a channel's block: enough that the disk is never asked for little.
const BLOCK_BYTES: std::ops::RangeInclusive<usize> = 32 << 10..=2 << 20;
/// The most bytes that are gathered, wait for the disk or are used again.
pub(crate) const HELD_BYTES: u64 = 32 << 20;

/// A channel's file as it grows.
#[derive(Debug)]
struct ChannelFile {
    path: PathBuf,
    file: Arc<File>,
    hasher: blake3::Hasher,
    /// Where in the file `block` goes.
    offset: u64,
    /// What is still gathered.
    block: Option<Block>,
}

/// The files that the pipeline writes.
#[derive(Debug)]
pub(super) struct Output {
    line_bytes: u64,
    /// Bytes of all channels.
    pub(super) total: u64,
    channels: Vec<ChannelFile>,
    disk: Disk,
    crcs_path: PathBuf,
    crcs: BufWriter<File>,
    crcs_hasher: blake3::Hasher,
    crcs_len: u64,
}

/// Room of a block: no more than a channel has bytes.
fn block_room(channels: usize, longest: u64) -> usize {
    let share = BLOCKS_BYTES / channels.max(1);
    let room = share.clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end());
    let longest = usize::try_from(longest).unwrap_or(usize::MAX);
    room.min(longest).next_multiple_of(ALIGN)
}

impl Output {
    pub(super) fn create(plan: &Plan, staging: &Staging) -> Result<Output, Error> {
        let image = plan.image();
        let mut channels = Vec::new();
        for channel in 0..image.channel_lines().len() {
            let (path, file) = staging.create_file(&channel_name(channel))?;
            // Where that cannot be had, the page cache takes it.
            let _ = set_direct(&file, true);
            channels.push(ChannelFile {
                path,
                file: Arc::new(file),
                hasher: blake3::Hasher::new(),
                offset: 0,
                block: None,
            });
        }
        let (crcs_path, file) = staging.create_file(TILES_CRC)?;
        let line_bytes = image.layout().line_bytes;
        let longest = image.channel_lines().iter().max().map_or(0, |lines| lines * line_bytes);
        Ok(Output {
            line_bytes,
            total: image.channel_lines().iter().sum::<u64>() * line_bytes,
            disk: Disk::new(block_room(channels.len(), longest)),
            channels,
            crcs_path,
            crcs: BufWriter::with_capacity(1 << 18, file),
            crcs_hasher: blake3::Hasher::new(),
            crcs_len: 0,
        })
    }

    /// Hashes a window and has it written: each channel's run after those of
    /// the windows before.
    pub(super) fn write(&mut self, job: &Job) -> Result<(), Error> {
        let (line_bytes, disk) = (self.line_bytes, &self.disk);
        let runs = job.window.runs.par_iter().zip(&mut self.channels);
        let full = runs.map(|(run, channel)| {
            let start = usize::try_from(run.at).unwrap_or(usize::MAX);
            let len = usize::try_from(run.lines * line_bytes).unwrap_or(usize::MAX);
            let bytes = job.channel_bytes.get(start..).and_then(|bytes| bytes.get(..len));
            Ok(channel.gather(bytes.ok_or(Error::Stopped("writing"))?, disk))
        });
        let full: Result<Vec<Vec<Write>>, Error> = full.collect();
        for write in full?.into_iter().flatten() {
            self.disk.write(write)?;
        }
        let words: Vec<u8> = job.crcs.iter().flat_map(|crc| crc.to_le_bytes()).collect();
        self.crcs_hasher.update(&words);
        self.crcs_len += words.len() as u64;
        let written = self.crcs.write_all(&words);
        written.map_err(|cause| Error::io(&self.crcs_path, "writing it", cause))
    }

    /// Waits until the disk has all of it; the channels' digests and `tiles.crc`.
    pub(super) fn finish(mut self) -> Result<(Vec<Digest>, ManifestFile), Error> {
        for channel in &mut self.channels {
            if let Some(write) = channel.last() {
                self.disk.write(write)?;
            }
        }
        self.disk.wait()?;
        let failed = |path: &PathBuf, cause| Error::io(path, "syncing it", cause);
        fault::at("sync").map_err(|cause| failed(&self.crcs_path, cause))?;
        let crcs =
            self.crcs.into_inner().map_err(|error| failed(&self.crcs_path, error.into_error()))?;
        crcs.sync_all().map_err(|cause| failed(&self.crcs_path, cause))?;
        let digests = self.channels.par_iter().map(|channel| {
            let synced = fault::at("sync").and_then(|()| channel.file.sync_all());
            synced.map_err(|cause| failed(&channel.path, cause))?;
            Ok(Digest::finish(&channel.hasher))
        });
        let blake3 = Digest::finish(&self.crcs_hasher);
        Ok((digests.collect::<Result<_, Error>>()?, ManifestFile { length: self.crcs_len, blake3 }))
    }
}

impl ChannelFile {
    /// Hashes bytes and gathers them; the blocks that are full then.
    fn gather(&mut self, mut bytes: &[u8], disk: &Disk) -> Vec<Write> {
        self.hasher.update(bytes);
        let mut full = Vec::new();
        while !bytes.is_empty() {
            let block = self.block.get_or_insert_with(|| disk.block());
            let taken = block.take(bytes);
            bytes = bytes.get(taken..).unwrap_or_default();
            if block.is_full() {
                full.extend(self.last());
            }
        }
        full
    }

    /// What is gathered, to be written.
    fn last(&mut self) -> Option<Write> {
        let block = self.block.take()?;
        let offset = self.offset;
        self.offset += block.bytes().len() as u64;
        Some(Write { path: self.path.clone(), file: Arc::clone(&self.file), offset, block })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::disk::{QUEUE, THREADS};

    #[test]
    fn blocks_are_aligned_and_bounded() {
        for channels in 1..=256 {
            for longest in [0, 1, 4096, 4097, 1 << 20, 1 << 40] {
                let room = block_room(channels, longest);
                assert!(room.is_multiple_of(ALIGN) && room <= 2 << 20, "{channels} {longest}");
                assert!(room as u64 >= longest.min(32 << 10), "{channels} {longest}");
                // One that is gathered and one that is full of each channel, and
                // what the disk has.
                let held = room * (2 * channels + THREADS + QUEUE);
                assert!(held as u64 <= HELD_BYTES, "{channels} {longest}: {held}");
            }
        }
    }
}
