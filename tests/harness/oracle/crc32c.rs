//! CRC-32C, one bit at a time.

/// The Castagnoli polynomial, reflected.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// The CRC-32C of `bytes`: initial value and final xor all ones.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = 0xFFFF_FFFF;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
        }
    }
    crc ^ 0xFFFF_FFFF
}
