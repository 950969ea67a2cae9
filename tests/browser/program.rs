//! The `wimg` that has the page, built as a user builds it, and run.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

/// The program, built on first use: quick when nothing has changed.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        cargo(&["xtask", "web", "--page"]);
        let build = ["build", "--package", "wimg", "--features", "page"];
        let messages =
            cargo(&[&build[..], &["--message-format", "json-render-diagnostics"]].concat());
        let artifacts = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        artifacts
            .filter_map(|message: serde_json::Value| {
                message["executable"].as_str().map(PathBuf::from)
            })
            .next_back()
            .unwrap_or_else(|| panic!("cargo names no program:\n{messages}"))
    })
}

fn cargo(words: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(cargo).args(words).current_dir(root).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {}:\n{errors}", words.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `wimg` to its end.
pub(crate) fn wimg(words: &[&str]) -> Output {
    Command::new(program()).args(words).output().unwrap()
}

/// What `wimg` prints, when all is well.
pub(crate) fn printed(words: &[&str]) -> String {
    let output = wimg(words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "wimg {}: {errors}", words.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// A `wimg serve` that runs until it is dropped.
pub(crate) struct Served {
    child: Child,
    /// Where its page is.
    pub(crate) url: String,
}

impl Served {
    /// Serves a folder, or only the page.
    pub(crate) fn start(dir: Option<&Path>) -> Served {
        let mut child = Command::new(program())
            .arg("serve")
            .args(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim_end().to_owned();
        assert!(url.starts_with("http://127.0.0.1:") && url.ends_with('/'), "{url}");
        Served { child, url }
    }

    /// The address without scheme and path.
    pub(crate) fn host(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches('/')
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
