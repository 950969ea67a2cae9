//! Striped tiles: block-major, every block in a slot.

/// The shape of a striped tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Rows of the tile.
    pub rows: usize,
    /// Bytes of a row as the checkpoint has it, whole blocks.
    pub row_bytes: usize,
    /// Bytes of a block; an octet is a block of 272.
    pub block_bytes: usize,
    /// Bytes from a block to the next.
    pub slot_bytes: usize,
}

impl Stripe {
    /// Bytes of the tile's slots.
    pub fn bytes(&self) -> usize {
        self.row_bytes / self.block_bytes * self.rows * self.slot_bytes
    }
}

/// Lays a tile's rows block-major: for each block, for each row, that row's
/// block and zeros up to the slot; then zeros. `None` where lengths disagree.
pub fn stripe(rows: &[u8], shape: Stripe, tile: &mut [u8]) -> Option<()> {
    let (body, padding) = tile.split_at_mut_checked(shape.bytes())?;
    padding.fill(0);
    let steps = body.chunks_exact_mut(shape.rows * shape.slot_bytes);
    for (block, step) in steps.enumerate() {
        let from = block * shape.block_bytes;
        let slots = step.chunks_exact_mut(shape.slot_bytes);
        for (row, slot) in rows.chunks_exact(shape.row_bytes).zip(slots) {
            let (data, zeros) = slot.split_at_mut_checked(shape.block_bytes)?;
            data.copy_from_slice(row.get(from..from + shape.block_bytes)?);
            zeros.fill(0);
        }
    }
    Some(())
}

/// The inverse: a tile's rows. `None` where lengths disagree.
pub fn unstripe(tile: &[u8], shape: Stripe, rows: &mut [u8]) -> Option<()> {
    let body = tile.get(..shape.bytes())?;
    for (block, step) in body.chunks_exact(shape.rows * shape.slot_bytes).enumerate() {
        let from = block * shape.block_bytes;
        let slots = step.chunks_exact(shape.slot_bytes);
        for (row, slot) in rows.chunks_exact_mut(shape.row_bytes).zip(slots) {
            let data = slot.get(..shape.block_bytes)?;
            row.get_mut(from..from + shape.block_bytes)?.copy_from_slice(data);
        }
    }
    Some(())
}

/// The first byte of a slot's padding that is not zero.
pub fn slot_damage(tile: &[u8], shape: Stripe) -> Option<usize> {
    if shape.slot_bytes == shape.block_bytes {
        return None;
    }
    let slots = tile.get(..shape.bytes())?.chunks_exact(shape.slot_bytes).enumerate();
    slots.into_iter().find_map(|(i, slot)| {
        let within = slot.iter().skip(shape.block_bytes).position(|&byte| byte != 0)?;
        Some(i * shape.slot_bytes + shape.block_bytes + within)
    })
}
