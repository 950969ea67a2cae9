//! Locks between processes, on one machine or on several that share a disk
//! whose locks they share (NFS does).

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use wimg_core::Escaped;

use crate::error::Error;
use crate::stop::Stop;
use crate::store::host;

/// How often a lock that is held is tried.
const TRY: Duration = Duration::from_millis(200);
/// The most of a lock's file that is read, in bytes.
const WHO_BYTES: u64 = 200;

/// A lock that is held until this is dropped, or its process ends however.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a file, if nobody holds it.
    ///
    /// # Errors
    /// [`Error::Held`]; I/O.
    pub(super) fn take(path: &Path) -> Result<Lock, Error> {
        let failed = |cause: io::Error| Error::io(path, "locking it", cause);
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(failed)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut who = Vec::new();
                (&mut file).take(WHO_BYTES).read_to_end(&mut who).map_err(failed)?;
                let who = Escaped::new(who.trim_ascii()).to_string();
                return Err(Error::Held { path: path.to_owned(), who });
            }
            Err(cause) => return Err(failed(cause.into())),
        }
        let who = format!("process {} on {}\n", std::process::id(), host());
        let written = file.rewind().and_then(|()| file.write_all(who.as_bytes()));
        written.and_then(|()| file.set_len(who.len() as u64)).map_err(failed)?;
        Ok(Lock { _file: file })
    }

    /// Takes the lock of a file, and waits for whoever holds it; `waits` is
    /// told once.
    ///
    /// # Errors
    /// Being asked to stop; I/O.
    pub(super) fn wait(path: &Path, stop: &Stop, waits: impl FnOnce(&str)) -> Result<Lock, Error> {
        let mut waits = Some(waits);
        loop {
            match Lock::take(path) {
                Err(Error::Held { who, .. }) => {
                    if let Some(waits) = waits.take() {
                        waits(&who);
                    }
                    stop.sleep(TRY)?;
                }
                other => return other,
            }
        }
    }
}
