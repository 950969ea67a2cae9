//! Unpacking: an image back to the checkpoint that it was made from, or one of
//! its tensors as the checkpoint had it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use wimg_core::window::{SourceRange, Windows};
use wimg_core::{Damage, Digest, Escaped, ShardName, Verifier, WindowLimit};

use crate::error::Error;
use crate::pipeline::WINDOWS_BYTES;
use crate::pipeline::budget::Budget;
use crate::progress::{Progress, Stage, Tell};
use crate::stop::Stop;
use crate::store::{REST_BIN, Staging, StoredImage, require_space};
use crate::target::TargetKind;
use crate::verify::{Found, Job, Scan, check_manifest, check_small_files, open_channels, weight};

/// Bytes of `rest.bin` that are read at a time.
const CHUNK: u64 = 1 << 20;

/// Who takes the runs of tensors' bytes.
type Sink<'a> = &'a mut dyn FnMut(&SourceRange, &[u8]) -> Result<(), Error>;

/// Where an unpacked checkpoint or tensor goes.
#[derive(Clone, Debug)]
pub struct UnpackOptions {
    /// The file; of a split set the folder of its shards.
    pub out: PathBuf,
    /// Replace what is there, if it is of the same kind.
    pub force: bool,
}

/// What was unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// The id of the image: the BLAKE3 of its `image.json`.
    pub id: Digest,
    /// The files, in the shards' order.
    pub files: Vec<PathBuf>,
    /// Their bytes.
    pub bytes: u64,
}

/// Gives the checkpoint back that the image in `dir` was made from, byte for
/// byte: a file at `options.out`, or a folder there with the shards of a set.
///
/// Every tile and every tensor is checked on the way, and nothing is at `out`
/// before all of it is, on the disk; a failure leaves what was there. Holes
/// may take the place of runs of zeros.
///
/// # Errors
/// An image of another selection than `all` or `table`; damage; a target that
/// exists; too little space; I/O.
pub fn unpack(dir: &Path, options: &UnpackOptions, tell: Tell<'_>) -> Result<Unpacked, Error> {
    let image = StoredImage::open(dir)?;
    if !image.plan.selection().is_whole() {
        let selection = image.plan.selection().name();
        return Err(Error::NotWhole { path: dir.to_owned(), selection });
    }
    let mut found = Found::up_to(1);
    let listed = check_small_files(&image, &mut found)?;
    check_manifest(&image, &mut found)?;
    let files = open_channels(&image, &mut found)?;
    sound(&image, found)?;
    let names = shard_names(&image, &options.out);
    let kind = if names.len() == 1 { TargetKind::File } else { TargetKind::Shards };
    kind.check(&options.out, options.force)?;
    let stop = Stop::default();
    let scan = Scan { image: &image, files, listed, source: None, stop: &stop };
    let total = tensor_bytes(&image);
    let headers: u64 = image.headers.iter().map(|header| header.len() as u64).sum();
    require_space(&options.out, total + headers)?;
    let staging = Staging::of_kind(kind, &options.out, options.force)?;
    let shards = Shards::create(&image, &staging, &names)?;
    let windows = image.plan.windows(WindowLimit::default());
    each_range(&scan, windows, total, tell, &mut |range, bytes| {
        shards.write(range.shard, range.offset, bytes)
    })?;
    shards.copy_rest(&image)?;
    let files = match kind {
        TargetKind::File => vec![options.out.clone()],
        _ => names.iter().map(|name| options.out.join(name)).collect(),
    };
    shards.finish()?;
    staging.publish()?;
    let bytes = image.manifest.checkpoint.shards.iter().map(|shard| shard.length).sum();
    Ok(Unpacked { id: Digest::of(&image.text), files, bytes })
}

/// Gives one tensor's bytes back, as the checkpoint had them, in a file at
/// `options.out`. Any image has them.
///
/// # Errors
/// A tensor that the image has not; damage; a target that exists; I/O.
pub fn unpack_tensor(
    dir: &Path,
    name: &str,
    options: &UnpackOptions,
    tell: Tell<'_>,
) -> Result<Unpacked, Error> {
    let image = StoredImage::open(dir)?;
    let tensor = tensor_number(&image, name)?;
    TargetKind::File.check(&options.out, options.force)?;
    require_space(&options.out, image.plan.sources().get(tensor).map_or(0, |source| source.len))?;
    let staging = Staging::of_kind(TargetKind::File, &options.out, options.force)?;
    let file_name = options.out.file_name().unwrap_or_default().to_owned();
    let (path, mut file) = staging.create_file(&file_name)?;
    let bytes = tensor_to(&image, tensor, tell, &mut |bytes| {
        file.write_all(bytes).map_err(|cause| Error::io(&path, "writing it", cause))
    })?;
    file.sync_all().map_err(|cause| Error::io(&path, "syncing it", cause))?;
    staging.publish()?;
    Ok(Unpacked { id: Digest::of(&image.text), files: vec![options.out.clone()], bytes })
}

/// Writes one tensor's bytes, as the checkpoint had them, and gives their
/// number. They are checked as they go by: of a tensor that does not fit a
/// window, parts are written before damage in a later part is found.
///
/// # Errors
/// A tensor that the image has not; damage; I/O, of `out` too.
pub fn write_tensor(
    dir: &Path,
    name: &str,
    out: &mut dyn Write,
    tell: Tell<'_>,
) -> Result<u64, Error> {
    let image = StoredImage::open(dir)?;
    let tensor = tensor_number(&image, name)?;
    tensor_to(&image, tensor, tell, &mut |bytes| out.write_all(bytes).map_err(Error::Write))
}

/// The tensor's place in the image. A name is taken as it is, or as it is shown.
fn tensor_number(image: &StoredImage, name: &str) -> Result<usize, Error> {
    let tensors = image.plan.image().tensors();
    let shown = || tensors.iter().position(|t| Escaped::new(&t.name).to_string() == name);
    tensors.iter().position(|tensor| tensor.name == name).or_else(shown).ok_or_else(|| {
        let (path, name) = (image.dir.clone(), name.to_owned());
        Error::NoTensor { path, name, tensors: tensors.len() }
    })
}

/// Gives one tensor's bytes to `sink`, in their order.
fn tensor_to(
    image: &StoredImage,
    tensor: usize,
    tell: Tell<'_>,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<u64, Error> {
    let mut found = Found::up_to(1);
    check_manifest(image, &mut found)?;
    sound(image, found)?;
    // What is amiss with a channel matters where the tensor's tiles lie: its
    // own CRC tells.
    let files = open_channels(image, &mut Found::default())?;
    let stop = Stop::default();
    let scan = Scan { image, files, listed: Vec::new(), source: None, stop: &stop };
    let total = image.plan.sources().get(tensor).map_or(0, |source| source.len);
    let windows = image.plan.tensor_windows(tensor, WindowLimit::default());
    each_range(&scan, windows, total, tell, &mut |_, bytes| sink(bytes))?;
    Ok(total)
}

/// Refuses what the manifest cannot be believed for.
fn sound(image: &StoredImage, found: Found) -> Result<(), Error> {
    found.damage.into_iter().next().map_or(Ok(()), |damage| Err(damaged(image, &damage)))
}

fn damaged(image: &StoredImage, damage: &Damage) -> Error {
    Error::Damaged { path: image.dir.clone(), why: damage.to_string() }
}

fn tensor_bytes(image: &StoredImage) -> u64 {
    image.plan.sources().iter().map(|source| source.len).sum()
}

/// The shards' file names: of one file that of `out`, of a set
/// `NAME-00001-of-0000N.gguf` after the folder.
fn shard_names(image: &StoredImage, out: &Path) -> Vec<OsString> {
    let name = out.file_name().unwrap_or_default();
    let count = u16::try_from(image.headers.len()).unwrap_or(u16::MAX);
    if count == 1 {
        return vec![name.to_owned()];
    }
    let prefix = name.as_bytes();
    let prefix = prefix.strip_suffix(b".gguf").unwrap_or(prefix).to_vec();
    let first = ShardName { prefix, number: 1, count };
    (1..=count).map(|number| OsString::from_vec(first.sibling(number))).collect()
}

/// Reads windows, puts their tiles' rows back, checks them, and gives `sink`
/// every run of a tensor's bytes, in the windows' order and whole: a kernel's
/// with its last tile.
fn each_range(
    scan: &Scan<'_>,
    windows: Windows<'_>,
    total: u64,
    tell: Tell<'_>,
    sink: Sink<'_>,
) -> Result<(), Error> {
    let budget = Budget::new(WINDOWS_BYTES);
    let (next, jobs) = sync_channel::<Job>(2);
    let (recycle, recycled) = sync_channel::<Vec<u8>>(8);
    let mut verifier = Verifier::new(&scan.image.plan);
    std::thread::scope(|scope| {
        let budget = &budget;
        let reader = scope.spawn(move || scan.read_windows(windows, budget, &recycled, &next));
        let unpack = || {
            let mut restored = Vec::new();
            let mut done = 0;
            for job in jobs {
                done += unpack_window(scan, &job, &mut verifier, &mut restored, sink)?;
                tell(Progress { stage: Stage::Unpack, done, total });
                budget.give(weight(&job.window));
                // The reader may have read its last window already.
                let _ = recycle.try_send(job.channel_bytes);
            }
            Ok(())
        };
        let unpacked: Result<(), Error> = unpack();
        budget.close();
        let read = reader.join().map_err(|_| Error::Stopped("reading"));
        unpacked.and(read?)
    })
}

/// Unpacks one window; the bytes of tensors that it gave to `sink`.
fn unpack_window(
    scan: &Scan<'_>,
    job: &Job,
    verifier: &mut Verifier<'_>,
    restored: &mut Vec<u8>,
    sink: Sink<'_>,
) -> Result<u64, Error> {
    let (image, window) = (scan.image, &job.window);
    restored.resize(usize::try_from(window.source_bytes).unwrap_or(usize::MAX), 0);
    let damage = scan.check_tiles(job, restored)?;
    if let Some(damage) = damage.first() {
        return Err(damaged(image, damage));
    }
    verifier.absorb(window, &job.channel_bytes, restored)?;
    let mut given = 0;
    for range in &window.sources {
        if !verifier.is_whole(window, range) {
            continue;
        }
        if let Some(damage) = verifier.tensor_damage(&image.manifest, range.tensor) {
            return Err(damaged(image, &damage));
        }
        let start = usize::try_from(range.at).unwrap_or(usize::MAX);
        let len = usize::try_from(range.len).unwrap_or(usize::MAX);
        let bytes = restored.get(start..).and_then(|bytes| bytes.get(..len));
        sink(range, bytes.ok_or(Error::Stopped("unpacking"))?)?;
        given += range.len;
    }
    Ok(given)
}

/// The shards' files while they are written.
struct Shards {
    files: Vec<(PathBuf, File)>,
}

impl Shards {
    /// Files of the shards' lengths, all zeros but their headers.
    fn create(image: &StoredImage, staging: &Staging, names: &[OsString]) -> Result<Shards, Error> {
        let mut files = Vec::new();
        let shards = image.manifest.checkpoint.shards.iter().zip(&image.headers);
        for (name, (shard, header)) in names.iter().zip(shards) {
            let (path, file) = staging.create_file(name)?;
            file.set_len(shard.length)
                .and_then(|()| file.write_all_at(header, 0))
                .map_err(|cause| Error::io(&path, "writing it", cause))?;
            files.push((path, file));
        }
        Ok(Shards { files })
    }

    fn write(&self, shard: u32, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let shard = usize::try_from(shard).ok().and_then(|shard| self.files.get(shard));
        let (path, file) = shard.ok_or(Error::Stopped("writing"))?;
        file.write_all_at(bytes, offset).map_err(|cause| Error::io(path, "writing it", cause))
    }

    /// Puts back what `rest.bin` holds, checked again as it goes by.
    fn copy_rest(&self, image: &StoredImage) -> Result<(), Error> {
        let Some(rest) = &image.manifest.rest else { return Ok(()) };
        let path = image.dir.join(REST_BIN);
        let reading = |cause| Error::io(&path, "reading it", cause);
        let mut file = File::open(&path).map_err(reading)?;
        let mut hasher = blake3::Hasher::new();
        for range in &rest.ranges {
            let mut done = 0;
            while done < range.length {
                let len = CHUNK.min(range.length - done);
                let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
                file.read_exact(&mut bytes).map_err(reading)?;
                hasher.update(&bytes);
                self.write(range.shard, range.offset + done, &bytes)?;
                done += len;
            }
        }
        let damage = Damage::digest(REST_BIN, rest.blake3, Digest::finish(&hasher));
        damage.map_or(Ok(()), |damage| Err(damaged(image, &damage)))
    }

    /// Waits until the disk has all of it.
    fn finish(self) -> Result<(), Error> {
        self.files.iter().try_for_each(|(path, file)| {
            file.sync_all().map_err(|cause| Error::io(path, "syncing it", cause))
        })
    }
}
