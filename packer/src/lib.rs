//! The native packer: checkpoints and image directories on disk, and the
//! pipeline between them. What an image is, is [`core`]'s.

pub mod backend;
pub mod cli;
pub mod error;
#[cfg_attr(not(feature = "gpu"), path = "gpu/absent.rs")]
pub mod gpu;
pub mod pack;
pub mod page;
pub mod pipeline;
pub mod progress;
pub mod report;
mod rest;
pub mod serve;
pub mod source;
pub mod store;
pub mod synth;
pub mod verify;

pub use error::Error;
pub use wimg_core as core;
