//! The `wimg` program, built once and run as a user runs it.
#![expect(clippy::unwrap_used, reason = "a program that does not run fails the test")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Where the program is: built on first use, in the same profile and target
/// folder as the running test.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(build);

fn build() -> PathBuf {
    // TARGET/PROFILE/deps/TEST. `CARGO_BIN_EXE_wimg` exists in wimg's own tests only.
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let name = match profile.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        other => other,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--workspace", "--bin", "wimg", "--profile", name])
        .arg("--target-dir")
        .arg(profile.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(built.success(), "wimg does not build");
    profile.join("wimg")
}

/// What a run said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// The results.
    pub out: String,
    /// Errors and progress.
    pub err: String,
}

impl Ran {
    /// The results of a run that did all it was asked to, in silence.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The results as JSON Lines, of a run with this exit code.
    #[track_caller]
    pub fn json(&self, code: i32) -> Vec<serde_json::Value> {
        assert_eq!(self.code, code, "{self:?}");
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The program in this folder, with nothing to read and no terminal.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(PROGRAM.as_path());
    // The width of help.
    command.current_dir(folder).env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// Runs the program in this folder with the words of `line`.
pub fn wimg(folder: &Path, line: &str) -> Ran {
    words(folder, &line.split_whitespace().collect::<Vec<_>>())
}

/// Runs the program in this folder with these words, blanks and all.
pub fn words(folder: &Path, words: &[&str]) -> Ran {
    let output = command(folder).args(words).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Waits until a program that `WIMG_FAULT` pauses has come to that point.
///
/// # Panics
/// It does not, in five minutes: a disk may be slow.
pub fn wait_until_paused(child: &Child) {
    let until = Instant::now() + Duration::from_secs(300);
    let stat = format!("/proc/{}/stat", child.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        assert!(Instant::now() < until, "it does not pause");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a program a signal.
pub fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Runs a program, and gives the most bytes of memory that it had at a time
/// before it came to a point of `WIMG_FAULT`.
///
/// # Panics
/// It does not come there, or fails after.
pub fn memory_up_to(point: &str, command: &mut Command) -> u64 {
    let mut child = command.env("WIMG_FAULT", format!("{point}:pause")).spawn().unwrap();
    wait_until_paused(&child);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    signal(&child, Signal::CONT);
    assert!(child.wait().unwrap().success());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}
