//! Every comparison notices what it is there for.

use std::cell::RefCell;

use proptest::prelude::*;
use wimg_core::{Image, Window, WindowLimit};
use wimg_tests::cases::{Case, cases, for_each};
use wimg_tests::oracle::{OracleImage, image};
use wimg_tests::twin::{self, SENTINEL, host};

use crate::bytes::{core, same_bytes};
use crate::plan::{same_image, same_tiles};

const LIMIT: WindowLimit = WindowLimit { bytes: 40_000, tiles: 12 };

/// What a packer may do wrong with a window that was packed well; whether it did.
type Sabotage<'a> = &'a dyn Fn(&Image, &Window, &mut [u8]) -> bool;

/// Packs cases well and then with a sabotage: each that happens must be noticed.
fn bites(seed: u64, sabotage: Sabotage<'_>) {
    let noticed = RefCell::new(0);
    for_each(seed, 200, &cases(), |case| {
        let (shards, sources) = twin::shards(&case.tensors);
        let Ok(plan) = twin::plan(&case.tensors, &case.layout, sources) else {
            return Ok(());
        };
        let oracle = image(&case.tensors, &case.layout).unwrap();
        same_bytes(&oracle, &twin::pack(&plan, LIMIT, &shards, core))?;
        let mut done = false;
        let packed = twin::pack(&plan, LIMIT, &shards, |image, window, source, bytes| {
            let crcs = core(image, window, source, bytes);
            // Once an image: a second swap could undo the first.
            done = done || sabotage(image, window, bytes);
            crcs
        });
        prop_assert_eq!(same_bytes(&oracle, &packed).is_err(), done);
        *noticed.borrow_mut() += u32::from(done);
        Ok(())
    });
    let noticed = noticed.into_inner();
    assert!(noticed > 50, "{noticed} noticed");
}

#[test]
fn harness_bites_a_flipped_bit() {
    bites(0xB001, &|_, _, bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        true
    });
}

#[test]
fn harness_bites_a_tile_that_was_not_written() {
    bites(0xB002, &|_, window, bytes| {
        let task = window.tasks[window.tasks.len() / 2];
        bytes[host(task.dest)..][..host(task.len)].fill(SENTINEL);
        true
    });
}

#[test]
fn harness_bites_two_tiles_swapped() {
    bites(0xB003, &|_, window, bytes| {
        let tile = |bytes: &[u8], i: usize| {
            let task = window.tasks[i];
            bytes[host(task.dest)..][..host(task.len)].to_vec()
        };
        let last = window.tasks.len() - 1;
        let first = tile(bytes, 0);
        let other = (1..=last).rev().find(|&i| {
            let other = tile(bytes, i);
            other.len() == first.len() && other != first
        });
        let Some(i) = other else { return false };
        let second = tile(bytes, i);
        bytes[host(window.tasks[0].dest)..][..first.len()].copy_from_slice(&second);
        bytes[host(window.tasks[i].dest)..][..first.len()].copy_from_slice(&first);
        true
    });
}

#[test]
fn harness_bites_a_stale_window() {
    let before = RefCell::new(Vec::new());
    bites(0xB004, &|_, window, bytes| {
        // What the window before left in the buffer that both were packed in.
        let stale = before.replace(bytes.to_vec());
        if window.tiles.start == 0 || stale[..] == bytes[..usize::min(stale.len(), bytes.len())] {
            return false;
        }
        let kept = usize::min(stale.len(), bytes.len());
        bytes[..kept].copy_from_slice(&stale[..kept]);
        true
    });
}

#[test]
fn harness_bites_a_wrong_crc_and_a_missing_one() {
    let tried = RefCell::new(0);
    for_each(0xB005, 100, &cases(), |case| {
        let (shards, sources) = twin::shards(&case.tensors);
        let Ok(plan) = twin::plan(&case.tensors, &case.layout, sources) else {
            return Ok(());
        };
        let oracle = image(&case.tensors, &case.layout).unwrap();
        let mut packed = twin::pack(&plan, LIMIT, &shards, core);
        let Some(last) = packed.crcs.last_mut() else { return Ok(()) };
        *last ^= 1;
        prop_assert!(same_bytes(&oracle, &packed).is_err());
        packed.crcs.pop();
        prop_assert!(same_bytes(&oracle, &packed).is_err());
        *tried.borrow_mut() += 1;
        Ok(())
    });
    assert!(tried.into_inner() > 50);
}

/// Plans cases, and holds them against an oracle's image that was tampered with.
fn plan_bites(seed: u64, tamper: &dyn Fn(&Case, &mut OracleImage) -> bool) {
    let noticed = RefCell::new(0);
    for_each(seed, 200, &cases(), |case| {
        let Ok(mut oracle) = image(&case.tensors, &case.layout) else { return Ok(()) };
        let (_, sources) = twin::shards(&case.tensors);
        let plan = twin::plan(&case.tensors, &case.layout, sources).unwrap();
        let same = |oracle: &OracleImage| {
            same_image(oracle, plan.image()).and_then(|()| same_tiles(oracle, plan.image(), 3))
        };
        same(&oracle)?;
        if tamper(&case, &mut oracle) {
            prop_assert!(same(&oracle).is_err());
            *noticed.borrow_mut() += 1;
        }
        Ok(())
    });
    let noticed = noticed.into_inner();
    assert!(noticed > 50, "{noticed} noticed");
}

#[test]
fn harness_bites_a_skew_of_one_more() {
    plan_bites(0xB006, &|_, oracle| {
        oracle.row.skew_lines += 1;
        true
    });
}

#[test]
fn harness_bites_two_channels_out_of_turn() {
    plan_bites(0xB007, &|case, oracle| {
        let Some(placement) = oracle.placements.last_mut() else { return false };
        placement.order.swap(0, case.layout.channels - 1);
        case.layout.channels > 1
    });
}

#[test]
fn harness_bites_a_tile_a_line_off() {
    plan_bites(0xB008, &|_, oracle| {
        let Some(tile) = oracle.tiles.last_mut() else { return false };
        tile.line += 1;
        true
    });
}
