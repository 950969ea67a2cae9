//! What the tests share.

pub mod gguf;
