//! The command line: arguments parsed purely, then one match.
//!
//! Results go to `out`, everything else to `err`. Commands write to what they
//! are given and return; none of them ends the process.

mod args;
mod completions;
mod devices;
mod diff;
mod exit;
mod failure;
mod ledger;
mod locate;
mod nightly;
mod pack;
mod plan;
mod progress;
mod quantity;
mod record;
mod report;
mod row;
mod serve;
mod subject;
mod synth;
mod unpack;
mod verify;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use args::{Args, Command};
use exit::Exit;
use failure::Failure;

/// Runs a command line, its first argument the program's name, and gives the
/// exit code: 0 done, 1 damage found or images differ, 2 the command line is
/// wrong, 3 bad input, 4 input/output or resources, 5 no usable GPU.
///
/// `bar`: whether `err` is a terminal, on which progress is a bar.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut (dyn Write + Send),
    bar: bool,
) -> u8 {
    let mut console = Console { out, err, bar, exit: Exit::DONE };
    let done = match Args::try_parse_from(args) {
        Ok(args) => command(&args.command, &mut console),
        Err(told) => console.tell(&told),
    };
    let done = done.and_then(|()| Ok(console.out.flush()?));
    if let Err(failure) = done {
        console.fail(&failure);
    }
    console.exit.code()
}

fn command(command: &Command, console: &mut Console<'_>) -> Result<(), Failure> {
    match command {
        Command::Pack(args) => pack::run(args, console),
        Command::Verify(args) => verify::run(args, console),
        Command::Unpack(args) => unpack::run(args, console),
        Command::Diff(args) => diff::run(args, console),
        Command::Plan(args) => plan::run(args, console),
        Command::Ledger(args) => ledger::run(args, console),
        Command::Locate(args) => locate::run(args, console),
        Command::Nightly(args) => nightly::run(args, console),
        Command::Synth(args) => synth::run(args, console),
        Command::Serve(args) => serve::run(args, console),
        Command::Report(args) => report::run(args, console),
        Command::Devices(args) => devices::run(args, console),
        Command::Completions(args) => completions::run(args, console),
    }
}

/// Where a command writes, and what it will exit with.
struct Console<'a> {
    /// Results.
    out: &'a mut dyn Write,
    /// Errors and progress.
    err: &'a mut (dyn Write + Send),
    /// Whether progress is a bar.
    bar: bool,
    /// The worst so far.
    exit: Exit,
}

impl Console<'_> {
    /// Says what failed. A reader of the results who has left is no failure.
    fn fail(&mut self, failure: &Failure) {
        if failure.is_broken_pipe() {
            return;
        }
        self.exit.raise(failure.exit());
        // Where errors cannot be written, the exit code has to do.
        let _ = writeln!(self.err, "wimg: {failure}");
    }

    /// Help and version are results; anything else is a wrong command line.
    fn tell(&mut self, told: &clap::Error) -> Result<(), Failure> {
        let text = told.render().to_string();
        if told.use_stderr() {
            self.exit.raise(Exit::USAGE);
            // Without arguments it is help, not an error.
            let _ = match text.strip_prefix("error: ") {
                Some(error) => write!(self.err, "wimg: {error}"),
                None => self.err.write_all(text.as_bytes()),
            };
            return Ok(());
        }
        Ok(self.out.write_all(text.as_bytes())?)
    }
}
