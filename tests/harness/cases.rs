//! Random tables and layouts, small enough for the oracle, crowded at the edges of the rules.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a case that fails is a test that fails")]

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::oracle::format::{FORMATS, Format};
use crate::oracle::{Layout, Tensor};

/// The most bytes that a tensor has, in the checkpoint and, slots included, in the image.
pub const TENSOR_BYTES: usize = 48 << 10;

/// The most tensors of a case.
pub const TENSORS: usize = 6;

/// A table, an order and a layout.
#[derive(Clone, Debug)]
pub struct Case {
    /// The layout, always within its bounds.
    pub layout: Layout,
    /// The tensors in the image's order; their `index` is their place in the table.
    pub tensors: Vec<Tensor>,
}

impl Case {
    /// The tensors in the table's order.
    pub fn table(&self) -> Vec<&Tensor> {
        let mut table: Vec<&Tensor> = self.tensors.iter().collect();
        table.sort_by_key(|tensor| tensor.index);
        table
    }

    /// Places in the table, in the image's order.
    pub fn order(&self) -> Vec<usize> {
        self.tensors.iter().map(|tensor| tensor.index).collect()
    }
}

/// A tensor before it has bytes and a place.
#[derive(Clone, Debug)]
struct Sketch {
    format: Format,
    dims: Vec<u64>,
    kernel: bool,
    streamed: bool,
}

/// Channel counts: one, a few, primes, the most.
fn channels() -> impl Strategy<Value = usize> {
    prop_oneof![
        2 => Just(1_usize),
        4 => 2..=8_usize,
        2 => select(vec![11, 13, 31, 61, 127, 251]),
        1 => 9..=256_usize,
        1 => Just(256_usize),
    ]
}

/// A layout within its bounds.
pub fn layouts() -> impl Strategy<Value = Layout> {
    let line_bytes = prop_oneof![1 => Just(4_usize), 2 => Just(64), 2 => Just(72), 5 => (1..=50_usize).prop_map(|words| words * 4)];
    let tile_lines = prop_oneof![1 => Just(1_usize), 3 => 1..=8_usize, 3 => 1..=64_usize];
    let channel_lines = prop_oneof![3 => Just(1_usize << 27), 1 => 1..=400_usize];
    let stripe =
        proptest::option::of(prop_oneof![3 => 1..=5_usize, 1 => 6..=40_usize, 1 => Just(65536)]);
    let slot = prop_oneof![
        3 => Just(1_usize),
        2 => select(vec![2, 4, 8, 16, 32, 34, 64, 272, 512]),
        1 => 2..=100_usize,
    ];
    (channels(), line_bytes, tile_lines, channel_lines, any::<bool>(), stripe, any::<bool>(), slot)
        .prop_map(
            |(channels, line_bytes, tile_lines, channel_lines, check, stripe, octets, slot)| {
                let (octets, slot) = if stripe.is_some() { (octets, slot) } else { (false, 1) };
                Layout {
                    channels,
                    line_bytes,
                    tile_lines,
                    channel_lines,
                    check,
                    stripe,
                    octets,
                    slot,
                }
            },
        )
}

/// Bytes that a tile has for rows.
fn room(layout: &Layout) -> usize {
    layout.tile_lines * layout.line_bytes - if layout.check { 4 } else { 0 }
}

/// Blocks of a row: a few, or around a whole fraction or a multiple of a tile.
fn row_blocks(format: Format, layout: &Layout) -> impl Strategy<Value = usize> + use<> {
    let tile = room(layout);
    let most = TENSOR_BYTES / format.bytes.next_multiple_of(layout.slot);
    let around = move |bytes: usize, nudge: usize| {
        // A nudge of 1 is the exact fit, where the format has one.
        (bytes / format.bytes + nudge).saturating_sub(1).clamp(1, most)
    };
    prop_oneof![
        4 => 1..=usize::min(12, most),
        2 => (1..=5_usize, 0..=2_usize).prop_map(move |(rows, nudge)| around(tile / rows, nudge)),
        1 => (2..=3_usize, 0..=2_usize).prop_map(move |(tiles, nudge)| around(tile * tiles, nudge)),
    ]
}

/// A number of rows, cut to what fits a tensor's bytes.
fn rows(most: usize) -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(1_usize), 3 => 1..=9_usize, 3 => 1..=80_usize, 1 => 1..=700_usize]
        .prop_map(move |rows| usize::min(rows, most))
}

/// The ways to write a tensor of `rows` rows: fewer dims, more dims, trailing ones.
fn dims(inner: usize, rows: usize, way: usize) -> Vec<u64> {
    let (inner, rows) = (inner as u64, rows as u64);
    match way {
        0 if rows == 1 => vec![inner],
        1 => vec![inner, rows, 1],
        2 => vec![inner, rows, 1, 1],
        3 => vec![inner, 1, rows],
        4 if rows.is_multiple_of(2) => vec![inner, 2, rows / 2],
        5 if rows.is_multiple_of(6) => vec![inner, 3, rows / 6, 2],
        _ => vec![inner, rows],
    }
}

/// A matrix or vector of any format, streamed or not.
fn matrix(layout: &Layout) -> impl Strategy<Value = Sketch> + use<> {
    let layout = layout.clone();
    let octets = layout.octets;
    let q8_0 = FORMATS.into_iter().filter(|format| format.name == "Q8_0").collect::<Vec<_>>();
    let formats =
        prop_oneof![3 => select(&FORMATS[..]), if octets { 3 } else { 1 } => select(q8_0)];
    let sketch = move |(format, streamed, ragged): (Format, bool, bool)| {
        let layout = layout.clone();
        row_blocks(format, &layout).prop_flat_map(move |blocks| {
            let mut blocks = blocks;
            // Ragged rows are refused: a few of them, so that the rest of a case counts.
            if layout.octets && streamed && format.name == "Q8_0" && !ragged {
                blocks = blocks.next_multiple_of(8);
            }
            let row_bytes = blocks * format.bytes.next_multiple_of(layout.slot);
            let most = usize::max(1, TENSOR_BYTES / row_bytes);
            (rows(most), 0..9_usize).prop_map(move |(rows, way)| Sketch {
                format,
                dims: dims(blocks * format.elems, rows, way),
                kernel: false,
                streamed,
            })
        })
    };
    (formats, any::<bool>(), proptest::bool::weighted(0.04)).prop_flat_map(sketch)
}

/// A kernel: few channels, primes, and taps around the exact fit of one piece or of several.
fn kernel(layout: &Layout) -> impl Strategy<Value = Sketch> + use<> {
    let formats: Vec<Format> = FORMATS.into_iter().filter(|format| format.elems == 1).collect();
    let with_check = room(layout);
    let tile = layout.tile_lines * layout.line_bytes;
    (select(formats), 1..=5_usize).prop_flat_map(move |(format, taps)| {
        let most = TENSOR_BYTES / format.bytes / taps;
        let around = move |bytes: usize, pieces: usize, nudge: usize| {
            (bytes / format.bytes * pieces + nudge).saturating_sub(1).clamp(1, most)
        };
        let near = (1..=4_usize, 0..=2_usize);
        let channels = prop_oneof![
            2 => 1..=60_usize,
            2 => select(vec![2, 3, 7, 31, 127, 509, 1021, 1531]),
            2 => select(vec![48, 120, 360, 720, 1024, 1260]),
            3 => near.clone().prop_map(move |(pieces, nudge)| around(with_check, pieces, nudge)),
            2 => near.prop_map(move |(pieces, nudge)| around(tile, pieces, nudge)),
        ];
        channels.prop_map(move |channels| Sketch {
            format,
            dims: vec![taps as u64, usize::min(channels, most) as u64],
            kernel: true,
            streamed: false,
        })
    })
}

/// Bytes that depend on the seed and on nothing else (SplitMix64).
pub fn random_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bytes.extend((word ^ (word >> 31)).to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

fn tensor(sketch: Sketch, index: usize, seed: u64) -> Tensor {
    let Sketch { format, dims, kernel, streamed } = sketch;
    let elements: usize = dims.iter().map(|&dim| usize::try_from(dim).unwrap()).product();
    let seed = seed.wrapping_add(index as u64);
    Tensor {
        name: format!("t{index}"),
        index,
        format: format.id,
        dims,
        bytes: random_bytes(seed, elements / format.elems * format.bytes),
        kernel,
        streamed,
        in_pass: true,
    }
}

/// Tables in a random order, each with a layout.
pub fn cases() -> impl Strategy<Value = Case> {
    let case = |layout: Layout| {
        let sketches = prop_oneof![4 => matrix(&layout).boxed(), 1 => kernel(&layout).boxed()];
        let table = proptest::collection::vec(sketches, 0..=TENSORS);
        let places = table.prop_flat_map(|sketches| {
            let places: Vec<usize> = (0..sketches.len()).collect();
            (Just(sketches), Just(places).prop_shuffle())
        });
        (Just(layout), places, any::<u64>()).prop_map(|(layout, (sketches, places), seed)| Case {
            layout,
            tensors: sketches
                .into_iter()
                .zip(places)
                .map(|(sketch, index)| tensor(sketch, index, seed))
                .collect(),
        })
    };
    layouts().prop_flat_map(case)
}

/// Runs `check` on `count` values of `strategy`, the same ones for the same seed.
///
/// # Panics
/// A check fails: with the seed and the smallest case that fails.
#[expect(clippy::print_stderr, reason = "a failure is found again by its seed")]
pub fn for_each<S: Strategy>(
    seed: u64,
    count: u32,
    strategy: &S,
    check: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    eprintln!("seed {seed:#x}, {count} cases");
    let config = Config {
        cases: count,
        failure_persistence: None,
        max_shrink_iters: 4096,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    match TestRunner::new_with_rng(config, rng).run(strategy, check) {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("seed {seed:#x}: {why}\n{case:#?}"),
        Err(TestError::Abort(why)) => panic!("seed {seed:#x}: gave up: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    use super::*;
    use crate::oracle::{OracleImage, image};

    /// What a case is an example of.
    fn classes(case: &Case, image: &OracleImage) -> Vec<String> {
        let layout = &case.layout;
        let mut classes = Vec::new();
        let mut class = |yes: bool, name: &str| {
            if yes {
                classes.push(name.to_owned());
            }
        };
        class(layout.channels == 1, "one channel");
        class(layout.channels == 256, "256 channels");
        class(layout.channels > 2 && layout.channels % 2 == 1, "odd channels");
        class(layout.line_bytes == 4, "lines of 4 bytes");
        class(layout.check, "check word");
        class(case.tensors.is_empty(), "no tensors");
        class(!image.row.fits, "does not fit");
        class(case.order() != (0..case.tensors.len()).collect::<Vec<_>>(), "another order");
        for (number, placement) in image.placements.iter().enumerate() {
            let tensor = &case.tensors[number];
            let format = crate::oracle::format::format(tensor.format).unwrap();
            let tiles = &image.tiles[placement.first_tile..][..placement.tiles];
            let row_bytes = tensor.bytes.len() / placement.rows;
            let striped = layout.stripe.is_some() && tensor.streamed;
            let exact = row_bytes * placement.tile_rows == room(layout);
            class(true, &format!("format {}", format.name));
            class(tensor.dims.len() == 1, "vector");
            class(tensor.dims.len() > 2 && tensor.dims.last() == Some(&1), "trailing one");
            class(tensor.dims.len() > 2 && tensor.dims.last() != Some(&1), "three dims");
            class(placement.tiles > 2 * layout.channels, "three rounds");
            class(!tensor.kernel && !striped && row_bytes > room(layout), "row over a tile");
            class(!tensor.kernel && !striped && exact, "rows fit exactly");
            class(tiles.last().unwrap().rows < placement.tile_rows, "ragged last tile");
            if tensor.kernel {
                let fit = if layout.check { "fits, check" } else { "fits, no check" };
                class(true, &format!("kernel of {} bytes", format.bytes));
                class(placement.pieces > 1, "pieces");
                class(
                    placement.pieces as u64 == tensor.dims[1] && placement.pieces > 7,
                    "a piece an element",
                );
                class(placement.tile_rows > 1, "taps share a tile");
                class(row_bytes == room(layout) && placement.pieces == 1, &format!("tap {fit}"));
                class(row_bytes == room(layout) && placement.pieces > 1, &format!("piece {fit}"));
            }
            if striped {
                class(true, "striped");
                class(layout.slot > 1, "slot");
                class(layout.octets && format.name == "Q8_0", "octets");
                class(layout.octets && format.name == "Q8_0" && layout.slot > 1, "octets, slot");
                class(placement.tiles > layout.channels, "striped, two rounds");
            }
        }
        classes
    }

    #[test]
    fn cases_reach_every_edge_that_they_are_for() {
        let seen = RefCell::new(BTreeMap::<String, usize>::new());
        let (packed, refused, most) = (Cell::new(0), Cell::new(0), Cell::new(0));
        for_each(0x0A11, 4000, &cases(), |case| {
            match image(&case.tensors, &case.layout) {
                Ok(image) => {
                    packed.set(packed.get() + 1);
                    most.set(usize::max(most.get(), image.channels.iter().map(Vec::len).sum()));
                    for class in classes(&case, &image) {
                        *seen.borrow_mut().entry(class).or_default() += 1;
                    }
                }
                Err(_) => refused.set(refused.get() + 1),
            }
            Ok(())
        });
        let seen = seen.into_inner();
        let formats = seen.keys().filter(|class| class.starts_with("format ")).count();
        assert_eq!(formats, FORMATS.len(), "{seen:#?}");
        // A class that `classes` names and no case reaches is missing here.
        assert_eq!(seen.len() - formats, 31, "{seen:#?}");
        let (packed, refused) = (packed.get(), refused.get());
        assert!(refused > 0 && packed > 3800, "{packed} packed, {refused} refused");
        assert!(most.get() <= 256 << 10, "an image of {} bytes", most.get());
    }

    #[test]
    fn a_seed_gives_the_same_cases_and_another_seed_others() {
        let drawn = |seed| {
            let drawn = RefCell::new(Vec::new());
            for_each(seed, 20, &cases(), |case| {
                drawn.borrow_mut().push((case.layout, case.tensors));
                Ok(())
            });
            drawn.into_inner()
        };
        assert_eq!(drawn(1).len(), 20);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    #[should_panic(expected = "seed 0x7: no piece may be")]
    fn a_check_that_fails_is_heard() {
        for_each(7, 200, &cases(), |case| {
            let image = image(&case.tensors, &case.layout);
            let pieces = image.map_or(1, |image| {
                image.placements.iter().map(|placement| placement.pieces).max().unwrap_or(1)
            });
            prop_assert!(pieces == 1, "no piece may be");
            Ok(())
        });
    }
}
