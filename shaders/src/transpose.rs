//! Kernels to tap-major.

use bytemuck::{Pod, Zeroable};

/// The shader's text.
pub const SOURCE: &str = include_str!("transpose.wgsl");
/// The shader's entry point.
pub const ENTRY: &str = "transpose";
/// Invocations of a workgroup.
pub const LANES: u32 = 64;
/// Words that an invocation owns.
pub const STEPS: u32 = 16;

/// One tile. A table of them is one dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TransposeTile {
    /// Byte among the source bytes where the whole kernel starts: any byte.
    pub source: u32,
    /// Word among the channel words where the tile starts.
    pub dest: u32,
    /// Bytes of its rows.
    pub bytes: u32,
    /// Words of its lines.
    pub words: u32,
    /// Number of the workgroup that packs its first chunk.
    pub first_group: u32,
    /// Taps: the source has a channel's taps together.
    pub taps: u32,
    /// Pieces of a tap.
    pub pieces: u32,
    /// Channels of a piece: the elements of an image row.
    pub channels: u32,
    /// The tile's first image row; row `tap * pieces + k` is piece k of a tap.
    pub first_row: u32,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub elem_bytes: u32,
}
