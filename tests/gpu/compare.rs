//! The GPU against the core's `pack_window`, window by window.

use wimg::core::pack_window;
use wimg::core::window::{Window, WindowLimit};
use wimg::gpu::{GpuError, GpuLimits, GpuOptions, GpuPacker};

use crate::made::{Filled, Made};

/// What every output holds before anyone packs into it; the two differ, so
/// that what both leave unwritten shows.
const CPU_SENTINEL: u8 = 0x5A;
const GPU_SENTINEL: u8 = 0xA5;

/// A packed window.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) channel_bytes: Vec<u8>,
    pub(crate) crcs: Vec<u32>,
}

/// Options under which a byte that no kernel writes is seen.
pub(crate) fn options() -> GpuOptions {
    GpuOptions { sentinel: Some(GPU_SENTINEL), ..GpuOptions::default() }
}

/// The options that change how a window travels or is computed.
pub(crate) fn ways() -> Vec<(&'static str, GpuOptions)> {
    let lanes = |lanes| GpuOptions { crc_lanes: Some(lanes), ..options() };
    vec![
        ("the adapter's limits", options()),
        ("wgpu's default limits", GpuOptions { limits: GpuLimits::Default, ..options() }),
        ("staging", GpuOptions { shared_memory: false, ..options() }),
        ("1 lane a tile", lanes(1)),
        ("32 lanes a tile", lanes(32)),
        ("64 lanes a tile", lanes(64)),
    ]
}

/// Opens the adapter and says which it is.
pub(crate) fn open(options: &GpuOptions) -> GpuPacker {
    let packer = GpuPacker::open(options).unwrap_or_else(|error| panic!("{error}"));
    let info = packer.info();
    println!("adapter `{}`, driver `{}`, {}", info.name, info.driver, info.kind);
    packer
}

/// The core's bytes of a window.
pub(crate) fn by_core(made: &Made, filled: &Filled) -> Packed {
    let length = usize::try_from(filled.window.channel_bytes).unwrap();
    let mut channel_bytes = vec![CPU_SENTINEL; length];
    let packed = pack_window(made.plan.image(), &filled.window, &filled.source, &mut channel_bytes);
    Packed { channel_bytes, crcs: packed.unwrap() }
}

/// Takes the oldest window from the GPU.
pub(crate) fn collect(packer: &mut GpuPacker, window: &Window) -> Result<Packed, GpuError> {
    let length = usize::try_from(window.channel_bytes).unwrap();
    let mut packed = Packed { channel_bytes: vec![GPU_SENTINEL; length], crcs: Vec::new() };
    packer.collect(window, &mut packed.channel_bytes, &mut packed.crcs)?;
    Ok(packed)
}

/// The GPU's bytes of a window.
pub(crate) fn by_gpu(
    packer: &mut GpuPacker,
    made: &Made,
    filled: &Filled,
) -> Result<Packed, GpuError> {
    packer.submit(made.plan.image(), &filled.window, &filled.source)?;
    collect(packer, &filled.window)
}

/// Where two packings of a window differ first.
pub(crate) fn difference(window: &Window, core: &Packed, gpu: &Packed) -> Option<String> {
    let lengths = |packed: &Packed| (packed.channel_bytes.len(), packed.crcs.len());
    if lengths(core) != lengths(gpu) {
        return Some(format!("lengths {:?} and {:?}", lengths(core), lengths(gpu)));
    }
    let differ = |task: &&wimg::core::window::TileTask| {
        let start = usize::try_from(task.dest).unwrap();
        let range = start..start + usize::try_from(task.len).unwrap();
        core.channel_bytes[range.clone()] != gpu.channel_bytes[range]
    };
    if let Some(task) = window.tasks.iter().find(differ) {
        let start = usize::try_from(task.dest).unwrap();
        let pairs = core.channel_bytes[start..].iter().zip(&gpu.channel_bytes[start..]);
        let (at, (core, gpu)) = pairs.enumerate().find(|(_, (a, b))| a != b).unwrap();
        let tile = task.tile;
        return Some(format!("{tile:?}: byte {at} is {gpu:#04x}, not {core:#04x}"));
    }
    if core.channel_bytes != gpu.channel_bytes {
        return Some("bytes of no tile".to_owned());
    }
    let at = core.crcs.iter().zip(&gpu.crcs).position(|(a, b)| a != b)?;
    Some(format!(
        "CRC of {:?}: {:#x}, not {:#x}",
        window.tasks[at].tile, gpu.crcs[at], core.crcs[at]
    ))
}

/// Packs all windows of an image both ways, as many in flight as may be, and
/// gives how many agreed or the first difference.
pub(crate) fn check(
    packer: &mut GpuPacker,
    made: &Made,
    limit: WindowLimit,
) -> Result<usize, String> {
    let windows = made.windows(limit);
    let mut next = 0;
    for filled in &windows {
        while next < windows.len() {
            match packer.submit(made.plan.image(), &windows[next].window, &windows[next].source) {
                Ok(()) => next += 1,
                Err(GpuError::Busy { .. }) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        let gpu = collect(packer, &filled.window).map_err(|error| error.to_string())?;
        if let Some(what) = difference(&filled.window, &by_core(made, filled), &gpu) {
            return Err(what);
        }
    }
    Ok(windows.len())
}
