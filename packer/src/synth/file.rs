//! A GGUF file of random blocks: what is in it, and writing it whole or not at
//! all.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use wimg_core::gguf::Value;
use wimg_core::gguf::write::{self, WriteError, Written};
use wimg_core::{Format, TensorEntry};

use super::{SCALE_MAX, blocks};
use crate::error::Error;
use crate::progress::{Progress, Stage, Tell};
use crate::store::{place_file, require_space};

/// Bytes of a chunk, cut to whole blocks: a chunk's bytes depend on the seed,
/// its tensor and its number alone, so chunks are made in any order.
const CHUNK_BYTES: u64 = 1 << 20;

/// A GGUF file of random blocks: metadata, tensors and a seed.
#[derive(Clone, Debug)]
pub struct SynthFile {
    /// The metadata, in order.
    pub metadata: Vec<(String, Value)>,
    /// The tensors, in order.
    pub tensors: Vec<TensorEntry>,
    /// The seed of the blocks.
    pub seed: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynthDone {
    /// The tensors.
    pub tensors: usize,
    /// The bytes before the tensors' data.
    pub header_bytes: u64,
    /// The file's size in bytes.
    pub file_bytes: u64,
}

/// Why no synthetic checkpoint was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SynthError {
    /// A scale out of bounds.
    #[error("scale `{scale}` is not within 1 and {SCALE_MAX}")]
    Scale {
        /// The scale.
        scale: u64,
    },
    /// A header that is not a qwen35 checkpoint's.
    #[error("header `{header}` has tensors other than those of qwen35: its widths are not known")]
    Structure {
        /// The header's name.
        header: &'static str,
    },
    /// A table that has no GGUF header.
    #[error(transparent)]
    Header(#[from] WriteError),
}

/// A run of a tensor's blocks, made and written at once.
struct Chunk {
    format: Format,
    tensor: u64,
    number: u64,
    /// Where in the file, in bytes.
    at: u64,
    bytes: usize,
}

impl SynthFile {
    /// Writes the file to `out`, whole or not at all: it is built beside `out`
    /// and put there once the disk has it. The bytes depend on the metadata, the
    /// tensors and the seed alone. `tell` hears of the tensors' bytes.
    ///
    /// # Errors
    /// A table without a header, an `out` that exists (unless `force`), too
    /// little free space, or what the operating system refuses.
    pub fn write(&self, out: &Path, force: bool, tell: Tell<'_>) -> Result<SynthDone, Error> {
        let written = self.header()?;
        require_space(out, written.file_bytes)?;
        let chunks = self.chunks(&written);
        let total = chunks.iter().map(|chunk| chunk.bytes as u64).sum();
        // Held while telling, so that what is told never falls.
        let done = Mutex::new(0);
        place_file(out, force, |file| {
            file.set_len(written.file_bytes)?;
            file.write_all_at(&written.bytes, 0)?;
            chunks.par_iter().try_for_each_init(Vec::new, |bytes, chunk| {
                bytes.resize(chunk.bytes, 0);
                blocks::fill(chunk.format, self.seed, chunk.tensor, chunk.number, bytes);
                file.write_all_at(bytes, chunk.at)?;
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                *done += chunk.bytes as u64;
                tell(Progress { stage: Stage::Synth, done: *done, total });
                Ok(())
            })
        })?;
        Ok(self.done(&written))
    }

    /// Writes the header to `out` like [`SynthFile::write`], and leaves the
    /// tensors' data a hole.
    ///
    /// # Errors
    /// See [`SynthFile::write`].
    pub fn write_sparse(&self, out: &Path, force: bool) -> Result<SynthDone, Error> {
        let written = self.header()?;
        require_space(out, written.bytes.len() as u64)?;
        place_file(out, force, |file| {
            file.write_all_at(&written.bytes, 0)?;
            file.set_len(written.file_bytes)
        })?;
        Ok(self.done(&written))
    }

    fn header(&self) -> Result<Written, SynthError> {
        Ok(write::header(&self.metadata, &self.tensors)?)
    }

    fn done(&self, written: &Written) -> SynthDone {
        SynthDone {
            tensors: self.tensors.len(),
            header_bytes: written.bytes.len() as u64,
            file_bytes: written.file_bytes,
        }
    }

    fn chunks(&self, written: &Written) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        for (tensor, (entry, (start, length))) in
            (0..).zip(self.tensors.iter().zip(written.starts.iter().zip(&written.lengths)))
        {
            let Some(block) = entry.format.block() else { continue };
            let most = CHUNK_BYTES / block.bytes * block.bytes;
            let mut done = 0;
            for number in 0.. {
                let bytes = most.min(length - done);
                let Some(bytes) = usize::try_from(bytes).ok().filter(|bytes| *bytes > 0) else {
                    break;
                };
                chunks.push(Chunk {
                    format: entry.format,
                    tensor,
                    number,
                    at: start + done,
                    bytes,
                });
                done += bytes as u64;
            }
        }
        chunks
    }
}
