//! The `wimg` command.

use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let bar = io::stderr().is_terminal();
    wimg::cli::run(std::env::args_os(), &mut out, &mut io::stderr(), bar).into()
}
