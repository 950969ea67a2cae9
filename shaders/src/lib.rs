//! The compute shaders that pack weight images: their WGSL text, workgroup
//! sizes, and the host's mirrors of what they read. No GPU API.
//!
//! Each kernel is `<kernel>.wgsl` beside `<kernel>.rs`, named as the core's
//! function that specifies it. A test reads the WGSL and compares it with the
//! mirrors.

pub mod plain;
pub mod stripe;
pub mod tile_crc;
pub mod transpose;
