//! The arguments of `wimg nightly`.

use std::path::PathBuf;

use clap::{Args as ArgsOf, ValueEnum};

#[derive(Debug, ArgsOf)]
pub(crate) struct NightlyArgs {
    /// The configuration
    #[arg(default_value = "nightly.toml")]
    pub(crate) config: PathBuf,
    /// Compare the checkpoints' bytes by checksums, not their sizes and times
    #[arg(long)]
    pub(crate) checksum: bool,
    /// How closely images that are up to date are verified
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) verify: NightVerify,
    /// The night's name: its workers and --collect say the same
    #[arg(long, value_name = "NAME")]
    pub(crate) night: Option<String>,
    /// Write progress as events, a JSON object a line, to the standard error
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) log: Option<NightLog>,
    /// Print the summary, also when all is well and nobody watches
    #[arg(long)]
    pub(crate) summary: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) instead: InsteadArgs,
    #[command(flatten)]
    pub(crate) share: ShareArgs,
}

/// What is done instead of a night.
#[derive(Debug, ArgsOf)]
#[command(next_help_heading = "Instead of a night")]
#[group(multiple = false)]
pub(crate) struct InsteadArgs {
    /// Write a commented example to CONFIG
    #[arg(long)]
    pub(crate) init: bool,
    /// Check the configuration and show the work
    #[arg(long)]
    pub(crate) check: bool,
    /// Write the work's tasks as JSON
    #[arg(long)]
    pub(crate) list: bool,
    /// Make the report of what workers have left
    #[arg(long)]
    pub(crate) collect: bool,
}

/// One worker's share of a night.
#[derive(Debug, ArgsOf)]
#[command(next_help_heading = "A worker's share")]
pub(crate) struct ShareArgs {
    /// The tasks, as --list wrote them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["init", "check", "list"])]
    pub(crate) tasks: Option<PathBuf>,
    /// Do one task; without I the one that the array job's variables say
    #[arg(
        long, value_name = "I", num_args = 0..=1, default_missing_value = "auto",
        value_parser = task_number, conflicts_with_all = ["InsteadArgs", "shard", "shards"],
    )]
    pub(crate) task: Option<TaskNumber>,
    /// Do share I of N, from 1; without I/N the one that the array job's variables say
    #[arg(
        long, value_name = "I/N", num_args = 0..=1, default_missing_value = "auto",
        value_parser = share_of, conflicts_with_all = ["InsteadArgs", "shards"],
    )]
    pub(crate) shard: Option<ShareOf>,
    /// Do the share of N that the array job's own number says
    #[arg(long, value_name = "N", conflicts_with = "InsteadArgs")]
    pub(crate) shards: Option<u64>,
}

/// A task's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskNumber {
    /// As the environment has it.
    OfJob,
    /// This one.
    Of(u64),
}

/// A share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShareOf {
    /// As the environment has it.
    OfJob,
    /// This one, from 1, of so many.
    Of(u64, u64),
}

/// How closely images that are up to date are verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum NightVerify {
    /// Plan, lengths, small files and 64 tiles
    #[default]
    Quick,
    /// Everything
    Full,
}

/// How progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NightLog {
    /// A JSON object a line
    Json,
    /// Words, a line an image
    Text,
}

fn task_number(text: &str) -> Result<TaskNumber, String> {
    match text {
        "auto" => Ok(TaskNumber::OfJob),
        text => text.parse().map(TaskNumber::Of).map_err(|_| "expected a number, from 0".into()),
    }
}

fn share_of(text: &str) -> Result<ShareOf, String> {
    if text == "auto" {
        return Ok(ShareOf::OfJob);
    }
    let number = |digits: &str| digits.parse::<u64>().ok();
    let (share, count) = text.split_once('/').unwrap_or((text, ""));
    match number(share).zip(number(count)) {
        Some((share, count)) if 1 <= share && share <= count => Ok(ShareOf::Of(share, count)),
        _ => Err("expected I/N, a share from 1 and how many there are, such as 2/3".into()),
    }
}
