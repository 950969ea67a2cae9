//! Checkpoints and images for the tests to open.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use wimg::backend::BackendOptions;
use wimg::pack::{PackOptions, pack};
use wimg_core::gguf::{self, Read, Value};
use wimg_core::{Selection, TensorEntry};
use wimg_tests::gguf::{Gguf, STRING, string};
use wimg_tests::vectors;

/// A small checkpoint of the machine's architecture.
pub(crate) const CHECKPOINT: &str = "tiny-mixed.gguf";

/// Packs all of [`CHECKPOINT`] into a folder.
pub(crate) fn image(out: &Path, layout: &str) {
    image_of(out, layout, Selection::All);
}

/// Packs a selection of [`CHECKPOINT`] into a folder.
pub(crate) fn image_of(out: &Path, layout: &str, selection: Selection) {
    let options = PackOptions {
        selection,
        backend: BackendOptions::default(),
        layout: layout.parse().unwrap(),
        out: out.to_owned(),
        force: false,
        verify: false,
    };
    pack(&vectors::path(CHECKPOINT), &options, &|_| {}).unwrap();
}

/// Flips a bit of a byte of a file.
pub(crate) fn damage(path: &Path, at: u64) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

/// Writes [`CHECKPOINT`] as a split set of two: its tensors half and half.
pub(crate) fn split(folder: &Path) -> [PathBuf; 2] {
    let bytes = std::fs::read(vectors::path(CHECKPOINT)).unwrap();
    let Ok(Read::Header(header)) = gguf::read(&bytes, bytes.len() as u64) else {
        panic!("{CHECKPOINT} does not read");
    };
    let middle = header.tensors.len() / 2;
    let halves = [&header.tensors[..middle], &header.tensors[middle..]];
    let count = i32::try_from(header.tensors.len()).unwrap();
    [0, 1].map(|number: u16| {
        let mut metadata = if number == 0 { header.metadata.clone() } else { Vec::new() };
        metadata.extend([
            (b"split.no".to_vec(), Value::U16(number)),
            (b"split.count".to_vec(), Value::U16(2)),
            (b"split.tensors.count".to_vec(), Value::I32(count)),
        ]);
        let tensors = halves[usize::from(number)];
        let entries: Vec<TensorEntry> = tensors
            .iter()
            .map(|tensor| TensorEntry {
                name: tensor.name.clone(),
                format: tensor.format,
                dims: tensor.dims.clone(),
                kernel: false,
                streamed: false,
            })
            .collect();
        let written = gguf::write::header(&metadata, &entries).unwrap();
        let mut file = vec![0; usize::try_from(written.file_bytes).unwrap()];
        file[..written.bytes.len()].copy_from_slice(&written.bytes);
        for (tensor, start) in tensors.iter().zip(&written.starts) {
            let len = usize::try_from(tensor.len.unwrap()).unwrap();
            let [from, to] = [tensor.offset, *start].map(|at| usize::try_from(at).unwrap());
            file[to..to + len].copy_from_slice(&bytes[from..from + len]);
        }
        let path = folder.join(format!("half-{:05}-of-00002.gguf", number + 1));
        std::fs::write(&path, file).unwrap();
        path
    })
}

/// Writes a checkpoint of one tensor with this name, and this `general.name`.
pub(crate) fn named(path: &Path, tensor: &str, name: &str) {
    let file = Gguf::sound()
        .with_key(b"general.name", STRING, &string(name.as_bytes()))
        .with_tensors(vec![wimg_tests::gguf::tensor(tensor.as_bytes(), &[64, 256], 0, 0)], 1 << 16);
    std::fs::write(path, file.bytes()).unwrap();
}
