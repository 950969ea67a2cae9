//! Errors of nights, of the page that is served, and of reports.

use std::io;

use wimg::Error;
use wimg::nightly::config::ConfigError;
use wimg::nightly::shard::ShardError;
use wimg::report::ReportError;
use wimg::serve::ServeError;

use crate::packer::{entry, said};
use crate::{Chapter, Entry};

pub(crate) fn chapter() -> Chapter {
    let mut entries = nights();
    entries.extend(shards());
    entries.extend(pages());
    Chapter { title: "Nights, reports and the page", entries }
}

fn nights() -> Vec<Entry> {
    let config = ConfigError {
        path: "night.toml".into(),
        line: 3,
        what: "`chekpoints` is no key: did you mean `checkpoints`?".into(),
    };
    vec![
        entry("ConfigError", config, "The configuration is wrong at that line.", "Correct it."),
        entry(
            "Error::Night",
            Error::Night { path: "night/plan.json".into(), why: "it is no plan".into() },
            "A file of the night was cut short or edited.",
            "Remove it and run the night again: what is done stays done.",
        ),
        entry(
            "Error::Interrupted",
            Error::Interrupted,
            "A signal asked to stop (Ctrl-C, a scheduler's limit).",
            "Run the same command again: it goes on where it was.",
        ),
        entry(
            "Error::Held",
            Error::Held { path: "night/lock".into(), who: "process 4242 on host".into() },
            "Another process works on the same thing.",
            "Wait for it, or end it.",
        ),
    ]
}

fn shards() -> Vec<Entry> {
    let of = |variant, error: ShardError, cause| {
        said(
            variant,
            2,
            &error.to_string(),
            cause,
            "Correct the job's script, or say `--shard I/N`.",
        )
    };
    let number = ShardError::Number { name: "SLURM_ARRAY_TASK_ID", value: "x".into() };
    vec![
        of("ShardError::NoJob", ShardError::NoJob, "It does not run as a job of an array."),
        of(
            "ShardError::Unset",
            ShardError::Unset("SLURM_ARRAY_TASK_MIN"),
            "The scheduler set only a part of its variables.",
        ),
        of("ShardError::Number", number, "A variable is damaged."),
        of(
            "ShardError::Count",
            ShardError::Count,
            "Kubernetes does not say how many jobs there are.",
        ),
        of(
            "ShardError::Bounds",
            ShardError::Bounds { index: 4, count: 4 },
            "The array has more jobs than shares.",
        ),
        of(
            "ShardError::Step",
            ShardError::Step { id: 5, min: 0, step: 2 },
            "The job is none of its array's.",
        ),
    ]
}

fn pages() -> Vec<Entry> {
    let taken = || io::Error::from_raw_os_error(98);
    vec![
        entry(
            "ServeError::Folder",
            ServeError::Folder { path: "images".into(), cause: io::Error::from_raw_os_error(13) },
            "The folder to be served cannot be opened.",
            "Name another, or see to the reason.",
        ),
        entry(
            "ServeError::Listen",
            ServeError::Listen { host: "127.0.0.1".into(), port: 8080, cause: taken() },
            "The port is taken, or the address is not this machine's.",
            "Leave `--port` out: a free one is found.",
        ),
        entry(
            "ReportError::Bad",
            ReportError::Bad {
                path: "ledger.jsonl".into(),
                kind: "ledger",
                why: "line 3 is no row".into(),
            },
            "A file is not what its name says.",
            "Leave it out, or make it again.",
        ),
        entry(
            "ReportError::Page",
            ReportError::Page("it has no script"),
            "A mistake of the program's build.",
            "Build it again with `cargo xtask web`.",
        ),
    ]
}
