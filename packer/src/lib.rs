//! The native packer.

#[cfg(feature = "gpu")]
pub mod gpu;
pub mod synth;

pub use wimg_core as core;
