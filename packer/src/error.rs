//! What can go wrong in the packer, and the exit code that says what to do about it.
//!
#![doc = include_str!("../ERRORS.md")]

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use wimg_core::{Escaped, ImageError, PackError};

use crate::gpu::GpuError;
use crate::nightly::config::ConfigError;
use crate::report::ReportError;
use crate::serve::ServeError;
use crate::source::SourceError;
use crate::synth::SynthError;

/// Why a command of the packer did not do its work. Paths are shown escaped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The checkpoint cannot be opened or read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The checkpoint has no such image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A window and its buffers do not fit: a mistake of the program or a damaged plan.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A synthetic checkpoint was not written.
    #[error(transparent)]
    Synth(#[from] SynthError),
    /// The page cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// There is no report of it.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// No GPU can be used, or it failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A GPU found a damage that is none.
    #[error(
        "the GPU computed another CRC of tile {tile} than the CPU, which agrees with the image; it cannot be used"
    )]
    GpuCrc {
        /// The tile's number.
        tile: u64,
    },
    /// The operating system refused.
    #[error("`{}`: {doing}: {cause}", shown(.path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// The system's reason.
        cause: io::Error,
    },
    /// The target is there already.
    #[error("`{}` exists and is left as it is (replace it with --force)", shown(.0))]
    Exists(PathBuf),
    /// The target is something that must not be replaced.
    #[error("`{}` is {what}, so {noun} is not put in its place", shown(.path))]
    Occupied {
        /// The target.
        path: PathBuf,
        /// What it is.
        what: String,
        /// What was to be there.
        noun: &'static str,
    },
    /// A folder that is no image.
    #[error("`{}` is no image: it has no image.json", shown(.0))]
    NotAnImage(PathBuf),
    /// An image that does not hold the whole checkpoint.
    #[error(
        "`{}` holds the tensors of selection `{selection}` alone and gives no whole checkpoint \
         back: name one of its tensors, or pack with `all` or `table`",
        shown(.path)
    )]
    NotWhole {
        /// The image.
        path: PathBuf,
        /// Its selection.
        selection: &'static str,
    },
    /// A tensor that the image does not hold.
    #[error("`{}` has no tensor `{}` among its {tensors}", shown(.path), Escaped::new(.name))]
    NoTensor {
        /// The image.
        path: PathBuf,
        /// The name that was asked for.
        name: String,
        /// The tensors that it has.
        tensors: usize,
    },
    /// Whoever was to take the bytes did not.
    #[error("writing the result: {0}")]
    Write(io::Error),
    /// An image whose files cannot be believed.
    #[error("`{}`: {why}", shown(.path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// An image that a later program wrote.
    #[error("`{}`: {why}", shown(.path))]
    Later {
        /// The file.
        path: PathBuf,
        /// Its version and ours.
        why: String,
    },
    /// The image does not fit the card.
    #[error(
        "the image does not fit: channel {channel} needs {lines} lines and holds {limit}, {} short",
        lines - limit
    )]
    DoesNotFit {
        /// The fullest channel.
        channel: usize,
        /// The lines it needs.
        lines: u64,
        /// The lines it holds.
        limit: u64,
    },
    /// Too little space for the result.
    #[error("`{}`: {needed} bytes are needed, {free} are free", shown(.path))]
    Space {
        /// The folder.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// A freshly packed image did not verify; it was not put in place.
    #[error("the packed image does not verify and was not put in place: {0}")]
    Unverified(String),
    /// A source that the image was not made from.
    #[error("`{}` is not the checkpoint that the image was made from: {why}", shown(.path))]
    OtherSource {
        /// The checkpoint.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// A night's configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A night's file that is not what it should be.
    #[error("`{}`: {why}", shown(.path))]
    Night {
        /// The file.
        path: PathBuf,
        /// What is wrong, escaped.
        why: String,
    },
    /// Somebody asked to stop.
    #[error("stopped, as asked")]
    Interrupted,
    /// Somebody else holds a lock.
    #[error("`{}` is held by {who}", shown(.path))]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// Who, as the file says it, escaped.
        who: String,
    },
    /// A stage of the pipeline ended without a word.
    #[error("the {0} stage stopped")]
    Stopped(&'static str),
}

/// Whether no file has, or can have, the path.
fn is_no_path(cause: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    [NotFound, NotADirectory, InvalidFilename].contains(&cause.kind())
}

/// A path, safe to show.
pub(crate) fn shown(path: &Path) -> String {
    Escaped::new(path.as_os_str().as_encoded_bytes()).to_string()
}

impl Error {
    /// A system error over a path.
    pub fn io(path: &Path, doing: &'static str, cause: impl Into<io::Error>) -> Error {
        Error::Io { path: path.to_owned(), doing, cause: cause.into() }
    }

    /// The exit code: 1 damage found, 2 a wrong configuration, 3 bad input (do not retry), 4 I/O or
    /// resources (a retry may help), 5 no usable GPU.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Gpu(_) | Error::GpuCrc { .. } => 5,
            Error::Damaged { .. } | Error::OtherSource { .. } => 1,
            Error::Config(_) => 2,
            // A path that names nothing is the caller's mistake, not the disk's.
            Error::Source(SourceError::Open { cause, .. }) if is_no_path(cause) => 3,
            Error::Io { cause, .. } if is_no_path(cause) => 3,
            Error::Source(error) if error.is_io() => 4,
            Error::Io { .. } | Error::Space { .. } | Error::Write(_) => 4,
            Error::Unverified(_) | Error::Stopped(_) => 4,
            Error::Interrupted | Error::Held { .. } => 4,
            Error::Serve(ServeError::Listen { .. }) => 4,
            _ => 3,
        }
    }
}
