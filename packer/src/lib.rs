//! The native packer.

pub mod synth;

pub use wimg_core as core;
