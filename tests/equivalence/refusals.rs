//! What the core refuses, the oracle refuses, and nothing else.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use wimg_core::{ImageError, ImageLayout, TensorTable, weight_image};
use wimg_tests::cases::{Case, cases, for_each};
use wimg_tests::oracle::{Layout, Tensor, image};
use wimg_tests::twin;

use crate::plan::{draw, same_image};

/// Ways to break a case, or to change it so that it only looks broken.
const FAULTS: [&str; 20] = [
    "no dims",
    "zero dim",
    "ragged row",
    "removed format",
    "unknown format",
    "dims past u64",
    "bytes past u64",
    "kernel and streamed",
    "matrix as kernel",
    "vector as kernel",
    "kernel, trailing ones",
    "trailing ones",
    "channels",
    "line bytes",
    "line bytes by four",
    "tile lines",
    "channel lines",
    "stripe",
    "octets or slot alone",
    "slot",
];

/// A value just outside `1..=most`, or at its edge.
fn edge(salt: u64, most: usize) -> usize {
    [0, 1, most, most + 1][draw(salt, 9, 4)]
}

/// Breaks the layout; whether the fault is one of layouts.
fn break_layout(layout: &mut Layout, fault: &str, salt: u64) -> bool {
    match fault {
        "channels" => layout.channels = edge(salt, 256),
        "line bytes" => layout.line_bytes = [0, 4, 1 << 20, (1 << 20) + 4][draw(salt, 9, 4)],
        "line bytes by four" => layout.line_bytes += 1 + draw(salt, 9, 3),
        "tile lines" => layout.tile_lines = edge(salt, 1 << 20),
        "channel lines" => layout.channel_lines = edge(salt, 1 << 40),
        "stripe" => layout.stripe = Some(edge(salt, 65536)),
        "octets or slot alone" => {
            let octets = draw(salt, 9, 2) == 1;
            (layout.stripe, layout.octets) = (None, octets);
            layout.slot = if octets { 1 } else { 2 };
        }
        "slot" => layout.slot = [0, 1, (1 << 20) + 1, usize::MAX][draw(salt, 9, 4)],
        _ => return false,
    }
    true
}

fn break_tensor(tensor: &mut Tensor, fault: &str, salt: u64) {
    let elements: u64 = tensor.dims.iter().product();
    match fault {
        "no dims" => tensor.dims.clear(),
        "zero dim" => {
            let at = draw(salt, 9, tensor.dims.len());
            tensor.dims[at] = 0;
        }
        // A row of one element more: a block of one element has no ragged row.
        "ragged row" => {
            tensor.format = 8;
            tensor.dims[0] = tensor.dims[0].next_multiple_of(32) + 1;
            tensor.kernel = false;
        }
        "removed format" => tensor.format = [4, 5, 31, 32, 33, 36, 37, 38][draw(salt, 9, 8)],
        "unknown format" => tensor.format = [43, 148, u32::MAX][draw(salt, 9, 3)],
        "dims past u64" => tensor.dims = vec![256, 1 << 40, 1 << 16],
        "bytes past u64" => (tensor.format, tensor.dims) = (28, vec![1 << 31, 1 << 30]),
        "kernel and streamed" => (tensor.kernel, tensor.streamed) = (true, true),
        "matrix as kernel" => (tensor.kernel, tensor.streamed) = (true, false),
        "vector as kernel" => {
            (tensor.kernel, tensor.streamed) = (true, false);
            (tensor.format, tensor.dims) = (0, vec![elements]);
            tensor.bytes = vec![7; 4 * tensor.dims.len() * twin::host(elements)];
        }
        "kernel, trailing ones" => {
            (tensor.kernel, tensor.streamed) = (true, false);
            (tensor.format, tensor.dims) = (24, vec![2, 6, 1, 1]);
            tensor.bytes = (0..12).collect();
        }
        "trailing ones" => tensor.dims.push(1),
        _ => panic!("no fault `{fault}`"),
    }
}

/// The case with one fault, where it has a tensor that may have it.
fn broken(mut case: Case, fault: &str, salt: u64) -> Option<Case> {
    if !break_layout(&mut case.layout, fault, salt) {
        if case.tensors.is_empty() {
            return None;
        }
        let victim = draw(salt, 8, case.tensors.len());
        break_tensor(&mut case.tensors[victim], fault, salt);
    }
    Some(case)
}

/// Bytes of the image and of its tiles, roughly: what is worth packing.
fn too_large(layout: &Layout) -> bool {
    layout.line_bytes > 4096 || (layout.stripe.is_some() && layout.slot > 4096)
}

#[test]
fn both_refuse_the_same_tables_and_layouts() {
    // By fault: how often both refused, and how often neither.
    let seen = RefCell::new(BTreeMap::<&str, [u32; 2]>::new());
    let strategy = (cases(), 0..FAULTS.len(), any::<u64>());
    for_each(0xE005, 8000, &strategy, |(case, fault, salt)| {
        let fault = FAULTS[fault];
        let Some(case) = broken(case, fault, salt) else { return Ok(()) };
        let (_, sources) = twin::shards(&case.tensors);
        let core = twin::plan(&case.tensors, &case.layout, sources);
        if core.is_ok() && too_large(&case.layout) {
            return Ok(());
        }
        let oracle = image(&case.tensors, &case.layout);
        let refused = oracle.is_err();
        match (oracle, core) {
            (Ok(oracle), Ok(plan)) => same_image(&oracle, plan.image())?,
            (Err(_), Err(_)) => {}
            (oracle, core) => {
                let (oracle, core) = (oracle.map(|_| ()), core.map(|_| ()));
                let why = format!("{fault}: oracle {oracle:?}, core {core:?}");
                return Err(TestCaseError::fail(why));
            }
        }
        seen.borrow_mut().entry(fault).or_default()[usize::from(!refused)] += 1;
        Ok(())
    });
    let seen = seen.into_inner();
    assert_eq!(seen.len(), FAULTS.len(), "{seen:#?}");
    let accepted = seen.values().filter(|counts| counts[1] > 20).count();
    let refused = seen.values().filter(|counts| counts[0] > 20).count();
    assert!(accepted >= 8 && refused >= 16, "{seen:#?}");
}

#[test]
fn an_order_names_each_tensor_once() {
    let entry = |index: usize| {
        let dims = vec![4, 1 + index as u64];
        let bytes = vec![0; 16 * (index + 1)];
        twin::entry(&Tensor {
            name: format!("t{index}"),
            index,
            format: 0,
            dims,
            bytes,
            kernel: false,
            streamed: false,
            in_pass: true,
        })
    };
    let table = TensorTable { tensors: (0..3).map(entry).collect(), ..TensorTable::default() };
    let refusal = |order: &[usize]| {
        let error = weight_image(&table, order, &ImageLayout::default()).unwrap_err();
        let ImageError::Order { why, index, tensors } = error else { panic!("{error}") };
        (why, index, tensors)
    };
    assert_eq!(refusal(&[0, 1]), ("a tensor is missed", 2, 3));
    assert_eq!(refusal(&[]), ("a tensor is missed", 0, 3));
    assert_eq!(refusal(&[2, 0, 2]), ("a tensor is repeated", 2, 3));
    assert_eq!(refusal(&[2, 0, 1, 0]), ("a tensor is repeated", 0, 3));
    assert_eq!(refusal(&[2, 3, 1]), ("a tensor is invented", 3, 3));
    assert_eq!(refusal(&[0, 1, 2, usize::MAX]), ("a tensor is invented", usize::MAX, 3));
    let names = |order: &[usize]| {
        let image = weight_image(&table, order, &ImageLayout::default()).unwrap();
        image.tensors().iter().map(|tensor| tensor.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[1, 2, 0]), ["t1", "t2", "t0"]);
}

#[test]
fn both_take_a_tile_of_64_mib_and_no_larger() {
    let slots = |elements: usize| Tensor {
        name: "slots".to_owned(),
        index: 0,
        format: 0,
        dims: vec![elements as u64],
        bytes: vec![1; elements * 4],
        kernel: false,
        streamed: true,
        in_pass: true,
    };
    let layout = Layout { stripe: Some(1), slot: 1 << 20, ..Layout::default() };
    let checked = Layout { check: true, ..layout.clone() };
    for (elements, layout, taken) in
        [(64, &layout, true), (65, &layout, false), (64, &checked, false)]
    {
        let tensors = [slots(elements)];
        let core = twin::plan(&tensors, layout, twin::shards(&tensors).1);
        let oracle = image(&tensors, layout);
        assert_eq!((core.is_ok(), oracle.is_ok()), (taken, taken), "{elements} {layout:?}");
        if let (Ok(core), Ok(oracle)) = (core, oracle) {
            same_image(&oracle, core.image()).unwrap();
        }
    }
}
