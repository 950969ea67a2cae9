//! Nights from end to end, with the real program.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what does not run or read fails the test")]

mod config;
mod deploy;
mod failures;
mod kills;
mod night;
mod rounds;
mod slurm;
mod workers;
