//! An image's folder, read and verified through whoever can read its files.

use wimg_core::gguf::{self, Read};
use wimg_core::pack::{tile_slice, unpack_tile};
use wimg_core::verify::{check_manifest, check_tile};
use wimg_core::window::TileTask;
use wimg_core::{Checkpoint, Damage, Digest, Manifest, Plan, Verifier, Window, WindowLimit};

use crate::model::upload::IMAGE_JSON;

/// Reads `len` bytes of a file from a byte on. It is only asked for bytes that
/// the file has.
pub type ReadAt<'a> = dyn FnMut(&str, u64, u64) -> Result<Vec<u8>, String> + 'a;

/// The files of an image's folder, and who reads them.
pub struct Folder<'a> {
    /// The files' names and bytes.
    pub files: Vec<(String, u64)>,
    /// Reads them.
    pub read: &'a mut ReadAt<'a>,
}

/// What the small files say.
#[derive(Debug)]
pub struct Opened {
    /// `image.json` as it stands.
    pub text: Vec<u8>,
    /// What it says.
    pub manifest: Manifest,
    /// What the headers say.
    pub checkpoint: Checkpoint,
    /// The headers.
    pub headers: Vec<Vec<u8>>,
    /// The plan that follows from the headers, the layout and the selection.
    pub plan: Plan,
}

/// A damage, as it is told to the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong, and where.
    pub text: String,
    /// The tile, where it is one.
    pub tile: Option<u64>,
}

/// How far verifying has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the channels checked.
    pub done: u64,
    /// Bytes of the channels.
    pub total: u64,
    /// Tiles checked.
    pub tiles: u64,
    /// All damages found so far.
    pub damages: u64,
    /// Those found since the last time, as far as they are listed.
    pub found: Vec<Finding>,
    /// Whether this is the last word.
    pub finished: bool,
}

/// Damages that are listed; more are only counted.
pub const LISTED: u64 = 1000;

impl Folder<'_> {
    /// A file's bytes, if it is there.
    fn len(&self, name: &str) -> Option<u64> {
        self.files.iter().find(|(file, _)| file == name).map(|(_, len)| *len)
    }

    fn whole(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let len = self.len(name).ok_or_else(|| format!("{name} is missing"))?;
        (self.read)(name, 0, len)
    }

    /// Reads `image.json` and the headers, and plans again. No channel is read.
    ///
    /// # Errors
    /// Small files that are missing, cannot be read or do not agree.
    pub fn open(&mut self) -> Result<Opened, String> {
        let text = self.whole(IMAGE_JSON)?;
        let manifest = Manifest::read(&text).map_err(|error| error.to_string())?;
        let said = |error: &dyn std::fmt::Display| format!("image.json: {error}");
        let layout = manifest.layout.parse().map_err(|error| said(&error))?;
        let selection = manifest.selection.parse().map_err(|error| said(&error))?;
        let believed = Manifest::is_whole(&text);
        let (mut shards, mut headers) = (Vec::new(), Vec::new());
        for (number, shard) in manifest.checkpoint.shards.iter().enumerate() {
            let name = format!("header-{number}.gguf");
            let bytes = self.whole(&name)?;
            let (have, want) = (bytes.len() as u64, shard.header_length);
            if have != want {
                return Err(format!("{name}: it has {have} bytes, image.json has {want}"));
            }
            let digest = Digest::of(&bytes);
            if believed && digest != shard.header_blake3 {
                let want = shard.header_blake3;
                return Err(format!("{name}: its BLAKE3 is {digest}, image.json has {want}"));
            }
            match gguf::read(&bytes, shard.length) {
                Ok(Read::Header(header)) => shards.push(header),
                Ok(Read::More { .. }) => return Err(format!("{name}: it is cut off")),
                Err(error) => return Err(format!("{name}: {error}")),
            }
            headers.push(bytes);
        }
        let checkpoint = Checkpoint::new(shards).map_err(|error| error.to_string())?;
        let plan = Plan::new(&checkpoint, selection, &layout)
            .map_err(|error| format!("its headers have no such image: {error}"))?;
        Ok(Opened { text, manifest, checkpoint, headers, plan })
    }

    /// Verifies everything: `image.json` against the headers, the lengths and
    /// digests of all files, every tile and every tensor.
    ///
    /// # Errors
    /// What keeps the rest from being checked. Damage is told, and no error.
    pub fn verify(&mut self, tell: &mut dyn FnMut(&Progress)) -> Result<Progress, String> {
        let opened = self.open()?;
        let image = opened.plan.image();
        let line_bytes = image.layout().line_bytes;
        let mut progress = Progress {
            total: image.channel_lines().iter().sum::<u64>() * line_bytes,
            ..Progress::default()
        };
        progress.add(manifest_damage(&opened)?);
        let listed = self.small_files(&opened, &mut progress)?;
        for (channel, lines) in image.channel_lines().iter().enumerate() {
            let name = channel_name(channel);
            match self.len(&name) {
                Some(len) => progress.add(Damage::length(&name, lines * line_bytes, len)),
                None => progress.add([missing(&name)]),
            }
        }
        tell(&progress);
        let mut verifier = Verifier::new(&opened.plan);
        let mut hashers = vec![blake3::Hasher::new(); image.channel_lines().len()];
        for window in opened.plan.windows(WindowLimit::default()) {
            progress.found.clear();
            let bytes = self.channel_bytes(&window, line_bytes, &mut hashers)?;
            self.check_tiles(&opened, &window, &bytes, &listed, &mut verifier, &mut progress)?;
            progress.done += window.channel_bytes;
            progress.tiles += window.tasks.len() as u64;
            tell(&progress);
        }
        progress.found.clear();
        progress.add(verifier.finish(&opened.manifest));
        for (channel, (hasher, ours)) in hashers.iter().zip(&opened.manifest.channels).enumerate() {
            let name = channel_name(channel);
            if self.len(&name).is_some() {
                progress.add(Damage::digest(&name, ours.blake3, Digest::finish(hasher)));
            }
        }
        progress.finished = true;
        Ok(progress)
    }

    /// `tiles.crc`, whose words it gives, and `rest.bin`, against their digests.
    fn small_files(
        &mut self,
        opened: &Opened,
        progress: &mut Progress,
    ) -> Result<Vec<u32>, String> {
        let manifest = &opened.manifest;
        let tiles = (opened.plan.image().tile_count() * 4, manifest.tiles_crc.blake3);
        let rest = manifest.rest.as_ref().map(|rest| (rest.length, rest.blake3));
        let mut words = Vec::new();
        for (name, expected) in [("tiles.crc", Some(tiles)), ("rest.bin", rest)] {
            match (self.len(name).is_some(), expected) {
                (true, Some((length, digest))) => {
                    let bytes = self.whole(name)?;
                    let damage = Damage::length(name, length, bytes.len() as u64);
                    let damage =
                        damage.or_else(|| Damage::digest(name, digest, Digest::of(&bytes)));
                    progress.add(damage);
                    if name == "tiles.crc" {
                        words = bytes
                            .as_chunks::<4>()
                            .0
                            .iter()
                            .map(|w| u32::from_le_bytes(*w))
                            .collect();
                    }
                }
                (false, Some(_)) => progress.add([missing(name)]),
                (true, None) => progress.add([Damage::File {
                    name: name.to_owned(),
                    why: "image.json has no such file".to_owned(),
                    offset: None,
                }]),
                (false, None) => {}
            }
        }
        Ok(words)
    }

    /// A window's channel bytes, which the digests take too; zeros for what
    /// the files do not have.
    fn channel_bytes(
        &mut self,
        window: &Window,
        line_bytes: u64,
        hashers: &mut [blake3::Hasher],
    ) -> Result<Vec<u8>, String> {
        let mut all = Vec::with_capacity(host(window.channel_bytes)?);
        for (channel, (run, hasher)) in window.runs.iter().zip(hashers).enumerate() {
            let name = channel_name(channel);
            let (offset, len) = (run.line * line_bytes, run.lines * line_bytes);
            let there = self.len(&name).map_or(0, |have| have.saturating_sub(offset));
            let there = there.min(len);
            if there > 0 {
                let bytes = (self.read)(&name, offset, there)?;
                if bytes.len() as u64 != there {
                    return Err(format!("{name}: it changed while it was read"));
                }
                hasher.update(&bytes);
                all.extend_from_slice(&bytes);
            }
            all.resize(all.len() + host(len - there)?, 0);
        }
        Ok(all)
    }

    fn check_tiles(
        &self,
        opened: &Opened,
        window: &Window,
        bytes: &[u8],
        listed: &[u32],
        verifier: &mut Verifier<'_>,
        progress: &mut Progress,
    ) -> Result<(), String> {
        let image = opened.plan.image();
        let said = |error: wimg_core::PackError| error.to_string();
        let mut restored = vec![0; host(window.source_bytes)?];
        for task in &window.tasks {
            let tile = tile_slice(task, bytes).map_err(said)?;
            if image.tensors().get(task.tile.tensor).is_some_and(|tensor| !tensor.kernel) {
                unpack_tile(image, task, tile, &mut restored).map_err(said)?;
            }
            let end = (task.tile.line + task.tile.lines) * image.layout().line_bytes;
            let name = channel_name(usize::try_from(task.tile.channel).unwrap_or(usize::MAX));
            // A file that is too short is a damage already; its bytes are not there.
            let there = self.len(&name).is_some_and(|len| end <= len);
            let word = usize::try_from(task.tile.index).ok().and_then(|at| listed.get(at));
            if let Some(&word) = word.filter(|_| there) {
                progress.add(check_tile(image, task, tile, word).map_err(said)?);
            }
        }
        verifier.absorb(window, bytes, &mut restored).map_err(said)
    }

    /// One tile's bytes as its channel file has them, and what is wrong with
    /// them, if anything.
    ///
    /// # Errors
    /// Files that do not have the tile.
    pub fn tile(&mut self, plan: &Plan, index: u64) -> Result<(Vec<u8>, Vec<Finding>), String> {
        let image = plan.image();
        let tile = image.tile(index).ok_or("the image has no such tile")?;
        let line_bytes = image.layout().line_bytes;
        let (offset, len) = (tile.line * line_bytes, tile.lines * line_bytes);
        let name = channel_name(usize::try_from(tile.channel).unwrap_or(usize::MAX));
        let have = self.len(&name).ok_or_else(|| format!("{name} is missing"))?;
        if offset + len > have {
            return Err(format!("{name} ends at byte {have}, before the tile's end"));
        }
        let bytes = (self.read)(&name, offset, len)?;
        let crcs = self.len("tiles.crc").ok_or("tiles.crc is missing")?;
        if index * 4 + 4 > crcs {
            return Err("tiles.crc ends before the tile's word".to_owned());
        }
        let word = (self.read)("tiles.crc", index * 4, 4)?;
        let word = word.first_chunk().copied().map(u32::from_le_bytes).unwrap_or_default();
        let task = TileTask { tile, source: 0, dest: 0, len };
        let damage = check_tile(image, &task, &bytes, word).map_err(|error| error.to_string())?;
        Ok((bytes, damage.iter().map(finding).collect()))
    }
}

impl Progress {
    /// As a worker tells it: numbers on the first line, then a line a finding.
    pub fn message(&self) -> String {
        let Progress { done, total, tiles, damages, found, finished } = self;
        let mut text = format!("{done} {total} {tiles} {damages} {finished}");
        for Finding { text: what, tile } in found {
            // Names are escaped: what is said of a damage has no line's end.
            let tile = tile.map_or_else(|| "-".to_owned(), |tile| tile.to_string());
            text += &format!("\n{tile} {what}");
        }
        text
    }

    /// Reads [`Progress::message`]; `None` for any other text.
    pub fn read(text: &str) -> Option<Progress> {
        let mut lines = text.split('\n');
        let mut words = lines.next()?.split(' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (done, total, tiles, damages) = (number()?, number()?, number()?, number()?);
        let finished = words.next()?.parse().ok()?;
        let finding = |line: &str| {
            let (tile, text) = line.split_once(' ')?;
            Some(Finding { text: text.to_owned(), tile: tile.parse().ok() })
        };
        let found = lines.map(finding).collect::<Option<Vec<_>>>()?;
        Some(Progress { done, total, tiles, damages, found, finished })
    }

    fn add(&mut self, damage: impl IntoIterator<Item = Damage>) {
        for damage in damage {
            if self.damages < LISTED {
                self.found.push(finding(&damage));
            }
            self.damages += 1;
        }
    }
}

fn finding(damage: &Damage) -> Finding {
    let tile = match damage {
        Damage::TileCrc { place, .. }
        | Damage::Padding { place, .. }
        | Damage::Source { place, .. } => Some(place.tile.index),
        _ => None,
    };
    Finding { text: damage.to_string(), tile }
}

/// `image.json` against what it follows from.
fn manifest_damage(opened: &Opened) -> Result<Vec<Damage>, String> {
    let Opened { manifest, text, checkpoint, headers, plan, .. } = opened;
    check_manifest(manifest, text, checkpoint, headers, plan).map_err(|error| error.to_string())
}

fn channel_name(channel: usize) -> String {
    format!("channel-{channel}.bin")
}

fn missing(name: &str) -> Damage {
    Damage::File { name: name.to_owned(), why: "it is missing".to_owned(), offset: None }
}

fn host(bytes: u64) -> Result<usize, String> {
    usize::try_from(bytes).map_err(|_| format!("{bytes} bytes are past this machine's memory"))
}

#[cfg(test)]
mod tests;
