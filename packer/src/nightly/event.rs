//! What a night tells whoever watches it.

use super::problem::Problem;
use super::result::TaskResult;
use super::task::Task;
use crate::progress::Progress;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// It begins, over these images.
    Begin {
        /// The images.
        tasks: &'a [Task],
    },
    /// An image's bytes go on.
    Progress {
        /// The image.
        task: &'a Task,
        /// How far it is.
        progress: Progress,
    },
    /// Somebody else works on an image; this one waits.
    Waits {
        /// The image.
        task: &'a Task,
        /// Who, escaped.
        who: &'a str,
    },
    /// An I/O error: it is tried again.
    Retry {
        /// The image.
        task: &'a Task,
        /// How often it was tried.
        attempt: u32,
        /// What went wrong.
        problem: &'a Problem,
        /// Seconds until then.
        seconds: u64,
    },
    /// An image is done, well or not.
    Done {
        /// Its row.
        result: &'a TaskResult,
    },
    /// All are.
    End {
        /// The worst exit code.
        code: u8,
        /// Seconds that the night took.
        seconds: f64,
    },
}

/// Who is told. May be called from any thread.
pub type Observe<'a> = &'a (dyn Fn(Event<'_>) + Sync);
