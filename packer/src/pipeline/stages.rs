//! How long the stages of a pipeline worked, and how much of that at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Seconds that each stage worked, without its waiting for the others, and
/// those that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stages {
    /// Reading the checkpoint and the tensors' CRCs.
    pub read_seconds: f64,
    /// Packing windows.
    pub pack_seconds: f64,
    /// Hashing and writing the channels, and waiting for the disk at the end.
    pub write_seconds: f64,
    /// From the first window to the last byte on the disk.
    pub wall_seconds: f64,
}

impl Stages {
    /// The seconds that passed over the sum of the stages': 1 where one waits
    /// for the other, a third where all three overlap wholly.
    pub fn overlap(&self) -> f64 {
        let sum = self.read_seconds + self.pack_seconds + self.write_seconds;
        self.wall_seconds / sum.max(f64::MIN_POSITIVE)
    }
}

/// The time that a stage has worked.
#[derive(Debug, Default)]
pub(crate) struct Clock(AtomicU64);

impl Clock {
    /// Does some work and counts its time.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = work();
        let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanos, Ordering::Relaxed);
        done
    }

    /// Seconds counted so far.
    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)).as_secs_f64()
    }
}

/// The clocks of a pipeline's stages.
#[derive(Debug)]
pub(crate) struct Clocks {
    pub(crate) read: Clock,
    pub(crate) pack: Clock,
    pub(crate) write: Clock,
    started: Instant,
}

impl Clocks {
    /// Clocks that have counted nothing.
    pub(crate) fn new() -> Clocks {
        let [read, pack, write] = [(); 3].map(|()| Clock::default());
        Clocks { read, pack, write, started: Instant::now() }
    }

    /// What they have counted.
    pub(crate) fn stages(&self) -> Stages {
        Stages {
            read_seconds: self.read.seconds(),
            pack_seconds: self.pack.seconds(),
            write_seconds: self.write.seconds(),
            wall_seconds: self.started.elapsed().as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_count_work_and_not_what_is_between() {
        let clocks = Clocks::new();
        clocks.read.time(|| std::thread::sleep(Duration::from_millis(5)));
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(clocks.write.time(|| 7), 7);
        let stages = clocks.stages();
        assert!(stages.read_seconds >= 0.005 && stages.wall_seconds >= 0.01, "{stages:?}");
        assert!(stages.read_seconds < stages.wall_seconds && stages.overlap() > 1.0, "{stages:?}");
    }
}
