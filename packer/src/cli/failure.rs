//! Why a command stopped.

use std::fmt;
use std::io;
use std::path::Path;

use wimg_core::{Escaped, ImageError, ManifestError};

use super::exit::Exit;
use crate::source::SourceError;
use crate::synth::SynthError;

/// Why a command stopped, in words for the user: names are escaped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for what cannot be.
    Usage(String),
    /// Something that was read is no good.
    Input(String),
    /// The system failed: trying again may help.
    Resources(String),
    /// The results could not be written.
    Output(io::Error),
}

impl Failure {
    /// The exit code's meaning.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Usage(_) => Exit::USAGE,
            Failure::Input(_) => Exit::INPUT,
            Failure::Resources(_) | Failure::Output(_) => Exit::RESOURCES,
        }
    }

    /// Whether whoever read the results has left.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Output(cause) if cause.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Input(text) | Failure::Resources(text) => {
                f.write_str(text)
            }
            Failure::Output(cause) => write!(f, "writing the result: {cause}"),
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Failure {
        let text = error.to_string();
        if error.is_io() { Failure::Resources(text) } else { Failure::Input(text) }
    }
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Failure {
        let text = error.to_string();
        match error {
            // A layout comes from the command line.
            ImageError::LayoutBounds { .. } | ImageError::LayoutNeedsStripe { .. } => {
                Failure::Usage(text)
            }
            _ => Failure::Input(text),
        }
    }
}

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Failure {
        Failure::Input(error.to_string())
    }
}

impl From<SynthError> for Failure {
    fn from(error: SynthError) -> Failure {
        let text = error.to_string();
        match error {
            SynthError::Scale { .. } | SynthError::Exists(_) => Failure::Usage(text),
            SynthError::Space { .. } | SynthError::Io { .. } => Failure::Resources(text),
            _ => Failure::Input(text),
        }
    }
}

/// A path, escaped.
pub(crate) fn shown(path: &Path) -> Escaped<'_> {
    Escaped::new(path.as_os_str().as_encoded_bytes())
}
