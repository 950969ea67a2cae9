//! Every call that the program makes of the system fails once, or is the last
//! that it makes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use rayon::prelude::*;
use wimg::verify::{VerifyOptions, verify};

use crate::lab::{Fault, Outcome, Tree, checkpoint, disturb, run, tree, words};

/// A command that is run under faults, and what it starts from.
struct Scenario {
    /// Commands without faults before it.
    before: &'static [&'static str],
    /// The command.
    line: &'static str,
    /// What it makes, below the folder; nothing for a command that only reads.
    target: &'static str,
}

const PACK: &str = "pack FOLDER/set --select table --backend cpu --quiet --layout 2x32/2+check \
                    --out FOLDER/image";
const PACK_FORCED: &str = "pack FOLDER/set --select table --backend cpu --quiet \
                           --layout 2x32/2+check --out FOLDER/image --force";
const OLD: &str = "pack FOLDER/old --select table --backend cpu --quiet --layout 3x8/4 \
                   --out FOLDER/image";

const SCENARIOS: [Scenario; 6] = [
    Scenario { before: &[], line: PACK, target: "image" },
    Scenario { before: &[OLD], line: PACK_FORCED, target: "image" },
    Scenario {
        before: &[PACK],
        line: "unpack FOLDER/image --quiet --out FOLDER/back",
        target: "back",
    },
    Scenario {
        before: &[OLD, "unpack FOLDER/image --quiet --out FOLDER/back", PACK_FORCED],
        line: "unpack FOLDER/image --quiet --out FOLDER/back --force",
        target: "back",
    },
    Scenario {
        before: &[PACK, "synth qwen3.8-27b-unsloth-q4_0 --scale 512 --out FOLDER/tensor"],
        line: "unpack FOLDER/image --quiet --tensor t10 --out FOLDER/tensor --force",
        target: "tensor",
    },
    Scenario { before: &[PACK], line: "verify FOLDER/image --quiet", target: "" },
];

/// What a target is: nothing, or its files.
fn state(folder: &Path, target: &str) -> Option<Tree> {
    let path = folder.join(target);
    match path.is_dir() {
        true => Some(tree(&path)),
        false => fs::read(&path).ok().map(|bytes| Tree::from([(String::new(), bytes)])),
    }
}

/// A scenario's folder before its command, and what its target is before and
/// after an undisturbed run.
struct Prepared {
    folder: tempfile::TempDir,
    old: Option<Tree>,
    new: Option<Tree>,
}

impl Scenario {
    /// Runs what comes before.
    fn start(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        checkpoint(folder.path(), 1);
        fs::rename(folder.path().join("set"), folder.path().join("old")).unwrap();
        checkpoint(folder.path(), 50);
        for line in self.before {
            let done = run(folder.path(), &words(line, folder.path()), Fault::default());
            assert_eq!(done.code, Some(0), "{line}: {}", done.err);
        }
        folder
    }

    fn prepare(&self) -> Prepared {
        let folder = self.start();
        let old = state(folder.path(), self.target);
        let done = run(folder.path(), &words(self.line, folder.path()), Fault::default());
        assert_eq!(done.code, Some(0), "{}: {}", self.line, done.err);
        let new = state(folder.path(), self.target);
        let reads = self.target.is_empty();
        assert!(reads || new.is_some() && old != new, "{} changes nothing", self.line);
        Prepared { folder, old, new }
    }

    /// Runs it with a fault; what holds after and after a further run without.
    fn disturbed(&self, prepared: &Prepared, fault: Fault) -> Outcome {
        let folder = self.start();
        let path = folder.path();
        let outcome = run(path, &words(self.line, path), fault);
        let context = format!("{} {fault:?}: {outcome:?}", self.line);
        if self.target.is_empty() {
            return outcome;
        }
        let after = state(path, self.target);
        assert!(after == prepared.new || after == prepared.old, "neither old nor new: {context}");
        if outcome.code == Some(0) {
            assert!(after == prepared.new, "not done: {context}");
        }
        if self.target == "image" && after.is_some() {
            let report = verify(&path.join("image"), &VerifyOptions::default(), &|_| {}).unwrap();
            assert_eq!(report.damages, 0, "{context}");
        }
        let forced = self.line.trim_end_matches(" --force").to_owned() + " --force";
        let again = run(path, &words(&forced, path), Fault::default());
        assert_eq!(again.code, Some(0), "{context}, then {again:?}");
        assert!(state(path, self.target) == prepared.new, "{context}, then other bytes");
        assert_eq!(names(path), names(prepared.folder.path()), "left behind: {context}");
        outcome
    }

    /// Runs it with the fault at call 1, 2, 3, … until none is hit.
    fn at_every_call(&self, what: &'static str) -> Vec<Outcome> {
        let prepared = self.prepare();
        let mut outcomes = Vec::new();
        for batch in 0.. {
            let calls = batch * 8 + 1..batch * 8 + 9;
            let fault = |at| Fault { what, at, ..Fault::default() };
            let some: Vec<Outcome> =
                calls.into_par_iter().map(|at| self.disturbed(&prepared, fault(at))).collect();
            outcomes.extend(some);
            if outcomes.last().is_some_and(|last| last.hit.is_none()) {
                break;
            }
        }
        outcomes.retain(|outcome| outcome.hit.is_some());
        assert!(outcomes.len() > 20, "{}: {} calls", self.line, outcomes.len());
        outcomes
    }
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_call_that_fails_is_an_error_and_harms_nothing() {
    let mut passed_over = BTreeSet::new();
    let mut failed = 0;
    for scenario in &SCENARIOS {
        for outcome in scenario.at_every_call("EIO") {
            let hit = outcome.hit.clone().unwrap();
            match outcome.code {
                // It went on without: what for is a matter of the call.
                Some(0) => {
                    passed_over.insert(hit);
                }
                Some(4) => {
                    let said = "Input/output error (os error 5)\n";
                    assert!(outcome.err.ends_with(said), "{hit}: {outcome:?}");
                    assert!(outcome.err.starts_with("wimg: `"), "{hit}: {outcome:?}");
                    failed += 1;
                }
                _ => panic!("{}: {outcome:?}", scenario.line),
            }
        }
    }
    assert!(failed > 200, "{failed} failures");
    // Hints to the system, whether an image is there, and clearing up.
    assert_eq!(passed_over.iter().collect::<Vec<_>>(), ["fadvise", "stat"]);
}

#[test]
fn a_run_that_is_killed_harms_nothing() {
    let mut kills = 0;
    for scenario in SCENARIOS.iter().filter(|scenario| !scenario.target.is_empty()) {
        for outcome in scenario.at_every_call("KILL") {
            assert_eq!(outcome.code, None, "{outcome:?}");
            kills += 1;
        }
    }
    assert!(kills > 200, "{kills} kills");
}

#[test]
fn a_run_that_is_killed_in_the_middle_of_a_write_harms_nothing() {
    let scenario = &SCENARIOS[1];
    let prepared = scenario.prepare();
    let bytes = |tree: &Tree| tree.values().map(|file| file.len() as u64).sum::<u64>();
    let all = prepared.new.as_ref().map(bytes).unwrap();
    let kills: Vec<Outcome> = (0..24u64)
        .into_par_iter()
        .map(|n| {
            // Anywhere, the same places every time.
            let bytes = Some(n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % all);
            scenario.disturbed(&prepared, Fault { bytes, ..Fault::default() })
        })
        .collect();
    assert!(kills.iter().all(|kill| kill.code.is_none()), "{kills:?}");
}

#[test]
fn half_a_read_a_half_write_and_an_interruption_are_gone_on_from() {
    for what in ["SHORT", "EINTR"] {
        let mut hits = 0;
        for scenario in [&SCENARIOS[0], &SCENARIOS[2]] {
            let prepared = scenario.prepare();
            for only in ["read", "write"] {
                for at in [1, 2, 3, 5, 8, 13, 21] {
                    let fault = Fault { what, at, only, bytes: None };
                    let outcome = scenario.disturbed(&prepared, fault);
                    assert_eq!(outcome.code, Some(0), "{fault:?}: {outcome:?}");
                    hits += usize::from(outcome.hit.is_some());
                }
            }
        }
        assert!(hits > 15, "{what}: {hits} hits");
    }
}

/// NFS and others have neither of the ways to rename that are tried first.
#[test]
fn a_file_system_without_exchange_is_served_too() {
    for scenario in SCENARIOS.iter().filter(|scenario| !scenario.target.is_empty()) {
        let prepared = scenario.prepare();
        let mut hits = 0;
        for at in 1..4 {
            let fault = Fault { what: "EINVAL", at, only: "renameat2", bytes: None };
            let outcome = scenario.disturbed(&prepared, fault);
            assert_eq!(outcome.code, Some(0), "{}: {outcome:?}", scenario.line);
            hits += usize::from(outcome.hit.is_some());
        }
        assert!(hits > 0);
    }
}

/// A program that writes where the result belongs leaves half of it there.
#[test]
fn half_a_result_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let copy = || {
        let mut python = Command::new("python3");
        let script = "import sys; out = open(sys.argv[1], 'wb', buffering=0); \
                      [out.write(b'part') for _ in range(8)]";
        python.args(["-c", script]).arg(&target);
        python
    };
    assert_eq!(disturb(folder.path(), copy(), Fault::default()).code, Some(0));
    let new = state(folder.path(), "target");
    for fault in [
        Fault { what: "KILL", at: 5, ..Fault::default() },
        Fault { what: "EIO", at: 5, ..Fault::default() },
        Fault { bytes: Some(13), ..Fault::default() },
    ] {
        let outcome = disturb(folder.path(), copy(), fault);
        assert!(outcome.code != Some(0) && outcome.hit.is_some(), "{outcome:?}");
        let after = state(folder.path(), "target");
        assert!(after.is_some() && after != new, "{fault:?}");
    }
    assert_eq!(fs::read(target).unwrap(), b"partpartpartp");
}
