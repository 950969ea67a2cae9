//! Synthetic checkpoints: their shapes at every scale, their bytes, and what
//! another GGUF reader makes of them.
#![expect(clippy::unwrap_used, reason = "what cannot be written or read fails the test")]

mod bytes;
mod python;
mod shapes;

use std::path::Path;

use wimg::synth::SynthFile;
use wimg_core::gguf::{Header, Read, read};
use wimg_core::{Format, TensorEntry};

/// The header of a file that is small or sparse enough to read a prefix of.
fn header_of(path: &Path) -> Header {
    let file_len = path.metadata().unwrap().len();
    let mut prefix = Vec::new();
    loop {
        match read(&prefix, file_len).unwrap() {
            Read::Header(header) => return header,
            Read::More { at_least } => {
                use std::io::Read as _;
                prefix.clear();
                std::fs::File::open(path).unwrap().take(at_least).read_to_end(&mut prefix).unwrap();
                assert_eq!(prefix.len() as u64, at_least);
            }
        }
    }
}

fn tensor(name: &str, format: &str, dims: &[u64]) -> TensorEntry {
    TensorEntry {
        name: name.to_owned(),
        format: Format::from_name(format).unwrap(),
        dims: dims.to_vec(),
        kernel: false,
        streamed: false,
    }
}

fn file(tensors: Vec<TensorEntry>, seed: u64) -> SynthFile {
    SynthFile { metadata: Vec::new(), tensors, seed }
}
