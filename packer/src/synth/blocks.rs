//! Random blocks of every format, whose scales are finite.
//!
//! A block is random bytes with the few bits fixed that keep its scales finite
//! and small, so that any tool dequantises it to sane numbers. Everything else
//! (quants, packed sub-scales, codebook indices) has no invalid value. The sums
//! that `Q8_1` and `Q8_K` keep beside their quants are random like the rest.
//!
//! Source: ggml's block structures (`ggml-common.h`).

use wimg_core::Format;

/// A fixed part of a block: of the byte at `at` the bits of `keep` stay random
/// and those of `set` are set.
struct Fixed {
    at: usize,
    keep: u8,
    set: u8,
}

/// The high byte of a little-endian f16 scale at `at`: exponent 3, so the scale
/// lies in 2^-12 … 2^-11 and is positive.
const fn half(at: usize) -> Fixed {
    Fixed { at: at + 1, keep: 0x03, set: 0x0c }
}

/// A byte of which all bits but `keep` are those of `set`.
const fn byte(at: usize, keep: u8, set: u8) -> Fixed {
    Fixed { at, keep, set }
}

const D_FIRST: &[Fixed] = &[half(0)];
const D_M_FIRST: &[Fixed] = &[half(0), half(2)];

/// What is fixed in a block, by format.
const FIXED: &[(&str, &[Fixed])] = &[
    // Any sign, magnitude within 2^-7 … 2^-5.
    ("F32", &[byte(3, 0x80, 0x3c)]),
    ("F16", &[byte(1, 0x83, 0x24)]),
    ("BF16", &[byte(1, 0x80, 0x3c)]),
    ("F64", &[byte(6, 0x0f, 0x90), byte(7, 0x80, 0x3f)]),
    ("Q4_0", D_FIRST),
    ("Q4_1", D_M_FIRST),
    ("Q5_0", D_FIRST),
    ("Q5_1", D_M_FIRST),
    ("Q8_0", D_FIRST),
    // d and s.
    ("Q8_1", D_M_FIRST),
    // 16 scales, 64 quants, d, dmin.
    ("Q2_K", &[half(80), half(82)]),
    // 32 high bits, 64 quants, 12 scales, d.
    ("Q3_K", &[half(108)]),
    ("Q4_K", D_M_FIRST),
    ("Q5_K", D_M_FIRST),
    // 128 and 64 quants, 16 scales, d.
    ("Q6_K", &[half(208)]),
    // d as f32 in 2^-12 … 2^-11, 256 quants, 16 sums.
    ("Q8_K", &[byte(2, 0x7f, 0x80), byte(3, 0x00, 0x39)]),
    ("IQ2_XXS", D_FIRST),
    ("IQ2_XS", D_FIRST),
    ("IQ2_S", D_FIRST),
    ("IQ3_XXS", D_FIRST),
    ("IQ3_S", D_FIRST),
    ("IQ4_NL", D_FIRST),
    ("IQ4_XS", D_FIRST),
    ("IQ1_S", D_FIRST),
    // 32 and 16 quants, four u16 of scales whose top nibbles, lowest first, are
    // the f16 d.
    ("IQ1_M", &[byte(53, 0x3f, 0xc0), byte(55, 0x0f, 0x00)]),
    // 48 and 4 quants, d.
    ("TQ1_0", &[half(52)]),
    // 64 quants, d.
    ("TQ2_0", &[half(64)]),
    // An e8m0 exponent of 120 … 123.
    ("MXFP4", &[byte(0, 0x03, 0x78)]),
    // Four ue4m3 with an exponent field of 4 … 7.
    (
        "NVFP4",
        &[byte(0, 0x1f, 0x20), byte(1, 0x1f, 0x20), byte(2, 0x1f, 0x20), byte(3, 0x1f, 0x20)],
    ),
    ("Q1_0", D_FIRST),
    ("Q2_0", D_FIRST),
];

/// What is fixed in a block of a format: nothing in integers.
fn fixed(format: Format) -> &'static [Fixed] {
    FIXED
        .iter()
        .find(|(name, _)| Format::from_name(name) == Some(format))
        .map_or(&[], |(_, fixed)| fixed)
}

/// A stream of random words: SplitMix64, whose state is a counter.
///
/// It is written out because a checkpoint must have the same bytes for ever,
/// which no crate promises of its generators.
struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream that belongs to these coordinates.
    fn at(seed: u64, tensor: u64, chunk: u64) -> SplitMix64 {
        let mut state = SplitMix64(seed);
        for coordinate in [tensor, chunk] {
            state = SplitMix64(state.next() ^ coordinate);
        }
        SplitMix64(state.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Fills `out` with whole blocks of `format`: chunk `chunk` of tensor `tensor`
/// of the checkpoint with this seed. The same arguments give the same bytes.
pub(crate) fn fill(format: Format, seed: u64, tensor: u64, chunk: u64, out: &mut [u8]) {
    let mut random = SplitMix64::at(seed, tensor, chunk);
    let mut words = out.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&random.next().to_le_bytes());
    }
    let tail = words.into_remainder();
    let last = random.next().to_le_bytes();
    for (byte, random) in tail.iter_mut().zip(last) {
        *byte = random;
    }
    let fixed = fixed(format);
    let Some(block_bytes) = format.block().and_then(|block| usize::try_from(block.bytes).ok())
    else {
        return;
    };
    for block in out.chunks_exact_mut(block_bytes) {
        for part in fixed {
            if let Some(byte) = block.get_mut(part.at) {
                *byte = *byte & part.keep | part.set;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: usize = 4096;

    fn blocks(name: &str) -> Vec<Vec<u8>> {
        let format = Format::from_name(name).unwrap();
        let bytes = usize::try_from(format.block().unwrap().bytes).unwrap();
        let mut out = vec![0; BLOCKS * bytes];
        fill(format, 7, 0, 0, &mut out);
        out.chunks(bytes).map(<[u8]>::to_vec).collect()
    }

    /// The value of a positive or negative normal f16; a subnormal counts as 0.
    fn f16(bytes: &[u8]) -> f64 {
        let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        match exponent {
            31 => f64::INFINITY,
            0 => 0.0,
            _ => (1.0 + fraction / 1024.0) * f64::from(exponent - 15).exp2(),
        }
    }

    /// A scale: the bytes in which it lies and the way to read it.
    type Scale = (usize, fn(&[u8]) -> f64);

    #[test]
    fn every_scale_is_finite_and_small_and_not_always_the_same() {
        let f32_at = |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])).abs();
        let bf16 = |b: &[u8]| f64::from(f32::from_le_bytes([0, 0, b[0], b[1]])).abs();
        let f64_at = |b: &[u8]| f64::from_le_bytes(b[..8].try_into().unwrap()).abs();
        let e8m0 = |b: &[u8]| f64::from(i32::from(b[0]) - 127).exp2();
        let ue4m3 = |b: &[u8]| match (b[0] >> 3, b[0] & 7) {
            (e @ 1..=15, m) => (1.0 + f64::from(m) / 8.0) * f64::from(i32::from(e) - 7).exp2(),
            _ => f64::NAN,
        };
        let iq1_m = |b: &[u8]| {
            let nibble = |i: usize| u16::from(b[2 * i + 1] >> 4);
            f16(&(nibble(0) | nibble(1) << 4 | nibble(2) << 8 | nibble(3) << 12).to_le_bytes())
        };
        let of: &[(&str, &[Scale])] = &[
            ("F32", &[(0, f32_at)]),
            ("F16", &[(0, f16)]),
            ("BF16", &[(0, bf16)]),
            ("F64", &[(0, f64_at)]),
            ("Q4_0", &[(0, f16)]),
            ("Q4_1", &[(0, f16), (2, f16)]),
            ("Q5_0", &[(0, f16)]),
            ("Q5_1", &[(0, f16), (2, f16)]),
            ("Q8_0", &[(0, f16)]),
            ("Q8_1", &[(0, f16), (2, f16)]),
            ("Q2_K", &[(80, f16), (82, f16)]),
            ("Q3_K", &[(108, f16)]),
            ("Q4_K", &[(0, f16), (2, f16)]),
            ("Q5_K", &[(0, f16), (2, f16)]),
            ("Q6_K", &[(208, f16)]),
            ("Q8_K", &[(0, f32_at)]),
            ("IQ2_XXS", &[(0, f16)]),
            ("IQ2_XS", &[(0, f16)]),
            ("IQ3_XXS", &[(0, f16)]),
            ("IQ1_S", &[(0, f16)]),
            ("IQ4_NL", &[(0, f16)]),
            ("IQ3_S", &[(0, f16)]),
            ("IQ2_S", &[(0, f16)]),
            ("IQ4_XS", &[(0, f16)]),
            ("IQ1_M", &[(48, iq1_m)]),
            ("TQ1_0", &[(52, f16)]),
            ("TQ2_0", &[(64, f16)]),
            ("MXFP4", &[(0, e8m0)]),
            ("NVFP4", &[(0, ue4m3), (1, ue4m3), (2, ue4m3), (3, ue4m3)]),
            ("Q1_0", &[(0, f16)]),
            ("Q2_0", &[(0, f16)]),
        ];
        // All formats but the four integers.
        assert_eq!(of.len(), Format::all().count() - 4);
        for (name, scales) in of {
            let blocks = blocks(name);
            for (at, read) in *scales {
                let values: Vec<f64> = blocks.iter().map(|block| read(&block[*at..])).collect();
                assert!(values.iter().all(|v| (1e-4..2.0).contains(v)), "{name} at {at}");
                assert!(values.iter().any(|v| v != &values[0]), "{name} at {at}");
            }
        }
    }

    #[test]
    fn all_other_bits_are_random() {
        for format in Format::all() {
            let blocks = blocks(&format.to_string());
            let fixed_bits: u32 = fixed(format).iter().map(|part| part.keep.count_zeros()).sum();
            let mut ever_one = vec![0_u8; blocks[0].len()];
            let mut ever_zero = ever_one.clone();
            for block in &blocks {
                for (i, byte) in block.iter().enumerate() {
                    ever_one[i] |= byte;
                    ever_zero[i] |= !byte;
                }
            }
            let constant: u32 =
                ever_one.iter().zip(&ever_zero).map(|(one, zero)| (one & zero).count_zeros()).sum();
            assert_eq!(constant, fixed_bits, "{format}");
            assert!(
                fixed(format)
                    .iter()
                    .all(|part| part.at < ever_one.len() && part.keep & part.set == 0),
                "{format}"
            );
        }
    }

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix64(0);
        assert_eq!([random.next(), random.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn every_coordinate_gives_other_bytes() {
        let at = |seed, tensor, chunk| {
            let mut out = [0; 36];
            fill(Format::Q8_0, seed, tensor, chunk, &mut out);
            out
        };
        let all = [at(0, 0, 0), at(1, 0, 0), at(0, 1, 0), at(0, 0, 1), at(1, 1, 0), at(0, 1, 1)];
        for (i, one) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other[..] != one[..]), "{i}");
        }
        assert_eq!(at(1, 2, 3), at(1, 2, 3));
    }
}
