//! Why a checkpoint has no image.

use thiserror::Error;

use crate::escape::Escaped;
use crate::format::Format;

/// Why a checkpoint has no image under a layout and a selection.
///
/// Tensor names come from files: they are escaped here, once, for every reader.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// A field of the layout is out of its bounds.
    #[error("layout: `{field}` is {value}, it must be {min} to {max}{also}")]
    LayoutBounds {
        /// The field of [`ImageLayout`](crate::ImageLayout).
        field: &'static str,
        /// What it holds.
        value: u64,
        /// The least it may hold.
        min: u64,
        /// The most it may hold.
        max: u64,
        /// A further rule, as words to append.
        also: &'static str,
    },
    /// `octets` or `slot` without a stripe.
    #[error("layout: `{field}` needs a stripe, and the layout has none")]
    LayoutNeedsStripe {
        /// The field that needs a stripe.
        field: &'static str,
    },
    /// A layout string that is not one.
    #[error(
        "layout `{}`: {why}; expected a string like `4x72/512+check+stripe8+octets+slot16`",
        Escaped::new(.text)
    )]
    LayoutText {
        /// The string.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A selection's name that is not one.
    #[error("selection `{}` is unknown; expected machine, streamed, all or table", Escaped::new(.0))]
    SelectionText(String),
    /// A tensor of no dims or more than four, or of a dim that is zero.
    #[error("tensor `{}`: dims {dims:?}: {why}", Escaped::new(.tensor))]
    Dims {
        /// The tensor's name.
        tensor: String,
        /// Its dims, innermost first.
        dims: Vec<u64>,
        /// What is wrong with them.
        why: &'static str,
    },
    /// A size past u64.
    #[error("tensor `{}`: its {what} are more than 2^64 - 1", Escaped::new(.tensor))]
    Overflow {
        /// The tensor's name.
        tensor: String,
        /// What has no size.
        what: &'static str,
    },
    /// A format that ggml has removed or that is not known.
    #[error(
        "tensor `{}`: format {format} is {}, so the size of its blocks is not known",
        Escaped::new(.tensor),
        if .format.is_removed() { "removed from ggml" } else { "unknown" }
    )]
    FormatUnknown {
        /// The tensor's name.
        tensor: String,
        /// The format, by its raw id.
        format: Format,
    },
    /// Rows that are not whole blocks.
    #[error(
        "tensor `{}`: a row of {row} elements is not whole {format} blocks of {block}",
        Escaped::new(.tensor)
    )]
    RowRagged {
        /// The tensor's name.
        tensor: String,
        /// Its format.
        format: Format,
        /// Elements of a row.
        row: u64,
        /// Elements of a block.
        block: u64,
    },
    /// A kernel without exactly two dims (trailing ones apart), whose blocks hold several
    /// elements, or that is streamed.
    #[error("tensor `{}`: {format} {dims:?} is not a kernel: {why}", Escaped::new(.tensor))]
    NotAKernel {
        /// The tensor's name.
        tensor: String,
        /// Its format.
        format: Format,
        /// Its dims, innermost first.
        dims: Vec<u64>,
        /// What a kernel would be.
        why: &'static str,
    },
    /// A kernel of which not even one element fits a tile.
    #[error(
        "tensor `{}`: an element of {elem_bytes} bytes and the tile's {check_bytes} check bytes do not fit a tile of {tile_bytes} bytes",
        Escaped::new(.tensor)
    )]
    KernelElement {
        /// The tensor's name.
        tensor: String,
        /// Bytes of an element.
        elem_bytes: u64,
        /// Bytes of the check word.
        check_bytes: u64,
        /// `tile_lines * line_bytes`.
        tile_bytes: u64,
    },
    /// A Q8_0 row that is not whole octets.
    #[error(
        "tensor `{}`: a row of {blocks} Q8_0 blocks is not whole octets of 8",
        Escaped::new(.tensor)
    )]
    OctetsRagged {
        /// The tensor's name.
        tensor: String,
        /// Blocks of a row.
        blocks: u64,
    },
    /// A tile past the limit that bounds everyone's memory.
    #[error(
        "tensor `{}`: a tile of {tile_rows} rows takes {bytes} bytes, the limit is {limit}",
        Escaped::new(.tensor)
    )]
    TileTooLarge {
        /// The tensor's name.
        tensor: String,
        /// Rows of the tile.
        tile_rows: u64,
        /// Bytes of its lines.
        bytes: u64,
        /// [`MAX_TILE_BYTES`](crate::tile::MAX_TILE_BYTES).
        limit: u64,
    },
    /// A kernel that is put together from more of the checkpoint than memory allows.
    #[error(
        "tensor `{}`: a kernel of {bytes} bytes is transposed whole, the limit is {limit}",
        Escaped::new(.tensor)
    )]
    KernelTooLarge {
        /// The tensor's name.
        tensor: String,
        /// Its bytes in the checkpoint.
        bytes: u64,
        /// [`MAX_TILE_BYTES`](crate::tile::MAX_TILE_BYTES).
        limit: u64,
    },
    /// An order that is not a permutation of the table.
    #[error("order: {why} (index {index}, the table has {tensors} tensors)")]
    Order {
        /// What is wrong.
        why: &'static str,
        /// The index that is missing, repeated or invented.
        index: usize,
        /// Tensors of the table.
        tensors: usize,
    },
    /// No step is known for the architecture.
    #[error(
        "no step is known for architecture `{}`; known: {known}; selection `table` needs none",
        Escaped::new(.architecture)
    )]
    StepUnknown {
        /// `general.architecture`, or `(none)`.
        architecture: String,
        /// The architectures with a step.
        known: &'static str,
    },
    /// Metadata that the step needs and cannot use.
    #[error("metadata `{}`: {why}", Escaped::new(.key))]
    StepMetadata {
        /// The full key.
        key: String,
        /// What is wrong.
        why: String,
    },
    /// A tensor that the step reads is not in the table.
    #[error("tensor `{tensor}` is missing: the step of `{architecture}` reads it")]
    StepTensorMissing {
        /// The tensor's name.
        tensor: String,
        /// The step's architecture.
        architecture: &'static str,
    },
    /// A tensor that the step reads has another shape.
    #[error("tensor `{tensor}` is {dims:?}: {why}")]
    StepTensorShape {
        /// The tensor's name.
        tensor: String,
        /// Its dims, innermost first.
        dims: Vec<u64>,
        /// What the step needs.
        why: String,
    },
}
