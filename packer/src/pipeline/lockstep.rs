//! Several pipelines that read one checkpoint keep together, so that what one
//! of them reads from the disk the others find in the page cache.
//!
//! Nobody gets more than [`AHEAD`] bytes of the checkpoint ahead of the
//! slowest: that much the page cache holds. What the slowest has read too is
//! dropped from the page cache: nobody will read it again. The slowest never
//! waits, so somebody always goes on; who fails leaves, and holds up nobody.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::Advice;
use wimg_core::window::SourceRange;
use wimg_core::{Plan, Window};

use crate::source::Source;

/// Bytes of the checkpoint that one may be ahead of another.
pub const AHEAD: u64 = 64 << 20;

/// Pipelines that keep together.
#[derive(Debug)]
pub struct Lockstep {
    /// By a tensor's shard and first byte there: how many bytes come before it
    /// in the order that all read in.
    starts: BTreeMap<(u32, u64), u64>,
    /// By member: how far it has read in that order; none once it left.
    read: Mutex<Vec<Option<u64>>>,
    moved: Condvar,
}

/// One of them. Dropping it leaves.
#[derive(Debug)]
pub struct Member<'a> {
    lockstep: &'a Lockstep,
    number: usize,
}

impl Lockstep {
    /// A lockstep of as many members as there are plans. They must read in one
    /// order: that of the longest, with or without some of its tensors.
    pub fn new(plans: &[&Plan]) -> Lockstep {
        let mut starts = BTreeMap::new();
        let mut at = 0;
        if let Some(longest) = plans.iter().max_by_key(|plan| plan.sources().len()) {
            for source in longest.sources().iter().filter(|source| source.len > 0) {
                starts.insert((source.shard, source.offset), at);
                at += source.len;
            }
        }
        let read = Mutex::new(vec![Some(0); plans.len()]);
        Lockstep { starts, read, moved: Condvar::new() }
    }

    /// The member of a plan's number.
    pub fn member(&self, number: usize) -> Member<'_> {
        Member { lockstep: self, number }
    }

    fn read(&self) -> MutexGuard<'_, Vec<Option<u64>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member<'_> {
    /// Waits until the others have come near enough for this window.
    pub(super) fn wait(&self, plan: &Plan, window: &Window) {
        let end = self.end(plan, window);
        let mut read = self.lockstep.read();
        // The slowest may always go on, also past a window of more than `AHEAD`.
        while let Some(slowest) = read.iter().flatten().min().copied()
            && read.get(self.number).is_some_and(|own| *own != Some(slowest))
            && end > slowest + AHEAD
        {
            read = self.lockstep.moved.wait(read).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that a window is read. Who reads it last drops it.
    pub(super) fn passed(&self, plan: &Plan, source: &Source, window: &Window) {
        let end = self.end(plan, window);
        let slowest = {
            let mut read = self.lockstep.read();
            if let Some(Some(own)) = read.get_mut(self.number) {
                *own = end.max(*own);
            }
            self.lockstep.moved.notify_all();
            read.iter().flatten().min().copied()
        };
        if slowest.is_none_or(|slowest| slowest >= end) {
            drop_pages(source, &window.sources);
        }
    }

    /// Where a window ends in the common order.
    fn end(&self, plan: &Plan, window: &Window) -> u64 {
        let end = |range: &SourceRange| {
            let tensor = plan.sources().get(range.tensor)?;
            let start = self.lockstep.starts.get(&(tensor.shard, tensor.offset))?;
            Some(start + range.tensor_offset + range.len)
        };
        window.sources.iter().filter_map(end).max().unwrap_or(0)
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if let Some(own) = self.lockstep.read().get_mut(self.number) {
            *own = None;
        }
        self.lockstep.moved.notify_all();
    }
}

fn drop_pages(source: &Source, ranges: &[SourceRange]) {
    for range in ranges {
        let file = usize::try_from(range.shard).ok().and_then(|shard| source.files.get(shard));
        let (Some(file), len) = (file, NonZeroU64::new(range.len)) else { continue };
        // A hint: where it cannot be given, the pages only stay longer.
        let _ = rustix::fs::fadvise(&file.file, range.offset, len, Advice::DontNeed);
    }
}
