//! The memory of packing: a fixed part, and one for each tensor.

use std::fs;
use std::path::Path;

use wimg_tests::gguf::{Gguf, tensor};
use wimg_tests::program::{command, memory_up_to};

/// The most bytes of memory that a tensor more may take: it is in a header as
/// read and as parsed, a checkpoint, a plan, a manifest as text and parsed, and
/// its line is in a window and in a block for the disk.
/// Measured: 2300 to 2810, as the threads happen to run.
const TENSOR: u64 = 3200;

/// The most memory of packing and verifying `tensors` small tensors.
fn packing(folder: &Path, tensors: u64) -> u64 {
    let name = |number| format!("blk.{number:06}.attn_norm.weight");
    let lines =
        (0..tensors).map(|number| tensor(name(number).as_bytes(), &[8], 0, number * 32)).collect();
    let data = usize::try_from(tensors).unwrap() * 32;
    fs::write(folder.join("m.gguf"), Gguf::sound().with_tensors(lines, data).bytes()).unwrap();
    let mut pack = command(folder);
    pack.args("pack m.gguf --select table --backend cpu --quiet --force --out image".split(' '));
    memory_up_to("publish", pack.stdout(std::process::Stdio::null()))
}

#[test]
fn of_very_many_tensors_each_takes_little() {
    let folder = tempfile::tempdir().unwrap();
    let (few, many) = (packing(folder.path(), 1000), packing(folder.path(), 50_000));
    let each = (many - few) / 49_000;
    assert!(few < 32 << 20, "{few}");
    // A tensor's line of image.json alone has hundreds.
    assert!((200..TENSOR).contains(&each), "{each} bytes a tensor: {few}, {many}");
}
