//! The pure core of wimg. It plans where every row of a checkpoint lies in a
//! weight image, packs and unpacks tiles, checks them, and describes the
//! result. Data in, data out: it knows no files, threads, clocks or GPU.

mod bytes;
pub mod checkpoint;
pub mod escape;
pub mod format;
pub mod gguf;
pub mod headers;
pub mod tensor;

pub use checkpoint::{Checkpoint, CheckpointError, Gap, ShardName, SourceTensor};
pub use escape::Escaped;
pub use format::{Block, Format};
pub use gguf::{GgufError, Header, Read, TensorInfo};
pub use headers::{HEADERS, HeaderFile};
pub use tensor::{Meta, TensorEntry, TensorTable};
