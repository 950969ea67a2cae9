//! The pure core of wimg. It plans where every row of a checkpoint lies in a
//! weight image, packs and unpacks tiles, checks them, and describes the
//! result. Data in, data out: it knows no files, threads, clocks or GPU.

pub mod error;
pub mod format;
pub mod image;
pub mod layout;
pub mod machine;
pub mod selection;
pub mod tensor;
pub mod tile;

pub use error::ImageError;
pub use format::{Block, Format};
pub use image::{Image, Location, Placement};
pub use layout::{CHECK_BYTES, ImageLayout, TILE_LINES};
pub use machine::{Job, Machine, Op, machine_of};
pub use selection::{Pass, Selected, Selection, image_of, streamed_image_of, weight_image};
pub use tensor::{Meta, TensorEntry, TensorTable};
pub use tile::{Cut, Tile};
