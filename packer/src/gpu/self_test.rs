//! A test of each kernel on an adapter before it is trusted: drivers do
//! compute wrong bytes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use wimg_shaders::{plain, stripe, tile_crc, transpose};

use super::{AdapterInfo, GpuError, GpuPacker};
use crate::core::tensor::TensorEntry;
use crate::core::window::{Window, WindowLimit};
use crate::core::{Format, ImageLayout, Plan, Selected, Selection, Source, pack_window};

/// Runs the kernels over a small image of every kind of tile, and compares
/// every byte with the core's; unless this adapter, driver and build passed before.
pub(super) fn run(packer: &mut GpuPacker, always: bool) -> Result<(), GpuError> {
    let passed = cache_folder().map(|folder| passed_file(&folder, packer.info()));
    if !always && passed.as_deref().is_some_and(Path::exists) {
        return Ok(());
    }
    test(packer)?;
    if let Some(passed) = passed {
        // Where it cannot be remembered, the next start tests again.
        let written = passed.parent().map(fs::create_dir_all).transpose();
        drop(written.and_then(|_| fs::write(&passed, text_of(packer.info()))));
    }
    Ok(())
}

/// The user's folder for what can be computed again.
fn cache_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = set("XDG_CACHE_HOME").or_else(|| set("LOCALAPPDATA"));
    Some(caches.or_else(|| Some(set("HOME")?.join(".cache")))?.join("wimg"))
}

fn text_of(info: &AdapterInfo) -> String {
    let AdapterInfo { name, backend, driver, .. } = info;
    format!("{name}\n{backend}\n{driver}\n{}\n", env!("CARGO_PKG_VERSION"))
}

/// The file that is there once an adapter with its driver has passed with
/// these shaders.
fn passed_file(folder: &Path, info: &AdapterInfo) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    hasher.update(text_of(info).as_bytes());
    for source in [plain::SOURCE, stripe::SOURCE, transpose::SOURCE, tile_crc::SOURCE] {
        hasher.update(source.as_bytes());
    }
    folder.join(format!("gpu-passed-{}", hasher.finalize().to_hex()))
}

/// One tensor: its format, dims, and whether it is a kernel and streamed.
type Case = (&'static str, &'static [u64], bool, bool);

/// Tensors for every kernel and every size of block and element, at sources of
/// every byte shift.
const TENSORS: &[Case] = &[
    ("Q4_K", &[512, 37], false, false),
    ("I8", &[3, 7], false, false),
    ("MXFP4", &[96, 45], false, true),
    ("Q8_0", &[512, 21], false, true),
    ("Q6_K", &[512, 19], false, true),
    ("I8", &[5, 21], false, true),
    ("F32", &[4, 260], true, false),
    ("BF16", &[3, 601], true, false),
    ("I8", &[3, 1201], true, false),
    ("F64", &[2, 90], true, false),
    ("F32", &[9000], false, false),
];

/// Layouts that reach both beats, check words, octets and slots.
const LAYOUTS: &[&str] = &["4x64/16", "3x72/16+check+stripe4+octets+slot16"];

fn test(packer: &mut GpuPacker) -> Result<(), GpuError> {
    for layout in LAYOUTS {
        // The cases are fixed and a test of the CPU's covers them.
        let Some(plan) = plan(layout) else { continue };
        let limit = WindowLimit { bytes: 48 << 10, ..WindowLimit::default() };
        for window in plan.windows(limit) {
            let source = bytes(window.source_bytes);
            let mut expected = vec![0; usize::try_from(window.channel_bytes).unwrap_or(0)];
            let expected_crcs = pack_window(plan.image(), &window, &source, &mut expected)?;
            packer.submit(plan.image(), &window, &source)?;
            let mut packed = vec![0xA5; expected.len()];
            let mut crcs = Vec::new();
            packer.collect(&window, &mut packed, &mut crcs)?;
            if let Some(what) = difference(&window, (&expected, &expected_crcs), (&packed, &crcs)) {
                let info = packer.info();
                let (adapter, driver) = (info.name.clone(), info.driver.clone());
                let what = format!("{what} of layout `{layout}`");
                return Err(GpuError::WrongBytes { adapter, driver, what });
            }
        }
    }
    Ok(())
}

fn plan(layout: &str) -> Option<Plan> {
    let layout: ImageLayout = layout.parse().ok()?;
    let tensors: Vec<TensorEntry> = TENSORS
        .iter()
        .zip(0..)
        .map(|(&(format, dims, kernel, streamed), number)| {
            let name = format!("self-test.{number}");
            let format = Format::from_name(format)?;
            Some(TensorEntry { name, format, dims: dims.to_vec(), kernel, streamed })
        })
        .collect::<Option<_>>()?;
    let sources = vec![Source { shard: 0, offset: 0, len: 0 }; tensors.len()];
    let selected = Selected {
        selection: Selection::Table,
        sources: (0..tensors.len()).collect(),
        passes: Vec::new(),
        step: false,
        tensors,
    };
    Plan::of(selected, &layout, sources).ok()
}

/// Bytes without a pattern that a wrong index would keep.
fn bytes(count: u64) -> Vec<u8> {
    let mut state = 0x9E37_79B9u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    (0..count).map(|_| next()).collect()
}

/// Channel bytes and CRCs.
type Packed<'a> = (&'a [u8], &'a [u32]);

/// The first difference between what should be and what is.
fn difference(window: &Window, expected: Packed<'_>, packed: Packed<'_>) -> Option<String> {
    let at = |a: &[u8], b: &[u8]| a.iter().zip(b).position(|(a, b)| a != b);
    let tiles = &window.tiles;
    if expected.0.len() != packed.0.len() || expected.1.len() != packed.1.len() {
        return Some(format!("too few of tiles {tiles:?}"));
    }
    if let Some(byte) = at(expected.0, packed.0) {
        return Some(format!("byte {byte} of tiles {tiles:?}"));
    }
    let crc = expected.1.iter().zip(packed.1).position(|(a, b)| a != b)?;
    Some(format!("the CRC of tile {crc} of tiles {tiles:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_self_test_reaches_every_kernel() {
        use crate::core::pack::Kernel;
        let mut seen = [0; 3];
        for layout in LAYOUTS {
            let plan = plan(layout).expect("the self-test's image can be planned");
            for window in plan.windows(WindowLimit::default()) {
                for task in &window.tasks {
                    match Kernel::of(plan.image(), task).expect("a kernel") {
                        Kernel::Plain { .. } => seen[0] += 1,
                        Kernel::Stripe(_) => seen[1] += 1,
                        Kernel::Transpose(_) => seen[2] += 1,
                    }
                }
            }
        }
        assert!(seen.iter().all(|&tiles| tiles > 3), "{seen:?}");
    }

    #[test]
    fn a_difference_is_found_and_another_driver_is_another_file() {
        let plan = plan(LAYOUTS[0]).expect("the self-test's image can be planned");
        let window = plan.windows(WindowLimit::default()).next().expect("a window");
        let (bytes, crcs) = (vec![1, 2, 3], vec![4, 5]);
        let found = |other: Packed<'_>| difference(&window, (&bytes, &crcs), other);
        assert_eq!(found((&bytes, &crcs)), None);
        assert!(found((&[1, 2, 2], &crcs)).is_some_and(|what| what.starts_with("byte 2 of")));
        assert!(found((&bytes, &[4, 6])).is_some_and(|what| what.starts_with("the CRC of tile 1")));
        assert!(found((&bytes, &[4])).is_some());
        let info = AdapterInfo {
            number: 0,
            name: "card".to_owned(),
            backend: "vulkan".to_owned(),
            driver: "1".to_owned(),
            kind: "discrete",
            software: false,
            max_buffer: 0,
            max_binding: 0,
            max_workgroups: 0,
            timestamps: false,
            shared_memory: false,
        };
        let other = AdapterInfo { driver: "2".to_owned(), ..info.clone() };
        let folder = Path::new("caches");
        assert_eq!(passed_file(folder, &info), passed_file(folder, &info));
        assert_ne!(passed_file(folder, &info), passed_file(folder, &other));
    }
}
