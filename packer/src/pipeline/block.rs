//! A run of a file's bytes on its way to the disk.

/// What direct I/O wants addresses, lengths and offsets to be multiples of: as
/// much as any disk's sector, and a page.
pub(super) const ALIGN: usize = 4096;

/// Bytes at an aligned address, as many as it has room for or fewer.
#[derive(Debug)]
pub(super) struct Block {
    memory: Vec<u8>,
    /// The aligned address, as an index.
    start: usize,
    len: usize,
    room: usize,
}

impl Block {
    /// An empty one, with room for so many bytes.
    pub(super) fn new(room: usize) -> Block {
        let memory = vec![0; room + ALIGN];
        let start = memory.as_ptr().addr().wrapping_neg() % ALIGN;
        Block { memory, start, len: 0, room }
    }

    /// Takes as many of the bytes as it has room for; how many.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        let (start, len) = (self.start + self.len, bytes.len().min(self.room - self.len));
        let to = self.memory.get_mut(start..).and_then(|memory| memory.get_mut(..len));
        if let (Some(to), Some(from)) = (to, bytes.get(..len)) {
            to.copy_from_slice(from);
        }
        self.len += len;
        len
    }

    /// What it took.
    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..).and_then(|memory| memory.get(..self.len)).unwrap_or_default()
    }

    /// Whether it has no room left.
    pub(super) fn is_full(&self) -> bool {
        self.len == self.room
    }

    /// Forgets what it took.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_what_it_has_room_for_at_an_aligned_address() {
        for room in [1, 4096, 10_000] {
            let mut block = Block::new(room);
            let bytes: Vec<u8> = (0..25_000u32).map(|i| (i % 251) as u8).collect();
            assert_eq!(block.take(&bytes[..room / 2]), room / 2);
            assert!(!block.is_full());
            assert_eq!(block.take(&bytes[room / 2..]), room - room / 2);
            assert!(block.is_full() && block.take(&bytes) == 0);
            assert_eq!(block.bytes(), &bytes[..room]);
            assert_eq!(block.bytes().as_ptr().addr() % ALIGN, 0);
            block.clear();
            assert_eq!(block.bytes(), b"");
        }
    }
}
