//! CRC-32C, and the CRC of a tensor whose bytes come in parts.

/// The CRC-32C of `bytes`: Castagnoli, reflected polynomial 0x82F63B78,
/// initial value and final xor all ones. `"123456789"` gives 0xE3069283.
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// The CRC-32C of the bytes that gave `crc` with `bytes` after them.
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(crc, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bit at a time, as the polynomial says.
    fn naive(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 * (crc & 1)))
        })
    }

    #[test]
    fn it_is_the_naive_one_at_every_length_and_alignment() {
        let bytes: Vec<u8> =
            (0..4096u32 + 8).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        // The naive CRC of every prefix, from each alignment, grown a byte at a time.
        for align in 0..8 {
            let mut register = !0u32;
            for len in 0..=4096 {
                assert_eq!(crc32c(&bytes[align..align + len]), !register, "{align} {len}");
                let next = u32::from(bytes[align + len - usize::from(len == 4096)]);
                register =
                    (0..8).fold(register ^ next, |crc, _| (crc >> 1) ^ (0x82F6_3B78 * (crc & 1)));
            }
        }
        assert_eq!(naive(&bytes), crc32c(&bytes));
    }

    #[test]
    fn published_values() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        // RFC 3720 B.4.
        let up: Vec<u8> = (0..32).collect();
        let down: Vec<u8> = (0..32).rev().collect();
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(&up), 0x46DD_794E);
        assert_eq!(crc32c(&down), 0x113F_DB5C);
        assert_eq!(crc32c_append(crc32c(&up[..7]), &up[7..]), crc32c(&up));
        assert_ne!(crc32c(&up), crc32c(&down));
    }
}
