//! Kernels to tap-major.

/// A kernel, and which of its image rows a tile holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transpose {
    /// Taps: the checkpoint stores each channel's together.
    pub taps: usize,
    /// Channels.
    pub channels: usize,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub elem_bytes: usize,
    /// Pieces of a tap.
    pub pieces: usize,
    /// The tile's first image row; row `tap * pieces + k` is piece k of a tap.
    pub first_row: usize,
    /// Rows of the tile.
    pub rows: usize,
}

impl Transpose {
    /// Bytes of an image row.
    fn row_bytes(&self) -> usize {
        self.channels / self.pieces * self.elem_bytes
    }

    /// The element of the kernel where image row `row` starts: its tap's, of
    /// its piece's first channel.
    fn start(&self, row: usize) -> usize {
        let (tap, piece) = (row / self.pieces, row % self.pieces);
        piece * (self.channels / self.pieces) * self.taps + tap
    }
}

/// Gathers a tile's rows from the whole kernel and zeroes the rest. `None`
/// where lengths disagree.
pub fn transpose(kernel: &[u8], shape: Transpose, tile: &mut [u8]) -> Option<()> {
    match shape.elem_bytes {
        1 => gather::<1>(kernel, shape, tile),
        2 => gather::<2>(kernel, shape, tile),
        4 => gather::<4>(kernel, shape, tile),
        8 => gather::<8>(kernel, shape, tile),
        _ => None,
    }
}

/// The inverse: scatters a tile's rows into the whole kernel. `None` where
/// lengths disagree.
pub fn untranspose(tile: &[u8], shape: Transpose, kernel: &mut [u8]) -> Option<()> {
    match shape.elem_bytes {
        1 => scatter::<1>(tile, shape, kernel),
        2 => scatter::<2>(tile, shape, kernel),
        4 => scatter::<4>(tile, shape, kernel),
        8 => scatter::<8>(tile, shape, kernel),
        _ => None,
    }
}

fn gather<const N: usize>(kernel: &[u8], shape: Transpose, tile: &mut [u8]) -> Option<()> {
    let (elements, _) = kernel.as_chunks::<N>();
    let (body, padding) = tile.split_at_mut_checked(shape.rows * shape.row_bytes())?;
    padding.fill(0);
    let rows = body.chunks_exact_mut(shape.row_bytes());
    for (row, out) in (shape.first_row..).zip(rows) {
        let (out, _) = out.as_chunks_mut::<N>();
        let from = elements.get(shape.start(row)..)?.iter().step_by(shape.taps);
        if from.len() < out.len() {
            return None;
        }
        for (out, element) in out.iter_mut().zip(from) {
            *out = *element;
        }
    }
    Some(())
}

fn scatter<const N: usize>(tile: &[u8], shape: Transpose, kernel: &mut [u8]) -> Option<()> {
    let (elements, _) = kernel.as_chunks_mut::<N>();
    let body = tile.get(..shape.rows * shape.row_bytes())?;
    for (row, from) in (shape.first_row..).zip(body.chunks_exact(shape.row_bytes())) {
        let (from, _) = from.as_chunks::<N>();
        let to = elements.get_mut(shape.start(row)..)?.iter_mut().step_by(shape.taps);
        if to.len() < from.len() {
            return None;
        }
        for (to, element) in to.zip(from) {
            *to = *element;
        }
    }
    Some(())
}
