//! The system's allocator, counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts bytes that are held, and the most that were.
pub(crate) struct Counting {
    held: AtomicUsize,
    most: AtomicUsize,
}

impl Counting {
    pub(crate) const fn new() -> Counting {
        Counting { held: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// What `work` gives, and the most bytes that were held at a time in it
    /// beyond those before.
    pub(crate) fn peak<T>(&self, work: impl FnOnce() -> T) -> (T, usize) {
        let before = self.held.load(Relaxed);
        self.most.store(before, Relaxed);
        let result = work();
        (result, self.most.load(Relaxed).saturating_sub(before))
    }

    fn grow(&self, bytes: usize) {
        let held = self.held.fetch_add(bytes, Relaxed) + bytes;
        self.most.fetch_max(held, Relaxed);
    }
}

#[expect(unsafe_code, reason = "an allocator is, and this one hands everything to the system's")]
// SAFETY: every call is the system allocator's, with the arguments as given.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.grow(layout.size());
        // SAFETY: the caller's duty, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.held.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's duty, passed on.
        unsafe { System.dealloc(at, layout) }
    }
}
