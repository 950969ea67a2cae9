//! What packing costs a byte, kernel by kernel, against copying the same bytes.
#![expect(clippy::unwrap_used, clippy::too_many_lines, reason = "a benchmark")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wimg_core::pack::plain::plain;
use wimg_core::pack::stripe::{Stripe, stripe, unstripe};
use wimg_core::pack::tile_crc::tile_crc;
use wimg_core::pack::transpose::{Transpose, transpose};

/// Bytes of all tiles: past the caches of a core, as in a pack.
const BYTES: usize = 16 << 20;

fn noise(len: usize) -> Vec<u8> {
    (0..len).map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect()
}

fn kernels(c: &mut Criterion) {
    let mut group = c.benchmark_group("pack");
    group.throughput(Throughput::Bytes(BYTES as u64));
    let source = noise(BYTES);
    let mut tiles = vec![0; BYTES];
    let tile = 32 << 10;
    group.bench_function("copy", |b| {
        b.iter(|| {
            for (from, to) in source.chunks(tile).zip(tiles.chunks_mut(tile)) {
                to.copy_from_slice(black_box(from));
            }
        });
    });
    group.bench_function("plain", |b| {
        b.iter(|| {
            for (from, to) in source.chunks(tile).zip(tiles.chunks_mut(tile)) {
                plain(black_box(from), to).unwrap();
            }
        });
    });
    group.bench_function("tile_crc", |b| {
        b.iter(|| {
            let crcs = tiles.chunks_mut(tile).map(|tile| tile_crc(black_box(tile), true).unwrap());
            crcs.fold(0, |a, b| a ^ b)
        });
    });
    for (name, block, slot) in [
        ("Q8_0", 34, 34),
        ("Q4_K", 144, 144),
        ("Q5_K", 176, 176),
        ("Q6_K", 210, 224),
        ("octet", 272, 272),
        ("MXFP4", 17, 32),
    ] {
        // 16 rows of 20 blocks (of Q4_K 5120 elements), so many tiles as fit.
        let shape =
            Stripe { rows: 16, row_bytes: 20 * block, block_bytes: block, slot_bytes: slot };
        let count = BYTES / shape.bytes().max(shape.rows * shape.row_bytes);
        let rows = shape.rows * shape.row_bytes;
        group.throughput(Throughput::Bytes((count * rows) as u64));
        group.bench_function(format!("stripe {name}"), |b| {
            b.iter(|| {
                let each = source.chunks(rows).zip(tiles.chunks_mut(shape.bytes()));
                for (from, to) in each.take(count) {
                    stripe(black_box(from), shape, to).unwrap();
                }
            });
        });
        let mut back = vec![0; BYTES];
        group.bench_function(format!("unstripe {name}"), |b| {
            b.iter(|| {
                let each = tiles.chunks(shape.bytes()).zip(back.chunks_mut(rows));
                for (from, to) in each.take(count) {
                    unstripe(black_box(from), shape, to).unwrap();
                }
            });
        });
    }
    let kernel = noise(4 * 10240 * 4);
    let shape = |first_row| Transpose {
        taps: 4,
        channels: 10240,
        elem_bytes: 4,
        pieces: 2,
        first_row,
        rows: 1,
    };
    group.throughput(Throughput::Bytes(kernel.len() as u64));
    group.bench_function("transpose F32", |b| {
        b.iter(|| {
            for (row, to) in tiles.chunks_mut(5120 * 4).take(8).enumerate() {
                transpose(black_box(&kernel), shape(row), to).unwrap();
            }
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = kernels
}
criterion_main!(benches);
