//! `cargo xtask web`: the page, built into `target/web`.
//!
//! The tool that makes JavaScript for a WASM module is a library with a large
//! tree. It stands behind xtask's feature `web`, so that every other chore is
//! quick to build: this one builds xtask again with it.

use crate::setup;
use crate::step::Step;

/// Builds the module for wasm32, and the page around it.
pub(crate) fn run() -> Result<(), String> {
    setup::wasm()?;
    let module = "build --package wimg-viewer --target wasm32-unknown-unknown --profile web";
    Step::cargo(module).run()?;
    Step::cargo("run --quiet --package xtask --features web -- web-bundle").run()
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
