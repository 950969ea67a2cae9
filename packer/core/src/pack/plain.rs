//! Plain tiles: rows end to end.

/// Copies a tile's rows to its start and zeroes the rest. `None` where the
/// tile is smaller than its rows.
pub fn plain(rows: &[u8], tile: &mut [u8]) -> Option<()> {
    let (body, padding) = tile.split_at_mut_checked(rows.len())?;
    body.copy_from_slice(rows);
    padding.fill(0);
    Some(())
}

/// The inverse: a tile's rows. `None` where the tile is smaller than its rows.
pub fn unplain(tile: &[u8], rows: &mut [u8]) -> Option<()> {
    rows.copy_from_slice(tile.get(..rows.len())?);
    Some(())
}
