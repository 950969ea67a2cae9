//! The oracle against the published vectors, as it must be right before it may judge the core; and
//! the core.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what does not read or pack fails a test")]

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wimg_core::gguf::read;
use wimg_core::{Checkpoint, ImageLayout, Plan, Read, WindowLimit, pack_window};
use wimg_tests::oracle::crc32c::crc32c;
use wimg_tests::oracle::gguf::{self, Gguf};
use wimg_tests::oracle::step::{Selection, select};
use wimg_tests::oracle::{Layout, OracleImage, Tensor, image};
use wimg_tests::twin::{self, Packed, Shards};
use wimg_tests::vectors::{Vector, path, vectors};

fn checkpoint(vector: &Vector) -> Gguf {
    gguf::read(&std::fs::read(path(&vector.file)).unwrap())
}

fn packed(vector: &Vector) -> (Vec<Tensor>, OracleImage) {
    let tensors = select(&checkpoint(vector), vector.selection).unwrap();
    let image = image(&tensors, &vector.layout).unwrap();
    (tensors, image)
}

/// What of the oracle's image is not as the vector has it.
fn disagreements(vector: &Vector, image: &OracleImage) -> Vec<String> {
    let row = &image.row;
    let ledger = json!({
        "tensors": row.tensors,
        "tiles": row.tiles,
        "row_bytes": row.row_bytes,
        "padding_bytes": row.padding_bytes,
        "check_bytes": row.check_bytes,
        "channel_lines": row.channel_lines,
        "skew_lines": row.skew_lines,
        "largest_tile_lines": row.largest_tile_lines,
    });
    disagreements_of(vector, &ledger, &image.channels)
}

/// What of a ledger and of channel files is not as the vector has it.
fn disagreements_of(vector: &Vector, ledger: &Value, channels: &[Vec<u8>]) -> Vec<String> {
    let mut found = Vec::new();
    if *ledger != vector.ledger {
        found.push(format!("case {}: ledger {ledger}, not {}", vector.case, vector.ledger));
    }
    let digests: Vec<String> =
        channels.iter().map(|bytes| format!("{:x}", Sha256::digest(bytes))).collect();
    if digests != vector.channel_sha256 {
        found.push(format!("case {}: channels {digests:?}", vector.case));
    }
    found
}

#[test]
fn the_oracle_agrees_with_every_vector() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 14);
    for vector in &vectors {
        let (_, image) = packed(vector);
        assert_eq!(disagreements(vector, &image), Vec::<String>::new());
        let row = &image.row;
        let lines: usize = row.channel_lines.iter().sum();
        assert_eq!(
            lines * vector.layout.line_bytes,
            row.row_bytes + row.padding_bytes + row.check_bytes
        );
        assert!(row.skew_lines <= row.largest_tile_lines);
    }
}

/// The core's ledger, as far as the vectors have it.
fn ledger(plan: &Plan) -> Value {
    let image = plan.image();
    let cuts = image.placements().iter().map(|placement| &placement.cut);
    let row_bytes: u64 = cuts.map(|cut| cut.rows * cut.row_bytes).sum();
    let check_bytes = image.tile_count() * image.layout().check_bytes();
    let lines: u64 = image.channel_lines().iter().sum();
    json!({
        "tensors": image.tensors().len(),
        "tiles": image.tile_count(),
        "row_bytes": row_bytes,
        "padding_bytes": lines * image.layout().line_bytes - row_bytes - check_bytes,
        "check_bytes": check_bytes,
        "channel_lines": image.channel_lines(),
        "skew_lines": image.skew_lines(),
        "largest_tile_lines": image.largest_tile_lines(),
    })
}

/// The core's plan of a vector, and the file that it is of.
fn planned(vector: &Vector) -> (Plan, Shards) {
    let file = std::fs::read(path(&vector.file)).unwrap();
    let Read::Header(header) = read(&file, file.len() as u64).unwrap() else {
        panic!("{}: the whole file is not enough", vector.file);
    };
    let checkpoint = Checkpoint::new(vec![header]).unwrap();
    let layout = twin::layout(&vector.layout);
    let selection = twin::selection(vector.selection);
    (Plan::new(&checkpoint, selection, &layout).unwrap(), Shards(vec![file]))
}

fn packed_by_core(plan: &Plan, limit: WindowLimit, shards: &Shards) -> Packed {
    twin::pack(plan, limit, shards, |image, window, source, bytes| {
        pack_window(image, window, source, bytes).unwrap()
    })
}

#[test]
fn the_core_agrees_with_every_vector_in_whatever_windows() {
    let one_tile = WindowLimit { tiles: 1, ..WindowLimit::default() };
    let odd = |bytes| WindowLimit { bytes, ..WindowLimit::default() };
    let mut windows = Vec::new();
    for vector in vectors() {
        let (plan, shards) = planned(&vector);
        let packed = packed_by_core(&plan, WindowLimit::default(), &shards);
        let found = disagreements_of(&vector, &ledger(&plan), &packed.channels);
        assert_eq!(found, Vec::<String>::new());
        windows.push(plan.windows(WindowLimit::default()).count());
        for limit in [one_tile, odd(4097), odd(100_003), odd(1_000_001)] {
            let again = packed_by_core(&plan, limit, &shards);
            assert!(again == packed, "case {}: other bytes under {limit:?}", vector.case);
            windows.push(plan.windows(limit).count());
        }
        let (_, oracle) = self::packed(&vector);
        let crcs: Vec<u32> = oracle.tiles.iter().map(|tile| tile.crc).collect();
        assert!(packed.crcs == crcs, "case {}: the CRCs of tiles", vector.case);
    }
    assert_eq!(windows.len(), 14 * 5);
    assert!(windows.iter().sum::<usize>() > 20_000, "{windows:?}");
}

#[test]
fn a_vectors_layout_is_its_string() {
    let strings: Vec<String> = vectors()
        .iter()
        .map(|vector| {
            let layout = twin::layout(&vector.layout);
            assert_eq!(layout.to_string().parse::<ImageLayout>().unwrap(), layout);
            layout.to_string()
        })
        .collect();
    assert_eq!(
        strings,
        [
            "4x64/512",
            "4x72/512+check",
            "4x72/16+check",
            "4x72/512+check+stripe8+octets+slot16",
            "4x64/512+stripe4+octets",
            "3x64/512+stripe3+slot36",
            "4x64/512",
            "4x72/512+check+stripe5+slot8",
            "5x32/512+check+stripe16+octets+slot64",
            "2x128/3",
            "4x64/16+check",
            "1x72/512+check+stripe2+slot4",
            "4x64/512+check",
            "4x72/512+check+stripe16+octets",
        ]
    );
}

#[test]
fn a_vector_notices_sabotage_of_the_core() {
    let vector = vectors().into_iter().find(|vector| vector.case == 8).unwrap();
    let (plan, mut shards) = planned(&vector);
    let sound = packed_by_core(&plan, WindowLimit::default(), &shards);
    assert_eq!(disagreements_of(&vector, &ledger(&plan), &sound.channels), Vec::<String>::new());

    // A bit of the checkpoint, in the middle of the third tensor that is packed.
    let source = plan.sources()[2];
    shards.0[0][twin::host(source.offset + source.len / 2)] ^= 1;
    let flipped = packed_by_core(&plan, WindowLimit::default(), &shards);
    assert_eq!(disagreements_of(&vector, &ledger(&plan), &flipped.channels).len(), 1);
    assert_ne!(flipped.crcs, sound.crcs);

    let mut miscounted = ledger(&plan);
    miscounted["tiles"] = json!(plan.image().tile_count() + 1);
    assert_eq!(disagreements_of(&vector, &miscounted, &sound.channels).len(), 1);
}

#[test]
fn a_vector_notices_sabotage() {
    let vector = vectors().into_iter().find(|vector| vector.case == 11).unwrap();
    let (mut tensors, image) = packed(&vector);
    assert_eq!(disagreements(&vector, &image), Vec::<String>::new());

    let mut flipped = image.clone();
    let middle = flipped.channels[2].len() / 2;
    flipped.channels[2][middle] ^= 1;
    assert_eq!(disagreements(&vector, &flipped).len(), 1);

    // Two tiles of one size: each still agrees with its own check word.
    let first = image.tiles.iter().find(|tile| tile.lines > 1).unwrap();
    let second = image.tiles.iter().rfind(|tile| tile.lines == first.lines).unwrap();
    assert_ne!(image.tile_bytes(first), image.tile_bytes(second));
    let mut swapped = image.clone();
    for (from, to) in [(first, second), (second, first)] {
        let bytes = image.tile_bytes(from);
        let start = to.line * vector.layout.line_bytes;
        swapped.channels[to.channel][start..start + bytes.len()].copy_from_slice(bytes);
    }
    assert_eq!(disagreements(&vector, &swapped).len(), 1);

    let mut miscounted = image;
    miscounted.row.skew_lines += 1;
    assert_eq!(disagreements(&vector, &miscounted).len(), 1);

    tensors.swap(3, 4);
    let reordered = wimg_tests::oracle::image(&tensors, &vector.layout).unwrap();
    assert!(!disagreements(&vector, &reordered).is_empty());
}

#[test]
fn locate_leads_to_the_rows_bytes_and_at_leads_back() {
    let mut rows = 0;
    for vector in vectors().into_iter().filter(|vector| [2, 6].contains(&vector.case)) {
        let (tensors, image) = packed(&vector);
        for (number, tile) in image.tiles.iter().enumerate() {
            let tensor = &tensors[tile.tensor];
            if tensor.kernel {
                continue;
            }
            let placement = &image.placements[tile.tensor];
            let row = tile.first_row + tile.rows - 1;
            let (channel, line, byte) = image.locate(tile.tensor, row).unwrap();
            let row_bytes = tensor.bytes.len() / placement.rows;
            // The first bytes of a row lie together whether it is striped or not.
            let start = line * vector.layout.line_bytes + byte;
            assert_eq!(
                image.channels[channel][start..start + 4],
                tensor.bytes[row * row_bytes..row * row_bytes + 4]
            );
            assert_eq!(image.at(channel, line + tile.lines - 1), Some((tile.tensor, number)));
            rows += 1;
        }
        assert_eq!(image.at(0, image.row.channel_lines[0]), None);
        assert_eq!(image.locate(0, image.placements[0].rows), None);
    }
    assert!(rows > 2000, "{rows} rows");
}

#[test]
fn a_pass_reads_everything_but_an_unstreamed_embedding() {
    let lines_of = |image: &OracleImage, name: &str, tensors: &[Tensor]| -> usize {
        let tiles = image.tiles.iter().filter(|tile| tensors[tile.tensor].name == name);
        tiles.map(|tile| tile.lines).sum()
    };
    let mut seen = (0, 0);
    for vector in vectors() {
        let (tensors, image) = packed(&vector);
        let held: usize = image.row.channel_lines.iter().sum();
        let passed: usize = image.row.pass_lines.iter().sum();
        let tied = !checkpoint(&vector).table.iter().any(|entry| entry.name == "output.weight");
        let embedding = lines_of(&image, "token_embd.weight", &tensors);
        match vector.selection {
            Selection::Machine if tied => {
                assert!(embedding > 0);
                assert_eq!(passed, held);
                seen.0 += 1;
            }
            Selection::Machine => {
                assert!(embedding > 0);
                assert_eq!(passed, held - embedding);
                seen.1 += 1;
            }
            Selection::All if tied => assert_eq!(passed, held),
            Selection::All | Selection::Table => assert_eq!(passed, held - embedding),
            Selection::Streamed => assert_eq!(passed, held),
        }
    }
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
}

#[test]
fn crc32c_of_the_published_examples() {
    let rising: Vec<u8> = (0..32).collect();
    let falling: Vec<u8> = (0..32).rev().collect();
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    assert_eq!(crc32c(&rising), 0x46dd_794e);
    assert_eq!(crc32c(&falling), 0x113f_db5c);
}

/// A streamed vector of F32 whose every element fills a slot of 1 MiB.
fn slots(elements: usize) -> Tensor {
    Tensor {
        name: "slots".to_owned(),
        index: 0,
        format: 0,
        dims: vec![elements as u64],
        bytes: vec![1; elements * 4],
        kernel: false,
        streamed: true,
        in_pass: true,
    }
}

#[test]
fn a_tile_of_64_mib_packs_and_a_larger_one_is_refused() {
    let layout = Layout { stripe: Some(1), slot: 1 << 20, ..Layout::default() };
    assert_eq!(image(&[slots(64)], &layout).unwrap().row.largest_tile_lines, 1 << 20);
    let larger = image(&[slots(65)], &layout).unwrap_err();
    assert_eq!(larger, "slots: a tile of 68157440 bytes");
    let checked = image(&[slots(64)], &Layout { check: true, ..layout }).unwrap_err();
    assert_eq!(checked, "slots: a tile of 67108928 bytes");
}

#[test]
fn a_tap_is_cut_by_the_least_divisor_that_leaves_room_for_the_check_word() {
    // A tile of 2 lines of 8 bytes: 4 floats, or 3 with a check word.
    let kernel = |channels: usize| Tensor {
        dims: vec![2, channels as u64],
        bytes: (0_u8..).take(channels * 8).collect(),
        kernel: true,
        streamed: false,
        ..slots(1)
    };
    let bare = Layout { channels: 1, line_bytes: 8, tile_lines: 2, ..Layout::default() };
    let checked = Layout { check: true, ..bare.clone() };
    let pieces = |channels: usize, layout: &Layout| {
        image(&[kernel(channels)], layout).unwrap().placements[0].pieces
    };
    assert_eq!((pieces(4, &bare), pieces(4, &checked)), (1, 2));
    assert_eq!((pieces(3, &bare), pieces(3, &checked)), (1, 1));
    assert_eq!((pieces(12, &bare), pieces(12, &checked)), (3, 4));
    assert_eq!((pieces(7, &bare), pieces(7, &checked)), (7, 7));
    let narrow = Layout { line_bytes: 4, tile_lines: 1, ..checked.clone() };
    assert_eq!(
        image(&[kernel(4)], &narrow).unwrap_err(),
        "slots: not even one element fits a tile"
    );

    // Channels 0 to 3 have taps (0, 4), (8, 12), (16, 20) and (24, 28): two pieces a tap.
    let packed = image(&[kernel(4)], &checked).unwrap();
    let rows: Vec<[u8; 2]> = packed.channels[0].chunks(16).map(|tile| [tile[0], tile[4]]).collect();
    assert_eq!(rows, [[0, 8], [16, 24], [4, 12], [20, 28]]);
}
