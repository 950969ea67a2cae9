//! Whole images by the GPU: the CPU's files, also when the GPU is lost on the way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wimg::Error;
use wimg::backend::{Backend, BackendOptions};
use wimg::core::headers::HEADERS;
use wimg::core::{Plan, Selection};
use wimg::gpu::{GpuOptions, GpuPacker};
use wimg::pack::{Built, PackDone};
use wimg::pipeline::Flow;
use wimg::pipeline::middle::Middle;
use wimg::progress::Tell;
use wimg::source::Source;
use wimg::store::Staging;
use wimg::synth::Synth;
use wimg::verify::{VerifyOptions, verify};
use wimg_tests::program::wimg;
use wimg_tests::vectors::path;

use crate::compare::{open, options};

/// Small windows, so that a small checkpoint has many.
fn small() -> GpuOptions {
    GpuOptions { memory: 3 << 20, ..options() }
}

fn synthetic(folder: &Path) -> PathBuf {
    let path = folder.join("checkpoint.gguf");
    Synth::new(&HEADERS[0], 128, 7).unwrap().write(&path, false).unwrap();
    path
}

fn built(
    checkpoint: &Path,
    layout: &str,
    middle: Middle,
    out: &Path,
    tell: Tell<'_>,
) -> Result<PackDone, Error> {
    let source = Source::open(checkpoint)?;
    let plan = Plan::new(&source.checkpoint, Selection::Table, &layout.parse().unwrap())?;
    let staging = Staging::create(out, false)?;
    Built::build(&source, &plan, middle, staging, Flow::default(), tell)?.publish()
}

/// An image's files but for `run.json`, which says how it was made.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(path).unwrap())
    });
    named.filter(|(name, _)| name != "run.json").collect()
}

fn same(one: &Path, other: &Path) {
    let (one, other) = (files(one), files(other));
    assert!(one.keys().eq(other.keys()), "{:?} and {:?}", one.keys(), other.keys());
    for (name, bytes) in one {
        assert!(bytes == other[&name], "{name} differs");
    }
}

const LAYOUTS: [&str; 2] = ["4x72/512+check+stripe8+octets", "3x64/64"];

#[test]
fn an_image_by_gpu_is_the_cpus() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let files = ["tiny-mixed.gguf", "tiny-q8.gguf", "tiny-edge.gguf"].map(path);
    for (number, checkpoint) in files.into_iter().chain([synthetic(folder.path())]).enumerate() {
        for layout in LAYOUTS {
            let (one, other) =
                (at(&format!("c{number}{layout:.1}")), at(&format!("g{number}{layout:.1}")));
            let cpu = built(&checkpoint, layout, Middle::cpu(), &one, &|_| {}).unwrap();
            let gpu = Middle::gpu(open(&small()));
            let gpu = built(&checkpoint, layout, gpu, &other, &|_| {}).unwrap();
            assert_eq!((cpu.backend.backend, gpu.backend.backend), ("cpu", "gpu"));
            assert_eq!((gpu.backend.cpu_bytes, gpu.backend.gpu_bytes), (0, cpu.backend.cpu_bytes));
            assert_eq!(gpu.id, cpu.id);
            same(&one, &other);
        }
    }
}

#[test]
fn a_lost_gpu_is_an_error_and_with_auto_the_cpu_carries_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let checkpoint = synthetic(folder.path());
    let cpu = built(&checkpoint, LAYOUTS[0], Middle::cpu(), &at("cpu"), &|_| {}).unwrap();

    // Destroyed when the first window is written: others are in flight.
    let gpu = open(&small());
    let destroy = gpu.destroyer();
    let auto = Middle::auto(gpu, 0);
    let auto = built(&checkpoint, LAYOUTS[0], auto, &at("auto"), &|_| destroy()).unwrap();
    assert_eq!(auto.backend.backend, "gpu+cpu");
    let note = auto.backend.note.unwrap();
    assert!(
        note.starts_with("the GPU was lost: ") && note.ends_with("; the CPU carried on"),
        "{note}"
    );
    assert_eq!(auto.backend.gpu_bytes + auto.backend.cpu_bytes, cpu.backend.cpu_bytes);
    same(&at("cpu"), &at("auto"));

    let gpu = open(&small());
    let destroy = gpu.destroyer();
    let error = built(&checkpoint, LAYOUTS[0], Middle::gpu(gpu), &at("gpu"), &|_| destroy());
    let error = error.unwrap_err();
    assert_eq!(error.exit_code(), 5, "{error}");
    assert!(error.to_string().starts_with("the GPU was lost: "), "{error}");
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["auto", "checkpoint.gguf", "cpu"], "nothing is left behind");
}

#[test]
fn a_trial_packs_both_ways_and_keeps_the_faster() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let checkpoint = synthetic(folder.path());
    built(&checkpoint, LAYOUTS[0], Middle::cpu(), &at("cpu"), &|_| {}).unwrap();
    let auto = Middle::auto(open(&small()), 2);
    let auto = built(&checkpoint, LAYOUTS[0], auto, &at("auto"), &|_| {}).unwrap().backend;
    same(&at("cpu"), &at("auto"));
    let (Some(cpu), Some(gpu)) = (auto.trial_cpu_gb_s, auto.trial_gpu_gb_s) else {
        panic!("there was no trial: {auto:?}");
    };
    println!("trial: the CPU {cpu:.3} GB/s, the GPU {gpu:.3} GB/s");
    // The trial's own windows are the GPU's.
    assert_eq!(auto.backend, if cpu >= gpu { "gpu+cpu" } else { "gpu" });
    assert!(auto.gpu_bytes > 0 && auto.note.is_none(), "{auto:?}");
}

#[test]
fn a_gpu_finds_the_damage_that_the_cpu_finds() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = synthetic(folder.path());
    let gpu = VerifyOptions {
        backend: BackendOptions { backend: Backend::Gpu, gpu: small() },
        ..VerifyOptions::default()
    };
    for (number, layout) in LAYOUTS.into_iter().enumerate() {
        let out = folder.path().join(format!("image{number}"));
        built(&checkpoint, layout, Middle::cpu(), &out, &|_| {}).unwrap();
        let sound = verify(&out, &gpu, &|_| {}).unwrap();
        assert_eq!(sound.damage, []);
        assert!(sound.tiles > 1000 && sound.adapter.is_some(), "{sound:?}");
        // A bit in every tenth or so of the file, and its last byte gone.
        let file = out.join("channel-1.bin");
        let mut bytes = std::fs::read(&file).unwrap();
        let step = bytes.len() / 10;
        (1..bytes.len()).step_by(step).for_each(|at| bytes[at] ^= 0x20);
        bytes.pop();
        std::fs::write(&file, bytes).unwrap();
        let by_cpu = verify(&out, &VerifyOptions::default(), &|_| {}).unwrap();
        let by_gpu = verify(&out, &gpu, &|_| {}).unwrap();
        assert!(by_cpu.damages > 10 && by_cpu.adapter.is_none(), "{}", by_cpu.damages);
        assert_eq!(by_gpu.damage, by_cpu.damage);
        assert_eq!((by_gpu.tiles, by_gpu.bytes), (by_cpu.tiles, by_cpu.bytes));
    }
}

#[test]
fn the_program_lists_packs_and_verifies_with_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(path("tiny-mixed.gguf"), folder.path().join("a.gguf")).unwrap();
    let devices = wimg(folder.path(), "devices --format json").json(0);
    let all = wimg::gpu::adapters();
    assert_eq!(devices.len(), all.len());
    for (device, info) in devices.iter().zip(&all) {
        assert_eq!(device["name"], info.name.as_str());
        assert_eq!(device["software"], info.software);
    }
    let text = wimg(folder.path(), "devices").out;
    assert!(text.contains(&all[0].name), "{text}");
    // By its number; `auto` never takes software, whatever is asked for.
    let number = GpuPacker::open(&options()).unwrap().info().number;
    let pack = format!("pack a.gguf --select table --format json --quiet --gpu {number}");
    let by = |more: &str| wimg(folder.path(), &format!("{pack} {more}")).json(0).remove(0);
    let (gpu, cpu) = (by("--out gpu --backend gpu"), by("--out cpu --backend cpu"));
    assert_eq!((&gpu["backend"], &cpu["backend"]), (&"gpu".into(), &"cpu".into()));
    assert_eq!(gpu["id"], cpu["id"]);
    assert!(gpu["gpu_kernel_seconds"].as_f64() > Some(0.0) && gpu["adapter"].is_string(), "{gpu}");
    if all[number].software {
        assert_eq!(by("--out auto --backend auto")["backend"], "cpu");
    }
    let verified = wimg(folder.path(), "verify gpu --backend gpu --format json --quiet").json(0);
    assert_eq!((&verified[0]["backend"], &verified[0]["damages"]), (&"gpu".into(), &0.into()));
    assert_eq!(verified[0]["adapter"], gpu["adapter"]);
    let none = wimg(folder.path(), "verify gpu --backend gpu --gpu nonesuch");
    assert_eq!(none.code, 5, "{}", none.err);
    let quick = wimg(folder.path(), "verify gpu --backend gpu --quick");
    assert_eq!(quick.code, 2, "{}", quick.err);
}
