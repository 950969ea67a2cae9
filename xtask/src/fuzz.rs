//! `cargo xtask fuzz SECONDS [TARGET...]`: every fuzz target, or those, a share
//! of the time each.

use std::path::PathBuf;

use crate::setup;
use crate::step::{Step, say, target_dir};

/// The targets of `tests/fuzz`.
pub(crate) const TARGETS: [&str; 4] = ["gguf", "split", "image_json", "layout"];

/// What cargo-fuzz needs: sanitizers are not in stable Rust.
const TOOLCHAIN: &str = "nightly";

/// The targets of these names; of none, all.
pub(crate) fn targets(names: &[&str]) -> Result<Vec<&'static str>, String> {
    if let Some(unknown) = names.iter().find(|name| !TARGETS.contains(name)) {
        return Err(format!("`{unknown}` is no fuzz target; there are {}", TARGETS.join(", ")));
    }
    Ok(TARGETS.into_iter().filter(|name| names.is_empty() || names.contains(name)).collect())
}

pub(crate) fn run(seconds: u64, targets: &[&str]) -> Result<(), String> {
    let installed = Step::new("rustup", "toolchain list").output().unwrap_or_default();
    if !installed.lines().any(|line| line.starts_with(TOOLCHAIN)) {
        Step::new("rustup", "toolchain install --profile minimal")
            .args(&[TOOLCHAIN.into()])
            .run()?;
    }
    let fuzz = setup::cargo_fuzz()?;
    let folder = target_dir().join("fuzz");
    let shown = |path: PathBuf| path.display().to_string();
    let corpus = folder.join("corpus");
    Step::cargo("run --quiet --package wimg-fuzz --bin seeds --")
        .args(&[shown(corpus.clone())])
        .run()?;
    let mut failed = Vec::new();
    for target in targets {
        let found = folder.join("found").join(target);
        std::fs::create_dir_all(&found).map_err(|why| format!("`{}`: {why}", found.display()))?;
        // Unoptimised would find little; debug assertions and overflow checks stay on.
        let words = format!(
            "fuzz run --fuzz-dir tests/fuzz --features libfuzzer --debug-assertions {target}"
        );
        let limits = [
            format!("-max_total_time={}", seconds.div_ceil(targets.len() as u64)),
            "-timeout=10".to_owned(),
            "-rss_limit_mb=2048".to_owned(),
            format!("-artifact_prefix={}/", shown(found)),
        ];
        let ran = Step::at(&fuzz, "cargo-fuzz", &words)
            .args(&[shown(corpus.join(target)), "--".to_owned()])
            .args(&limits)
            .env("RUSTUP_TOOLCHAIN", TOOLCHAIN)
            .env("CARGO_TARGET_DIR", &shown(folder.join("build")))
            .run();
        // One target's finding does not cost the others their time.
        failed.extend(ran.err().map(|why| {
            format!("{why}\nput the input that it names into tests/replay/found/{target}")
        }));
    }
    if !failed.is_empty() {
        return Err(failed.join("\n"));
    }
    say(&format!("\nnothing was found in {seconds} seconds; {} is the corpus", corpus.display()));
    Ok(())
}
