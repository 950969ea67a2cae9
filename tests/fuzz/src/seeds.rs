//! What fuzzing begins with.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{gguf, image_json, layout, split};

/// A property and its seeds.
#[derive(Debug)]
pub struct Target {
    /// The fuzz target's name.
    pub name: &'static str,
    /// The property.
    pub check: fn(&[u8]),
    /// What to begin with.
    pub seeds: Vec<Vec<u8>>,
}

/// Layouts of every kind.
const LAYOUTS: [&str; 9] = [
    "4x64/512",
    "4x72/512+check",
    "4x72/512+check+stripe8+octets+slot16",
    "3x64",
    "1x4/1@1+stripe65536",
    "256x1048576/1048576@1099511627776+check",
    "2x32/2+stripe1+slot1048576",
    "4x64/512+check+check",
    "99999999999999999999x64",
];

/// All properties; `malformed` is the folder of malformed and unusual files.
///
/// # Errors
/// The folder cannot be read.
pub fn targets(malformed: &Path) -> io::Result<Vec<Target>> {
    let (mut files, mut sets) = (Vec::new(), Vec::new());
    for path in sorted(malformed)? {
        if path.is_dir() {
            let shards = sorted(&path)?.iter().map(fs::read).collect::<io::Result<Vec<_>>>()?;
            sets.push(set(&shards));
            files.extend(shards);
        } else if path.extension().is_some_and(|extension| extension == "gguf") {
            let file = fs::read(&path)?;
            sets.push(set(std::slice::from_ref(&file)));
            files.push(file);
        }
    }
    let layouts = LAYOUTS.iter().map(|layout| layout.as_bytes().to_vec()).collect();
    Ok(vec![
        Target { name: "gguf", check: gguf::check, seeds: files },
        Target { name: "split", check: split::check, seeds: sets },
        Target { name: "image_json", check: image_json::check, seeds: vec![image_json::seed()] },
        Target { name: "layout", check: layout::check, seeds: layouts },
    ])
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

/// Shards as the property takes them: each after its length.
fn set(shards: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for shard in shards {
        let len = u32::try_from(shard.len()).unwrap_or(u32::MAX).to_le_bytes();
        bytes.extend(len.into_iter().take(3));
        bytes.extend(shard);
    }
    bytes
}
