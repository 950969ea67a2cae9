//! GB/s of each kernel and its share of the device's own copy, and end to end
//! against the same bytes up and down with no kernels.

use std::time::Instant;

use rayon::prelude::*;
use wimg::core::pack::{pack_tile, tile_slices_mut};
use wimg::core::window::WindowLimit;
use wimg::gpu::{DeviceSeconds, GpuOptions, GpuPacker};
use wimg_tests::oracle::{Layout, Tensor};

use crate::compare::open;
use crate::made::{Filled, Made, tensor};

/// Times that a window is packed for one line of the table.
const ROUNDS: u32 = 8;

struct Workload {
    name: &'static str,
    tensors: Vec<Tensor>,
    layout: Layout,
}

/// Measures and prints.
pub(crate) fn run(adapter: Option<String>) {
    let options = GpuOptions { adapter, ..GpuOptions::default() };
    let packer = open(&options);
    let bytes = packer.window_limit().bytes;
    let copy = packer.device_copy_seconds(bytes).unwrap();
    println!("in {} windows of {} MiB", packer.in_flight(), bytes >> 20);
    if let Some(seconds) = copy {
        println!("device copy: {:.1} GB/s", gigabytes(bytes) / seconds);
    }
    let copy = copy.map(|seconds| gigabytes(bytes) / seconds);
    println!(
        "kernel GB/s (share of the device's copy): packing, tile_crc; up, down; kernels of transfer"
    );
    let lanes: &[Option<u32>] = &[None, Some(1), Some(2), Some(4), Some(8), Some(16), Some(32)];
    for workload in workloads(bytes) {
        for &crc_lanes in if workload.name.starts_with("plain") { lanes } else { &lanes[..1] } {
            let mut packer = open_quietly(&GpuOptions { crc_lanes, ..options.clone() });
            let seconds = kernels(&mut packer, &workload);
            print(&workload, crc_lanes, bytes, seconds, copy);
        }
    }
    end_to_end(&options);
}

fn open_quietly(options: &GpuOptions) -> GpuPacker {
    GpuPacker::open(options).unwrap()
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

/// About a window of every kind of tile.
fn workloads(bytes: u64) -> Vec<Workload> {
    let stripe = Layout { stripe: Some(8), ..Layout::default() };
    let octets = Layout { octets: true, slot: 16, ..stripe.clone() };
    let beat72 = Layout { line_bytes: 72, check: true, ..Layout::default() };
    // Rows as the public checkpoint of 5120 columns has them.
    let rows = |row_bytes: u64| bytes * 15 / 16 / row_bytes;
    let matrix = |format, elements: u64, row_bytes: u64, streamed| {
        tensor(format, &[elements, rows(row_bytes)], false, streamed, 7)
    };
    let shifted = |tensors: Vec<Tensor>| {
        let mut all = vec![tensor("I8", &[9], false, false, 1)];
        all.extend(tensors);
        all
    };
    let q8 = |streamed| matrix("Q8_0", 5120, 5440, streamed);
    vec![
        Workload { name: "plain Q8_0", tensors: vec![q8(false)], layout: Layout::default() },
        Workload { name: "plain Q8_0 beat 72", tensors: vec![q8(false)], layout: beat72.clone() },
        Workload { name: "plain Q8_0 shifted", tensors: shifted(vec![q8(false)]), layout: beat72 },
        Workload { name: "stripe Q8_0", tensors: vec![q8(true)], layout: stripe.clone() },
        Workload { name: "stripe Q8_0 octets", tensors: vec![q8(true)], layout: octets.clone() },
        Workload {
            name: "stripe octets shifted",
            tensors: shifted(vec![q8(true)]),
            layout: octets,
        },
        Workload {
            name: "stripe Q6_K",
            tensors: vec![matrix("Q6_K", 5120, 4200, true)],
            layout: stripe.clone(),
        },
        Workload {
            name: "stripe Q4_K",
            tensors: vec![matrix("Q4_K", 5120, 2880, true)],
            layout: stripe.clone(),
        },
        Workload {
            name: "stripe MXFP4",
            tensors: vec![matrix("MXFP4", 5120, 2720, true)],
            layout: stripe,
        },
        Workload {
            name: "transpose F32",
            tensors: (0..bytes * 15 / 16 / 163_840)
                .map(|seed| tensor("F32", &[4, 10240], true, false, seed))
                .collect(),
            layout: Layout::default(),
        },
        Workload {
            name: "transpose BF16",
            tensors: (0..bytes * 15 / 16 / 81_920)
                .map(|seed| tensor("BF16", &[4, 10240], true, false, seed))
                .collect(),
            layout: Layout::default(),
        },
    ]
}

/// The device's seconds for one window of the workload.
fn kernels(packer: &mut GpuPacker, workload: &Workload) -> (DeviceSeconds, u64) {
    let made = Made::new(&workload.tensors, &workload.layout).unwrap();
    let limit = WindowLimit { bytes: 1 << 26, tiles: 1 << 20 };
    let filled = made.windows(limit).remove(0);
    let mut channel_bytes = vec![0; usize::try_from(filled.window.channel_bytes).unwrap()];
    let mut best: Option<DeviceSeconds> = None;
    for _ in 0..ROUNDS {
        let before = packer.timings().device.unwrap_or_default();
        packer.submit(made.plan.image(), &filled.window, &filled.source).unwrap();
        packer.collect(&filled.window, &mut channel_bytes, &mut Vec::new()).unwrap();
        let after = packer.timings().device.unwrap_or_default();
        let round = DeviceSeconds {
            upload: after.upload - before.upload,
            plain: after.plain - before.plain,
            stripe: after.stripe - before.stripe,
            transpose: after.transpose - before.transpose,
            tile_crc: after.tile_crc - before.tile_crc,
            read_back: after.read_back - before.read_back,
        };
        if best.is_none_or(|best| round.kernels() < best.kernels()) {
            best = Some(round);
        }
    }
    (best.unwrap(), filled.window.channel_bytes)
}

fn print(
    workload: &Workload,
    lanes: Option<u32>,
    _bytes: u64,
    (seconds, bytes): (DeviceSeconds, u64),
    copy: Option<f64>,
) {
    let rate = |seconds: f64| gigabytes(bytes) / seconds;
    let share = |seconds: f64| rate(seconds) / copy.unwrap_or(f64::INFINITY);
    let packing = seconds.kernels() - seconds.tile_crc;
    let crc = seconds.tile_crc;
    let lanes = lanes.map_or("chosen".to_owned(), |lanes| lanes.to_string());
    let transfer = seconds.upload + seconds.read_back;
    println!(
        "{:<22} {:8.2} ({:4.2})  tile_crc {lanes:>6} lanes {:8.2} ({:4.2})  up {:6.2} down {:6.2}  {:5.1} %",
        workload.name,
        rate(packing),
        share(packing),
        rate(crc),
        share(crc),
        rate(seconds.upload),
        rate(seconds.read_back),
        100.0 * seconds.kernels() / transfer,
    );
}

/// A checkpoint's worth of windows through the GPU, the same without kernels,
/// and the CPU.
fn end_to_end(options: &GpuOptions) {
    let tensors: Vec<Tensor> =
        (0..4).map(|seed| tensor("Q8_0", &[5120, 24_000], false, true, seed)).collect();
    for stripe in [None, Some(8)] {
        let layout = Layout { check: true, line_bytes: 72, stripe, ..Layout::default() };
        let made = Made::new(&tensors, &layout).unwrap();
        let limit = open_quietly(options).window_limit();
        let windows = made.windows(limit);
        let bytes: u64 = windows.iter().map(|filled| filled.window.source_bytes).sum();
        println!(
            "end to end, stripe {stripe:?}: {} windows, {:.2} GB",
            windows.len(),
            gigabytes(bytes)
        );
        for (name, shared_memory, kernels) in [
            ("GPU", true, true),
            ("no kernels", true, false),
            ("GPU, staging", false, true),
            ("no kernels, staging", false, false),
        ] {
            let options = GpuOptions { shared_memory, kernels, ..options.clone() };
            let mut packer = open_quietly(&options);
            stream(&mut packer, &made, &windows);
            let before = packer.timings().clone();
            let seconds = stream(&mut packer, &made, &windows);
            let after = packer.timings();
            println!(
                "{name:<20} {:6.2} GB/s; host copies in {:.3} s, waits {:.3} s, copies out {:.3} s of {seconds:.3} s",
                gigabytes(bytes) / seconds,
                after.upload - before.upload,
                after.wait - before.wait,
                after.read_back - before.read_back,
            );
        }
        let seconds = on_cpu(&made, &windows);
        println!("{:<20} {:6.2} GB/s on all cores", "CPU", gigabytes(bytes) / seconds);
    }
}

fn stream(packer: &mut GpuPacker, made: &Made, windows: &[Filled]) -> f64 {
    let most = windows.iter().map(|filled| filled.window.channel_bytes).max().unwrap();
    let mut channel_bytes = vec![0; usize::try_from(most).unwrap()];
    let mut crcs = Vec::new();
    let started = Instant::now();
    let mut collect = |packer: &mut GpuPacker, filled: &Filled| {
        let bytes = usize::try_from(filled.window.channel_bytes).unwrap();
        packer.collect(&filled.window, &mut channel_bytes[..bytes], &mut crcs).unwrap();
    };
    let ahead = packer.in_flight();
    for (number, filled) in windows.iter().enumerate() {
        if number >= ahead {
            collect(packer, &windows[number - ahead]);
        }
        packer.submit(made.plan.image(), &filled.window, &filled.source).unwrap();
    }
    for filled in &windows[windows.len().saturating_sub(ahead)..] {
        collect(packer, filled);
    }
    started.elapsed().as_secs_f64()
}

fn on_cpu(made: &Made, windows: &[Filled]) -> f64 {
    let most = windows.iter().map(|filled| filled.window.channel_bytes).max().unwrap();
    let mut channel_bytes = vec![0; usize::try_from(most).unwrap()];
    let image = made.plan.image();
    let started = Instant::now();
    for filled in windows {
        let bytes = usize::try_from(filled.window.channel_bytes).unwrap();
        let tiles = tile_slices_mut(&filled.window, &mut channel_bytes[..bytes]).unwrap();
        let tasks: Vec<_> = filled.window.tasks.iter().zip(tiles).collect();
        tasks.into_par_iter().for_each(|(task, tile)| {
            pack_tile(image, task, &filled.source, tile).unwrap();
        });
    }
    started.elapsed().as_secs_f64()
}
