//! Errors of packing on a GPU.

use std::ops::Range;

use thiserror::Error;

use crate::core::PackError;

/// What can go wrong on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// There is no adapter at all.
    #[error(
        "no GPU adapter found; a driver for Vulkan, Metal or DirectX 12 is needed (in software on Debian: the package mesa-vulkan-drivers)"
    )]
    NoAdapter,
    /// No adapter is the one asked for.
    #[error("no GPU adapter is `{asked}`: {}", list(.there))]
    NoSuchAdapter {
        /// The number or part of a name.
        asked: String,
        /// The adapters' names.
        there: Vec<String>,
    },
    /// The adapter gives no device.
    #[error("GPU `{adapter}` cannot be opened: {why}")]
    Open {
        /// The adapter's name.
        adapter: String,
        /// The driver's reason.
        why: String,
    },
    /// The adapter computes wrong bytes.
    #[error(
        "GPU `{adapter}` with driver `{driver}` computes wrong bytes: {what}; it cannot be used"
    )]
    WrongBytes {
        /// The adapter's name.
        adapter: String,
        /// The driver.
        driver: String,
        /// What differs, and where.
        what: String,
    },
    /// The device is gone.
    #[error("the GPU was lost: {why}")]
    Lost {
        /// The driver's reason.
        why: String,
    },
    /// The GPU has no memory left.
    #[error("the GPU is out of memory: {what}")]
    OutOfMemory {
        /// What was asked for.
        what: String,
    },
    /// The driver or its validation refused something.
    #[error("the GPU refused a command: {what}")]
    Validation {
        /// What, and why.
        what: String,
    },
    /// A window takes more than the device or the user allows.
    #[error(
        "window of tiles {tiles:?}: its {what} take `{bytes}` bytes of GPU memory, at most {limit} are allowed"
    )]
    TooLarge {
        /// The window's tiles.
        tiles: Range<u64>,
        /// Which bytes.
        what: &'static str,
        /// How many.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// As many windows are in flight as may be.
    #[error("`{in_flight}` windows are in flight, no more may be")]
    Busy {
        /// The windows.
        in_flight: usize,
    },
    /// No window is in flight.
    #[error("no window is in flight")]
    Idle,
    /// A window is asked for that is not the oldest in flight.
    #[error(
        "the oldest window in flight is of tiles {submitted:?}, not {asked:?} or of other bytes"
    )]
    Order {
        /// The oldest window's tiles.
        submitted: Range<u64>,
        /// The tiles asked for.
        asked: Range<u64>,
    },
    /// A window and buffers that do not belong together.
    #[error(transparent)]
    Pack(#[from] PackError),
}

fn list(names: &[String]) -> String {
    let named: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| format!("number {number} is `{name}`"))
        .collect();
    named.join(", ")
}
