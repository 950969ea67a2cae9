//! `wimg completions`: a shell's completion script.

use clap::CommandFactory;

use super::Console;
use super::args::{Args, CompletionsArgs};
use super::failure::Failure;

pub(crate) fn run(args: &CompletionsArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    // Into memory first: the generator takes a failed write for a bug.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "wimg", &mut script);
    Ok(console.out.write_all(&script)?)
}
