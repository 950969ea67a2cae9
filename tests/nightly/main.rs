//! Nights from end to end, with the real program.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "what does not run or read fails the test; a seed and a log are for who reads that"
)]

mod config;
mod deploy;
mod failures;
mod kills;
mod memory;
mod night;
mod rounds;
mod slurm;
mod workers;
