//! The GPU's bytes against the core's, over images made in memory.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use proptest::prelude::*;
use wimg::core::window::WindowLimit;
use wimg::gpu::GpuOptions;
use wimg_tests::cases::{Case, cases, for_each};
use wimg_tests::oracle::Layout;
use wimg_tests::oracle::format::FORMATS;

use crate::compare::{check, open, ways};
use crate::made::{Made, tensor};

/// Packs random images, all formats at all byte shifts, and large tiles, in
/// every way to the GPU.
pub(crate) fn run(adapter: Option<&str>) {
    let started = Instant::now();
    for (seed, (way, options)) in (0x0C4E..).zip(ways()) {
        let options =
            GpuOptions { adapter: adapter.map(str::to_owned), always_self_test: true, ..options };
        let (images, windows) = random(seed, &options);
        let formats = formats(&options);
        println!("equal: {way}: {images} random images in {windows} windows, {formats} of formats");
        assert!(images > 100 && formats == FORMATS.len() * 4);
    }
    println!("equivalence took {:.1} s", started.elapsed().as_secs_f64());
}

fn random(seed: u64, options: &GpuOptions) -> (usize, usize) {
    let packer = RefCell::new(open(options));
    let (images, windows) = (Cell::new(0), Cell::new(0));
    let limits = prop_oneof![64..4096_u64, 4096..65536_u64, Just(1 << 20)];
    for_each(seed, 200, &(cases(), limits), |(case, bytes): (Case, u64)| {
        if let Some(made) = Made::new(&case.tensors, &case.layout) {
            let limit = WindowLimit { bytes, tiles: 1 << 12 };
            let agreed = check(&mut packer.borrow_mut(), &made, limit);
            windows.set(windows.get() + agreed.map_err(TestCaseError::fail)?);
            images.set(images.get() + 1);
        }
        Ok(())
    });
    (images.get(), windows.get())
}

fn formats(options: &GpuOptions) -> usize {
    let mut packer = open(options);
    let layout =
        Layout { stripe: Some(8), octets: true, slot: 16, check: true, ..Layout::default() };
    let mut images = 0;
    for format in FORMATS {
        for shift in 0..4 {
            let row = 8 * format.elems as u64;
            let tensors = [
                tensor("I8", &[8 + shift], false, false, shift),
                tensor(format.name, &[row * 3, 70], false, true, shift + 10),
                tensor(format.name, &[row, 700], false, false, shift + 20),
            ];
            let made = Made::new(&tensors, &layout).unwrap();
            let agreed = check(&mut packer, &made, WindowLimit::default());
            assert_eq!(agreed, Ok(1), "{} shift {shift}", format.name);
            images += 1;
        }
    }
    images
}
