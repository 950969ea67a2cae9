//! A folder with checkpoints, a configuration and what nights make of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use wimg_tests::program::{Ran, command};
use wimg_tests::vectors;

/// The layouts of the tests' nights: each reads all tensors.
pub(crate) const LAYOUTS: [(&str, &str, &str); 2] =
    [("plain", "4x64/512", "all"), ("striped", "4x72/512+check+stripe5+slot8", "all")];

/// A folder with checkpoints and a configuration.
pub(crate) struct Night {
    folder: TempDir,
}

impl Night {
    /// Two small checkpoints in both layouts.
    pub(crate) fn new() -> Night {
        let night = Night::empty();
        night.put("a", "tiny-mixed.gguf");
        night.put("b", "tiny-q8.gguf");
        night
    }

    /// No checkpoints yet.
    pub(crate) fn empty() -> Night {
        let night = Night { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(night.path("checkpoints")).unwrap();
        night.configure("checkpoints = [\"checkpoints\"]", "");
        night
    }

    /// Writes the configuration: its checkpoints, and more of its keys.
    pub(crate) fn configure(&self, checkpoints: &str, more: &str) {
        let mut text = format!(
            "root = \"images\"\n{checkpoints}\nfree_margin_bytes = 0\nbackoff_seconds = 0\n{more}\n"
        );
        for (name, layout, select) in LAYOUTS {
            text += &format!(
                "[[layouts]]\nname = \"{name}\"\nlayout = \"{layout}\"\nselect = \"{select}\"\n"
            );
        }
        fs::write(self.path("nightly.toml"), text).unwrap();
    }

    /// Copies a published vector's checkpoint.
    pub(crate) fn put(&self, name: &str, vector: &str) {
        fs::copy(vectors::path(vector), self.checkpoint(name)).unwrap();
    }

    pub(crate) fn checkpoint(&self, name: &str) -> PathBuf {
        self.path(&format!("checkpoints/{name}.gguf"))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// `wimg nightly` with the words of `line`.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = command(self.folder());
        command.args(["nightly", "nightly.toml"]).args(line.split_whitespace());
        for name in SCHEDULERS {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        ran(self.command(line))
    }

    /// A run with a fault; the exit code is none where that killed it.
    pub(crate) fn run_with(&self, fault: &str, line: &str) -> Option<i32> {
        let mut command = self.command(line);
        command.env("WIMG_FAULT", fault).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap().code()
    }

    /// Starts a run with a fault.
    pub(crate) fn start_with(&self, fault: &str, line: &str) -> Child {
        let mut command = self.command(line);
        command.env("WIMG_FAULT", fault).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    pub(crate) fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("images/report.json")).unwrap()).unwrap()
    }

    /// By checkpoint and layout: what became of it.
    pub(crate) fn statuses(&self) -> Vec<String> {
        let report = self.report();
        let rows = report["rows"].as_array().unwrap();
        rows.iter()
            .map(|row| {
                let word = |key: &str| row[key].as_str().unwrap().to_owned();
                format!("{} {} {}", word("checkpoint"), word("name"), word("status"))
            })
            .collect()
    }

    pub(crate) fn summary(&self) -> String {
        fs::read_to_string(self.path("images/summary.txt")).unwrap()
    }

    /// The id of the image to load.
    pub(crate) fn current(&self, checkpoint: &str, layout: &str) -> Option<String> {
        let link = self.path(&format!("images/{checkpoint}/{layout}/current"));
        fs::read_link(link).ok().map(|id| id.to_str().unwrap().to_owned())
    }

    /// Everything below the root that is the images': paths and contents. What
    /// tells of runs is left out, and must be nothing but that.
    pub(crate) fn images(&self) -> BTreeMap<String, Vec<u8>> {
        let mut tree = BTreeMap::new();
        walk(&self.path("images"), "", &mut tree);
        tree
    }
}

/// What schedulers set: the tests may run under one.
const SCHEDULERS: &[&str] = &[
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
    "SLURM_ARRAY_TASK_COUNT",
    "JOB_COMPLETION_INDEX",
    "AWS_BATCH_JOB_ARRAY_INDEX",
    "AWS_BATCH_JOB_ARRAY_SIZE",
];

/// Files that tell of runs.
const OF_RUNS: &[&str] = &[
    "run.json",
    "result.json",
    "report.json",
    "report.html",
    "summary.txt",
    "history.jsonl",
    "ledger.jsonl",
    ".lock",
    ".nightly.lock",
];

fn walk(folder: &Path, below: &str, tree: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{below}/{name}");
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            tree.insert(path, target.into_os_string().into_encoded_bytes());
        } else if kind.is_dir() {
            tree.insert(path.clone(), Vec::new());
            walk(&entry.path(), &path, tree);
        } else if !OF_RUNS.contains(&name.as_str()) {
            tree.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

/// Runs to the end.
pub(crate) fn ran(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Fails with the first difference, not with megabytes.
#[track_caller]
pub(crate) fn assert_same(
    left: &BTreeMap<String, Vec<u8>>,
    right: &BTreeMap<String, Vec<u8>>,
    what: &str,
) {
    let names = |tree: &BTreeMap<String, Vec<u8>>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(left), names(right), "{what}");
    let other: Vec<&String> = left
        .iter()
        .filter(|(path, bytes)| right.get(*path) != Some(*bytes))
        .map(|(p, _)| p)
        .collect();
    assert!(other.is_empty(), "{what}: {other:?}");
    assert!(left.len() > 10, "{what}: nothing was compared");
}
