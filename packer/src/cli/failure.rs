//! Why a command stopped.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::exit::Exit;
use crate::error::{Error, shown};
use crate::nightly::problem::Problem;

/// Why a command stopped, in words for the user: names are escaped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for what cannot be.
    Usage(String),
    /// The packer's own.
    Packer(Error),
    /// The packer's own, over this file or folder, which it does not name.
    Over(PathBuf, Error),
    /// Found while something else was done.
    Found(Problem),
    /// The results could not be written.
    Output(io::Error),
}

impl Failure {
    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Usage(_) => Exit::USAGE,
            Failure::Packer(error) | Failure::Over(_, error) => Exit::of(error.exit_code()),
            Failure::Found(problem) => Exit::of(problem.code),
            Failure::Output(_) => Exit::RESOURCES,
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
            Failure::Usage(text) => f.write_str(text),
            Failure::Packer(error) => error.fmt(f),
            Failure::Found(problem) => f.write_str(&problem.cause),
            Failure::Over(path, error) => write!(f, "`{}`: {error}", shown(path)),
            Failure::Output(cause) => write!(f, "writing the result: {cause}"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Write(cause) => Failure::Output(cause),
            // The command line named it.
            Error::NoTensor { .. } => Failure::Usage(error.to_string()),
            other => Failure::Packer(other),
        }
    }
}

/// What commands write is the result: nothing else of theirs is a bare system error.
impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Failure {
        Failure::Output(cause)
    }
}
