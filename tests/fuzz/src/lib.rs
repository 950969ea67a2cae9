//! What may not happen, whatever the input: a property a file, each a plain
//! function of bytes. `cargo xtask fuzz` looks for inputs that break one; the
//! tests replay those that it has found, and its seeds.

pub mod gguf;
pub mod image_json;
pub mod layout;
pub mod seeds;
pub mod split;
