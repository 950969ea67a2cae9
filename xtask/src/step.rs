//! A command line that is shown to the person who waits for it, then run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One command: its program, its words and its own environment.
pub(crate) struct Step {
    program: OsString,
    /// The program as a person would type it.
    shown: String,
    words: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Step {
    /// `cargo WORDS`, with the cargo that runs this.
    pub(crate) fn cargo(words: &str) -> Step {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Step { program, ..Step::new("cargo", words) }
    }

    /// `PROGRAM WORDS`; the words are separated by spaces.
    pub(crate) fn new(program: &str, words: &str) -> Step {
        Step {
            program: program.into(),
            shown: program.to_owned(),
            words: words.split_whitespace().map(str::to_owned).collect(),
            env: Vec::new(),
        }
    }

    /// The program under `path`, shown as `name`.
    pub(crate) fn at(path: &Path, name: &str, words: &str) -> Step {
        Step { program: path.into(), ..Step::new(name, words) }
    }

    /// More words at the end, each taken as it is.
    pub(crate) fn args(mut self, words: &[String]) -> Step {
        self.words.extend_from_slice(words);
        self
    }

    /// A word of the step's environment.
    pub(crate) fn env(mut self, key: &'static str, value: &str) -> Step {
        self.env.push((key, value.to_owned()));
        self
    }

    /// Shows the step and runs it; an error when it does not end well.
    pub(crate) fn run(&self) -> Result<(), String> {
        say(&format!("\n$ {self}"));
        let status = self.command().status().map_err(|why| format!("cannot run {self}: {why}"))?;
        if status.success() { Ok(()) } else { Err(format!("failed ({status}): {self}")) }
    }

    /// Whether the step ends well; its output is thrown away.
    pub(crate) fn succeeds(&self) -> bool {
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// What the step prints, trimmed, if it ends well.
    pub(crate) fn output(&self) -> Option<String> {
        let output = self.command().stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.words).current_dir(root());
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        command
    }
}

/// The step as one types it in a shell.
impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (key, value) in &self.env {
            write!(f, "{key}='{value}' ")?;
        }
        f.write_str(&self.shown)?;
        for word in &self.words {
            let quoted = word.is_empty() || word.contains([' ', '*', '$', '\'', '"']);
            if quoted { write!(f, " {word:?}")? } else { write!(f, " {word}")? }
        }
        Ok(())
    }
}

/// The repository's root: every step runs in it.
pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or_else(|| own.clone(), Path::to_path_buf)
}

/// The folder that cargo builds in.
pub(crate) fn target_dir() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(named)
}

/// A line for the person who waits.
#[expect(clippy::print_stdout, reason = "the chores talk to a person")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// A line on what went wrong.
#[expect(clippy::print_stderr, reason = "the chores talk to a person")]
pub(crate) fn complain(line: &str) {
    eprintln!("xtask: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_shown_as_one_types_it() {
        let step = Step::new("cargo", "doc --no-deps")
            .env("RUSTDOCFLAGS", "-D warnings")
            .args(&["two words".to_owned()]);
        assert_eq!(
            step.to_string(),
            "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps \"two words\""
        );
    }

    #[test]
    fn a_step_that_fails_is_named() {
        let step = Step::cargo("no-such-command-of-cargo");
        assert!(!step.succeeds());
        assert_eq!(step.output(), None);
        let missing = Step::new("no-such-program-anywhere", "--help");
        let message = missing.run().expect_err("there is no such program");
        assert!(message.starts_with("cannot run no-such-program-anywhere --help: "), "{message}");
    }

    #[test]
    fn steps_run_in_the_repository() {
        assert!(root().join("xtask/src/step.rs").is_file());
    }
}
