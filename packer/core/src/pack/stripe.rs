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
    // A copy of a known length is a few moves; one of any length is a call,
    // three times as long for a block of 34 bytes.
    match shape.block_bytes {
        18 => lay::<18>(rows, shape, body),
        34 => lay::<34>(rows, shape, body),
        144 => lay::<144>(rows, shape, body),
        176 => lay::<176>(rows, shape, body),
        210 => lay::<210>(rows, shape, body),
        272 => lay::<272>(rows, shape, body),
        _ => lay_any(rows, shape, body),
    }
}

fn lay_any(rows: &[u8], shape: Stripe, body: &mut [u8]) -> Option<()> {
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

/// [`lay_any`] for blocks of `N` bytes.
fn lay<const N: usize>(rows: &[u8], shape: Stripe, body: &mut [u8]) -> Option<()> {
    let (blocks, _) = rows.as_chunks::<N>();
    let row_blocks = shape.row_bytes / N;
    let steps = body.chunks_exact_mut(shape.rows * shape.slot_bytes);
    for (block, step) in steps.enumerate() {
        let row_by_row = blocks.get(block..)?.iter().step_by(row_blocks);
        for (from, slot) in row_by_row.zip(step.chunks_exact_mut(shape.slot_bytes)) {
            let (data, zeros) = slot.split_first_chunk_mut::<N>()?;
            *data = *from;
            if !zeros.is_empty() {
                zeros.fill(0);
            }
        }
    }
    Some(())
}

/// The inverse: a tile's rows. `None` where lengths disagree.
pub fn unstripe(tile: &[u8], shape: Stripe, rows: &mut [u8]) -> Option<()> {
    let body = tile.get(..shape.bytes())?;
    match shape.block_bytes {
        18 => gather::<18>(body, shape, rows),
        34 => gather::<34>(body, shape, rows),
        144 => gather::<144>(body, shape, rows),
        176 => gather::<176>(body, shape, rows),
        210 => gather::<210>(body, shape, rows),
        272 => gather::<272>(body, shape, rows),
        _ => gather_any(body, shape, rows),
    }
}

fn gather_any(body: &[u8], shape: Stripe, rows: &mut [u8]) -> Option<()> {
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

/// [`gather_any`] for blocks of `N` bytes.
fn gather<const N: usize>(body: &[u8], shape: Stripe, rows: &mut [u8]) -> Option<()> {
    let (blocks, _) = rows.as_chunks_mut::<N>();
    let row_blocks = shape.row_bytes / N;
    for (block, step) in body.chunks_exact(shape.rows * shape.slot_bytes).enumerate() {
        let row_by_row = blocks.get_mut(block..)?.iter_mut().step_by(row_blocks);
        for (to, slot) in row_by_row.zip(step.chunks_exact(shape.slot_bytes)) {
            *to = *slot.first_chunk::<N>()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every block size with a copy of its own against the one for any.
    #[test]
    fn special_copies_are_the_general_ones() {
        let mut compared = 0;
        for block_bytes in [18, 34, 144, 176, 210, 272] {
            for (rows, row_blocks, pad) in [(1, 1, 0), (2, 3, 0), (16, 5, 6), (3, 1, 14)] {
                let row_bytes = row_blocks * block_bytes;
                let shape = Stripe { rows, row_bytes, block_bytes, slot_bytes: block_bytes + pad };
                let source: Vec<u8> = (0u8..=250).cycle().take(rows * row_bytes).collect();
                let (mut special, mut general) =
                    (vec![0xA5; shape.bytes()], vec![0x5A; shape.bytes()]);
                stripe(&source, shape, &mut special).unwrap();
                lay_any(&source, shape, &mut general).unwrap();
                assert_eq!(special, general, "{shape:?}");
                let (mut special, mut general) = (vec![0; source.len()], vec![1; source.len()]);
                unstripe(&general_tile(&source, shape), shape, &mut special).unwrap();
                gather_any(&general_tile(&source, shape), shape, &mut general).unwrap();
                assert_eq!((&special, &general), (&source, &source), "{shape:?}");
                compared += 1;
            }
        }
        assert_eq!(compared, 24);
    }

    fn general_tile(source: &[u8], shape: Stripe) -> Vec<u8> {
        let mut tile = vec![0xA5; shape.bytes()];
        lay_any(source, shape, &mut tile).unwrap();
        tile
    }
}
