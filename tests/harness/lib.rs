//! What the tests share.

pub mod cases;
pub mod gguf;
pub mod oracle;
pub mod program;
pub mod python;
pub mod twin;
pub mod vectors;
pub mod wasm;
