//! The native packer: checkpoints and image directories on disk, and the
//! pipeline between them. What an image is, is [`core`]'s.
//!
//! ```
//! use wimg::core::{Selection, headers};
//! use wimg::pack::{PackOptions, pack};
//! use wimg::synth::Synth;
//! use wimg::unpack::{UnpackOptions, unpack};
//! use wimg::verify::{VerifyOptions, verify};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let checkpoint = folder.path().join("narrow.gguf");
//! let header = headers::find("qwen3.8-27b-ggml-org-q4_k_m").ok_or("no such header")?;
//! Synth::new(header, 512, 0)?.write(&checkpoint, false)?;
//!
//! let options = PackOptions {
//!     selection: Selection::All,
//!     layout: "4x72/512+check".parse()?,
//!     out: folder.path().join("image"),
//!     force: false,
//!     verify: false,
//!     backend: Default::default(),
//! };
//! let packed = pack(&checkpoint, &options, &|_| {})?;
//! let report = verify(&options.out, &VerifyOptions::default(), &|_| {})?;
//! assert_eq!((report.damages, report.id), (0, packed.id));
//!
//! let back = UnpackOptions { out: folder.path().join("back.gguf"), force: false };
//! unpack(&options.out, &back, &|_| {})?;
//! assert_eq!(std::fs::read(&back.out)?, std::fs::read(&checkpoint)?);
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` has more: `plan.rs`, `pack.rs`, and `load.rs`, a card's loader.
//!
//! **Versions.** The crates follow Semantic Versioning; before 1.0 a new minor
//! version may break. Errors are `#[non_exhaustive]`: more may come in any
//! version. The oldest Rust that builds them is in `rust-version`, and a newer
//! one is a new minor version. The image's format has a version of its own:
//! every earlier one is read.

pub mod backend;
pub mod cli;
pub mod diff;
pub mod error;
mod fault;
#[cfg_attr(not(feature = "gpu"), path = "gpu/absent.rs")]
pub mod gpu;
pub mod nightly;
pub mod pack;
pub mod page;
pub mod pipeline;
pub mod progress;
pub mod report;
mod rest;
pub mod run;
pub mod serve;
pub mod source;
pub mod stop;
pub mod store;
pub mod synth;
pub mod target;
pub mod unpack;
pub mod verify;

pub use error::Error;
pub use wimg_core as core;
