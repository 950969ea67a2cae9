//! The CRC-32C of every tensor's bytes in checkpoint order, while they come by.

use crate::crc32c::crc32c_append;
use crate::window::Window;

/// The CRCs of a plan's tensors, fed window by window.
#[derive(Clone, Debug)]
pub struct TensorCrcs {
    /// By tensor: the CRC of its first bytes, and how many those are.
    state: Vec<(u32, u64)>,
}

impl TensorCrcs {
    /// For `tensors` tensors, none of whose bytes have come by.
    pub fn new(tensors: usize) -> TensorCrcs {
        TensorCrcs { state: vec![(0, 0); tensors] }
    }

    /// Takes a window's source bytes. Bytes that came by before (a kernel that
    /// is split over windows comes whole each time) are not taken again.
    pub fn absorb(&mut self, window: &Window, source: &[u8]) {
        for range in &window.sources {
            let bytes = usize::try_from(range.at).ok().and_then(|at| source.get(at..));
            let len = usize::try_from(range.len).unwrap_or(usize::MAX);
            if let Some(bytes) = bytes.and_then(|bytes| bytes.get(..len)) {
                self.absorb_range(range.tensor, range.tensor_offset, bytes);
            }
        }
    }

    /// Takes a tensor's bytes from `offset` on.
    pub fn absorb_range(&mut self, tensor: usize, offset: u64, bytes: &[u8]) {
        let Some((crc, taken)) = self.state.get_mut(tensor) else { return };
        let known = taken.checked_sub(offset).and_then(|known| usize::try_from(known).ok());
        if let Some(new) = known.and_then(|known| bytes.get(known..)) {
            *crc = crc32c_append(*crc, new);
            *taken += new.len() as u64;
        }
    }

    /// A tensor's CRC and how many of its bytes came by.
    pub fn get(&self, tensor: usize) -> Option<(u32, u64)> {
        self.state.get(tensor).copied()
    }

    /// By tensor: its CRC, once all bytes came by.
    pub fn finish(self) -> Vec<u32> {
        self.state.into_iter().map(|(crc, _)| crc).collect()
    }
}
