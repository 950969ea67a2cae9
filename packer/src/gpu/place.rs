//! Where a tile lies in its window, as the shaders index it.

use crate::core::window::{TileTask, Window};

/// Where a tile lies in its window: window-relative, in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Byte among the source bytes.
    pub(super) source: u32,
    /// Word among the channel words.
    pub(super) dest: u32,
    /// Words of the tile's lines.
    pub(super) words: u32,
}

impl Place {
    /// A task's place. `None` where the window does not hold the task's lines,
    /// its `source_bytes` bytes of source or room for `tile_bytes` bytes, or
    /// where the lines are not whole words.
    pub(super) fn of(
        window: &Window,
        task: &TileTask,
        source_bytes: usize,
        tile_bytes: usize,
    ) -> Option<Place> {
        let source_bytes = u64::try_from(source_bytes).ok()?;
        let tile_bytes = u64::try_from(tile_bytes).ok()?;
        let whole = task.dest.is_multiple_of(4) && task.len.is_multiple_of(4);
        let fits = task.source.checked_add(source_bytes)? <= window.source_bytes
            && task.dest.checked_add(task.len)? <= window.channel_bytes
            && tile_bytes <= task.len;
        if !whole || !fits {
            return None;
        }
        Some(Place {
            source: u32::try_from(task.source).ok()?,
            dest: u32::try_from(task.dest / 4).ok()?,
            words: u32::try_from(task.len / 4).ok()?,
        })
    }
}
