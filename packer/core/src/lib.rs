//! The pure core of wimg. It plans where every row of a checkpoint lies in a
//! weight image, packs and unpacks tiles, checks them, and describes the
//! result. Data in, data out: it knows no files, threads, clocks or GPU.
//!
//! ```
//! use wimg_core::{ImageLayout, headers, image_of, machine_of};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let header = headers::find("qwen3.8-27b-ggml-org-q8_0").ok_or("no such header")?;
//! let machine = machine_of(&header.table())?;
//! let image = image_of(&machine, &ImageLayout::beat72())?;
//! assert!(image.fits() && image.skew_lines() <= image.largest_tile_lines());
//!
//! // Where row 7 of the first tensor lies, and back.
//! let place = image.locate(0, 7).ok_or("no such row")?;
//! assert_eq!(image.at(place.tile.channel, place.tile.line), Some(place.tile));
//! # Ok(())
//! # }
//! ```

#[cfg(target_endian = "big")]
compile_error!("wimg runs on little-endian hosts: checkpoints and images are little-endian");

mod bytes;
pub mod checkpoint;
pub mod crc32c;
pub mod digest;
pub mod error;
pub mod escape;
pub mod format;
pub mod gguf;
pub mod headers;
pub mod image;
pub mod layout;
pub mod ledger;
pub mod machine;
pub mod manifest;
pub mod pack;
pub mod plan;
pub mod selection;
pub mod tensor;
pub mod tensor_crc;
pub mod tile;
pub mod verify;
pub mod window;

pub use checkpoint::{Checkpoint, CheckpointError, Gap, ShardName, SourceTensor};
pub use crc32c::crc32c;
pub use digest::Digest;
pub use error::ImageError;
pub use escape::Escaped;
pub use format::{Block, Format};
pub use gguf::{GgufError, Header, Read, TensorInfo};
pub use headers::{HEADERS, HeaderFile};
pub use image::{Image, Location, Placement, RowByte, Run};
pub use layout::{CHECK_BYTES, ImageLayout, TILE_LINES};
pub use ledger::{ImageLedger, ImageRow, image_ledger};
pub use machine::{Job, Machine, Op, machine_of};
pub use manifest::{FORMAT_VERSION, Manifest, ManifestError};
pub use pack::{PackError, pack_window};
pub use plan::{Plan, Source};
pub use selection::{Pass, Selected, Selection, image_of, streamed_image_of, weight_image};
pub use tensor::{Meta, TensorEntry, TensorTable};
pub use tile::{Cut, Tile};
pub use verify::{Damage, Verifier};
pub use window::{Window, WindowLimit, Windows};
