//! `image.json`, in an image that is otherwise right.
#![expect(clippy::panic, reason = "a seed that is not made is no property's")]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use tempfile::TempDir;
use wimg::backend::{Backend, BackendOptions};
use wimg::pack::{PackOptions, pack};
use wimg::unpack::{UnpackOptions, unpack};
use wimg::verify::{VerifyOptions, verify};
use wimg_core::gguf::{Value, write};
use wimg_core::{Digest, Format, ImageLayout, Manifest, Selection, TensorEntry};

use crate::split::consistent;

/// An image, and where it lies.
struct Sound {
    folder: TempDir,
    checkpoint: Vec<u8>,
    text: Vec<u8>,
}

impl Sound {
    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }
}

/// A small image, made once a process.
static SOUND: LazyLock<Sound> = LazyLock::new(|| {
    // In memory, where there is such a folder.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let Ok(folder) = folder else { panic!("no folder to work in") };
    let entry = |name: &str, dims: &[u64]| TensorEntry {
        name: name.to_owned(),
        format: Format::F32,
        dims: dims.to_vec(),
        kernel: false,
        streamed: false,
    };
    let name = ("general.name", Value::String(b"seed".to_vec()));
    let tensors = [entry("a", &[5, 9]), entry("b", &[7])];
    let Ok(written) = write::header(&[name], &tensors) else { unreachable!() };
    let mut file = written.bytes;
    // A tail that is not zero: the image has a rest.bin.
    let whole = usize::try_from(written.file_bytes).unwrap_or_default();
    file.extend((1..=250).cycle().take(whole + 40 - file.len()));
    let checkpoint = folder.path().join("seed.gguf");
    let Ok(layout) = "2x32/2+check".parse::<ImageLayout>() else { unreachable!() };
    let options = PackOptions {
        selection: Selection::Table,
        layout,
        out: folder.path().join("image"),
        force: false,
        verify: true,
        backend: BackendOptions { backend: Backend::Cpu, ..BackendOptions::default() },
    };
    let packed =
        fs::write(&checkpoint, &file).is_ok() && pack(&checkpoint, &options, &|_| {}).is_ok();
    assert!(packed, "the seed does not pack");
    let Ok(text) = fs::read(options.out.join("image.json")) else { panic!("no image.json") };
    Sound { folder, checkpoint: file, text }
});

/// The `image.json` of the image, to begin with.
pub fn seed() -> Vec<u8> {
    SOUND.text.clone()
}

/// Takes `data` for the image's `image.json`, as it is and under a last line
/// that agrees with it: unless it is the true one, the image does not verify.
/// If it is unpacked, what comes back is the checkpoint: unpacking holds tiles
/// and tensors to their CRCs, and leaves the channels' digests to verifying.
///
/// # Panics
/// Something is wrong with manifests or with verifying.
pub fn check(data: &[u8]) {
    judge(data);
    let end = data.iter().rposition(|&byte| byte == b'"').unwrap_or(data.len());
    let body = data.get(..end).unwrap_or_default();
    let start = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let body = data.get(..start).unwrap_or_default();
    let line = format!("\"digest\":\"{}\"}}\n", Digest::of(body));
    judge(&[body, line.as_bytes()].concat());
}

fn judge(text: &[u8]) {
    if let Ok(manifest) = Manifest::read(text) {
        // A float may change in its last place.
        assert!(Manifest::read(manifest.render().as_bytes()).is_ok());
        // As the viewer plans, which has no headers.
        if let Ok(plan) = manifest.plan() {
            consistent(&plan);
        }
    }
    let image = SOUND.image();
    assert!(fs::write(image.join("image.json"), text).is_ok());
    let whole = text == SOUND.text;
    match verify(&image, &VerifyOptions { limit: 4, ..VerifyOptions::default() }, &|_| {}) {
        Ok(report) => assert_eq!(report.damages == 0, whole),
        Err(_) => assert!(!whole),
    }
    let out = SOUND.folder.path().join("back");
    match unpack(&image, &UnpackOptions { out: out.clone(), force: true }, &|_| {}) {
        Ok(_) => assert!(fs::read(out).is_ok_and(|back| back == SOUND.checkpoint)),
        Err(error) => assert!(!whole, "{error}"),
    }
}
