//! Where a result goes, and what it may replace there.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use wimg_core::{Escaped, ShardName};

use crate::error::Error;
use crate::store::is_image_file;

/// What a result is. It replaces only what is of its own kind, and that only
/// by force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// An image's folder.
    Image,
    /// A folder with the shards of one checkpoint.
    Shards,
    /// A file.
    File,
}

impl TargetKind {
    /// What it is called.
    fn noun(self) -> &'static str {
        match self {
            TargetKind::Image => "an image",
            TargetKind::Shards => "a checkpoint",
            TargetKind::File => "a file",
        }
    }

    /// Whether a folder of this kind may hold a file of this name.
    pub(crate) fn holds(self, name: &OsStr) -> bool {
        match self {
            TargetKind::Image => is_image_file(name),
            TargetKind::Shards => ShardName::parse(name.as_bytes()).is_some(),
            TargetKind::File => false,
        }
    }

    /// That it cannot be put where `what` is.
    pub(crate) fn occupied(self, target: &Path, what: String) -> Error {
        Error::Occupied { path: target.to_owned(), what, noun: self.noun() }
    }

    /// Refuses a target that exists, or that must not be replaced.
    ///
    /// # Errors
    /// A link, a file in a folder's place or a folder in a file's, a folder
    /// that holds anything else; without `force` whatever is there but an
    /// empty folder.
    pub fn check(self, target: &Path, force: bool) -> Result<(), Error> {
        let occupied = |what: String| Err(self.occupied(target, what));
        let meta = match fs::symlink_metadata(target) {
            Ok(meta) => meta,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(cause) => return Err(Error::io(target, "looking at it", cause)),
        };
        if meta.file_type().is_symlink() {
            return occupied("a symbolic link".into());
        }
        if self == TargetKind::File {
            return match meta.is_file() {
                true if force => Ok(()),
                true => Err(Error::Exists(target.to_owned())),
                false => occupied("not a file".into()),
            };
        }
        if !meta.is_dir() {
            return occupied("not a folder".into());
        }
        let listing = |cause| Error::io(target, "listing it", cause);
        let mut empty = true;
        for entry in fs::read_dir(target).map_err(listing)? {
            let entry = entry.map_err(listing)?;
            let name = entry.file_name();
            let file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !file || !self.holds(&name) {
                let (name, noun) = (Escaped::new(name.as_bytes()), self.noun());
                return occupied(format!(
                    "a folder with `{name}` in it, which is no part of {noun}"
                ));
            }
            empty = false;
        }
        if empty || force { Ok(()) } else { Err(Error::Exists(target.to_owned())) }
    }
}
