//! Plans: every placement, tile, row and line where the oracle dealt it.

use std::cell::Cell;

use proptest::prelude::*;
use wimg_core::{Image, Placement, Tile, weight_image};
use wimg_core::{Location, TensorTable};
use wimg_tests::cases::{Case, cases, for_each, random_bytes};
use wimg_tests::oracle::format::format;
use wimg_tests::oracle::{OracleImage, Tensor, image};
use wimg_tests::twin::{self, host};

pub(crate) type Same = Result<(), TestCaseError>;

/// Everything that an image knows of itself without being asked for a place.
pub(crate) fn same_image(oracle: &OracleImage, image: &Image) -> Same {
    let row = &oracle.row;
    let lines: Vec<u64> = row.channel_lines.iter().map(|&lines| lines as u64).collect();
    prop_assert_eq!(image.layout(), &twin::layout(&oracle.layout));
    prop_assert_eq!(image.tensors().len(), row.tensors);
    prop_assert_eq!(image.tile_count(), row.tiles as u64);
    prop_assert_eq!(image.channel_lines(), lines);
    prop_assert_eq!(image.skew_lines(), row.skew_lines as u64);
    prop_assert_eq!(image.largest_tile_lines(), row.largest_tile_lines as u64);
    prop_assert_eq!(image.free_lines(), i128::from(row.free_lines));
    prop_assert_eq!(image.fits(), row.fits);
    prop_assert_eq!(image.placements().len(), oracle.placements.len());
    let mut held = vec![0; oracle.layout.channels];
    for (tensor, placement) in image.placements().iter().enumerate() {
        same_placement(oracle, tensor, placement, &mut held)?;
    }
    Ok(())
}

/// One tensor's placement; `held` is what the channels hold before and after it.
fn same_placement(
    oracle: &OracleImage,
    tensor: usize,
    placement: &Placement,
    held: &mut [u64],
) -> Same {
    let wanted = &oracle.placements[tensor];
    let tiles = &oracle.tiles[wanted.first_tile..][..wanted.tiles];
    let cut = &placement.cut;
    prop_assert_eq!(host(cut.rows), wanted.rows);
    prop_assert_eq!(host(cut.pieces), wanted.pieces);
    prop_assert_eq!(host(cut.tile_rows), wanted.tile_rows);
    prop_assert_eq!(host(cut.tile_lines), wanted.tile_lines);
    prop_assert_eq!(host(cut.last_tile_lines), tiles.last().unwrap().lines);
    prop_assert_eq!(host(cut.tiles), wanted.tiles);
    prop_assert_eq!(host(placement.tiles.start), wanted.first_tile);
    prop_assert_eq!(placement.tiles.end - placement.tiles.start, cut.tiles);
    let step = if cut.striped { cut.slot_bytes } else { cut.row_bytes };
    prop_assert_eq!(host(step), tiles[0].row_step);

    let order: Vec<usize> = placement.order().iter().map(|&channel| channel.into()).collect();
    prop_assert_eq!(&order, &wanted.order);
    for (turn, &channel) in order.iter().enumerate() {
        prop_assert_eq!(host(placement.turn(channel)), turn);
    }
    prop_assert_eq!(&placement.first_line, &held);
    let (before, mut count) = (held.to_vec(), vec![0; held.len()]);
    for tile in tiles {
        held[tile.channel] += tile.lines as u64;
        count[tile.channel] += 1;
    }
    for channel in 0..held.len() {
        prop_assert_eq!(placement.tiles_on(channel), count[channel]);
        prop_assert_eq!(placement.lines_on(channel), held[channel] - before[channel]);
    }
    Ok(())
}

/// Every tile, by number and in runs.
pub(crate) fn same_tiles(oracle: &OracleImage, image: &Image, salt: u64) -> Same {
    let tiles: Vec<Tile> = (0..oracle.tiles.len()).map(|i| twin::tile(oracle, i)).collect();
    prop_assert_eq!(&image.tiles().collect::<Vec<_>>(), &tiles);
    for (i, &tile) in tiles.iter().enumerate() {
        prop_assert_eq!(image.tile(i as u64), Some(tile));
        prop_assert_eq!(tile.rows(), oracle.tiles[i].rows as u64);
    }
    for past in [tiles.len() as u64, tiles.len() as u64 + 1, u64::MAX] {
        prop_assert_eq!(image.tile(past), None);
    }
    let most = tiles.len() + 2;
    for probe in 0..8 {
        let (from, to) = (draw(salt, 2 * probe, most), draw(salt, 2 * probe + 1, most));
        let run: Vec<Tile> = image.tiles_of(from as u64..to as u64).collect();
        let wanted = tiles.iter().take(to).skip(from).copied().collect::<Vec<_>>();
        prop_assert_eq!(run, wanted, "tiles {}..{}", from, to);
    }
    Ok(())
}

/// Every row where the oracle has it, and that the row's bytes do lie there.
fn same_rows(case: &Case, oracle: &OracleImage, image: &Image) -> Result<usize, TestCaseError> {
    let mut rows = 0;
    for (number, tile) in oracle.tiles.iter().enumerate() {
        let tensor = &case.tensors[tile.tensor];
        for row in tile.first_row..tile.first_row + tile.rows {
            let found = image.locate(tile.tensor, row as u64);
            let byte = (row - tile.first_row) * tile.row_step;
            let Some(location) = found else {
                return Err(TestCaseError::fail(format!("row {row} of {tensor:?} lies nowhere")));
            };
            prop_assert_eq!(location.tile, twin::tile(oracle, number));
            prop_assert_eq!(host(location.byte), byte);
            bytes_lie_there(oracle, tensor, row, &location)?;
            rows += 1;
        }
    }
    for (tensor, placement) in oracle.placements.iter().enumerate() {
        // The oracle's own answer, for the first and last row.
        for row in [0, placement.rows - 1] {
            let found = image
                .locate(tensor, row as u64)
                .map(|found| (host(found.tile.channel), host(found.tile.line), host(found.byte)));
            prop_assert_eq!(found, oracle.locate(tensor, row));
        }
        for past in [placement.rows as u64, u64::MAX] {
            prop_assert_eq!(image.locate(tensor, past), None);
        }
    }
    prop_assert_eq!(image.locate(oracle.placements.len(), 0), None);
    Ok(rows)
}

/// The row's blocks lie in the oracle's channel where the core says.
fn bytes_lie_there(oracle: &OracleImage, tensor: &Tensor, row: usize, found: &Location) -> Same {
    if tensor.kernel {
        return Ok(());
    }
    let layout = &oracle.layout;
    let format = format(tensor.format).unwrap();
    let row_bytes = host(tensor.dims[0]) / format.elems * format.bytes;
    let from = &tensor.bytes[row * row_bytes..][..row_bytes];
    let lines = &oracle.channels[host(found.tile.channel)];
    let start = host(found.tile.line) * layout.line_bytes + host(found.byte);
    let striped = layout.stripe.is_some() && tensor.streamed;
    prop_assert_eq!(found.block_stride.is_some(), striped);
    let octet = striped && layout.octets && format.name == "Q8_0";
    let block = if !striped { row_bytes } else { format.bytes * if octet { 8 } else { 1 } };
    let stride = found.block_stride.map_or(row_bytes, host);
    for (b, bytes) in from.chunks(block).enumerate() {
        prop_assert_eq!(bytes, &lines[start + b * stride..][..block], "block {}", b);
    }
    Ok(())
}

/// Every line of every channel leads to its tile, and to none past the end.
fn same_lines(oracle: &OracleImage, image: &Image) -> Result<usize, TestCaseError> {
    let mut lines = 0;
    for (number, tile) in oracle.tiles.iter().enumerate() {
        let wanted = Some(twin::tile(oracle, number));
        for line in tile.line..tile.line + tile.lines {
            prop_assert_eq!(image.at(tile.channel as u64, line as u64), wanted);
            lines += 1;
        }
    }
    prop_assert_eq!(lines, oracle.row.channel_lines.iter().sum::<usize>());
    for (channel, &held) in oracle.row.channel_lines.iter().enumerate() {
        for past in [held as u64, held as u64 + 1, u64::MAX] {
            prop_assert_eq!(image.at(channel as u64, past), None);
        }
    }
    for channel in [oracle.layout.channels as u64, u64::MAX] {
        prop_assert_eq!(image.at(channel, 0), None);
    }
    Ok(lines)
}

/// A channel's tiles from any line on.
fn same_channel_tiles(oracle: &OracleImage, image: &Image, salt: u64) -> Same {
    for probe in 0..12 {
        let channel = draw(salt, 3 * probe, oracle.layout.channels);
        let most = oracle.row.channel_lines[channel] + 3;
        let (from, to) = (draw(salt, 3 * probe + 1, most), draw(salt, 3 * probe + 2, most));
        // Some to the end, wherever it is; some empty, where from is past to.
        let to = if probe % 3 == 0 { usize::MAX } else { to };
        let lies = |i: &usize| {
            let tile = &oracle.tiles[*i];
            let overlaps = from < to && tile.line < to && tile.line + tile.lines > from;
            tile.channel == channel && overlaps
        };
        let wanted: Vec<Tile> =
            (0..oracle.tiles.len()).filter(lies).map(|i| twin::tile(oracle, i)).collect();
        let run: Vec<Tile> = image.channel_tiles(channel as u64, from as u64..to as u64).collect();
        prop_assert_eq!(run, wanted, "channel {}, lines {}..{}", channel, from, to);
    }
    let nowhere = image.channel_tiles(oracle.layout.channels as u64, 0..u64::MAX);
    prop_assert_eq!(nowhere.count(), 0);
    Ok(())
}

/// Number `nth` of a salt's numbers below `most`.
pub(crate) fn draw(salt: u64, nth: u64, most: usize) -> usize {
    let seed = salt.wrapping_add(nth.wrapping_mul(0x5851_F42D_4C95_7F2D));
    let word: [u8; 8] = random_bytes(seed, 8).try_into().unwrap();
    host(u64::from_le_bytes(word) % most as u64)
}

/// The case's image by the core: planned, and ordered from its table.
fn planned(case: &Case) -> Result<Image, String> {
    let (_, sources) = twin::shards(&case.tensors);
    let plan = twin::plan(&case.tensors, &case.layout, sources);
    let tensors = case.table().into_iter().map(twin::entry).collect();
    let table = TensorTable { tensors, ..TensorTable::default() };
    let ordered = weight_image(&table, &case.order(), &twin::layout(&case.layout));
    assert_eq!(plan.clone().map(|plan| plan.image().clone()), ordered);
    plan.map(|plan| plan.image().clone()).map_err(|error| error.to_string())
}

#[test]
fn plans_agree_with_the_oracle() {
    let (packed, refused) = (Cell::new(0), Cell::new(0));
    let (rows, lines) = (Cell::new(0), Cell::new(0));
    for_each(0xE001, 6000, &(cases(), any::<u64>()), |(case, salt)| {
        let (oracle, image) = match (image(&case.tensors, &case.layout), planned(&case)) {
            (Ok(oracle), Ok(image)) => (oracle, image),
            (Err(_), Err(_)) => {
                refused.set(refused.get() + 1);
                return Ok(());
            }
            (oracle, core) => {
                let (oracle, core) = (oracle.map(|_| ()), core.map(|_| ()));
                return Err(TestCaseError::fail(format!("oracle {oracle:?}, core {core:?}")));
            }
        };
        same_image(&oracle, &image)?;
        same_tiles(&oracle, &image, salt)?;
        same_channel_tiles(&oracle, &image, salt)?;
        rows.set(rows.get() + same_rows(&case, &oracle, &image)?);
        lines.set(lines.get() + same_lines(&oracle, &image)?);
        packed.set(packed.get() + 1);
        Ok(())
    });
    let counts = (packed.get(), refused.get(), rows.get(), lines.get());
    assert!(counts.0 > 5500 && counts.1 > 60, "{counts:?}");
    assert!(counts.2 > 1_000_000 && counts.3 > 1_000_000, "{counts:?}");
}
