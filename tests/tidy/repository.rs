//! The files of the repository: those that git knows or, in a copy without
//! git, all but what cargo built.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths from the root, with `/`, and the text of those that are text.
pub(crate) struct Repository {
    files: BTreeMap<String, Option<String>>,
}

impl Repository {
    /// Reads all files.
    pub(crate) fn read() -> Result<Repository, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let paths = tracked(&root).map_or_else(|| walk(&root), Ok)?;
        let mut files = BTreeMap::new();
        for path in paths {
            let file = root.join(&path);
            // Removed from the working tree, but not yet from git.
            if file.is_file() {
                let bytes = std::fs::read(&file).map_err(|why| format!("`{path}`: {why}"))?;
                files.insert(path, String::from_utf8(bytes).ok());
            }
        }
        Ok(Repository { files })
    }

    /// Every path.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Every file that is text, with its path.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }
}

/// What `git ls-files` lists, if this is a working tree of git's.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    // Nothing: a copy that lies inside of another repository.
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

/// Every file under `root`, but for git's own folder and what cargo built.
fn walk(root: &Path) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        let entries =
            std::fs::read_dir(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        for entry in entries {
            let entry = entry.map_err(|why| why.to_string())?;
            let below = folder.join(entry.file_name());
            let kind = entry.file_type().map_err(|why| why.to_string())?;
            let skipped = below == Path::new("target") || below == Path::new(".git");
            if kind.is_dir() && !skipped {
                folders.push(below);
            } else if kind.is_file() && !skipped {
                paths.push(below.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(paths)
}

#[test]
fn git_and_the_walk_find_the_same_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let walked = walk(&root).unwrap();
    assert!(walked.iter().any(|path| path == "tests/tidy/repository.rs"), "{walked:?}");
    assert!(!walked.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
    for path in tracked(&root).unwrap_or_default() {
        assert!(walked.contains(&path) || !root.join(&path).is_file(), "`{path}` is not walked");
    }
}
