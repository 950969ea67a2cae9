//! What planning costs: O(tensors × channels), whatever the number of tiles.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wimg_core::{Format, ImageLayout, TensorEntry, TensorTable, image_ledger, weight_image};

/// `tensors` matrices of Q4_K of `params` parameters in all.
fn table(tensors: u64, params: u64) -> TensorTable {
    let rows = (params / tensors / 5120).max(1);
    let entry = |i: u64| TensorEntry {
        name: format!("blk.{i}.weight"),
        format: Format::from_name("Q4_K").unwrap(),
        dims: vec![5120, rows + i % 7],
        kernel: false,
        streamed: true,
    };
    TensorTable { tensors: (0..tensors).map(entry).collect(), ..TensorTable::default() }
}

fn plan(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    let giga = 1_000_000_000;
    for (tensors, params) in
        [(1000, 27 * giga), (10_000, 27 * giga), (100_000, 27 * giga), (1000, 1000 * giga)]
    {
        let table = table(tensors, params);
        let order: Vec<usize> = (0..table.tensors.len()).collect();
        for channels in [4, 32, 256] {
            let layout = ImageLayout { channels, ..ImageLayout::beat72() };
            let id = format!("{tensors} tensors/{params} parameters/{channels} channels");
            group.throughput(Throughput::Elements(tensors * channels));
            group.bench_function(BenchmarkId::from_parameter(id), |b| {
                b.iter(|| weight_image(&table, &order, &layout).unwrap().tile_count());
            });
        }
    }
    group.finish();
    c.bench_function("the ledger of all HEADERS at both beats", |b| {
        b.iter(|| image_ledger().unwrap().rows.len());
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = plan
}
criterion_main!(benches);
