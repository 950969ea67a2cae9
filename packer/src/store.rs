//! Image directories on disk: a new one is built beside its place and put
//! there whole; an old one is opened without touching its channels.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags};
use wimg_core::gguf::{self, Read};
use wimg_core::manifest::FORMAT_VERSION;
use wimg_core::{Checkpoint, Digest, ImageLayout, Manifest, ManifestError, Plan, Selection};

use crate::error::Error;
use crate::fault;

/// The manifest.
pub const IMAGE_JSON: &str = "image.json";
/// The CRC-32C of every tile, in order.
pub const TILES_CRC: &str = "tiles.crc";
/// The checkpoint's bytes that are in no header and no tensor.
pub const REST_BIN: &str = "rest.bin";
/// How this copy was made.
pub const RUN_JSON: &str = "run.json";

/// The file of a channel.
pub fn channel_name(channel: usize) -> String {
    format!("channel-{channel}.bin")
}

/// The file of a shard's bytes before its data.
pub fn header_name(shard: usize) -> String {
    format!("header-{shard}.gguf")
}

/// Whether an image directory may hold a file of this name.
pub(crate) fn is_image_file(name: &OsStr) -> bool {
    let numbered = |name: &str, start: &str, end: &str| {
        name.strip_prefix(start)
            .and_then(|name| name.strip_suffix(end))
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    name.to_str().is_some_and(|name| {
        [IMAGE_JSON, TILES_CRC, REST_BIN, RUN_JSON].contains(&name)
            || numbered(name, "channel-", ".bin")
            || numbered(name, "header-", ".gguf")
    })
}

/// An image directory while it is built: a sibling of its place, whose name
/// says by whom, locked while its process lives, removed when dropped.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    parent: PathBuf,
    dir: PathBuf,
    /// Open and locked for as long as the directory is being built.
    _lock: File,
    published: bool,
}

impl Staging {
    /// Starts a directory that will be `target`, after clearing what dead
    /// processes left behind for the same target.
    ///
    /// # Errors
    /// A target that exists (without `force`), or that is no image; I/O.
    pub fn create(target: &Path, force: bool) -> Result<Staging, Error> {
        check_target(target, force)?;
        let parent = parent_of(target);
        let Some(name) = target.file_name() else {
            return Err(Error::Occupied {
                path: target.to_owned(),
                what: "no folder's name".into(),
            });
        };
        let prefix = partial_prefix(name);
        clear_leftovers(target)?;
        let mut own = prefix;
        own.push(format!("{}-{}-{}", host(), std::process::id(), boot()));
        // Several packs of one process to one target, or a directory that was
        // cleared before its lock was held: another number.
        for attempt in 0..100u32 {
            let mut numbered = own.clone();
            numbered.push(format!("-{attempt}"));
            let dir = parent.join(numbered);
            match fs::create_dir(&dir) {
                Ok(()) => {}
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(cause) => return Err(Error::io(&dir, "creating it", cause)),
            }
            if let Some(lock) = lock(&dir)? {
                let target = target.to_owned();
                return Ok(Staging { target, parent, dir, _lock: lock, published: false });
            }
        }
        let cause = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(Error::io(&parent, "creating a folder to build the image in", cause))
    }

    /// Puts it under another name beside its target: one that is known only
    /// once the image is. An image of that name is replaced.
    pub fn rename(&mut self, name: &str) {
        self.target = self.parent.join(name);
    }

    /// Where the files are built.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A new file, open for writing and reading back.
    pub fn create_file(&self, name: &str) -> Result<(PathBuf, File), Error> {
        let path = self.dir.join(name);
        let file = File::options().read(true).write(true).create_new(true).open(&path);
        match file {
            Ok(file) => Ok((path, file)),
            Err(cause) => Err(Error::io(&path, "creating it", cause)),
        }
    }

    /// Writes a whole small file and waits until the disk has it.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let (path, mut file) = self.create_file(name)?;
        io::Write::write_all(&mut file, bytes)
            .and_then(|()| fault::at("sync"))
            .and_then(|()| file.sync_all())
            .map_err(|cause| Error::io(&path, "writing it", cause))
    }

    /// Puts the directory in its place, whole or not at all. What it replaces
    /// is removed only after. Its files must be on the disk already.
    pub fn publish(mut self) -> Result<(), Error> {
        sync_dir(&self.dir)?;
        let failed = |cause| Error::io(&self.target, "putting the image in place", cause);
        fault::at("publish").map_err(failed)?;
        let rename = |flags| rustix::fs::renameat_with(CWD, &self.dir, CWD, &self.target, flags);
        let renaming =
            |cause: rustix::io::Errno| Error::io(&self.target, "putting the image in place", cause);
        let replaced = match rename(RenameFlags::NOREPLACE) {
            Ok(()) => false,
            // Looked at again: it may have come to be since the start. `create`
            // refused what must not be replaced.
            Err(rustix::io::Errno::EXIST) => {
                check_target(&self.target, true)?;
                rename(RenameFlags::EXCHANGE).map_err(renaming)?;
                true
            }
            Err(cause) => return Err(renaming(cause)),
        };
        self.published = true;
        fault::at("published").map_err(|cause| Error::io(&self.target, "syncing it", cause))?;
        sync_dir(&self.parent)?;
        if replaced {
            remove_image(&self.dir)?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            // Nothing more can be done about a folder that cannot be removed;
            // the next pack to this target clears it.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// The folder that holds a target.
pub fn parent_of(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Refuses a target that exists, or that an image must not replace.
pub fn check_target(target: &Path, force: bool) -> Result<(), Error> {
    let occupied = |what: String| Err(Error::Occupied { path: target.to_owned(), what });
    let meta = match fs::symlink_metadata(target) {
        Ok(meta) => meta,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(Error::io(target, "looking at it", cause)),
    };
    if meta.file_type().is_symlink() {
        return occupied("a symbolic link".into());
    }
    if !meta.is_dir() {
        return occupied("not a folder".into());
    }
    let listing = |cause| Error::io(target, "listing it", cause);
    let mut empty = true;
    for entry in fs::read_dir(target).map_err(listing)? {
        let name = entry.map_err(listing)?.file_name();
        if !is_image_file(&name) {
            return occupied(format!(
                "a folder with `{}` in it, which is no part of an image",
                wimg_core::Escaped::new(name.as_bytes())
            ));
        }
        empty = false;
    }
    if empty || force { Ok(()) } else { Err(Error::Exists(target.to_owned())) }
}

/// Removes an image's files and then its folder: never anything else.
pub(crate) fn remove_image(dir: &Path) -> Result<(), Error> {
    let failed = |cause| Error::io(dir, "removing the image that was replaced", cause);
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if is_image_file(&entry.file_name()) {
            fault::at("remove").map_err(failed)?;
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    fs::remove_dir(dir).map_err(failed)
}

/// What the names of directories begin with that will be `name`.
fn partial_prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".partial-");
    prefix
}

/// Removes siblings of a target that dead processes were building.
pub(crate) fn clear_leftovers(target: &Path) -> Result<(), Error> {
    let parent = parent_of(target);
    let prefix = partial_prefix(target.file_name().unwrap_or_default());
    let failed = |cause| Error::io(&parent, "looking for leftovers in it", cause);
    for entry in fs::read_dir(&parent).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        // Held, or gone meanwhile: somebody else's business.
        if let Ok(Some(_held)) = lock(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Locks a folder, if nobody holds it and it is still there once locked.
fn lock(dir: &Path) -> Result<Option<File>, Error> {
    let file = match File::open(dir) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::io(dir, "opening it", cause)),
    };
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    let held = file.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let named = fs::symlink_metadata(dir).ok().map(|meta| (meta.dev(), meta.ino()));
    Ok((held.is_some() && held == named).then_some(file))
}

/// Puts a small file in its place, whole or not at all.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |cause| Error::io(path, "writing it", cause);
    let parent = parent_of(path);
    let new = tempfile::Builder::new()
        .prefix(&partial_prefix(path.file_name().unwrap_or_default()))
        // As any file that is created; the umask takes its part.
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(&parent)
        .map_err(failed)?;
    io::Write::write_all(&mut new.as_file(), bytes)
        .and_then(|()| fault::at("sync"))
        .and_then(|()| new.as_file().sync_all())
        .map_err(failed)?;
    new.persist(path).map_err(|error| failed(error.error))?;
    sync_dir(&parent)
}

/// Waits until the disk has a folder's names.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), Error> {
    let synced = fault::at("sync").and_then(|()| File::open(dir)?.sync_all());
    synced.map_err(|cause| Error::io(dir, "syncing it", cause))
}

/// Bytes free for us on the file system of a folder.
pub fn free_bytes(dir: &Path) -> Result<u64, Error> {
    let stat =
        rustix::fs::statvfs(dir).map_err(|cause| Error::io(dir, "asking its space", cause))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// This machine's name, as far as it fits a file name.
pub fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "-._".contains(*c)).take(64).collect()
}

/// What tells this boot of the machine from its others, where the system says.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.chars().filter(char::is_ascii_hexdigit).take(8).collect()
}

/// An image directory, opened: what its small files say, and its plan.
#[derive(Debug)]
pub struct StoredImage {
    /// The folder.
    pub dir: PathBuf,
    /// `image.json`.
    pub manifest: Manifest,
    /// `image.json` as it stands.
    pub text: Vec<u8>,
    /// The checkpoint that the headers tell of.
    pub checkpoint: Checkpoint,
    /// The headers.
    pub headers: Vec<Vec<u8>>,
    /// The plan that follows from the headers, the layout and the selection.
    pub plan: Plan,
}

impl StoredImage {
    /// Opens an image: reads `image.json` and the headers and plans again. No
    /// channel is opened.
    ///
    /// # Errors
    /// A folder without `image.json`; a later format; small files that cannot
    /// be read or do not agree; I/O.
    pub fn open(dir: &Path) -> Result<StoredImage, Error> {
        let path = dir.join(IMAGE_JSON);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound && dir.is_dir() => {
                return Err(Error::NotAnImage(dir.to_owned()));
            }
            Err(cause) => return Err(Error::io(&path, "reading it", cause)),
        };
        let manifest = Manifest::read(&text).map_err(|error| {
            let why = error.to_string();
            match error {
                ManifestError::Version { .. } => Error::Later { path: path.clone(), why },
                _ => Error::Damaged { path: path.clone(), why },
            }
        })?;
        let damaged = |why: String| Error::Damaged { path: path.clone(), why };
        if manifest.format != FORMAT_VERSION {
            return Err(damaged(format!("format version {} never was", manifest.format)));
        }
        let layout: ImageLayout = manifest.layout.parse().map_err(|e| damaged(format!("{e}")))?;
        let selection: Selection =
            manifest.selection.parse().map_err(|e| damaged(format!("{e}")))?;
        let (checkpoint, headers) = read_headers(dir, &manifest, Manifest::is_whole(&text))?;
        let plan = Plan::new(&checkpoint, selection, &layout)
            .map_err(|e| damaged(format!("its headers have no such image: {e}")))?;
        Ok(StoredImage { dir: dir.to_owned(), manifest, text, checkpoint, headers, plan })
    }
}

/// The headers of an image; held against their digests only if `image.json`,
/// which has those, can be believed.
fn read_headers(
    dir: &Path,
    manifest: &Manifest,
    believed: bool,
) -> Result<(Checkpoint, Vec<Vec<u8>>), Error> {
    let mut shards = Vec::new();
    let mut headers = Vec::new();
    for (number, shard) in manifest.checkpoint.shards.iter().enumerate() {
        let path = dir.join(header_name(number));
        let damaged = |why: String| Error::Damaged { path: path.clone(), why };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Err(damaged("it is missing".into()));
            }
            Err(cause) => return Err(Error::io(&path, "reading it", cause)),
        };
        if bytes.len() as u64 != shard.header_length {
            let (have, want) = (bytes.len(), shard.header_length);
            return Err(damaged(format!("it has {have} bytes, image.json has {want}")));
        }
        let digest = Digest::of(&bytes);
        if believed && digest != shard.header_blake3 {
            let want = shard.header_blake3;
            return Err(damaged(format!("its BLAKE3 is {digest}, image.json has {want}")));
        }
        match gguf::read(&bytes, shard.length) {
            Ok(Read::Header(header)) => shards.push(header),
            Ok(Read::More { .. }) => return Err(damaged("the header goes on past its end".into())),
            Err(error) => return Err(damaged(error.to_string())),
        }
        headers.push(bytes);
    }
    let checkpoint = Checkpoint::new(shards).map_err(|error| Error::Damaged {
        path: dir.join(IMAGE_JSON),
        why: format!("its headers are no checkpoint: {error}"),
    })?;
    Ok((checkpoint, headers))
}
