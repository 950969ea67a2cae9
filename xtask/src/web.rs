//! `cargo xtask web`: the page, built into `target/web`, and `wimg` with it.
//!
//! The tool that makes JavaScript for a WASM module is a library with a large
//! tree. It stands behind xtask's feature `web`, so that every other chore is
//! quick to build: this one builds xtask again with it.

use crate::setup;
use crate::step::{Step, say};

/// Builds the module for wasm32, the page around it and, unless only that is
/// wanted, the program that has the page.
pub(crate) fn run(page_only: bool) -> Result<(), String> {
    setup::wasm()?;
    let module = "build --package wimg-viewer --target wasm32-unknown-unknown --profile web";
    Step::cargo(module).run()?;
    Step::cargo("run --quiet --package xtask --features web -- web-bundle").run()?;
    if page_only {
        return Ok(());
    }
    Step::cargo("build --release --package wimg --features page").run()?;
    say("\nTry target/release/wimg serve, or target/release/wimg report --out report.html.");
    Ok(())
}

/// The page around a module that is built already.
#[cfg(feature = "web")]
pub(crate) fn bundle() -> Result<(), String> {
    crate::bundle::run()
}

/// Not in this build.
#[cfg(not(feature = "web"))]
pub(crate) fn bundle() -> Result<(), String> {
    Err("`web-bundle` is a part of `cargo xtask web`: run that".to_owned())
}
