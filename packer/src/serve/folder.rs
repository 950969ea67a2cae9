//! The folder whose ledgers, images and nights' reports are served.
//!
//! Everything is opened below the folder's own descriptor by the kernel, which
//! refuses `..` and links that lead out. Only three kinds of files are served: a
//! ledger (a `.jsonl` file whose first line is a ledger's row), a night's report
//! (a `report.json` that begins as one) and the files of an image (by their
//! names, beside an `image.json`).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::Serialize;
use wimg_core::ImageRow;

use super::response::Refusal;
use crate::nightly::report::{REPORT_JSON, begins_report};
use crate::store::{IMAGE_JSON, RUN_JSON, is_image_file};

/// The longest row of a ledger that is looked for, in bytes.
const ROW_BYTES: usize = 64 << 10;
/// How deep ledgers and images are looked for.
const DEPTH: usize = 8;
/// The most entries of folders that are looked at.
const ENTRIES: usize = 100_000;

/// A folder, open for as long as it is served.
#[derive(Debug)]
pub struct Folder {
    root: File,
    path: PathBuf,
}

/// The ledgers, images and nights' reports below a folder: paths from it, sorted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Index {
    /// The ledgers.
    pub ledgers: Vec<String>,
    /// The images.
    pub images: Vec<IndexedImage>,
    /// The nights' reports.
    pub reports: Vec<String>,
    /// Whether there are no others: a very large folder is not searched whole.
    pub whole: bool,
}

/// An image below a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexedImage {
    /// Its folder; empty where that is the folder itself.
    pub path: String,
    /// Its `image.json`.
    pub manifest: String,
}

impl Default for Index {
    fn default() -> Index {
        Index { ledgers: Vec::new(), images: Vec::new(), reports: Vec::new(), whole: true }
    }
}

/// A file that may be served.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) file: File,
    pub(super) len: u64,
    pub(super) media: &'static str,
}

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// What is no folder, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Folder { root: root.into(), path: path.to_owned() })
    }

    /// Looks for the ledgers, images and reports in and below the folder. Hidden
    /// folders and links to folders are passed over; an image's folder holds
    /// nothing else.
    pub fn index(&self) -> Index {
        let mut index = Index::default();
        let mut left = ENTRIES;
        let mut folders = vec![(PathBuf::new(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let manifest = folder.join(IMAGE_JSON);
            if self.regular(&manifest).is_some() {
                if let (Some(path), Some(manifest)) = (folder.to_str(), manifest.to_str()) {
                    let (path, manifest) = (path.to_owned(), manifest.to_owned());
                    index.images.push(IndexedImage { path, manifest });
                }
                continue;
            }
            // One that cannot be read, or is gone, holds nothing to serve.
            let Ok(entries) = fs::read_dir(self.path.join(&folder)) else { continue };
            for entry in entries.flatten() {
                let Some(less) = left.checked_sub(1) else {
                    index.whole = false;
                    break;
                };
                left = less;
                let name = entry.file_name();
                let Ok(kind) = entry.file_type() else { continue };
                if name.as_bytes().starts_with(b".") {
                    continue;
                }
                let path = folder.join(&name);
                if kind.is_dir() && depth < DEPTH {
                    folders.push((path, depth + 1));
                } else if kind.is_dir() {
                    index.whole = false;
                } else if let Some(text) = Text::of(&name)
                    && self.regular(&path).is_some_and(|(file, _)| text.is(&file))
                    && let Some(path) = path.to_str()
                {
                    match text {
                        Text::Ledger => index.ledgers.push(path.to_owned()),
                        Text::Report => index.reports.push(path.to_owned()),
                    }
                }
            }
        }
        index.ledgers.sort();
        index.reports.sort();
        index.images.sort_by(|one, other| one.path.cmp(&other.path));
        index
    }

    /// The file at a path's parts, if it is one that is served.
    pub(super) fn file(&self, parts: &[Vec<u8>]) -> Result<Found, Refusal> {
        let path: PathBuf = parts.iter().map(|part| OsStr::from_bytes(part)).collect();
        let name = path.file_name().ok_or(Refusal::NotFound)?;
        let text = Text::of(name);
        let of_image =
            is_image_file(name) && self.regular(&path.with_file_name(IMAGE_JSON)).is_some();
        if text.is_none() && !of_image {
            return Err(Refusal::NotFound);
        }
        let (file, len) = self.regular(&path).ok_or(Refusal::NotFound)?;
        if text.is_some_and(|text| !text.is(&file)) {
            return Err(Refusal::NotFound);
        }
        let media = match name.to_str() {
            _ if text == Some(Text::Ledger) => "application/x-ndjson",
            Some(IMAGE_JSON | RUN_JSON | REPORT_JSON) => "application/json",
            _ => "application/octet-stream",
        };
        Ok(Found { file, len, media })
    }

    /// The regular file at a path below the folder, and its length.
    fn regular(&self, path: &Path) -> Option<(File, u64)> {
        let file = open_below(&self.root, path).ok()?;
        let meta = file.metadata().ok()?;
        meta.is_file().then_some((file, meta.len()))
    }
}

/// Opening a pipe or a device must not wait or do anything.
fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
}

/// Opens a path below a folder: links may lead anywhere below it, not out.
fn open_below(root: &File, path: &Path) -> rustix::io::Result<File> {
    let below = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..8 {
        match rustix::fs::openat2(root, path, flags(), Mode::empty(), below) {
            Ok(file) => return Ok(file.into()),
            // Something was renamed meanwhile.
            Err(Errno::AGAIN | Errno::INTR) => {}
            // A kernel before 5.6, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => return open_without_links(root, path),
            Err(cause) => return Err(cause),
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a path below a folder part by part, following no link at all.
fn open_without_links(root: &File, path: &Path) -> rustix::io::Result<File> {
    let mut parts = path.components().peekable();
    let mut at = root.try_clone().map_err(|_| Errno::MFILE)?;
    while let Some(part) = parts.next() {
        let std::path::Component::Normal(name) = part else { return Err(Errno::XDEV) };
        let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
        let flags = flags() | OFlags::NOFOLLOW | kind;
        at = rustix::fs::openat(&at, name, flags, Mode::empty())?.into();
    }
    Ok(at)
}

/// A file that is served for what it says. Other things are kept under such
/// names too, and are nobody's business.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Ledger,
    Report,
}

impl Text {
    /// What a file of this name would be.
    fn of(name: &OsStr) -> Option<Text> {
        let ledger = Path::new(name).extension().is_some_and(|extension| extension == "jsonl");
        match name == REPORT_JSON {
            true => Some(Text::Report),
            false => ledger.then_some(Text::Ledger),
        }
    }

    /// Whether a file is.
    fn is(self, file: &File) -> bool {
        let Some(start) = start_of(file) else { return false };
        match self {
            Text::Report => begins_report(&start),
            Text::Ledger => {
                let mut lines = start.split(|&byte| byte == b'\n');
                let line = lines.find(|line| !line.trim_ascii().is_empty());
                line.is_some_and(|line| serde_json::from_slice::<ImageRow>(line).is_ok())
            }
        }
    }
}

/// The first bytes of a file, enough for a ledger's row.
fn start_of(file: &File) -> Option<Vec<u8>> {
    let mut bytes = vec![0; ROW_BYTES];
    let mut len = 0;
    while len < ROW_BYTES {
        match file.read_at(&mut bytes[len..], len as u64) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    bytes.truncate(len);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    type Open = fn(&File, &Path) -> rustix::io::Result<File>;

    /// A folder with a file, and one outside it with another.
    fn folders() -> (tempfile::TempDir, File) {
        let all = tempfile::tempdir().unwrap();
        let inside = all.path().join("inside");
        fs::create_dir_all(inside.join("deep")).unwrap();
        fs::create_dir_all(all.path().join("outside")).unwrap();
        fs::write(inside.join("deep/file"), "in").unwrap();
        fs::write(all.path().join("outside/file"), "out").unwrap();
        symlink("deep/file", inside.join("link")).unwrap();
        symlink("deep", inside.join("near")).unwrap();
        symlink("../outside", inside.join("far")).unwrap();
        symlink("../outside/file", inside.join("leak")).unwrap();
        symlink(all.path().join("outside/file"), inside.join("absolute")).unwrap();
        symlink("/proc/self/root", inside.join("magic")).unwrap();
        let root = Folder::open(&inside).unwrap().root;
        (all, root)
    }

    #[test]
    fn nothing_outside_is_opened_on_any_kernel() {
        let (_all, root) = folders();
        for open in [open_below as Open, open_without_links] {
            assert!(open(&root, Path::new("deep/file")).is_ok());
            let mut refused = 0;
            for path in [
                "../outside/file",
                "deep/../../outside/file",
                "/etc/passwd",
                "far/file",
                "leak",
                "absolute",
                "magic/etc/passwd",
                "deep/none",
                "deep/file/x",
            ] {
                assert!(open(&root, Path::new(path)).is_err(), "{path}");
                refused += 1;
            }
            assert_eq!(refused, 9);
        }
        // The sabotage: without the kernel's help the link does lead out.
        assert!(rustix::fs::openat(&root, "leak", flags(), Mode::empty()).is_ok());
        assert!(open_below(&root, Path::new("near/file")).is_ok(), "links inside are followed");
        assert!(open_without_links(&root, Path::new("near/file")).is_err());
    }

    #[test]
    fn a_pipe_is_no_file_and_is_not_waited_for() {
        let all = tempfile::tempdir().unwrap();
        let pipe = all.path().join("a.jsonl");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        let folder = Folder::open(all.path()).unwrap();
        assert!(folder.file(&[b"a.jsonl".to_vec()]).is_err());
        assert_eq!(folder.index(), Index::default());
    }
}
