//! Verifying an image directory: all of it, or a quick look.

mod ahead;
mod files;

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use rayon::prelude::*;
use rustix::fs::{Advice, fadvise};
use wimg_core::manifest::manifest_shards;
use wimg_core::pack::{pack_tile, tile_slice, unpack_tile};
use wimg_core::verify::{check_tile, check_tile_of_crc, compare_tile, place};
use wimg_core::window::{ChannelRun, TileTask, Windows};
use wimg_core::{Damage, Digest, Image, Verifier, Window};

use crate::backend::BackendOptions;
use crate::error::Error;
use crate::pipeline::budget::Budget;
use crate::pipeline::read_sources;
use crate::progress::{Progress, Stage, Tell};
use crate::rest;
use crate::source::Source;
use crate::stop::Stop;
use ahead::Ahead;
pub(crate) use files::{check_manifest, check_small_files};
use files::{file_damage, or_damage};

use crate::store::{IMAGE_JSON, REST_BIN, StoredImage, channel_name, open_file, read_file};

/// Windows that the system is told of before they are read.
const AHEAD: usize = 3;

/// Tiles that a quick look reads.
const QUICK_TILES: u64 = 64;

/// How an image is verified.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Only the plan, lengths, small files and a few tiles.
    pub quick: bool,
    /// The checkpoint, to compare byte for byte.
    pub source: Option<PathBuf>,
    /// Damages to keep; more are only counted. 0 keeps all.
    pub limit: usize,
    /// What computes the tiles' CRCs: the CPU, but for `gpu`. Not of a quick look.
    pub backend: BackendOptions,
    /// Looked at before every window.
    pub stop: Stop,
}

/// What verifying an image found.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// The image's id: the BLAKE3 of `image.json` as it stands.
    pub id: Digest,
    /// The first damages found.
    pub damage: Vec<Damage>,
    /// All damages found.
    pub damages: u64,
    /// Tiles that were read.
    pub tiles: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Whether it was only a quick look.
    pub quick: bool,
    /// The adapter of the GPU that computed the tiles' CRCs, if one did.
    pub adapter: Option<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Damages as they are found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) damage: Vec<Damage>,
    count: u64,
    limit: usize,
}

impl Found {
    /// Keeps so many damages, or all for 0.
    pub(crate) fn up_to(limit: usize) -> Found {
        Found { limit, ..Found::default() }
    }

    pub(crate) fn add(&mut self, damage: impl IntoIterator<Item = Damage>) {
        for damage in damage {
            self.count += 1;
            if self.limit == 0 || self.damage.len() < self.limit {
                self.damage.push(damage);
            }
        }
    }
}

/// Verifies the image in `dir`.
///
/// # Errors
/// A folder that is no image or of a later format, a source that is not the
/// image's, I/O. Damage is no error: the report tells of it.
pub fn verify(dir: &Path, options: &VerifyOptions, tell: Tell<'_>) -> Result<VerifyReport, Error> {
    let started = Instant::now();
    let mut found = Found::up_to(options.limit);
    let mut ahead = if options.quick { Ahead::default() } else { Ahead::open(&options.backend)? };
    let adapter = ahead.adapter();
    let image = match StoredImage::open_damaged(dir) {
        Ok((image, damage)) => {
            found.add(damage.into_iter().filter_map(file_damage));
            image
        }
        Err(error @ Error::Damaged { .. }) => {
            found.add(file_damage(error));
            // For its digest; where it cannot be read, that was said.
            let text = read_file(&dir.join(IMAGE_JSON), 1 << 30).ok().flatten().unwrap_or_default();
            return Ok(report(&text, found, (0, 0), options, adapter, started));
        }
        Err(error) => return Err(error),
    };
    let source = options.source.as_deref().map(|path| matching_source(&image, path)).transpose()?;
    let listed = check_small_files(&image, &mut found)?;
    check_manifest(&image, &mut found)?;
    let files = open_channels(&image, &mut found)?;
    let scan = Scan { image: &image, files, listed, source, stop: &options.stop };
    let read = match options.quick {
        true => scan.quick(&mut found)?,
        false => scan.whole(&mut ahead, &mut found, tell)?,
    };
    if let Some(source) = &scan.source {
        // What is in no tensor is compared too, and so that the source gives it.
        if rest::scan(source)? != image.manifest.rest {
            found.add([Damage::File {
                name: REST_BIN.to_owned(),
                why: "the source has other bytes outside its headers and tensors".to_owned(),
                offset: None,
            }]);
        }
        source.unchanged()?;
    }
    Ok(report(&image.text, found, read, options, adapter, started))
}

fn report(
    text: &[u8],
    found: Found,
    (tiles, bytes): (u64, u64),
    options: &VerifyOptions,
    adapter: Option<String>,
    started: Instant,
) -> VerifyReport {
    VerifyReport {
        id: Digest::of(text),
        damage: found.damage,
        damages: found.count,
        tiles,
        bytes,
        quick: options.quick,
        adapter,
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// Opens the source and holds its shards against those of the image.
fn matching_source(image: &StoredImage, path: &Path) -> Result<Source, Error> {
    let source = Source::open(path)?;
    let shards = manifest_shards(&source.checkpoint, &source.headers);
    let ours = &image.manifest.checkpoint.shards;
    let other = |why| Err(Error::OtherSource { path: path.to_owned(), why });
    if shards.len() != ours.len() {
        return other(format!(
            "it has {} shards, the image was made from {}",
            shards.len(),
            ours.len()
        ));
    }
    for (number, (shard, our)) in shards.iter().zip(ours).enumerate() {
        if shard.length != our.length {
            return other(format!("shard {number} has {} bytes, not {}", shard.length, our.length));
        }
        if shard != our {
            return other(format!("shard {number} has another header"));
        }
    }
    Ok(source)
}

/// A channel's file, and how many bytes of it there are.
pub(crate) struct ChannelFile {
    path: PathBuf,
    file: Option<File>,
    len: u64,
}

/// Opens the channels and holds their lengths against the plan; names what
/// else lies in the folder.
pub(crate) fn open_channels(
    image: &StoredImage,
    found: &mut Found,
) -> Result<Vec<ChannelFile>, Error> {
    let layout = image.plan.image().layout();
    let mut files = Vec::new();
    for (channel, lines) in image.plan.image().channel_lines().iter().enumerate() {
        let name = channel_name(channel);
        let path = image.dir.join(&name);
        let file = or_damage(open_file(&path), &name, found)?;
        let len = match &file {
            Some(file) => file.metadata().map_err(|c| Error::io(&path, "looking at it", c))?.len(),
            None => 0,
        };
        if file.is_some() {
            found.add(Damage::length(&name, lines * layout.line_bytes, len));
        }
        files.push(ChannelFile { path, file, len });
    }
    Ok(files)
}

/// A window and its channel bytes; what was not there is zeros, and the runs
/// that it was missing from are named.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) window: Window,
    pub(crate) channel_bytes: Vec<u8>,
    /// By tile its CRC, where a GPU has computed them; else none.
    pub(crate) crcs: Vec<u32>,
}

/// An image whose tiles are read.
pub(crate) struct Scan<'a> {
    pub(crate) image: &'a StoredImage,
    pub(crate) files: Vec<ChannelFile>,
    /// `tiles.crc`, where it is to be believed.
    pub(crate) listed: Vec<u32>,
    /// The checkpoint, to be compared with.
    pub(crate) source: Option<Source>,
    /// Asked between windows.
    pub(crate) stop: &'a Stop,
}

impl Scan<'_> {
    /// Every tile, every tensor and every channel. Tiles and bytes read.
    fn whole(
        &self,
        ahead: &mut Ahead,
        found: &mut Found,
        tell: Tell<'_>,
    ) -> Result<(u64, u64), Error> {
        let plan = &self.image.plan;
        let budget = Budget::new(ahead.budget());
        let (next, jobs) = sync_channel::<Job>(2);
        let (recycle, recycled) = sync_channel::<Vec<u8>>(8);
        let mut verifier = Verifier::new(plan);
        let windows = plan.windows(ahead.window_limit());
        let mut hashers = vec![blake3::Hasher::new(); self.files.len()];
        let total =
            plan.image().channel_lines().iter().sum::<u64>() * plan.image().layout().line_bytes;
        let (mut tiles, mut bytes) = (0, 0);
        std::thread::scope(|scope| {
            let budget = &budget;
            let reader = scope.spawn(move || self.read_windows(windows, budget, &recycled, &next));
            let mut check = || {
                let mut restored = Vec::new();
                while let Some(job) = ahead.next(plan.image(), &jobs)? {
                    self.check_window(&job, &mut verifier, &mut hashers, &mut restored, found)?;
                    tiles += job.window.tasks.len() as u64;
                    bytes += job.window.channel_bytes;
                    tell(Progress { stage: Stage::Verify, done: bytes, total });
                    let weight = weight(&job.window);
                    // Before its bytes are free: else they would be twice.
                    let _ = recycle.try_send(job.channel_bytes);
                    budget.give(weight);
                }
                Ok(())
            };
            let checked: Result<(), Error> = check();
            budget.close();
            let read = reader.join().map_err(|_| Error::Stopped("reading"));
            checked.and(read?)
        })?;
        found.add(verifier.finish(&self.image.manifest));
        for (channel, (hasher, ours)) in
            hashers.iter().zip(&self.image.manifest.channels).enumerate()
        {
            if self.files.get(channel).is_some_and(|file| file.file.is_some()) {
                let name = channel_name(channel);
                found.add(Damage::digest(&name, ours.blake3, Digest::finish(hasher)));
            }
        }
        Ok((tiles, bytes))
    }

    /// Reads windows' channel bytes, ahead of whoever takes them.
    pub(crate) fn read_windows(
        &self,
        windows: Windows<'_>,
        budget: &Budget,
        recycled: &Receiver<Vec<u8>>,
        next: &SyncSender<Job>,
    ) -> Result<(), Error> {
        let mut ahead = windows.clone();
        ahead.by_ref().take(AHEAD).for_each(|window| self.read_ahead(&window.runs));
        for window in windows {
            self.stop.check()?;
            if let Some(window) = ahead.next() {
                self.read_ahead(&window.runs);
            }
            if !budget.take(weight(&window)) {
                break;
            }
            let mut channel_bytes = recycled.try_recv().unwrap_or_default();
            let len = usize::try_from(window.channel_bytes).unwrap_or(usize::MAX);
            if channel_bytes.capacity() > len.max(1 << 25) {
                channel_bytes = Vec::new();
            }
            channel_bytes.resize(len, 0);
            self.read_runs(&window.runs, &mut channel_bytes)?;
            if next.send(Job { window, channel_bytes, crcs: Vec::new() }).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Tells the system what is read soon.
    fn read_ahead(&self, runs: &[ChannelRun]) {
        let line_bytes = self.image.plan.image().layout().line_bytes;
        for (run, file) in runs.iter().zip(&self.files) {
            let len = std::num::NonZeroU64::new(run.lines * line_bytes);
            if let (Some(file), Some(_)) = (&file.file, len) {
                // A hint: where it cannot be given, reading is only slower.
                let _ = fadvise(file, run.line * line_bytes, len, Advice::WillNeed);
            }
        }
    }

    /// Reads each channel's run; bytes past a file's end are zeros.
    fn read_runs(&self, runs: &[ChannelRun], channel_bytes: &mut [u8]) -> Result<(), Error> {
        let line_bytes = self.image.plan.image().layout().line_bytes;
        let mut rest = channel_bytes;
        for (run, file) in runs.iter().zip(&self.files) {
            let len = usize::try_from(run.lines * line_bytes).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut_checked(len).ok_or(Error::Stopped("reading"))?;
            rest = later;
            file.read_at(run.line * line_bytes, now)?;
        }
        Ok(())
    }

    /// Checks a window's tiles in parallel and hands its bytes to the tensors'
    /// and the channels' checks.
    fn check_window(
        &self,
        job: &Job,
        verifier: &mut Verifier<'_>,
        hashers: &mut [blake3::Hasher],
        restored: &mut Vec<u8>,
        found: &mut Found,
    ) -> Result<(), Error> {
        let window = &job.window;
        restored.resize(usize::try_from(window.source_bytes).unwrap_or(usize::MAX), 0);
        let (damage, hashed) = rayon::join(
            || self.check_tiles(job, restored),
            || self.hash_runs(window, &job.channel_bytes, hashers),
        );
        hashed?;
        found.add(damage?);
        verifier.absorb(window, &job.channel_bytes, restored)?;
        if let Some(source) = &self.source {
            found.add(self.compare(source, window, &job.channel_bytes, restored)?);
        }
        Ok(())
    }

    /// Each tile's damage, in order, and its rows put back (but of kernels).
    pub(crate) fn check_tiles(&self, job: &Job, restored: &mut [u8]) -> Result<Vec<Damage>, Error> {
        let image = self.image.plan.image();
        let checks = split_by_rows(&job.window, image.tensors(), restored);
        let checks = checks.into_par_iter().with_min_len(8).enumerate();
        let damage = checks.map(|(at, (task, rows))| {
            let tile = tile_slice(task, &job.channel_bytes)?;
            if let Some(rows) = rows {
                unpack_tile(image, &TileTask { source: 0, ..*task }, tile, rows)?;
            }
            let file = usize::try_from(task.tile.channel).ok().and_then(|c| self.files.get(c));
            let end = (task.tile.line + task.tile.lines) * image.layout().line_bytes;
            if file.is_none_or(|file| end > file.len) {
                return Ok(vec![Damage::Missing { place: place(image, &task.tile) }]);
            }
            match usize::try_from(task.tile.index).ok().and_then(|i| self.listed.get(i)) {
                Some(&listed) => checked(image, task, tile, job.crcs.get(at).copied(), listed),
                None => Ok(Vec::new()),
            }
        });
        let damage: Result<Vec<Vec<Damage>>, Error> = damage.collect();
        Ok(damage?.into_iter().flatten().collect())
    }

    fn hash_runs(
        &self,
        window: &Window,
        channel_bytes: &[u8],
        hashers: &mut [blake3::Hasher],
    ) -> Result<(), Error> {
        let line_bytes = self.image.plan.image().layout().line_bytes;
        let runs = window.runs.par_iter().zip(hashers).zip(&self.files);
        runs.try_for_each(|((run, hasher), file)| {
            let start = usize::try_from(run.at).unwrap_or(usize::MAX);
            // Only what the file has: another length is another digest.
            let there = file.len.saturating_sub(run.line * line_bytes).min(run.lines * line_bytes);
            let len = usize::try_from(there).unwrap_or(usize::MAX);
            let bytes = channel_bytes.get(start..).and_then(|bytes| bytes.get(..len));
            hasher.update(bytes.ok_or(Error::Stopped("hashing"))?);
            Ok(())
        })
    }

    /// Packs the window's source again, which is read into `bytes`, and compares
    /// tile by tile.
    fn compare(
        &self,
        source: &Source,
        window: &Window,
        channel_bytes: &[u8],
        bytes: &mut [u8],
    ) -> Result<Vec<Damage>, Error> {
        let image = self.image.plan.image();
        read_sources(source, window, bytes)?;
        let tasks = window.tasks.par_iter().with_min_len(8);
        let damage = tasks.map_init(Vec::new, |packed, task| {
            packed.resize(usize::try_from(task.len).unwrap_or(usize::MAX), 0);
            pack_tile(image, task, bytes, packed)?;
            Ok(compare_tile(image, task, tile_slice(task, channel_bytes)?, packed))
        });
        let damage: Result<Vec<Option<Damage>>, Error> = damage.collect();
        Ok(damage?.into_iter().flatten().collect())
    }

    /// A few tiles, chosen by the image's id: another image, other tiles.
    fn quick(&self, found: &mut Found) -> Result<(u64, u64), Error> {
        let image = self.image.plan.image();
        let tiles = image.tile_count();
        let seed = self.image.manifest.id().to_string();
        let drawn = (0u64..).map(|n| {
            let hash = blake3::hash(format!("{seed} {n}").as_bytes());
            let word = hash.as_bytes().first_chunk().map(|word| u64::from_le_bytes(*word));
            word.unwrap_or(n) % tiles.max(1)
        });
        let chosen: BTreeSet<u64> = if tiles <= QUICK_TILES {
            (0..tiles).collect()
        } else {
            let mut chosen = BTreeSet::new();
            for tile in drawn {
                chosen.insert(tile);
                if chosen.len() as u64 == QUICK_TILES {
                    break;
                }
            }
            chosen
        };
        let mut bytes = 0;
        for tile in chosen.iter().filter_map(|&index| image.tile(index)) {
            let len = tile.lines * image.layout().line_bytes;
            let mut read = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
            let file = usize::try_from(tile.channel).ok().and_then(|c| self.files.get(c));
            let offset = tile.line * image.layout().line_bytes;
            let Some(file) = file.filter(|file| offset + len <= file.len) else {
                found.add([Damage::Missing { place: place(image, &tile) }]);
                continue;
            };
            file.read_at(offset, &mut read)?;
            bytes += len;
            let task = TileTask { tile, source: 0, dest: 0, len };
            if let Some(&listed) = usize::try_from(tile.index).ok().and_then(|i| self.listed.get(i))
            {
                found.add(check_tile(image, &task, &read, listed)?);
            }
        }
        Ok((chosen.len() as u64, bytes))
    }
}

/// A tile's damage. What a GPU's CRC finds, the CPU must find too.
fn checked(
    image: &Image,
    task: &TileTask,
    tile: &[u8],
    gpu_crc: Option<u32>,
    listed: u32,
) -> Result<Vec<Damage>, Error> {
    let Some(crc) = gpu_crc else { return Ok(check_tile(image, task, tile, listed)?) };
    let found = check_tile_of_crc(image, task, tile, crc, listed)?;
    if !found.is_empty() && found != check_tile(image, task, tile, listed)? {
        return Err(Error::GpuCrc { tile: task.tile.index });
    }
    Ok(found)
}

/// What a window costs while it is verified: its channel bytes and its rows.
pub(crate) fn weight(window: &Window) -> u64 {
    window.channel_bytes + window.source_bytes
}

/// Each tile with the part of the source bytes that its rows are; none for a
/// kernel's, which are all over it.
fn split_by_rows<'w, 'r>(
    window: &'w Window,
    tensors: &[wimg_core::TensorEntry],
    restored: &'r mut [u8],
) -> Vec<(&'w TileTask, Option<&'r mut [u8]>)> {
    let mut rest = restored;
    let mut at = 0;
    let mut split = Vec::with_capacity(window.tasks.len());
    for (i, task) in window.tasks.iter().enumerate() {
        if tensors.get(task.tile.tensor).is_none_or(|tensor| tensor.kernel) {
            split.push((task, None));
            continue;
        }
        // Up to the next tile's source; a plain tile's end is the next one's start.
        let next =
            window.tasks.iter().skip(i + 1).map(|next| next.source).find(|&s| s > task.source);
        let end = next.unwrap_or(window.source_bytes);
        let skip = usize::try_from(task.source - at).unwrap_or(usize::MAX);
        let len = usize::try_from(end - task.source).unwrap_or(usize::MAX);
        let (rows, after) = std::mem::take(&mut rest)
            .split_at_mut_checked(skip)
            .and_then(|(_, rows)| rows.split_at_mut_checked(len))
            .unwrap_or_default();
        rest = after;
        at = end;
        split.push((task, Some(rows)));
    }
    split
}

impl ChannelFile {
    /// Reads at a byte; what is past the file's end is zeros.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let there = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (now, past) = buffer.split_at_mut(there.min(buffer.len()));
        past.fill(0);
        match &self.file {
            Some(file) if !now.is_empty() => file
                .read_exact_at(now, offset)
                .map_err(|cause| Error::io(&self.path, "reading it", cause)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wimg_core::pack::pack_window;
    use wimg_core::{Format, Plan, Selected, Selection, TensorEntry, WindowLimit};

    #[test]
    fn a_gpus_crc_is_believed_only_where_the_cpu_agrees() {
        let tensor = TensorEntry {
            name: "a".to_owned(),
            format: Format::F32,
            dims: vec![6, 50],
            kernel: false,
            streamed: false,
        };
        let selected = Selected {
            selection: Selection::Table,
            tensors: vec![tensor],
            sources: vec![0],
            passes: Vec::new(),
            step: false,
        };
        let source = wimg_core::Source { shard: 0, offset: 0, len: 1200 };
        let plan = Plan::of(selected, &"1x16/4+check".parse().unwrap(), vec![source]).unwrap();
        let window = plan.windows(WindowLimit::default()).next().unwrap();
        let mut packed = vec![0; usize::try_from(window.channel_bytes).unwrap()];
        let crcs = pack_window(plan.image(), &window, &[7; 1200], &mut packed).unwrap();
        let (image, task, crc) = (plan.image(), &window.tasks[1], crcs[1]);
        let mut tile = tile_slice(task, &packed).unwrap().to_vec();
        assert_eq!(checked(image, task, &tile, Some(crc), crc).unwrap(), []);
        let wrong = checked(image, task, &tile, Some(crc ^ 1), crc).unwrap_err();
        assert!(matches!(wrong, Error::GpuCrc { tile: 1 }), "{wrong}");
        // Damage that both see.
        tile[5] ^= 1;
        let by_cpu = checked(image, task, &tile, None, crc).unwrap();
        let Damage::TileCrc { crc: actual, .. } = &by_cpu[0] else { panic!("{by_cpu:?}") };
        assert_eq!(checked(image, task, &tile, Some(*actual), crc).unwrap(), by_cpu);
    }
}
