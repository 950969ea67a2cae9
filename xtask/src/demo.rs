//! `cargo xtask demo`: what a user would type, on a checkpoint made on the spot.

use crate::step::{Step, root, say, target_dir};

/// The commands, in order: a narrow but true checkpoint, an image at each beat
/// of the card, both verified, and the ledger of the real checkpoints.
const COMMANDS: &[&str] = &[
    "synth qwen3.8-27b-ggml-org-q4_k_m --scale 20 --out target/demo/narrow.gguf",
    "pack target/demo/narrow.gguf --beat 64 --out target/demo/beat64",
    "pack target/demo/narrow.gguf --layout 4x72/512+check --out target/demo/beat72",
    "verify target/demo/beat64",
    "verify target/demo/beat72",
    "ledger",
];

pub(crate) fn run() -> Result<(), String> {
    let folder = root().join("target/demo");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .map_err(|why| format!("cannot clear `target/demo`: {why}"))?;
    }
    std::fs::create_dir_all(&folder)
        .map_err(|why| format!("cannot make the folder `target/demo`: {why}"))?;
    Step::cargo("build --release --package wimg").run()?;
    let wimg = target_dir().join("release/wimg");
    for command in COMMANDS {
        Step::at(&wimg, "wimg", command).run()?;
    }
    say("\nThe checkpoint and both images are in target/demo; `wimg` is target/release/wimg.");
    Ok(())
}
