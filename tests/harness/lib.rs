//! What the tests share.

pub mod wasm;
