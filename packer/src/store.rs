//! Image directories on disk: a new one is built beside its place and put
//! there whole; an old one is opened without touching its channels.

mod stored;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fault;
use crate::target::TargetKind;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

pub use stored::{StoredImage, read_manifest};

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

/// A result while it is built: a folder beside its place, whose name says by
/// whom, locked while its process lives, removed when dropped. It is put in its
/// place whole, or of a single file that file.
#[derive(Debug)]
pub struct Staging {
    kind: TargetKind,
    force: bool,
    target: PathBuf,
    parent: PathBuf,
    dir: PathBuf,
    /// Open and locked for as long as the folder is being built.
    _lock: File,
    published: bool,
}

impl Staging {
    /// Starts an image directory that will be `target`, after clearing what
    /// dead processes left behind for the same target.
    ///
    /// # Errors
    /// A target that exists (without `force`), or that is no image; I/O.
    pub fn create(target: &Path, force: bool) -> Result<Staging, Error> {
        Staging::of_kind(TargetKind::Image, target, force)
    }

    /// Starts a result of any kind.
    ///
    /// # Errors
    /// A target that exists (without `force`), or that is of another kind; I/O.
    pub fn of_kind(kind: TargetKind, target: &Path, force: bool) -> Result<Staging, Error> {
        kind.check(target, force)?;
        let parent = parent_of(target);
        let Some(name) = target.file_name() else {
            return Err(kind.occupied(target, "no name".into()));
        };
        let prefix = partial_prefix(name);
        clear_leftovers_of(kind, target)?;
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
            let locked = lock(&dir).inspect_err(|_| {
                // The next one to this target clears what cannot be removed now.
                let _ = fs::remove_dir(&dir);
            })?;
            if let Some(lock) = locked {
                let target = target.to_owned();
                let published = false;
                return Ok(Staging { kind, force, target, parent, dir, _lock: lock, published });
            }
        }
        let cause = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(Error::io(&parent, "creating a folder to build in", cause))
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
    pub fn create_file<N>(&self, name: &N) -> Result<(PathBuf, File), Error>
    where
        N: AsRef<Path> + ?Sized,
    {
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

    /// Puts the result in its place, whole or not at all. What it replaces is
    /// removed only after. Its files must be on the disk already.
    ///
    /// # Errors
    /// A target that has come to be meanwhile and must not be replaced; I/O.
    /// When only the removal of what was replaced fails, the new one is in
    /// place.
    pub fn publish(mut self) -> Result<(), Error> {
        sync_dir(&self.dir)?;
        let failed = |cause| Error::io(&self.target, "putting it in place", cause);
        fault::at("publish").map_err(failed)?;
        let replaced = match self.kind {
            TargetKind::File => self.publish_file()?,
            TargetKind::Image | TargetKind::Shards => self.publish_dir()?,
        };
        self.published = true;
        fault::at("published").map_err(|cause| Error::io(&self.target, "syncing it", cause))?;
        sync_dir(&self.parent)?;
        match (self.kind, replaced) {
            (TargetKind::File, _) => {
                let removed = fs::remove_dir(&self.dir);
                removed.map_err(|cause| Error::io(&self.dir, "removing it", cause))
            }
            (kind, Some(old)) => remove_replaced(kind, &old),
            (_, None) => Ok(()),
        }
    }

    /// Puts the folder in its place; where that which it replaces is now.
    fn publish_dir(&self) -> Result<Option<PathBuf>, Error> {
        let (from, to) = (self.dir.as_path(), self.target.as_path());
        let placing = |cause: Errno| Error::io(to, "putting it in place", cause);
        let rename = |flags| rustix::fs::renameat_with(CWD, from, CWD, to, flags);
        match rename(RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(None),
            // A plain rename puts a folder in the place of nothing or of an
            // empty folder, never of anything else.
            Err(cause) if is_unsupported(cause) => match rustix::fs::rename(from, to) {
                Ok(()) => return Ok(None),
                Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                Err(cause) => return Err(placing(cause)),
            },
            Err(Errno::EXIST) => {}
            Err(cause) => return Err(placing(cause)),
        }
        // Looked at again: it may have come to be since the start, and the
        // start refused what must not be replaced.
        self.kind.check(to, self.force)?;
        match rename(RenameFlags::EXCHANGE) {
            Ok(()) => Ok(Some(self.dir.clone())),
            Err(cause) if is_unsupported(cause) => self.replace_by_turns().map(Some),
            Err(cause) => Err(placing(cause)),
        }
    }

    /// Where the file system cannot exchange two names at once: the old one
    /// aside, under a name that nobody clears away, then the new one.
    fn replace_by_turns(&self) -> Result<PathBuf, Error> {
        let placing = |cause: Errno| Error::io(&self.target, "putting it in place", cause);
        let mut name = OsString::from(".");
        name.push(self.target.file_name().unwrap_or_default());
        name.push(format!(".replaced-{}-{}-{}", host(), std::process::id(), boot()));
        let aside = self.parent.join(name);
        rustix::fs::rename(&self.target, &aside).map_err(placing)?;
        if let Err(cause) = rustix::fs::rename(&self.dir, &self.target) {
            // Back again; if that fails too, it is whole under the other name.
            let _ = rustix::fs::rename(&aside, &self.target);
            return Err(placing(cause));
        }
        Ok(aside)
    }

    /// Puts the folder's one file in its place.
    fn publish_file(&self) -> Result<Option<PathBuf>, Error> {
        let to = self.target.as_path();
        let from = self.dir.join(to.file_name().unwrap_or_default());
        let placing = |cause: Errno| Error::io(to, "putting it in place", cause);
        match rustix::fs::renameat_with(CWD, &from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(None),
            Err(Errno::EXIST) => {}
            Err(cause) if is_unsupported(cause) => {}
            Err(cause) => return Err(placing(cause)),
        }
        self.kind.check(to, self.force)?;
        rustix::fs::rename(&from, to).map_err(placing)?;
        Ok(None)
    }
}

/// Whether a file system has no such way to rename.
fn is_unsupported(cause: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP].contains(&cause)
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

/// Removes an image's files and then its folder: never anything else.
pub(crate) fn remove_image(dir: &Path) -> Result<(), Error> {
    remove_replaced(TargetKind::Image, dir)
}

/// Removes the files of what was replaced and then its folder: never anything
/// else. Another process that builds for the same target may be clearing the
/// folder away too.
fn remove_replaced(kind: TargetKind, dir: &Path) -> Result<(), Error> {
    let gone = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(Error::io(dir, "removing what was replaced", cause)),
    };
    let listed = match fs::read_dir(dir) {
        Ok(listed) => listed,
        Err(cause) => return gone(cause),
    };
    for entry in listed {
        match entry {
            Ok(entry) if kind.holds(&entry.file_name()) => {
                let removed = fault::at("remove").and_then(|()| fs::remove_file(entry.path()));
                removed.or_else(gone)?;
            }
            Ok(_) => {}
            Err(cause) => return gone(cause),
        }
    }
    fs::remove_dir(dir).or_else(gone)
}

/// What the names of directories begin with that will be `name`.
fn partial_prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".partial-");
    prefix
}

/// Removes siblings of an image that dead processes were building.
pub(crate) fn clear_leftovers(target: &Path) -> Result<(), Error> {
    clear_leftovers_of(TargetKind::Image, target)
}

/// Removes siblings that dead processes were building: folders of the name that
/// one gets here, held by nobody, with nothing in them but what one holds.
fn clear_leftovers_of(kind: TargetKind, target: &Path) -> Result<(), Error> {
    let parent = parent_of(target);
    let prefix = partial_prefix(target.file_name().unwrap_or_default());
    let (parent, prefix) = (parent.as_path(), prefix.as_os_str());
    let failed = |cause| Error::io(parent, "looking for leftovers in it", cause);
    for entry in fs::read_dir(parent).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let of_a_process = name.as_bytes().strip_prefix(prefix.as_bytes()).is_some_and(is_maker);
        if !of_a_process || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(Some(_held)) = lock(&entry.path()) else {
            // Held, or gone meanwhile: somebody else's business.
            continue;
        };
        // What cannot be removed is in nobody's way.
        let _ = clear(kind, parent, prefix, &entry.path());
    }
    Ok(())
}

/// Whether these bytes are `HOST-PID-BOOT-N`, as [`Staging`] names its folder.
fn is_maker(name: &[u8]) -> bool {
    let mut parts = name.rsplitn(4, |&byte| byte == b'-');
    let (number, boot, pid) = (parts.next(), parts.next(), parts.next());
    let digits = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    let hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    digits(number) && boot.is_some_and(hex) && digits(pid) && parts.next().is_some()
}

/// Removes a leftover, unless there is a thing in it that was never built here.
fn clear(kind: TargetKind, parent: &Path, prefix: &OsStr, dir: &Path) -> io::Result<()> {
    // A single file is built under its own name.
    let own = parent.join(prefix);
    let own = own.file_name().unwrap_or_default().as_bytes();
    let own = own.strip_prefix(b".").and_then(|name| name.strip_suffix(b".partial-"));
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let built = kind.holds(&name) || is_image_file(&name) || Some(name.as_bytes()) == own;
        if !built || !entry.file_type()?.is_file() {
            return Ok(());
        }
        files.push(entry.path());
    }
    files.iter().try_for_each(fs::remove_file)?;
    fs::remove_dir(dir)
}

/// Opens a file of an image: a regular one, or an error that says what it is.
/// Nothing that is put in its place can make the opener wait.
pub(crate) fn open_file(path: &Path) -> Result<Option<File>, Error> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(cause) => return Err(Error::io(path, "opening it", cause)),
    };
    let meta = file.metadata().map_err(|cause| Error::io(path, "looking at it", cause))?;
    if meta.is_file() {
        return Ok(Some(file));
    }
    let what = if meta.is_dir() { "a folder" } else { "a device or a pipe" };
    Err(Error::Damaged { path: path.to_owned(), why: format!("it is {what}, not a file") })
}

/// A small file's bytes, at most `most` and one more: whoever expects no more
/// sees that there are, and a huge file in its place takes no memory.
pub(crate) fn read_file(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Error> {
    let Some(file) = open_file(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = io::Read::read_to_end(&mut io::Read::take(file, most.saturating_add(1)), &mut bytes);
    read.map_err(|cause| Error::io(path, "reading it", cause))?;
    Ok(Some(bytes))
}

/// Locks a folder, if nobody holds it and it is still there once locked.
fn lock(dir: &Path) -> Result<Option<File>, Error> {
    let file = match File::open(dir) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::io(dir, "opening it", cause)),
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(cause) => return Err(Error::io(dir, "locking it", cause)),
    }
    let held = file.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let named = fs::symlink_metadata(dir).ok().map(|meta| (meta.dev(), meta.ino()));
    Ok((held.is_some() && held == named).then_some(file))
}

/// Puts at `target` what `write` writes, whole or not at all.
///
/// # Errors
/// A target that exists (without `force`), or that is no file; I/O.
pub(crate) fn place_file(
    target: &Path,
    force: bool,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), Error> {
    let staging = Staging::of_kind(TargetKind::File, target, force)?;
    let (_, file) = staging.create_file(target.file_name().unwrap_or_default())?;
    write(&file)
        .and_then(|()| fault::at("sync"))
        .and_then(|()| file.sync_all())
        .map_err(|cause| Error::io(target, "writing it", cause))?;
    staging.publish()
}

/// Puts a small file of ours in its place, whole or not at all.
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

/// Refuses a target that takes more bytes than its file system has for us.
pub(crate) fn require_space(target: &Path, needed: u64) -> Result<(), Error> {
    let path = parent_of(target);
    match free_bytes(&path)? {
        free if free < needed => Err(Error::Space { path, needed, free }),
        _ => Ok(()),
    }
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
