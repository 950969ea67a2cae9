//! Plain tiles: rows end to end.

use bytemuck::{Pod, Zeroable};

/// The shader's text.
pub const SOURCE: &str = include_str!("plain.wgsl");
/// The shader's entry point.
pub const ENTRY: &str = "plain";
/// Invocations of a workgroup.
pub const LANES: u32 = 64;
/// Words that an invocation owns.
pub const STEPS: u32 = 16;

/// One tile. A table of them is one dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PlainTile {
    /// Byte among the source bytes where the tile's rows start: any byte.
    pub source: u32,
    /// Word among the channel words where the tile starts.
    pub dest: u32,
    /// Bytes of its rows.
    pub bytes: u32,
    /// Words of its lines.
    pub words: u32,
    /// Number of the workgroup that packs its first chunk.
    pub first_group: u32,
}
