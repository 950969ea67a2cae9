//! How many bytes the windows in flight may take.

use std::sync::{Condvar, Mutex, PoisonError};

/// A budget of bytes that blocks whoever would pass it.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: Mutex<Option<u64>>,
    freed: Condvar,
}

impl Budget {
    /// A budget of `limit` bytes, none used.
    pub fn new(limit: u64) -> Budget {
        Budget { limit, used: Mutex::new(Some(0)), freed: Condvar::new() }
    }

    /// Takes bytes, waiting until they are free. One taker may pass the limit,
    /// while nobody else holds any. False once the budget is closed.
    pub fn take(&self, bytes: u64) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match used.as_mut() {
                None => return false,
                Some(used) if *used == 0 || *used + bytes <= self.limit => {
                    *used += bytes;
                    return true;
                }
                Some(_) => {}
            }
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives bytes back.
    pub fn give(&self, bytes: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = used.as_mut() {
            *used = used.saturating_sub(bytes);
        }
        self.freed.notify_all();
    }

    /// Lets nobody take any more.
    pub fn close(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taker_waits_for_room_and_a_large_one_for_the_whole() {
        let budget = Budget::new(10);
        assert!(budget.take(6));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.take(100));
            budget.give(6);
            assert!(waiting.join().unwrap());
            let closed = scope.spawn(|| budget.take(1));
            budget.close();
            assert!(!closed.join().unwrap());
        });
    }
}
