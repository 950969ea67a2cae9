//! The native packer.

pub use wimg_core as core;
