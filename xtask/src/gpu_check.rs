//! `cargo xtask gpu-check`: one program, without cargo, network or checkout, that
//! holds a GPU's bytes against the CPU's and measures its kernels.

use std::path::Path;

use crate::step::{Step, root, say, target_dir};

/// The most bytes that it may have, to be carried to a machine with a GPU.
const LIMIT: u64 = 64 << 20;

pub(crate) fn run() -> Result<(), String> {
    Step::cargo("build --release --package wimg-tests --bin gpu_check").run()?;
    let built = target_dir().join("release/gpu_check");
    let folder = root().join("target/gpu-check");
    std::fs::create_dir_all(&folder).map_err(|why| format!("`{}`: {why}", folder.display()))?;
    let stripped = folder.join("gpu_check");
    let words = [&stripped, &built].map(|path| path.display().to_string());
    Step::new("strip", "-o").args(&words).run()?;
    check_size(&stripped)?;
    say("\nThe program is target/gpu-check/gpu_check: copy it to a machine with a GPU and run it.");
    Step::at(&stripped, "target/gpu-check/gpu_check", "").run()
}

fn check_size(program: &Path) -> Result<(), String> {
    let meta =
        std::fs::metadata(program).map_err(|why| format!("`{}`: {why}", program.display()))?;
    if meta.len() <= LIMIT {
        return Ok(());
    }
    Err(format!("`{}` has {} bytes, the limit is {LIMIT}", program.display(), meta.len()))
}
