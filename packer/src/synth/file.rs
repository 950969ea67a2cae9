//! A GGUF file of random blocks: what is in it, and writing it whole or not at
//! all.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use thiserror::Error;
use wimg_core::gguf::Value;
use wimg_core::gguf::write::{self, WriteError, Written};
use wimg_core::{Escaped, Format, TensorEntry};

use super::{SCALE_MAX, blocks};

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
#[derive(Debug, Error)]
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
    /// A file is there already.
    #[error("`{}` exists and is left as it is", shown(.0))]
    Exists(PathBuf),
    /// Not enough space.
    #[error("`{}` needs {needed} bytes, but its file system has {free} free", shown(path))]
    Space {
        /// The file.
        path: PathBuf,
        /// The bytes that it takes.
        needed: u64,
        /// The bytes that there are.
        free: u64,
    },
    /// The operating system refused.
    #[error("`{}` cannot be written: {source}", shown(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
}

fn shown(path: &Path) -> String {
    Escaped::new(path.as_os_str().as_encoded_bytes()).to_string()
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
    /// Writes the file to `out`: under a temporary name in the same directory,
    /// then fsynced and renamed, so there is never half a file at `out`. The
    /// bytes depend on the metadata, the tensors and the seed alone.
    ///
    /// # Errors
    /// A table without a header, an `out` that exists (unless `force`), too
    /// little free space, or what the operating system refuses.
    pub fn write(&self, out: &Path, force: bool) -> Result<SynthDone, SynthError> {
        let written = write::header(&self.metadata, &self.tensors)?;
        publish(out, force, written.file_bytes, |file| {
            file.set_len(written.file_bytes)?;
            file.write_all_at(&written.bytes, 0)?;
            self.chunks(&written).par_iter().try_for_each_init(Vec::new, |bytes, chunk| {
                bytes.resize(chunk.bytes, 0);
                blocks::fill(chunk.format, self.seed, chunk.tensor, chunk.number, bytes);
                file.write_all_at(bytes, chunk.at)
            })
        })?;
        Ok(self.done(&written))
    }

    /// Writes the header to `out` like [`SynthFile::write`], and leaves the
    /// tensors' data a hole.
    ///
    /// # Errors
    /// See [`SynthFile::write`].
    pub fn write_sparse(&self, out: &Path, force: bool) -> Result<SynthDone, SynthError> {
        let written = write::header(&self.metadata, &self.tensors)?;
        publish(out, force, written.bytes.len() as u64, |file| {
            file.write_all_at(&written.bytes, 0)?;
            file.set_len(written.file_bytes)
        })?;
        Ok(self.done(&written))
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

/// Puts at `out` what `write` writes, whole or not at all. `needed` is the space
/// that it takes, in bytes.
fn publish(
    out: &Path,
    force: bool,
    needed: u64,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), SynthError> {
    let refused = |source| SynthError::Io { path: out.to_owned(), source };
    let exists = || SynthError::Exists(out.to_owned());
    if !force && out.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let name = out.file_name().ok_or_else(|| refused(io::ErrorKind::IsADirectory.into()))?;
    let directory = match out.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let space = rustix::fs::statvfs(directory).map_err(|source| refused(source.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if needed > free {
        return Err(SynthError::Space { path: out.to_owned(), needed, free });
    }
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let temporary = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".partial")
        // As any file that is created; the umask takes its part.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
        .map_err(refused)?;
    write(temporary.as_file()).map_err(refused)?;
    temporary.as_file().sync_all().map_err(refused)?;
    let renamed = if force { temporary.persist(out) } else { temporary.persist_noclobber(out) };
    renamed.map_err(|failed| match failed.error.kind() {
        io::ErrorKind::AlreadyExists => exists(),
        _ => refused(failed.error),
    })?;
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(refused)
}
