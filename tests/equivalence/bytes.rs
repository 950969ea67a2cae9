//! Bytes: whatever the windows, what is packed is what the oracle's channels hold.

use std::cell::Cell;

use proptest::prelude::*;
use wimg_core::pack::{padding_damage, tile_slice, unpack_tile};
use wimg_core::{Image, Plan, Window, WindowLimit, pack_window};
use wimg_tests::cases::{Case, cases, for_each};
use wimg_tests::oracle::{OracleImage, Tensor, image};
use wimg_tests::twin::{self, Packed, SENTINEL, Shards, host};

use crate::plan::{Same, draw};
use crate::windows::limits;

/// The core's packer.
pub(crate) fn core(image: &Image, window: &Window, source: &[u8], bytes: &mut [u8]) -> Vec<u32> {
    pack_window(image, window, source, bytes).unwrap()
}

/// Every byte of every channel, and every tile's CRC.
pub(crate) fn same_bytes(oracle: &OracleImage, packed: &Packed) -> Same {
    let crcs: Vec<u32> = oracle.tiles.iter().map(|tile| tile.crc).collect();
    prop_assert_eq!(packed.crcs.len(), crcs.len());
    prop_assert_eq!(packed.channels.len(), oracle.channels.len());
    for (channel, (bytes, wanted)) in packed.channels.iter().zip(&oracle.channels).enumerate() {
        prop_assert_eq!(bytes.len(), wanted.len(), "channel {}", channel);
        if let Some(at) = bytes.iter().zip(wanted).position(|(byte, wanted)| byte != wanted) {
            let tile = oracle.at(channel, at / oracle.layout.line_bytes);
            let (byte, wanted) = (bytes[at], wanted[at]);
            return Err(TestCaseError::fail(format!(
                "channel {channel}, byte {at} (tensor and tile {tile:?}): {byte:#x}, not {wanted:#x}"
            )));
        }
    }
    if let Some(tile) = packed.crcs.iter().zip(&crcs).position(|(crc, wanted)| crc != wanted) {
        return Err(TestCaseError::fail(format!("tile {tile}: its CRC is not the oracle's")));
    }
    Ok(())
}

/// What is unpacked from the oracle's channels is the checkpoint again.
fn same_source(case: &Case, oracle: &OracleImage, plan: &Plan, limit: WindowLimit) -> Same {
    let (shards, sources) = twin::shards(&case.tensors);
    let mut found = Shards(shards.0.iter().map(|file| vec![SENTINEL; file.len()]).collect());
    for window in plan.windows(limit) {
        // A kernel's tiles may lie in several windows: each adds its rows.
        let mut source = found.gather(&window);
        for task in &window.tasks {
            let tile = oracle.tile_bytes(&oracle.tiles[host(task.tile.index)]);
            unpack_tile(plan.image(), task, tile, &mut source).unwrap();
        }
        found.scatter(&window, &source);
    }
    for (tensor, source) in case.tensors.iter().zip(&sources) {
        let bytes = &found.0[tensor.index % 2][host(source.offset)..][..host(source.len)];
        prop_assert_eq!(bytes, &tensor.bytes, "{:?}", tensor);
    }
    Ok(())
}

/// Where the image has padding: what stays zero when no byte of the checkpoint is.
fn padding(case: &Case) -> Vec<Vec<bool>> {
    let full = |tensor: &Tensor| Tensor { bytes: vec![0xFF; tensor.bytes.len()], ..tensor.clone() };
    let tensors: Vec<Tensor> = case.tensors.iter().map(full).collect();
    let oracle = image(&tensors, &case.layout).unwrap();
    let zeros = |tile| {
        let bytes = oracle.tile_bytes(tile);
        let check = if case.layout.check { 4 } else { 0 };
        let end = bytes.len() - check;
        bytes.iter().enumerate().map(|(at, &byte)| at < end && byte == 0).collect()
    };
    oracle.tiles.iter().map(zeros).collect()
}

/// Damage is found in padding, at its first byte, and nowhere else.
fn same_padding(
    case: &Case,
    oracle: &OracleImage,
    plan: &Plan,
    salt: u64,
) -> Result<usize, TestCaseError> {
    let padding = padding(case);
    let bytes = padding.iter().flatten().filter(|padding| **padding).count();
    prop_assert_eq!(bytes, oracle.row.padding_bytes);
    let mut found = 0;
    for window in plan.windows(WindowLimit::default()) {
        for task in &window.tasks {
            let number = host(task.tile.index);
            let mut tile = oracle.tile_bytes(&oracle.tiles[number]).to_vec();
            prop_assert_eq!(padding_damage(plan.image(), task, &tile), None);
            let places: Vec<usize> = (0..tile.len()).filter(|&at| padding[number][at]).collect();
            let probe = draw(salt, number as u64, tile.len());
            let probes = [places.first(), places.last(), Some(&probe), Some(&(tile.len() - 1))];
            for &at in probes.into_iter().flatten() {
                let kept = tile[at];
                tile[at] ^= 1 << (at % 8);
                let wanted = padding[number][at].then_some(at);
                prop_assert_eq!(padding_damage(plan.image(), task, &tile), wanted);
                tile[at] = kept;
                found += usize::from(wanted.is_some());
            }
            if let [first, .., last] = places[..] {
                (tile[first], tile[last]) = (1, 1);
                prop_assert_eq!(padding_damage(plan.image(), task, &tile), Some(first));
            }
        }
    }
    Ok(found)
}

#[test]
fn packed_bytes_agree_with_the_oracle() {
    let (packed, windows, damaged) = (Cell::new(0), Cell::new(0), Cell::new(0));
    for_each(0xE002, 4000, &(cases(), limits(), any::<u64>()), |(case, limit, salt)| {
        let (shards, sources) = twin::shards(&case.tensors);
        let Ok(plan) = twin::plan(&case.tensors, &case.layout, sources) else {
            return Ok(());
        };
        let oracle = image(&case.tensors, &case.layout).unwrap();
        let image = twin::pack(&plan, limit, &shards, |image, window, source, bytes| {
            windows.set(windows.get() + 1);
            core(image, window, source, bytes)
        });
        same_bytes(&oracle, &image)?;
        same_source(&case, &oracle, &plan, limit)?;
        damaged.set(damaged.get() + same_padding(&case, &oracle, &plan, salt)?);
        packed.set(packed.get() + 1);
        Ok(())
    });
    let counts = (packed.get(), windows.get(), damaged.get());
    assert!(counts.0 > 3700 && counts.1 > 60_000 && counts.2 > 30_000, "{counts:?}");
}

#[test]
fn a_window_gives_its_tiles_and_refuses_other_buffers() {
    let tried = Cell::new(0);
    for_each(0xE003, 200, &(cases(), limits()), |(case, limit)| {
        let (shards, sources) = twin::shards(&case.tensors);
        let Ok(plan) = twin::plan(&case.tensors, &case.layout, sources) else {
            return Ok(());
        };
        let oracle = image(&case.tensors, &case.layout).unwrap();
        for window in plan.windows(limit).take(20) {
            let source = shards.gather(&window);
            let mut bytes = vec![SENTINEL; host(window.channel_bytes)];
            prop_assert!(pack_window(plan.image(), &window, &source[1..], &mut bytes).is_err());
            prop_assert!(pack_window(plan.image(), &window, &source, &mut bytes[1..]).is_err());
            prop_assert!(bytes.iter().all(|&byte| byte == SENTINEL));
            core(plan.image(), &window, &source, &mut bytes);
            for task in &window.tasks {
                let tile = oracle.tile_bytes(&oracle.tiles[host(task.tile.index)]);
                prop_assert_eq!(tile_slice(task, &bytes).unwrap(), tile);
            }
            tried.set(tried.get() + 1);
        }
        Ok(())
    });
    assert!(tried.get() > 500, "{}", tried.get());
}
