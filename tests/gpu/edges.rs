//! Lengths and counts around every edge that a kernel has.

use wimg::core::window::WindowLimit;
use wimg::gpu::GpuOptions;
use wimg_tests::oracle::{Layout, Tensor};

use crate::compare::{check, open, options};
use crate::made::{Made, tensor};

/// One window, whatever it holds.
const WHOLE: WindowLimit = WindowLimit { bytes: 1 << 26, tiles: 1 << 20 };

/// Every tile a row of its own, in lines of a word.
fn words(check: bool) -> Layout {
    Layout { line_bytes: 4, tile_lines: 1, check, channels: 3, ..Layout::default() }
}

/// Words around every power of two up to a few workgroups' chunks: lanes,
/// blocks of 32 words a lane, and chunks of 1024 words are all powers of two.
fn lengths() -> Vec<u64> {
    let mut lengths: Vec<u64> = (0..=13)
        .flat_map(|power| {
            let bytes = 4_u64 << power;
            [bytes - 4, bytes - 3, bytes - 1, bytes, bytes + 1, bytes + 3, bytes + 4]
        })
        .filter(|&bytes| bytes > 0)
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

#[test]
fn plain_tiles_of_every_length() {
    let mut tiles = 0;
    for lanes in [1, 2, 8, 32, 64] {
        let mut packer = open(&GpuOptions { crc_lanes: Some(lanes), ..options() });
        for with_check in [false, true] {
            let tensors: Vec<Tensor> =
                (0..).zip(lengths()).map(|(i, n)| tensor("I8", &[n], false, false, i)).collect();
            let made = Made::new(&tensors, &words(with_check)).unwrap();
            assert_eq!(check(&mut packer, &made, WHOLE), Ok(1), "{lanes} lanes");
            tiles += tensors.len();
        }
    }
    println!("{tiles} plain tiles of {} lengths", lengths().len());
    assert!(tiles > 500, "{tiles}");
}

#[test]
fn striped_tiles_of_every_shape() {
    let mut packer = open(&options());
    let mut tiles = 0;
    for (format, elems) in [("I8", 1), ("F16", 1), ("MXFP4", 32), ("Q8_0", 32), ("Q6_K", 256)] {
        for slot in [1, 2, 3, 16, 36, 255, 256, 257, 1000] {
            let layout = Layout { stripe: Some(40), slot, ..words(slot % 2 == 0) };
            let tensors: Vec<Tensor> = [1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 79, 80, 81, 161]
                .into_iter()
                .flat_map(|rows| [1, 2, 7].map(|blocks| (rows, blocks)))
                .map(|(rows, blocks)| {
                    let seed = rows * 10 + blocks;
                    tensor(format, &[blocks * elems, rows], false, true, seed)
                })
                .collect();
            let made = Made::new(&tensors, &layout).unwrap();
            assert_eq!(check(&mut packer, &made, WHOLE), Ok(1), "{format} slot {slot}");
            tiles += made.plan.image().tile_count();
        }
    }
    println!("{tiles} striped tiles");
    assert!(tiles > 2000, "{tiles}");
}

#[test]
fn kernels_of_every_element_and_piece() {
    let mut packer = open(&options());
    let mut tiles = 0;
    for (format, bytes) in [("I8", 1), ("BF16", 2), ("F32", 4), ("F64", 8)] {
        for tile_lines in [1, 2, 5, 64, 2000] {
            let layout =
                Layout { tile_lines, line_bytes: 12, check: tile_lines % 2 == 1, ..words(false) };
            let layout =
                Layout { tile_lines: tile_lines.max(if bytes == 8 { 2 } else { 1 }), ..layout };
            let tensors: Vec<Tensor> = [1, 2, 3, 4, 7, 31, 36, 127, 128, 129, 1021, 2520]
                .into_iter()
                .flat_map(|channels| [1, 3, 4].map(|taps| (taps, channels)))
                .map(|(taps, channels)| tensor(format, &[taps, channels], true, false, channels))
                .collect();
            let made = Made::new(&tensors, &layout).unwrap();
            assert_eq!(check(&mut packer, &made, WHOLE), Ok(1), "{format} {tile_lines}");
            tiles += made.plan.image().tile_count();
        }
    }
    println!("{tiles} kernels' tiles");
    assert!(tiles > 1000, "{tiles}");
}

#[test]
fn windows_end_inside_a_kernel() {
    let mut packer = open(&options());
    let layout = Layout { tile_lines: 2, ..Layout::default() };
    let tensors =
        [tensor("F32", &[4, 260], true, false, 1), tensor("I8", &[3, 999], true, false, 2)];
    let made = Made::new(&tensors, &layout).unwrap();
    let windows = check(&mut packer, &made, WindowLimit { bytes: 700, tiles: 1 << 12 }).unwrap();
    assert!(windows > 8, "{windows}");
}

#[test]
fn workgroups_around_the_most_of_a_dimension() {
    // Each kernel has a workgroup a tile; `tile_crc` has one where 64 lanes share a tile.
    let mut windows = 0;
    for (lanes, rows) in [(8, 65534), (8, 65535), (8, 65536), (64, 65536), (8, 131_071)] {
        let mut packer = open(&GpuOptions { crc_lanes: Some(lanes), ..options() });
        let rows_of_a_word = tensor("I8", &[4, rows], false, false, rows);
        let made = Made::new(&[rows_of_a_word], &words(true)).unwrap();
        assert_eq!(made.plan.image().tile_count(), rows);
        windows += check(&mut packer, &made, WHOLE).unwrap();
    }
    let mut packer = open(&options());
    for tiles in [65535, 65536] {
        let layout = Layout { stripe: Some(1), ..words(false) };
        let row_pairs = tensor("I8", &[2, 2 * tiles], false, true, tiles);
        let made = Made::new(&[row_pairs], &layout).unwrap();
        assert_eq!(made.plan.image().tile_count(), tiles);
        windows += check(&mut packer, &made, WHOLE).unwrap();
        // A channel a piece, and a piece a tile.
        let kernel = tensor("F32", &[1, tiles], true, false, tiles);
        let made = Made::new(&[kernel], &words(false)).unwrap();
        assert_eq!(made.plan.image().tile_count(), tiles);
        windows += check(&mut packer, &made, WHOLE).unwrap();
    }
    println!("{windows} windows around 65535 workgroups");
    assert_eq!(windows, 9);
}

#[test]
fn one_tile_larger_than_any_window_is_packed() {
    let mut packer = open(&GpuOptions { sentinel: None, ..options() });
    // A row of 40 MiB, past the window's limit.
    let made = Made::new(&[tensor("I8", &[(40 << 20) + 1], false, false, 1)], &Layout::default());
    let limit = packer.window_limit();
    assert!(limit.bytes < 40 << 20, "{limit:?}");
    assert_eq!(check(&mut packer, &made.unwrap(), limit), Ok(1));
}
