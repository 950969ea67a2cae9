//! A tile's CRC-32C and its check word.

use crate::crc32c::crc32c;

/// [`CHECK_BYTES`](crate::layout::CHECK_BYTES) as a host size.
const CHECK: usize = size_of::<u32>();

/// The CRC-32C of a packed tile, written into its last four bytes,
/// little-endian, when the layout has check words: then of all bytes before
/// them, else of all its bytes. `None` where a tile has no room for its word.
pub fn tile_crc(tile: &mut [u8], check: bool) -> Option<u32> {
    if !check {
        return Some(crc32c(tile));
    }
    let (body, word) = tile.split_at_mut_checked(tile.len().checked_sub(CHECK)?)?;
    let crc = crc32c(body);
    word.copy_from_slice(&crc.to_le_bytes());
    Some(crc)
}

/// A tile's computed CRC-32C and, with check words, the word it carries.
pub fn read_tile_crc(tile: &[u8], check: bool) -> Option<(u32, Option<u32>)> {
    if !check {
        return Some((crc32c(tile), None));
    }
    let (body, word) = tile.split_last_chunk::<CHECK>()?;
    Some((crc32c(body), Some(u32::from_le_bytes(*word))))
}

/// The word that a tile carries, if it carries one. `None` as of
/// [`read_tile_crc`].
pub fn check_word(tile: &[u8], check: bool) -> Option<Option<u32>> {
    let word = || tile.last_chunk::<CHECK>().map(|word| u32::from_le_bytes(*word));
    if check { word().map(Some) } else { Some(None) }
}
