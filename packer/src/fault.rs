//! Named points at which a test makes the program fail.
//!
//! That a night survives being killed between two renames, or before an fsync,
//! can only be shown by killing it there, and the tests run the real program.
//! So these points are in it, and do nothing unless the environment has
//! `WIMG_FAULT`, which is read once: then a point costs a look at an empty
//! list, a handful for each window of megabytes.
//!
//! `WIMG_FAULT=POINT:ACTION[:FIRST[-LAST]]`, several separated by commas: the
//! `FIRST`th time (1 where it is left out) that the point is come by, up to the
//! `LAST`th. The point `bytes` counts bytes of channels that are written, and
//! cuts the write short that would pass `FIRST`. Actions: `kill` (SIGKILL),
//! `term` (SIGTERM), `pause` (SIGSTOP), `eio` and `enospc` (the system error).

use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

static FAULTS: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let text = std::env::var("WIMG_FAULT").unwrap_or_default();
    text.split(',').filter_map(Fault::parse).collect()
});

/// A point, and what happens there when.
#[derive(Debug)]
struct Fault {
    point: String,
    action: Action,
    first: u64,
    last: u64,
    /// How often, or how far, it was come by.
    count: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Signal(Signal),
    Fail(Errno),
}

impl Fault {
    fn parse(text: &str) -> Option<Fault> {
        let mut parts = text.trim().split(':');
        let point = parts.next().filter(|point| !point.is_empty())?.to_owned();
        let action = match parts.next()? {
            "kill" => Action::Signal(Signal::KILL),
            "term" => Action::Signal(Signal::TERM),
            "pause" => Action::Signal(Signal::STOP),
            "eio" => Action::Fail(Errno::IO),
            "enospc" => Action::Fail(Errno::NOSPC),
            _ => return None,
        };
        let times = parts.next().unwrap_or("1");
        let (first, last) = times.split_once('-').unwrap_or((times, times));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        Some(Fault { point, action, first, last, count: AtomicU64::new(0) })
    }

    fn strike(&self) -> io::Result<()> {
        match self.action {
            Action::Fail(errno) => Err(errno.into()),
            Action::Signal(signal) => {
                // A process may always signal itself.
                let _ = kill_process(getpid(), signal);
                if signal == Signal::KILL {
                    // It comes at once, but perhaps to another thread first.
                    std::thread::sleep(std::time::Duration::from_secs(60));
                }
                Ok(())
            }
        }
    }
}

/// Comes by a point.
///
/// # Errors
/// The error that was asked for there.
pub(crate) fn at(point: &str) -> io::Result<()> {
    for fault in FAULTS.iter().filter(|fault| fault.point == point) {
        let count = fault.count.fetch_add(1, Ordering::Relaxed) + 1;
        if (fault.first..=fault.last).contains(&count) {
            fault.strike()?;
        }
    }
    Ok(())
}

/// Before `len` bytes of a channel are written: how many of them may be, if a
/// fault is to strike after those; [`strike`] it then.
pub(crate) fn cut(len: usize) -> Option<usize> {
    let fault = FAULTS.iter().find(|fault| fault.point == "bytes")?;
    let more = u64::try_from(len).unwrap_or(u64::MAX);
    let before = fault.count.fetch_add(more, Ordering::Relaxed);
    let left = fault.first.checked_sub(before).filter(|&left| left <= more)?;
    usize::try_from(left).ok()
}

/// Strikes after the bytes that [`cut`] left.
pub(crate) fn strike() -> io::Result<()> {
    FAULTS.iter().find(|fault| fault.point == "bytes").map_or(Ok(()), Fault::strike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_from_its_words() {
        let fault = Fault::parse("sync:eio:3-5").unwrap();
        assert_eq!((fault.point.as_str(), fault.first, fault.last), ("sync", 3, 5));
        assert_eq!(fault.action, Action::Fail(Errno::IO));
        let fault = Fault::parse("swap:kill").unwrap();
        assert_eq!((fault.first, fault.last), (1, 1));
        for none in ["", "sync", "sync:explode", "sync:kill:x", ":kill"] {
            assert!(Fault::parse(none).is_none(), "{none}");
        }
    }
}
