//! What goes wrong on a GPU is an error, never a panic.

use wimg::core::window::WindowLimit;
use wimg::gpu::{GpuError, GpuOptions, GpuPacker, adapters};
use wimg_tests::oracle::Layout;

use crate::compare::{by_gpu, collect, open, options};
use crate::made::{Made, tensor};

fn made() -> Made {
    Made::new(&[tensor("Q8_0", &[1024, 4000], false, false, 1)], &Layout::default()).unwrap()
}

const LIMIT: WindowLimit = WindowLimit { bytes: 1 << 20, tiles: 1 << 12 };

#[test]
fn a_device_destroyed_under_load_is_an_error() {
    let made = made();
    let windows = made.windows(LIMIT);
    for in_flight in 0..3 {
        let mut packer = open(&options());
        by_gpu(&mut packer, &made, &windows[0]).unwrap();
        for filled in &windows[..in_flight] {
            packer.submit(made.plan.image(), &filled.window, &filled.source).unwrap();
        }
        packer.destroyer()();
        // What was in flight may still come, or be lost; what comes is right.
        for filled in &windows[..in_flight] {
            if let Err(error) = collect(&mut packer, &filled.window) {
                assert!(matches!(error, GpuError::Lost { .. }), "{error}");
            }
        }
        let filled = &windows[3];
        let error = packer
            .submit(made.plan.image(), &filled.window, &filled.source)
            .and_then(|()| collect(&mut packer, &filled.window).map(drop))
            .unwrap_err();
        assert!(matches!(error, GpuError::Lost { .. }), "{error}");
        assert!(error.to_string().starts_with("the GPU was lost: "), "{error}");
    }
}

#[test]
fn windows_in_flight_are_counted_and_come_in_order() {
    let made = made();
    let windows = made.windows(LIMIT);
    let mut packer = open(&options());
    let most = packer.in_flight();
    assert!(most >= 2);
    assert_eq!(collect(&mut packer, &windows[0].window).err(), Some(GpuError::Idle));
    for filled in &windows[..most] {
        packer.submit(made.plan.image(), &filled.window, &filled.source).unwrap();
    }
    let filled = &windows[most];
    let error = packer.submit(made.plan.image(), &filled.window, &filled.source);
    assert_eq!(error, Err(GpuError::Busy { in_flight: most }));
    let error = collect(&mut packer, &windows[1].window).err().unwrap();
    assert!(matches!(error, GpuError::Order { .. }), "{error}");
    for filled in &windows[..most] {
        collect(&mut packer, &filled.window).unwrap();
    }
    assert_eq!(packer.timings().windows, most as u64);
}

#[test]
fn a_window_and_other_bytes_are_refused() {
    let made = made();
    let mut filled = made.windows(LIMIT).remove(0);
    let mut packer = open(&options());
    filled.source.pop();
    let error = packer.submit(made.plan.image(), &filled.window, &filled.source).unwrap_err();
    assert!(matches!(error, GpuError::Pack(_)), "{error}");
    let mut filled = made.windows(LIMIT).remove(0);
    filled.window.tasks[0].dest += 1 << 40;
    let error = packer.submit(made.plan.image(), &filled.window, &filled.source).unwrap_err();
    assert!(matches!(error, GpuError::Pack(_)), "{error}");
    let filled = made.windows(LIMIT).remove(0);
    by_gpu(&mut packer, &made, &filled).unwrap();
}

#[test]
fn memory_past_what_is_allowed_is_refused() {
    let made = made();
    let mut packer = open(&GpuOptions { memory: 8 << 20, ..options() });
    let limit = packer.window_limit();
    assert!(limit.bytes <= (8 << 20) / 6, "{limit:?}");
    let filled = made.windows(WindowLimit { bytes: 6 << 20, ..limit }).remove(0);
    let error = packer.submit(made.plan.image(), &filled.window, &filled.source).unwrap_err();
    assert!(matches!(error, GpuError::TooLarge { .. }), "{error}");
    for filled in made.windows(limit) {
        by_gpu(&mut packer, &made, &filled).unwrap();
    }
}

#[test]
fn adapters_are_listed_and_found_by_number_and_name() {
    let all = adapters();
    assert!(!all.is_empty(), "{}", GpuError::NoAdapter);
    for info in &all {
        println!("{info:?}");
        let by_number = GpuOptions { adapter: Some(info.number.to_string()), ..options() };
        assert_eq!(GpuPacker::open(&by_number).unwrap().info(), info);
        assert_eq!(info.software, info.kind == "software");
    }
    let by_name = GpuOptions { adapter: Some(all[0].name.to_uppercase()), ..options() };
    assert_eq!(GpuPacker::open(&by_name).unwrap().info().name, all[0].name);
    let none = GpuOptions { adapter: Some("no such card".to_owned()), ..options() };
    let error = GpuPacker::open(&none).err().unwrap();
    let list = format!("no GPU adapter is `no such card`: number 0 is `{}`", all[0].name);
    assert!(error.to_string().starts_with(&list), "{error}");
    let lanes = GpuOptions { crc_lanes: Some(3), ..options() };
    assert!(matches!(GpuPacker::open(&lanes).err(), Some(GpuError::Validation { .. })));
}

#[test]
fn without_an_adapter_the_error_says_what_to_install() {
    assert!(GpuError::NoAdapter.to_string().contains("mesa-vulkan-drivers"));
}
