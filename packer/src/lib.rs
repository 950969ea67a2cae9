//! The native packer.

pub mod source;

pub use wimg_core as core;
