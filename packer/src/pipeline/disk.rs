//! The threads that wait for the disk, so that nobody else does.
//!
//! Channels are written past the page cache where the file system can (direct
//! I/O): copying gigabytes into it takes longer than packing them, and whoever
//! verifies an image drops them from it to see what the disk has.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::block::{ALIGN, Block};
use crate::error::Error;
use crate::fault;

/// Threads: a disk that has one request at a time idles between two.
pub(super) const THREADS: usize = 4;
/// Blocks that wait for those that are written.
pub(super) const QUEUE: usize = 2;

/// A block and its place.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) path: PathBuf,
    pub(super) file: Arc<File>,
    pub(super) offset: u64,
    pub(super) block: Block,
}

/// The disk: what is given to it is written, in no order.
#[derive(Debug)]
pub(super) struct Disk {
    writes: Option<SyncSender<Write>>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
    shared: Arc<Shared>,
    room: usize,
}

/// What the threads share with whoever writes.
#[derive(Debug, Default)]
struct Shared {
    /// Blocks to use again.
    idle: Mutex<Vec<Block>>,
    /// Whether a write failed.
    failed: AtomicBool,
}

impl Disk {
    /// Its blocks have room for so many bytes.
    pub(super) fn new(room: usize) -> Disk {
        let shared = Arc::new(Shared::default());
        let (writes, taken) = sync_channel(QUEUE);
        let taken = Arc::new(Mutex::new(taken));
        let threads = (0..THREADS).map(|_| {
            let (taken, shared) = (Arc::clone(&taken), Arc::clone(&shared));
            std::thread::spawn(move || write_all(&taken, &shared))
        });
        Disk { writes: Some(writes), threads: threads.collect(), shared, room }
    }

    /// An empty block.
    pub(super) fn block(&self) -> Block {
        let idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| Block::new(self.room))
    }

    /// Has a block written, sooner or later.
    ///
    /// # Errors
    /// What went wrong with an earlier one.
    pub(super) fn write(&mut self, write: Write) -> Result<(), Error> {
        let failed = self.shared.failed.load(Ordering::Relaxed);
        let writes = self.writes.as_ref().filter(|_| !failed);
        let taken = writes.is_some_and(|writes| writes.send(write).is_ok());
        if taken { Ok(()) } else { self.wait().and(Err(Error::Stopped("writing"))) }
    }

    /// Waits until all is written, which does not mean synced.
    ///
    /// # Errors
    /// I/O.
    pub(super) fn wait(&mut self) -> Result<(), Error> {
        self.writes = None;
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ended.into_iter().try_for_each(|ended| ended.map_err(|_| Error::Stopped("writing"))?)
    }
}

impl Drop for Disk {
    /// Nothing is written any more once it is gone.
    fn drop(&mut self) {
        // Who drops it early has failed, and says why itself.
        let _ = self.wait();
    }
}

fn write_all(writes: &Mutex<Receiver<Write>>, shared: &Shared) -> Result<(), Error> {
    let next = || writes.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(Write { path, file, offset, mut block }) = next() {
        write_block(&file, offset, block.bytes()).map_err(|cause| {
            shared.failed.store(true, Ordering::Relaxed);
            Error::io(&path, "writing it", cause)
        })?;
        block.clear();
        shared.idle.lock().unwrap_or_else(PoisonError::into_inner).push(block);
    }
    Ok(())
}

/// Writes a block, or as much of it as a test wants.
fn write_block(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    fault::at("write")?;
    if let Some(part) = fault::cut(bytes.len()) {
        set_direct(file, false)?;
        file.write_all_at(bytes.get(..part).unwrap_or_default(), offset)?;
        fault::strike()?;
    }
    // A file's last block: the disk has no part of a sector.
    if !bytes.len().is_multiple_of(ALIGN) {
        set_direct(file, false)?;
    }
    match file.write_all_at(bytes, offset) {
        // The file system cannot after all, or took a part that is not aligned.
        Err(cause) if cause.kind() == io::ErrorKind::InvalidInput => {
            set_direct(file, false)?;
            file.write_all_at(bytes, offset)
        }
        written => written,
    }
}

/// Has a file written past the page cache, or through it.
///
/// # Errors
/// A file system that cannot.
#[cfg(target_os = "linux")]
pub(super) fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let mut flags = fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, direct);
    Ok(fcntl_setfl(file, flags)?)
}

/// Elsewhere all goes through the page cache.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub(super) fn set_direct(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}
