//! What a person chose or dropped: checkpoints, images, ledgers, nights' reports.

use wimg_core::{Escaped, ShardName};

/// Some of the files that came together, by their places in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// A checkpoint's shards in order, or one file that may be a checkpoint.
    Checkpoint(Vec<usize>),
    /// An image's folder: the place of its `image.json`, and of all its files.
    Image(usize, Vec<usize>),
    /// JSON that is an `image.json` without its folder, a ledger, or a night's report.
    Json(usize),
}

/// Sorts files, given by their paths, into groups, in the order of their first
/// files; and says what is missing. Of a folder only what its files' names say
/// to be a checkpoint, an image, a ledger or a report is taken; a file alone is always.
pub fn groups(paths: &[String]) -> (Vec<Group>, Vec<String>) {
    let folders = image_folders(paths);
    let mut sets: Vec<Set<'_>> = Vec::new();
    let mut found: Vec<(usize, Group)> = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        let (folder, name) = split(path);
        if let Some(image) = folders.iter().find(|image| image.folder == folder)
            && image.members.contains(&at)
        {
            if image.json == Some(at) {
                found.push((at, Group::Image(at, image.members.clone())));
            }
            continue;
        }
        let lower = name.to_lowercase();
        let alone = folder.is_empty();
        if let Some(shard) = ShardName::parse(name.as_bytes()) {
            Set::put(&mut sets, folder, shard, at);
        } else if lower.ends_with(".jsonl")
            || lower.ends_with(".ndjson")
            || name == IMAGE_JSON
            || name == REPORT_JSON
            || (alone && lower.ends_with(".json"))
        {
            found.push((at, Group::Json(at)));
        } else if lower.ends_with(".gguf") || alone {
            found.push((at, Group::Checkpoint(vec![at])));
        }
    }
    let mut missing = Vec::new();
    for set in sets {
        match set.whole() {
            Ok(shards) => {
                let first = shards.iter().min().copied().unwrap_or(0);
                let place = found.partition_point(|(at, _)| *at < first);
                found.insert(place, (first, Group::Checkpoint(shards)));
            }
            Err(why) => missing.push(why),
        }
    }
    (found.into_iter().map(|(_, group)| group).collect(), missing)
}

/// The shards of a set that came: by number, the file's place.
struct Set<'a> {
    folder: &'a str,
    prefix: Vec<u8>,
    count: u16,
    shards: Vec<Option<usize>>,
}

impl<'a> Set<'a> {
    /// Puts a shard into its set, a new one where there is none.
    fn put(sets: &mut Vec<Set<'a>>, folder: &'a str, shard: ShardName, at: usize) {
        let ShardName { prefix, number, count } = shard;
        let is_its =
            |set: &&mut Set<'_>| set.folder == folder && set.prefix == prefix && set.count == count;
        let place = usize::from(number) - 1;
        match sets.iter_mut().find(is_its) {
            Some(set) => {
                if let Some(shard) = set.shards.get_mut(place) {
                    *shard = Some(at);
                }
            }
            None => {
                let mut shards = vec![None; usize::from(count)];
                if let Some(shard) = shards.get_mut(place) {
                    *shard = Some(at);
                }
                sets.push(Set { folder, prefix, count, shards });
            }
        }
    }

    /// The places of all shards in order, or which of them are missing.
    fn whole(self) -> Result<Vec<usize>, String> {
        let shards: Vec<usize> = self.shards.iter().flatten().copied().collect();
        if shards.len() == self.shards.len() {
            return Ok(shards);
        }
        let absent = self.shards.iter().enumerate().filter(|(_, shard)| shard.is_none());
        let absent: Vec<String> =
            absent.take(8).map(|(place, _)| (place + 1).to_string()).collect();
        Err(format!(
            "{}: of its {} shards, number {} is missing; choose all of them together",
            Escaped::new(&self.prefix),
            self.count,
            absent.join(", ")
        ))
    }
}

/// The name of the file that makes a folder an image.
pub const IMAGE_JSON: &str = "image.json";

/// The name of a night's report.
const REPORT_JSON: &str = "report.json";

/// A folder that is an image: its `image.json`, and the image's files.
struct ImageFolder<'a> {
    folder: &'a str,
    json: Option<usize>,
    members: Vec<usize>,
}

/// The folders that are images. One with nothing but an `image.json`, or
/// without that, is none.
fn image_folders(paths: &[String]) -> Vec<ImageFolder<'_>> {
    let mut folders: Vec<ImageFolder<'_>> = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        let (folder, name) = split(path);
        if !is_of_image(name) {
            continue;
        }
        let json = Some(at).filter(|_| name == IMAGE_JSON);
        match folders.iter_mut().find(|image| image.folder == folder) {
            Some(image) => {
                image.members.push(at);
                image.json = image.json.or(json);
            }
            None => folders.push(ImageFolder { folder, json, members: vec![at] }),
        }
    }
    folders.retain(|image| image.json.is_some() && image.members.len() > 1);
    folders
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
            "night/report.json",
            "night/other.json",
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
                Group::Json(11),
                Group::Checkpoint(vec![13]),
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
