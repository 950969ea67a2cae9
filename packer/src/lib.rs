//! The native packer: checkpoints and image directories on disk, and the
//! pipeline between them. What an image is, is [`core`]'s.

pub mod backend;
pub mod cli;
pub mod error;
mod fault;
#[cfg_attr(not(feature = "gpu"), path = "gpu/absent.rs")]
pub mod gpu;
pub mod nightly;
pub mod pack;
pub mod pipeline;
pub mod progress;
mod rest;
pub mod run;
pub mod source;
pub mod stop;
pub mod store;
pub mod synth;
pub mod verify;

pub use error::Error;
pub use wimg_core as core;
