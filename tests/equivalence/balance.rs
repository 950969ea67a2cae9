//! Tables of as many tensors as no checkpoint has: the deal's promises, without any bytes.

use std::cell::Cell;

use proptest::prelude::*;
use wimg_core::{Format, Image, ImageLayout, TensorEntry, TensorTable, weight_image};
use wimg_tests::cases::for_each;

use crate::plan::{Same, draw};

/// Tensors that any of `layouts()` takes: vectors, small and large matrices, a few kernels.
fn table(count: usize, most_rows: usize, salt: u64) -> TensorTable {
    let formats: Vec<Format> = Format::all().collect();
    let tensor = |number: usize| {
        let nth = number as u64 * 8;
        let format = formats[draw(salt, nth, formats.len())];
        let block = format.block().unwrap();
        // Whole octets whatever the format.
        let row = block.elems * 8 * (1 + draw(salt, nth + 1, 24) as u64);
        let rows = 1 + draw(salt, nth + 2, most_rows) as u64;
        let kernel = block.elems == 1 && draw(salt, nth + 3, 4) == 0;
        let dims = match draw(salt, nth + 4, 4) {
            _ if kernel => vec![4, row],
            0 => vec![row],
            1 => vec![row, rows, 3],
            _ => vec![row, rows],
        };
        let streamed = !kernel && draw(salt, nth + 5, 2) == 0;
        TensorEntry { name: format!("t{number}"), format, dims, kernel, streamed }
    };
    TensorTable { tensors: (0..count).map(tensor).collect(), ..TensorTable::default() }
}

fn layouts(most_channels: u64) -> impl Strategy<Value = ImageLayout> {
    let stripe = prop_oneof![1 => Just(None), 1 => (1..=16_u64).prop_map(Some)];
    let lines = prop_oneof![Just(4_u64), Just(64), Just(72), (1..=64_u64).prop_map(|n| n * 4)];
    let shape = (1..=most_channels, lines, 2..=512_u64, any::<bool>());
    (shape, stripe, any::<bool>(), 1..=64_u64).prop_map(
        |((channels, line_bytes, tile_lines, check), stripe, octets, slot)| ImageLayout {
            channels,
            // A kernel's element and the check word fit the least tile.
            line_bytes: if check { line_bytes.max(8) } else { line_bytes },
            tile_lines,
            check,
            stripe,
            octets: octets && stripe.is_some(),
            slot: if stripe.is_some() { slot } else { 1 },
            ..ImageLayout::default()
        },
    )
}

fn ordered(table: &TensorTable, layout: &ImageLayout) -> Image {
    let order: Vec<usize> = (0..table.tensors.len()).rev().collect();
    weight_image(table, &order, layout).unwrap()
}

fn spread(held: &[u64]) -> u64 {
    held.iter().max().unwrap() - held.iter().min().unwrap()
}

/// What holds of every image: channels within a tile of each other, and lines that are rows,
/// slots' zeros, check words and less than a line of zeros a tile.
fn promises_hold(image: &Image) -> Same {
    let layout = image.layout();
    let largest = image.largest_tile_lines();
    prop_assert!(spread(image.channel_lines()) <= image.skew_lines());
    prop_assert!(image.skew_lines() <= largest);
    let mut bytes = u128::from(image.tile_count() * layout.check_bytes());
    let mut tiles = 0;
    for (tensor, placement) in image.tensors().iter().zip(image.placements()) {
        let block = tensor.format.block().unwrap();
        let blocks = tensor.dims.iter().product::<u64>() / block.elems;
        let striped = layout.stripe.is_some() && tensor.streamed;
        let (units, unit) = match striped && layout.octets && tensor.format == Format::Q8_0 {
            true => (blocks / 8, block.bytes * 8),
            false => (blocks, block.bytes),
        };
        let slot = if striped { unit.next_multiple_of(layout.slot) } else { unit };
        bytes += u128::from(units) * u128::from(slot);
        prop_assert_eq!(placement.tiles.start, tiles);
        tiles = placement.tiles.end;
        prop_assert!(placement.cut.tile_lines <= largest);
    }
    prop_assert_eq!(tiles, image.tile_count());
    let lines: u64 = image.channel_lines().iter().sum();
    let held = u128::from(lines) * u128::from(layout.line_bytes);
    prop_assert!(held >= bytes, "{held} < {bytes}");
    let fill = held - bytes;
    prop_assert!(fill <= u128::from(tiles) * u128::from(layout.line_bytes - 1), "{fill}");
    Ok(())
}

#[test]
fn large_tables_keep_the_deals_promises() {
    let (tensors, tiles) = (Cell::new(0), Cell::new(0));
    for (seed, count, cases, channels) in
        [(0xE006, 1000, 24, 256), (0xE007, 10_000, 4, 64), (0xE008, 100_000, 1, 8)]
    {
        for_each(seed, cases, &(layouts(channels), any::<u64>()), |(layout, salt)| {
            let image = ordered(&table(count, 1 << 20, salt), &layout);
            promises_hold(&image)?;
            // Any place leads back to its tile, however far in.
            for probe in 0..200 {
                let tensor = draw(salt, probe, count);
                let rows = image.placements()[tensor].cut.rows;
                let row = (u64::MAX / 200 * probe) % rows;
                let tile = image.locate(tensor, row).unwrap().tile;
                prop_assert!(tile.first_row <= row && row < tile.end_row);
                prop_assert_eq!(image.at(tile.channel, tile.line), Some(tile));
                prop_assert_eq!(image.at(tile.channel, tile.line + tile.lines - 1), Some(tile));
                prop_assert_eq!(image.tile(tile.index), Some(tile));
            }
            tensors.set(tensors.get() + count);
            tiles.set(tiles.get() + image.tile_count());
            Ok(())
        });
    }
    assert_eq!(tensors.get(), 24 * 1000 + 4 * 10_000 + 100_000);
    assert!(tiles.get() > 1_000_000_000, "{} tiles", tiles.get());
}

/// Deals tile by tile, and looks at the channels after each.
fn stepped(image: &Image) -> (Vec<u64>, u64) {
    let mut held = vec![0; image.channel_lines().len()];
    let mut skew = 0;
    for placement in image.placements() {
        let cut = &placement.cut;
        let mut order: Vec<usize> = (0..held.len()).collect();
        order.sort_by_key(|&channel| (held[channel], channel));
        for (nth, &channel) in (1..=cut.tiles).zip(order.iter().cycle()) {
            held[channel] += if nth == cut.tiles { cut.last_tile_lines } else { cut.tile_lines };
            skew = u64::max(skew, spread(&held));
        }
    }
    (held, skew)
}

#[test]
fn the_skews_arithmetic_is_stepping_every_tile() {
    let (tiles, below) = (Cell::new(0), Cell::new(0));
    for_each(0xE009, 300, &(layouts(40), 1..120_usize, any::<u64>()), |(layout, count, salt)| {
        let image = ordered(&table(count, 600, salt), &layout);
        promises_hold(&image)?;
        prop_assert_eq!(stepped(&image), (image.channel_lines().to_vec(), image.skew_lines()));
        tiles.set(tiles.get() + image.tile_count());
        below.set(below.get() + u32::from(image.skew_lines() < image.largest_tile_lines()));
        Ok(())
    });
    assert!(tiles.get() > 300_000 && below.get() > 20, "{} tiles, {}", tiles.get(), below.get());
}
