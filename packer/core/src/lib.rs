//! The pure core of wimg. It plans where every row of a checkpoint lies in a
//! weight image, packs and unpacks tiles, checks them, and describes the
//! result. Data in, data out: it knows no files, threads, clocks or GPU.

mod bytes;
pub mod checkpoint;
pub mod crc32c;
pub mod error;
pub mod escape;
pub mod format;
pub mod gguf;
pub mod headers;
pub mod image;
pub mod layout;
pub mod machine;
pub mod pack;
pub mod plan;
pub mod selection;
pub mod tensor;
pub mod tile;
pub mod window;

pub use checkpoint::{Checkpoint, CheckpointError, Gap, ShardName, SourceTensor};
pub use crc32c::crc32c;
pub use error::ImageError;
pub use escape::Escaped;
pub use format::{Block, Format};
pub use gguf::{GgufError, Header, Read, TensorInfo};
pub use headers::{HEADERS, HeaderFile};
pub use image::{Image, Location, Placement};
pub use layout::{CHECK_BYTES, ImageLayout, TILE_LINES};
pub use machine::{Job, Machine, Op, machine_of};
pub use pack::{PackError, pack_window};
pub use plan::{Plan, Source};
pub use selection::{Pass, Selected, Selection, image_of, streamed_image_of, weight_image};
pub use tensor::{Meta, TensorEntry, TensorTable};
pub use tile::{Cut, Tile};
pub use window::{Window, WindowLimit, Windows};
