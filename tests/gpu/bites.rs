//! The comparison must notice whatever a GPU, a driver or a bus can do wrong.

use wimg::core::window::WindowLimit;
use wimg_tests::oracle::Layout;

use crate::compare::{Packed, by_core, by_gpu, check, difference, open, options};
use crate::made::{Filled, Made, tensor};

/// Tiles of one size, of every kernel, in windows of several.
fn made() -> Made {
    let layout = Layout { check: true, tile_lines: 8, stripe: Some(2), ..Layout::default() };
    let tensors = [
        tensor("Q8_0", &[64, 90], false, false, 1),
        tensor("Q8_0", &[64, 90], false, true, 2),
        tensor("F32", &[4, 600], true, false, 3),
    ];
    Made::new(&tensors, &layout).unwrap()
}

const LIMIT: WindowLimit = WindowLimit { bytes: 3 << 10, tiles: 1 << 12 };

/// Sabotages the GPU's result of every window and counts what goes unnoticed.
fn unnoticed(sabotage: impl Fn(&Filled, &mut Packed) -> bool) -> (usize, usize) {
    let mut packer = open(&options());
    let made = made();
    let (mut tried, mut missed) = (0, 0);
    for filled in made.windows(LIMIT) {
        let core = by_core(&made, &filled);
        let mut gpu = by_gpu(&mut packer, &made, &filled).unwrap();
        assert_eq!(difference(&filled.window, &core, &gpu), None);
        if sabotage(&filled, &mut gpu) {
            tried += 1;
            missed += usize::from(difference(&filled.window, &core, &gpu).is_none());
        }
    }
    (tried, missed)
}

fn range(task: &wimg::core::window::TileTask) -> std::ops::Range<usize> {
    let start = usize::try_from(task.dest).unwrap();
    start..start + usize::try_from(task.len).unwrap()
}

#[test]
fn harness_bites_a_flipped_bit() {
    let (tried, missed) = unnoticed(|filled, gpu| {
        let bit = filled.source.len() * 7 % (gpu.channel_bytes.len() * 8);
        gpu.channel_bytes[bit / 8] ^= 1 << (bit % 8);
        true
    });
    assert!(tried > 3 && missed == 0, "{missed} of {tried}");
    let (tried, missed) = unnoticed(|_, gpu| {
        let last = gpu.crcs.len() - 1;
        gpu.crcs[last] ^= 1;
        true
    });
    assert!(tried > 3 && missed == 0, "{missed} of {tried}");
}

#[test]
fn harness_bites_a_dropped_write() {
    let (tried, missed) = unnoticed(|filled, gpu| {
        let word = range(filled.window.tasks.last().unwrap()).start;
        gpu.channel_bytes[word..word + 4].fill(0xA5);
        true
    });
    assert!(tried > 3 && missed == 0, "{missed} of {tried}");
}

#[test]
fn a_write_that_is_dropped_on_the_gpu_leaves_the_sentinel() {
    // A window whose last tile is not among its tasks: no kernel writes it.
    let mut packer = open(&options());
    let made = made();
    let mut filled = made.windows(LIMIT).remove(0);
    let dropped = range(&filled.window.tasks.pop().unwrap());
    let gpu = by_gpu(&mut packer, &made, &filled).unwrap();
    assert!(gpu.channel_bytes[dropped].iter().all(|&byte| byte == 0xA5));
    let core = by_core(&made, &made.windows(LIMIT).remove(0));
    assert!(difference(&filled.window, &core, &gpu).is_some());
}

#[test]
fn harness_bites_two_swapped_tiles() {
    let (tried, missed) = unnoticed(|filled, gpu| {
        let tasks = &filled.window.tasks;
        let Some(other) = tasks.iter().rfind(|task| task.len == tasks[0].len) else {
            return false;
        };
        let (a, b) = (range(&tasks[0]), range(other));
        if a == b {
            return false;
        }
        let tile = gpu.channel_bytes[a.clone()].to_vec();
        gpu.channel_bytes.copy_within(b.clone(), a.start);
        gpu.channel_bytes[b].copy_from_slice(&tile);
        true
    });
    assert!(tried > 2 && missed == 0, "{missed} of {tried}");
}

#[test]
fn harness_bites_a_stale_window() {
    // The GPU's result of the window before, where it is as long.
    let mut packer = open(&options());
    let made = made();
    let windows = made.windows(LIMIT);
    let mut caught = 0;
    for pair in windows.windows(2) {
        let [stale, filled] = pair else { unreachable!() };
        let gpu = by_gpu(&mut packer, &made, stale).unwrap();
        let core = by_core(&made, filled);
        assert!(difference(&filled.window, &core, &gpu).is_some());
        caught += usize::from(core.channel_bytes.len() == gpu.channel_bytes.len());
    }
    assert!(caught > 0, "no two windows are as long");
}

#[test]
fn harness_bites_damage_on_upload() {
    let mut packer = open(&options());
    let made = made();
    let mut caught = 0;
    for filled in made.windows(LIMIT) {
        let core = by_core(&made, &filled);
        let mut damaged = Filled { window: filled.window.clone(), source: filled.source.clone() };
        // A kernel's whole source goes up with each of its windows; of the
        // last window's, its last piece is packed.
        let kernel = made.plan.image().tensors()[filled.window.tasks[0].tile.tensor].kernel;
        let at = if kernel { continue } else { filled.source.len() / 2 };
        damaged.source[at] ^= 0x40;
        let gpu = by_gpu(&mut packer, &made, &damaged).unwrap();
        assert!(difference(&filled.window, &core, &gpu).is_some());
        caught += 1;
    }
    assert!(caught > 3, "{caught}");
    assert!(check(&mut packer, &made, LIMIT).is_ok_and(|windows| windows > caught));
}
