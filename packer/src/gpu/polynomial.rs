//! Arithmetic modulo CRC-32C's polynomial over GF(2), reflected: bit 31 of a
//! word is the coefficient of x^0.

use bytemuck::Zeroable;
use wimg_shaders::tile_crc::{INVOCATIONS, POLYNOMIAL, Weights};

/// x^0.
const ONE: u32 = 1 << 31;
/// The smallest n > 0 for which x^n = 1: the polynomial is x + 1 times a
/// primitive one of degree 31.
const ORDER: u64 = (1 << 31) - 1;

/// `value` times x.
fn times_x(value: u32) -> u32 {
    (value >> 1) ^ (POLYNOMIAL & 0u32.wrapping_sub(value & 1))
}

/// `a` times `b`.
fn product(a: u32, b: u32) -> u32 {
    let (mut sum, mut shifted) = (0, b);
    for bit in (0..32).rev() {
        sum ^= shifted & 0u32.wrapping_sub((a >> bit) & 1);
        shifted = times_x(shifted);
    }
    sum
}

/// x to the `exponent`.
fn power_of_x(exponent: u64) -> u32 {
    let (mut power, mut square) = (ONE, ONE >> 1);
    let mut rest = exponent % ORDER;
    while rest > 0 {
        if rest & 1 == 1 {
            power = product(power, square);
        }
        square = product(square, square);
        rest >>= 1;
    }
    power
}

/// The CRC-32C of `words` words of zeros.
pub(super) fn crc_of_zeros(words: u32) -> u32 {
    !product(u32::MAX, power_of_x(32 * u64::from(words)))
}

/// What `tile_crc` multiplies by when `lanes` lanes share a tile.
pub(super) fn weights(lanes: u32) -> Weights {
    let lanes = u64::from(lanes.clamp(1, INVOCATIONS));
    let mut weights = Weights::zeroed();
    let mut advance = power_of_x(128 * lanes);
    for entry in weights.advance.as_flattened_mut() {
        *entry = advance;
        advance = times_x(advance);
    }
    for (entry, words) in weights.behind.iter_mut().zip(0..) {
        *entry = power_of_x(ORDER - 32 * words);
    }
    // Dividing by y^32 = x^(4096 lanes).
    let inverse = ORDER - 4096 * lanes % ORDER;
    for (lane, after) in weights.lanes.iter_mut().zip((1..=lanes).rev()) {
        for (entry, component) in lane.iter_mut().zip(0..) {
            *entry = power_of_x(32 * (4 * after - component) + inverse);
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::crc32c;

    #[test]
    fn zeros_have_the_crc_that_the_core_computes() {
        for words in (0..70).chain([1 << 10, (1 << 14) - 1, 1 << 18]) {
            let zeros = vec![0; words as usize * 4];
            assert_eq!(crc_of_zeros(words), crc32c(&zeros), "{words}");
        }
        assert_ne!(crc_of_zeros(1), crc_of_zeros(2));
    }

    #[test]
    fn powers_of_x_multiply_and_come_round() {
        assert_eq!(power_of_x(ORDER), ONE);
        assert_ne!(power_of_x(ORDER / 3), ONE);
        for (a, b) in [(0, 0), (1, 31), (32, 1), (1024, 77), (ORDER - 5, 5)] {
            assert_eq!(product(power_of_x(a), power_of_x(b)), power_of_x(a + b), "{a} {b}");
        }
        assert_eq!(power_of_x(32), POLYNOMIAL);
    }

    #[test]
    fn a_words_weight_is_what_comes_after_it() {
        for lanes in [1, 2, 8, 32, 64] {
            let weights = weights(lanes);
            let y = power_of_x(128 * u64::from(lanes));
            assert_eq!(weights.advance[0][0], y);
            assert_eq!(weights.advance[7][3], product(y, power_of_x(31)));
            let y_32 = power_of_x(4096 * u64::from(lanes));
            let words = weights.lanes.as_flattened();
            for (word, &weight) in (0..4 * lanes).zip(words) {
                let after = power_of_x(32 * u64::from(4 * lanes - word));
                assert_eq!(product(weight, y_32), after, "{lanes} {word}");
            }
            for (behind, &weight) in (0..4).zip(&weights.behind) {
                assert_eq!(product(weight, power_of_x(32 * behind)), ONE, "{behind}");
            }
        }
    }
}
