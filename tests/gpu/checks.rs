//! The GPU's CRCs of tiles that are packed already, against the core's.

use std::cell::{Cell, RefCell};

use proptest::prelude::*;
use wimg::core::window::WindowLimit;
use wimg::gpu::{GpuError, GpuPacker};
use wimg_tests::cases::{Case, cases, for_each};
use wimg_tests::oracle::Layout;

use crate::compare::{by_core, open, options, ways};
use crate::made::{Filled, Made, tensor};

fn checked(packer: &mut GpuPacker, made: &Made, filled: &Filled, channel_bytes: &[u8]) -> Vec<u32> {
    let mut crcs = Vec::new();
    packer.submit_check(made.plan.image(), &filled.window, channel_bytes).unwrap();
    packer.collect_check(&filled.window, &mut crcs).unwrap();
    crcs
}

#[test]
fn packed_tiles_have_the_cores_crcs() {
    for (seed, (way, options)) in (0xC4C..).zip(ways()) {
        let packer = RefCell::new(open(&options));
        let tiles = Cell::new(0);
        let limits = prop_oneof![64..4096_u64, 4096..65536_u64, Just(1 << 20)];
        for_each(seed, 40, &(cases(), limits), |(case, bytes): (Case, u64)| {
            let Some(made) = Made::new(&case.tensors, &case.layout) else { return Ok(()) };
            for filled in made.windows(WindowLimit { bytes, tiles: 1 << 12 }) {
                let core = by_core(&made, &filled);
                let mut packer = packer.borrow_mut();
                let crcs = checked(&mut packer, &made, &filled, &core.channel_bytes);
                tiles.set(tiles.get() + crcs.len());
                prop_assert_eq!(crcs, core.crcs);
            }
            Ok(())
        });
        println!("{way}: {} tiles", tiles.get());
        assert!(tiles.get() > 200, "{}", tiles.get());
    }
}

#[test]
fn a_changed_byte_is_another_crc_and_a_changed_word_is_not() {
    let layout = Layout { check: true, tile_lines: 8, ..Layout::default() };
    let made = Made::new(&[tensor("Q8_0", &[64, 90], false, false, 1)], &layout).unwrap();
    let filled = made.windows(WindowLimit::default()).remove(0);
    let core = by_core(&made, &filled);
    let mut packer = open(&options());
    for (number, task) in filled.window.tasks.iter().enumerate() {
        let start = usize::try_from(task.dest).unwrap();
        let word = start + usize::try_from(task.len).unwrap() - 4;
        let mut bytes = core.channel_bytes.clone();
        bytes[word] ^= 1;
        assert_eq!(checked(&mut packer, &made, &filled, &bytes), core.crcs);
        bytes[start + number] ^= 1;
        let crcs = checked(&mut packer, &made, &filled, &bytes);
        let differ = |at: &usize| crcs[*at] != core.crcs[*at];
        assert_eq!((0..crcs.len()).filter(differ).collect::<Vec<_>>(), [number]);
    }
}

#[test]
fn what_is_packed_and_what_is_checked_are_not_mixed_up() {
    let made = Made::new(&[tensor("F32", &[8, 9], false, false, 1)], &Layout::default()).unwrap();
    let filled = made.windows(WindowLimit::default()).remove(0);
    let mut core = by_core(&made, &filled);
    let mut packer = open(&options());
    let image = made.plan.image();
    packer.submit(image, &filled.window, &filled.source).unwrap();
    let error = packer.collect_check(&filled.window, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, GpuError::Order { .. }), "{error}");
    packer.submit_check(image, &filled.window, &core.channel_bytes).unwrap();
    packer.collect(&filled.window, &mut core.channel_bytes, &mut Vec::new()).unwrap();
    let error = packer.collect(&filled.window, &mut core.channel_bytes, &mut Vec::new());
    assert!(matches!(error, Err(GpuError::Order { .. })), "{error:?}");
    packer.collect_check(&filled.window, &mut Vec::new()).unwrap();
    let error = packer.submit_check(image, &filled.window, &core.channel_bytes[1..]).unwrap_err();
    assert!(matches!(error, GpuError::Pack(_)), "{error}");
}
