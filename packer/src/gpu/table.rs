//! A kernel's table of tiles for one dispatch.

use bytemuck::{NoUninit, cast_slice};

/// The tiles that one dispatch packs, and by workgroup its tile.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// Words that a workgroup packs.
    group_words: u32,
    tiles: Vec<T>,
    groups: Vec<u32>,
}

impl<T: NoUninit> Table<T> {
    /// An empty table for workgroups that pack `group_words` words each.
    pub(super) fn new(group_words: u32) -> Self {
        Table { group_words, tiles: Vec::new(), groups: Vec::new() }
    }

    /// Adds the tile of `words` words that `tile` makes from the number of its
    /// first workgroup. `None` past 2^32 of anything.
    pub(super) fn push(&mut self, words: u32, tile: impl FnOnce(u32) -> T) -> Option<()> {
        let number = u32::try_from(self.tiles.len()).ok()?;
        let first_group = u32::try_from(self.groups.len()).ok()?;
        self.tiles.push(tile(first_group));
        let groups = usize::try_from(words.div_ceil(self.group_words)).ok()?;
        self.groups.resize(self.groups.len().checked_add(groups)?, number);
        Some(())
    }

    /// Workgroups of the dispatch.
    pub(super) fn group_count(&self) -> u32 {
        u32::try_from(self.groups.len()).unwrap_or(u32::MAX)
    }

    /// The tiles, as the shader reads them.
    pub(super) fn tile_bytes(&self) -> &[u8] {
        cast_slice(&self.tiles)
    }

    /// By workgroup its tile, as the shader reads them.
    pub(super) fn group_bytes(&self) -> &[u8] {
        cast_slice(&self.groups)
    }
}
