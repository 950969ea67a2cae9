//! Why a part of a night failed, and what to do about it.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::source::SourceError;

/// Why something failed. Text is escaped already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// The exit code that it asks for.
    pub code: u8,
    /// Why.
    pub cause: String,
    /// What to do.
    pub advice: String,
}

impl Problem {
    /// That of an error.
    pub fn of(error: &Error) -> Problem {
        let advice = advice(error).to_owned();
        Problem { code: error.exit_code(), cause: error.to_string(), advice }
    }

    /// Bad input, in words.
    pub fn bad_input(cause: String, advice: &str) -> Problem {
        Problem { code: 3, cause, advice: advice.to_owned() }
    }
}

/// What to do about an error.
fn advice(error: &Error) -> &'static str {
    match error {
        Error::Space { .. } => {
            "free space there, or keep fewer `generations`; the next night tries again"
        }
        Error::Interrupted => "start the night again: it goes on with the next image",
        Error::Held { .. } => "wait for that one to end",
        Error::DoesNotFit { .. } => "choose a layout with more lines, or a smaller checkpoint",
        Error::Image(_) => "choose another layout or selection for this checkpoint",
        Error::Later { .. } => "use the wimg that wrote it, or a later one",
        Error::Occupied { .. } | Error::Exists(_) => "move away what is in the way",
        Error::Unverified(_) => "check the disk and the memory of this machine; then run again",
        Error::Source(SourceError::Changed { .. }) => {
            "let the copy of the checkpoint finish before the night starts"
        }
        Error::Source(error) if !error.is_io() => {
            "copy the checkpoint again from where it came, or take it out of the configuration"
        }
        _ if error.exit_code() == 3 => "put it there, or take it out of the configuration",
        _ => "look at the disk and the system's log; the next night tries again",
    }
}
