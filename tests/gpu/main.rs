//! The GPU packer against the core, byte for byte, on whatever adapter there is.
//!
//! Run with `--nocapture` to see the adapter and how many cases ran.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a check that cannot be made is a test that fails"
)]
#![expect(clippy::print_stdout, reason = "a run says on which adapter it ran, and over how much")]

mod bites;
mod checks;
mod compare;
mod edges;
mod faults;
mod images;
mod made;

use std::cell::{Cell, RefCell};

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use wimg::core::window::WindowLimit;
use wimg_tests::cases::{Case, cases, for_each};
use wimg_tests::oracle::format::FORMATS;
use wimg_tests::oracle::{Layout, gguf, step::select};
use wimg_tests::vectors::{path, vectors};

use compare::{by_gpu, check, difference, open, options, ways};
use made::{Made, tensor};

/// Random tables, layouts and window sizes: windows end inside tensors,
/// stripes and kernels.
fn random(seed: u64, count: u32, options: &wimg::gpu::GpuOptions) -> (usize, usize) {
    let packer = RefCell::new(open(options));
    let (images, windows) = (Cell::new(0), Cell::new(0));
    let limits = prop_oneof![64..4096_u64, 4096..65536_u64, Just(1 << 20)];
    for_each(seed, count, &(cases(), limits), |(case, bytes): (Case, u64)| {
        if let Some(made) = Made::new(&case.tensors, &case.layout) {
            let limit = WindowLimit { bytes, tiles: 1 << 12 };
            let agreed = check(&mut packer.borrow_mut(), &made, limit);
            let agreed = agreed.map_err(TestCaseError::fail)?;
            images.set(images.get() + 1);
            windows.set(windows.get() + agreed);
        }
        Ok(())
    });
    (images.get(), windows.get())
}

#[test]
fn random_images_are_the_cores() {
    let (images, windows) = random(0x6B0, 300, &options());
    println!("{images} random images in {windows} windows");
    assert!(images > 200 && windows > 2 * images, "{images} images, {windows} windows");
}

#[test]
fn every_way_to_the_gpu_gives_the_cores_bytes() {
    let ways = ways();
    assert_eq!(ways.len(), 6);
    for (seed, (way, options)) in (0x3A7..).zip(ways) {
        let (images, windows) = random(seed, 30, &options);
        println!("{way}: {images} random images in {windows} windows");
        assert!(images > 10 && windows > images, "{images} images, {windows} windows");
    }
}

#[test]
fn the_published_vectors_come_out_of_the_gpu() {
    let mut packer = open(&options());
    let vectors = vectors();
    assert_eq!(vectors.len(), 14);
    for vector in &vectors {
        let checkpoint = gguf::read(&std::fs::read(path(&vector.file)).unwrap());
        let tensors = select(&checkpoint, vector.selection).unwrap();
        let made = Made::new(&tensors, &vector.layout).unwrap();
        let mut channels = vec![Vec::new(); vector.layout.channels];
        for filled in made.windows(WindowLimit { bytes: 50_000, tiles: 64 }) {
            let packed = by_gpu(&mut packer, &made, &filled).unwrap();
            for (channel, run) in channels.iter_mut().zip(&filled.window.runs) {
                let start = usize::try_from(run.at).unwrap();
                let lines = usize::try_from(run.lines).unwrap();
                let end = start + lines * vector.layout.line_bytes;
                channel.extend(&packed.channel_bytes[start..end]);
            }
        }
        let digests: Vec<String> =
            channels.iter().map(|bytes| format!("{:x}", Sha256::digest(bytes))).collect();
        assert_eq!(digests, vector.channel_sha256, "case {}", vector.case);
    }
    println!("{} published vectors", vectors.len());
}

#[test]
fn every_format_at_every_byte_shift() {
    let mut packer = open(&options());
    let stripe = Layout { stripe: Some(3), channels: 3, tile_lines: 9, ..Layout::default() };
    let layouts = [
        Layout { tile_lines: 5, ..Layout::default() },
        Layout { check: true, line_bytes: 72, ..stripe.clone() },
        Layout { octets: true, slot: 16, ..stripe.clone() },
        Layout { check: true, octets: true, slot: 7, line_bytes: 20, ..stripe },
    ];
    let mut images = 0;
    for format in FORMATS {
        for layout in &layouts {
            for shift in 0..4 {
                // The bytes before a tensor in its window shift it.
                let row = 8 * format.elems as u64;
                let seed = 100 * u64::from(format.id) + shift;
                let tensors = [
                    tensor("I8", &[8 + shift], false, false, seed),
                    tensor(format.name, &[row, 13], false, true, seed + 10),
                    tensor(format.name, &[3 * row, 5], false, false, seed + 20),
                ];
                let made = Made::new(&tensors, layout).unwrap();
                let agreed = check(&mut packer, &made, WindowLimit::default());
                assert_eq!(agreed, Ok(1), "{} shift {shift} {layout:?}", format.name);
                images += 1;
            }
        }
    }
    println!("{images} images of {} formats", FORMATS.len());
    assert_eq!(images, 35 * 4 * 4);
}

#[test]
fn the_comparison_names_what_differs() {
    let mut packer = open(&options());
    let made = Made::new(&[tensor("Q8_0", &[64, 9], false, false, 5)], &Layout::default()).unwrap();
    let filled = &made.windows(WindowLimit::default())[0];
    let packed = by_gpu(&mut packer, &made, filled).unwrap();
    let mut other = packed.clone();
    other.channel_bytes[70] ^= 0x10;
    let what = difference(&filled.window, &packed, &other).unwrap();
    assert!(what.contains("byte 70 is"), "{what}");
}
