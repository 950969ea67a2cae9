//! The ledger in a browser: every image's figures, where each of its rows
//! lies, what another layout would cost, and whether a packed image is sound.
//!
//! [`model`] is what can be seen and [`scene`] what is drawn of it: plain data
//! and functions, tested without a browser. Only `canvas` and `page` name the
//! browser. All placement arithmetic is the core's.

mod canvas;
pub mod model;
mod page;
pub mod scene;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Starts the page. `web/main.js` calls it once the module is compiled.
///
/// # Errors
/// A document that is not the page's.
#[wasm_bindgen]
pub fn start() -> Result<(), JsValue> {
    page::start()
}

/// Does a worker's work: verifies the image whose files the message lists.
///
/// # Errors
/// A message that is not the page's.
#[wasm_bindgen]
pub fn work(message: &JsValue) -> Result<(), JsValue> {
    page::worker::work(message)
}
