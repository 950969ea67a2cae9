//! The pure core of wimg. It plans where every row of a checkpoint lies in a
//! weight image, packs and unpacks tiles, checks them, and describes the
//! result. Data in, data out: it knows no files, threads, clocks or GPU.

pub mod format;
#[path = "gguf/write.rs"]
pub mod gguf_write;
pub mod headers;
pub mod tensor;

pub use format::{Block, Format};
pub use headers::{HEADERS, HeaderFile};
pub use tensor::{Meta, TensorEntry, TensorTable};
