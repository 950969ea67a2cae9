//! The checkpoints of a night: what the configuration's paths lead to.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use wimg_core::{Digest, ShardName};

use super::config::{Config, Wanted};
use super::problem::Problem;
use crate::error::{Error, shown};
use crate::source::checkpoints_in;
use crate::store::IMAGE_JSON;

/// How deep checkpoints are looked for below a folder.
const DEPTH: usize = 8;
/// The longest name of a checkpoint's results, in bytes.
const NAME_BYTES: usize = 120;

/// A checkpoint that was found, or was not.
#[derive(Clone, Debug, PartialEq)]
pub struct NightCheckpoint {
    /// What its results are called: a folder's name, different from all others'.
    pub name: String,
    /// A file of it.
    pub path: PathBuf,
    /// Files that by their names belong to it.
    pub files: usize,
    /// Why it cannot be packed, if that is known already.
    pub problem: Option<Problem>,
}

/// All checkpoints, in the configuration's order; of a folder sorted by path.
pub fn find(config: &Config) -> Vec<NightCheckpoint> {
    let mut found = Vec::new();
    for wanted in &config.checkpoints {
        expand(wanted, &mut found);
    }
    let mut names = BTreeSet::new();
    for checkpoint in &mut found {
        if names.insert(checkpoint.name.clone()) {
            continue;
        }
        let why = format!(
            "`{}`: another checkpoint's results are called `{}`",
            shown(&checkpoint.path),
            checkpoint.name
        );
        // A name of its own, so that its failure has a place too.
        let of_path = Digest::of(checkpoint.path.as_os_str().as_bytes()).to_string();
        let tail: String = of_path.chars().take(8).collect();
        checkpoint.name = format!("{}~{tail}", checkpoint.name);
        let advice = "give it a `name` in the configuration".to_owned();
        checkpoint.problem.get_or_insert(Problem { code: 3, cause: why, advice });
        names.insert(checkpoint.name.clone());
    }
    found
}

fn expand(wanted: &Wanted, found: &mut Vec<NightCheckpoint>) {
    let alone = |path: &Path, problem| NightCheckpoint {
        name: wanted.name.clone().unwrap_or_else(|| name_of(path)),
        path: path.to_owned(),
        files: 1,
        problem,
    };
    if !wanted.path.is_dir() {
        found.push(alone(&wanted.path, None));
        return;
    }
    let mut files = Vec::new();
    if let Err(error) = walk(&wanted.path, 0, &mut files) {
        found.push(alone(&wanted.path, Some(Problem::of(&error))));
    } else if files.is_empty() {
        let cause = format!("folder `{}` holds no checkpoint", shown(&wanted.path));
        let advice = "put one there, or take the folder out of the configuration".to_owned();
        found.push(alone(&wanted.path, Some(Problem { code: 3, cause, advice })));
    }
    let single = files.len() == 1;
    for (path, files) in files {
        let own = name_of(&path);
        let name = match &wanted.name {
            Some(name) if single => name.clone(),
            Some(name) => format!("{name}-{own}"),
            None => own,
        };
        found.push(NightCheckpoint { name, path, files, problem: None });
    }
}

/// The checkpoints in and below a folder: a file of each, and how many it has.
/// Images (whose headers look like checkpoints), hidden folders and links to
/// folders are passed over.
fn walk(folder: &Path, depth: usize, found: &mut Vec<(PathBuf, usize)>) -> Result<(), Error> {
    if folder.join(IMAGE_JSON).exists() {
        return Ok(());
    }
    for files in checkpoints_in(folder)? {
        if let Some(first) = files.first() {
            found.push((folder.join(first), files.len()));
        }
    }
    let failed = |cause| Error::io(folder, "listing it", cause);
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let hidden = entry.file_name().as_bytes().starts_with(b".");
        if !hidden && entry.file_type().map_err(failed)?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    if depth < DEPTH {
        folders.iter().try_for_each(|folder| walk(folder, depth + 1, found))?;
    }
    Ok(())
}

/// What the results of a file are called: its name without its ending and
/// without a shard's number. What might not be a folder's name anywhere, or
/// steers a terminal, becomes `%` and two hex digits a byte.
fn name_of(path: &Path) -> String {
    let file = path.file_name().unwrap_or(OsStr::new("checkpoint"));
    let name = match ShardName::parse(file.as_bytes()) {
        Some(shard) => shard.prefix,
        None => Path::new(file).file_stem().unwrap_or(file).as_bytes().to_vec(),
    };
    let mut text = String::new();
    for (at, &byte) in name.iter().enumerate() {
        let fine = byte.is_ascii_alphanumeric() || b"-_+@".contains(&byte);
        if fine || (byte == b'.' && at > 0) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    if text.len() > NAME_BYTES {
        let digest = Digest::of(&name).to_string();
        text.truncate(NAME_BYTES - 9);
        text += "~";
        text.extend(digest.chars().take(8));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_folders_name_and_steers_nothing() {
        let name = |bytes: &[u8]| name_of(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(name(b"a/Qwen3.8-27B-Q4_K_M.gguf"), "Qwen3.8-27B-Q4_K_M");
        assert_eq!(name(b"a/m-00002-of-00003.gguf"), "m");
        assert_eq!(name(b"a/x y\x1b\n\xff.gguf"), "x%20y%1B%0A%FF");
        assert_eq!(name(b"a/.hidden.gguf"), "%2Ehidden");
        let long = name(&[b'x'; 250]);
        assert_eq!(long.len(), NAME_BYTES);
        assert_ne!(long, name(&[b'x'; 249]));
    }
}
