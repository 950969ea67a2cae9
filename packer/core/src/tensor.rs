//! A tensor, and a checkpoint's table of them.

use std::collections::BTreeMap;

use crate::format::Format;

/// One tensor: its name, ggml format and dims, and how an image stores it.
///
/// `dims` are always the checkpoint's, innermost first (GGUF order). A tensor
/// straight from a table is neither a kernel nor streamed; a [`Machine`] sets
/// both.
///
/// [`Machine`]: crate::machine::Machine
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorEntry {
    /// The name, as the checkpoint has it.
    pub name: String,
    /// The ggml format.
    pub format: Format,
    /// The dims in elements, innermost first.
    pub dims: Vec<u64>,
    /// A convolution kernel `[taps, channels]` that the image stores tap-major:
    /// `taps` rows of `channels` elements, the transpose of the checkpoint's.
    pub kernel: bool,
    /// Read by a matvec job through the card's array: a layout with a stripe
    /// lays it in stripes.
    pub streamed: bool,
}

/// A metadata value, as far as a step reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meta {
    /// Any of GGUF's integer types.
    Integer(i128),
    /// An array of booleans.
    Bools(Vec<bool>),
    /// A value of another type: named for the error that refuses it.
    Other(&'static str),
}

/// A checkpoint's tensor table: what a plan needs to know of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorTable {
    /// `general.architecture`, if the checkpoint has one.
    pub architecture: Option<String>,
    /// The metadata under the architecture's prefix, by full key.
    pub metadata: BTreeMap<String, Meta>,
    /// The tensors in the table's order, over all shards.
    pub tensors: Vec<TensorEntry>,
}
