//! The core against the oracle: two readings of one specification, over random tables and layouts.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what does not plan or pack fails a test")]

mod balance;
mod bites;
mod bytes;
mod plan;
mod refusals;
mod step;
mod windows;
