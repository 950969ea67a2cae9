//! The native packer.

pub mod cli;
pub mod source;
pub mod synth;

pub use wimg_core as core;
