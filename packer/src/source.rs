//! Checkpoints on disk: finding the shards, reading their headers, and
//! noticing when a file changes while it is read.
//!
//! Files are read by position, never mapped: a mapped file that is truncated
//! or fails ends the process or reads as zeros.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::fault;
use wimg_core::checkpoint::{Checkpoint, CheckpointError, ShardName, Split};
use wimg_core::escape::Escaped;
use wimg_core::gguf::{self, GgufError, Header, Read};

/// Bytes of the first read of a file: most headers but for their tokenizers.
const FIRST_READ: u64 = 1 << 20;

/// A checkpoint that is open for reading.
#[derive(Debug)]
pub struct Source {
    /// What the headers say.
    pub checkpoint: Checkpoint,
    /// The shards' files, in the checkpoint's order.
    pub files: Vec<ShardFile>,
    /// Each shard's bytes before its data, `header_len` of them.
    pub headers: Vec<Vec<u8>>,
}

/// A shard's file, and how it looked when it was opened.
#[derive(Debug)]
pub struct ShardFile {
    /// Where it was found.
    pub path: PathBuf,
    /// The open file.
    pub file: File,
    /// Its length in bytes.
    pub len: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub mtime: i128,
    /// The device that it is on.
    pub dev: u64,
    /// Its inode there.
    pub ino: u64,
}

/// Why a checkpoint was not opened or read. Paths and names are escaped
/// already.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's message says what its fields are")]
pub enum SourceError {
    #[error("`{path}`: {cause}")]
    Open { path: String, cause: io::Error },
    #[error("`{path}`: reading at byte `{offset}`: {cause}")]
    Read { path: String, offset: u64, cause: io::Error },
    #[error("`{path}` changed while it was read: {what}")]
    Changed { path: String, what: &'static str },
    #[error("`{path}` is {kind}, not a file")]
    NotAFile { path: String, kind: &'static str },
    #[error("folder `{path}` holds no checkpoint: no file there ends in `.gguf`")]
    NoCheckpoint { path: String },
    #[error("folder `{path}` holds `{count}` checkpoints, name one: {names}")]
    SeveralCheckpoints { path: String, count: usize, names: String },
    #[error("`{path}`: {cause}")]
    Gguf { path: String, cause: GgufError },
    #[error("`{path}`: {cause}")]
    Checkpoint { path: String, cause: CheckpointError },
    #[error(
        "`{path}` is shard {number} of {count} by its metadata: its name must end in \
         `-{number:05}-of-{count:05}.gguf`"
    )]
    ShardName { path: String, number: u32, count: u16 },
    #[error("shard {number} of {count} is missing: there is no `{path}`")]
    MissingShard { path: String, number: u16, count: u16 },
    #[error("`{path}` has no shard {shard}")]
    NoShard { path: String, shard: u32 },
}

impl SourceError {
    /// Whether the system failed rather than the checkpoint: trying again may
    /// help.
    pub fn is_io(&self) -> bool {
        matches!(
            self,
            SourceError::Open { .. } | SourceError::Read { .. } | SourceError::Changed { .. }
        )
    }
}

impl Source {
    /// Opens the checkpoint at `path`: a GGUF file, any shard of a split set,
    /// or a folder with exactly one checkpoint in it. A split set's other
    /// shards are looked for beside the one found.
    ///
    /// # Errors
    ///
    /// What is not a file or not GGUF, a set with a shard missing or of shards
    /// that disagree, a folder with no or several checkpoints; and I/O errors.
    pub fn open(path: &Path) -> Result<Source, SourceError> {
        let meta = fs::metadata(path).map_err(|cause| open_error(path, cause))?;
        if !meta.is_dir() {
            return Source::of_file(path);
        }
        let (first, members) = one_checkpoint(path)?;
        let source = Source::of_file(&path.join(&first))?;
        // Names like a set's on files that are none: a name proves nothing.
        if source.files.len() < members.len() {
            return Err(several(path, &members));
        }
        Ok(source)
    }

    /// Reads all of `buffer` from `offset` of shard `shard` (from 0) on.
    ///
    /// # Errors
    ///
    /// An I/O error, and a file that has become shorter.
    pub fn read_exact_at(
        &self,
        shard: u32,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<(), SourceError> {
        let file = usize::try_from(shard).ok().and_then(|shard| self.files.get(shard));
        let Some(file) = file else {
            let path = self.files.first().map(|file| shown(&file.path)).unwrap_or_default();
            return Err(SourceError::NoShard { path, shard });
        };
        file.read_exact_at(offset, buffer)
    }

    /// Looks again at every file, both as it is open and under its name.
    ///
    /// # Errors
    ///
    /// A file whose size, time of writing or identity is another now.
    pub fn unchanged(&self) -> Result<(), SourceError> {
        self.files.iter().try_for_each(ShardFile::unchanged)
    }

    fn of_file(path: &Path) -> Result<Source, SourceError> {
        let given = Shard::open(path)?;
        let bad = |path: &Path, cause| SourceError::Checkpoint { path: shown(path), cause };
        // Its number in the set is not known yet; a lone file is shard 1.
        let shards = match Split::of(&given.header, 1).map_err(|cause| bad(path, cause))? {
            None => vec![given],
            Some(split) => Shard::set(given, split)?,
        };
        let mut files = Vec::with_capacity(shards.len());
        let mut headers = Vec::with_capacity(shards.len());
        let mut read = Vec::with_capacity(shards.len());
        for shard in shards {
            files.push(shard.file);
            headers.push(shard.bytes);
            read.push(shard.header);
        }
        let checkpoint = Checkpoint::new(read).map_err(|cause| {
            let at_fault = cause.shard().and_then(|shard| files.get(shard.checked_sub(1)?));
            bad(at_fault.map_or(path, |file| &file.path), cause)
        })?;
        Ok(Source { checkpoint, files, headers })
    }
}

/// One shard while a set is put together.
struct Shard {
    file: ShardFile,
    header: Header,
    /// The bytes before the data.
    bytes: Vec<u8>,
}

impl Shard {
    fn open(path: &Path) -> Result<Shard, SourceError> {
        let file = ShardFile::open(path)?;
        let mut bytes = Vec::new();
        let header = loop {
            let read = gguf::read(&bytes, file.len)
                .map_err(|cause| SourceError::Gguf { path: shown(path), cause })?;
            match read {
                Read::Header(header) => break header,
                Read::More { at_least } => {
                    file.extend(&mut bytes, at_least.max(FIRST_READ.min(file.len)))?;
                }
            }
        };
        file.extend(&mut bytes, header.header_len)?;
        bytes.shrink_to_fit();
        Ok(Shard { file, header, bytes })
    }

    /// The whole set that `given` says it is a shard of, in order.
    fn set(given: Shard, split: Split) -> Result<Vec<Shard>, SourceError> {
        let path = given.file.path.clone();
        let (number, count) = (u32::from(split.number) + 1, split.count);
        let name = path.file_name().and_then(|name| ShardName::parse(name.as_bytes()));
        let name = name
            .filter(|name| u32::from(name.number) == number && name.count == count)
            .ok_or_else(|| SourceError::ShardName { path: shown(&path), number, count })?;
        let sibling = |number| path.with_file_name(OsStr::from_bytes(&name.sibling(number)));
        // All names first, one by one: a set may claim 65535 shards, and
        // nothing is opened or kept for a set that is not whole.
        for number in 1..=count {
            let path = sibling(number);
            match fs::metadata(&path) {
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                    return Err(SourceError::MissingShard { path: shown(&path), number, count });
                }
                Err(cause) => return Err(open_error(&path, cause)),
            }
        }
        let mut shards = Vec::new();
        let mut given = Some(given);
        for number in 1..=count {
            let shard = match given.take_if(|_| number == name.number) {
                Some(shard) => shard,
                None => Shard::open(&sibling(number))?,
            };
            shards.push(shard);
        }
        Ok(shards)
    }
}

impl ShardFile {
    fn open(path: &Path) -> Result<ShardFile, SourceError> {
        let failed = |cause| open_error(path, cause);
        // Looked at before it is opened, as opening a device may have effects;
        // and opened so that a pipe put there meanwhile cannot block.
        regular(path, &fs::metadata(path).map_err(failed)?)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        let file = File::from(fd);
        let meta = file.metadata().map_err(failed)?;
        regular(path, &meta)?;
        Ok(ShardFile {
            path: path.to_owned(),
            file,
            len: meta.len(),
            mtime: mtime(&meta),
            dev: meta.dev(),
            ino: meta.ino(),
        })
    }

    /// Reads on from the end of `bytes`, or cuts it, so that it is the file's
    /// first `len`.
    fn extend(&self, bytes: &mut Vec<u8>, len: u64) -> Result<(), SourceError> {
        let have = bytes.len();
        let too_long = |_| {
            let cause = io::Error::from(io::ErrorKind::OutOfMemory);
            SourceError::Read { path: shown(&self.path), offset: 0, cause }
        };
        let len = usize::try_from(len).map_err(too_long)?;
        bytes.reserve_exact(len.saturating_sub(have));
        bytes.resize(len, 0);
        match bytes.get_mut(have..) {
            Some(more) if !more.is_empty() => {
                self.read_exact_at(u64::try_from(have).unwrap_or(u64::MAX), more)
            }
            _ => Ok(()),
        }
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        let read = fault::at("read").and_then(|()| self.file.read_exact_at(buffer, offset));
        read.map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof => self.changed("it is shorter"),
            _ => SourceError::Read { path: shown(&self.path), offset, cause },
        })
    }

    fn unchanged(&self) -> Result<(), SourceError> {
        let open = self.file.metadata().map_err(|cause| open_error(&self.path, cause))?;
        let named = match fs::metadata(&self.path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Err(self.changed("it was removed or renamed"));
            }
            other => other.map_err(|cause| open_error(&self.path, cause))?,
        };
        for meta in [&open, &named] {
            if (meta.dev(), meta.ino()) != (self.dev, self.ino) {
                return Err(self.changed("another file has its name"));
            }
            if meta.len() != self.len {
                return Err(self.changed("its size is another"));
            }
            if mtime(meta) != self.mtime {
                return Err(self.changed("it was written to"));
            }
        }
        Ok(())
    }

    fn changed(&self, what: &'static str) -> SourceError {
        SourceError::Changed { path: shown(&self.path), what }
    }
}

fn mtime(meta: &Metadata) -> i128 {
    i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
}

fn shown(path: &Path) -> String {
    Escaped::new(path.as_os_str().as_bytes()).to_string()
}

fn open_error(path: &Path, cause: io::Error) -> SourceError {
    SourceError::Open { path: shown(path), cause }
}

fn regular(path: &Path, meta: &Metadata) -> Result<(), SourceError> {
    let kind = meta.file_type();
    let kind = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "something else",
    };
    Err(SourceError::NotAFile { path: shown(path), kind })
}

/// The one checkpoint of a folder: the first of its files' names, and all of
/// them.
fn one_checkpoint(folder: &Path) -> Result<(PathBuf, Vec<PathBuf>), SourceError> {
    let mut checkpoints = checkpoints_in(folder)?;
    let firsts: Vec<PathBuf> =
        checkpoints.iter().filter_map(|files| files.first().cloned()).collect();
    match (checkpoints.pop(), firsts.as_slice()) {
        (Some(members), [first]) => Ok((first.clone(), members)),
        (None, _) => Err(SourceError::NoCheckpoint { path: shown(folder) }),
        (Some(_), firsts) => Err(several(folder, firsts)),
    }
}

/// By their names, the checkpoints of a folder: of each the names of its files,
/// sorted. Folders and hidden files are passed over.
pub(crate) fn checkpoints_in(folder: &Path) -> Result<Vec<Vec<PathBuf>>, SourceError> {
    let failed = |cause| open_error(folder, cause);
    let mut checkpoints: BTreeMap<(Vec<u8>, u16), Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let bytes = name.as_bytes();
        let ending = bytes.last_chunk::<5>().is_some_and(|e| e.eq_ignore_ascii_case(b".gguf"));
        if !ending || bytes.starts_with(b".") || entry.path().is_dir() {
            continue;
        }
        let set = match ShardName::parse(bytes) {
            Some(shard) => (shard.prefix, shard.count),
            // No set has a count of 0.
            None => (bytes.to_vec(), 0),
        };
        checkpoints.entry(set).or_default().push(PathBuf::from(name));
    }
    let mut checkpoints: Vec<Vec<PathBuf>> = checkpoints.into_values().collect();
    checkpoints.iter_mut().for_each(|files| files.sort());
    Ok(checkpoints)
}

/// Names the checkpoints of a folder, the first few of many.
pub(crate) fn several(folder: &Path, names: &[PathBuf]) -> SourceError {
    const SHOWN: usize = 8;
    let mut list: Vec<String> =
        names.iter().take(SHOWN).map(|name| format!("`{}`", shown(name))).collect();
    if names.len() > SHOWN {
        list.push("…".to_owned());
    }
    let names_shown = list.join(", ");
    SourceError::SeveralCheckpoints { path: shown(folder), count: names.len(), names: names_shown }
}
