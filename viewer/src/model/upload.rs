//! What a person chose or dropped: checkpoints, images, ledgers.

use std::collections::BTreeMap;

use wimg_core::{Escaped, ShardName};

/// Some of the files that came together, by their places in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// A checkpoint's shards in order, or one file that may be a checkpoint.
    Checkpoint(Vec<usize>),
    /// An image's folder: the place of its `image.json`, and of all its files.
    Image(usize, Vec<usize>),
    /// JSON that is an `image.json` without its folder, or a ledger.
    Json(usize),
}

/// Sorts files, given by their paths, into groups, in the order of their first
/// files; and says what is missing. Of a folder only what its files' names say
/// to be a checkpoint, an image or a ledger is taken; a file alone is always.
pub fn groups(paths: &[String]) -> (Vec<Group>, Vec<String>) {
    let folders = image_folders(paths);
    let mut sets: BTreeMap<(String, Vec<u8>, u16), BTreeMap<u16, usize>> = BTreeMap::new();
    let mut found: Vec<(usize, Group)> = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        let (folder, name) = split(path);
        if let Some((json, members)) = folders.get(folder) {
            if at == *json {
                found.push((at, Group::Image(at, members.clone())));
            }
            if members.contains(&at) {
                continue;
            }
        }
        let lower = name.to_lowercase();
        let alone = folder.is_empty();
        if let Some(shard) = ShardName::parse(name.as_bytes()) {
            let set = (folder.to_owned(), shard.prefix, shard.count);
            sets.entry(set).or_default().insert(shard.number, at);
        } else if lower.ends_with(".jsonl")
            || lower.ends_with(".ndjson")
            || name == IMAGE_JSON
            || (alone && lower.ends_with(".json"))
        {
            found.push((at, Group::Json(at)));
        } else if lower.ends_with(".gguf") || alone {
            found.push((at, Group::Checkpoint(vec![at])));
        }
    }
    let mut missing = Vec::new();
    for ((_, prefix, count), shards) in sets {
        let absent: Vec<String> = (1..=count)
            .filter(|n| !shards.contains_key(n))
            .take(8)
            .map(|n| n.to_string())
            .collect();
        let first = shards.values().min().copied().unwrap_or(0);
        if absent.is_empty() {
            found.push((first, Group::Checkpoint(shards.into_values().collect())));
        } else {
            missing.push(format!(
                "{}: of its {count} shards, number {} is missing; choose all of them together",
                Escaped::new(&prefix),
                absent.join(", ")
            ));
        }
    }
    found.sort_by_key(|(first, _)| *first);
    (found.into_iter().map(|(_, group)| group).collect(), missing)
}

/// The name of the file that makes a folder an image.
pub const IMAGE_JSON: &str = "image.json";

/// By folder: its `image.json`, and the image's files. A folder with nothing
/// else of an image is left out.
fn image_folders(paths: &[String]) -> BTreeMap<&str, (usize, Vec<usize>)> {
    let mut folders: BTreeMap<&str, (Option<usize>, Vec<usize>)> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        let (folder, name) = split(path);
        if is_of_image(name) {
            let entry = folders.entry(folder).or_default();
            entry.1.push(at);
            if name == IMAGE_JSON {
                entry.0 = Some(at);
            }
        }
    }
    let whole = folders.into_iter().filter(|(_, (_, members))| members.len() > 1);
    whole.filter_map(|(folder, (json, members))| Some((folder, (json?, members)))).collect()
}

/// Whether an image's folder has a file of this name.
fn is_of_image(name: &str) -> bool {
    let numbered = |start: &str, end: &str| {
        let digits = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
        digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
    };
    matches!(name, "tiles.crc" | "rest.bin" | "run.json")
        || name == IMAGE_JSON
        || numbered("channel-", ".bin")
        || numbered("header-", ".gguf")
}

/// A path's folder, empty for a file alone, and its name.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(paths: &[&str]) -> (Vec<Group>, Vec<String>) {
        groups(&paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_came_together_is_taken_apart() {
        let (found, missing) = sorted(&[
            "m-00002-of-00002.gguf",
            "a.gguf",
            "b/m-00001-of-00002.gguf",
            "m-00001-of-00002.gguf",
            "img/channel-0.bin",
            "img/image.json",
            "img/header-0.gguf",
            "img/readme.txt",
            "img/old.gguf",
            "image.json",
            "sweep.jsonl",
            "notes.txt",
        ]);
        assert_eq!(
            found,
            [
                Group::Checkpoint(vec![3, 0]),
                Group::Checkpoint(vec![1]),
                Group::Image(5, vec![4, 5, 6]),
                Group::Checkpoint(vec![8]),
                Group::Json(9),
                Group::Json(10),
                Group::Checkpoint(vec![11]),
            ]
        );
        assert_eq!(
            missing,
            ["m: of its 2 shards, number 2 is missing; choose all of them together"]
        );
    }

    #[test]
    fn a_folder_of_other_things_has_nothing() {
        assert_eq!(sorted(&["d/a.txt", "d/b.json", "d/sub/c.bin"]), (vec![], vec![]));
        assert_eq!(sorted(&[]), (vec![], vec![]));
        // Channels without an image.json are no image.
        assert_eq!(sorted(&["d/channel-0.bin", "d/tiles.crc"]), (vec![], vec![]));
        let (found, _) = sorted(&["image.json", "channel-0.bin", "header-0.gguf"]);
        assert_eq!(found, [Group::Image(0, vec![0, 1, 2])]);
    }
}
