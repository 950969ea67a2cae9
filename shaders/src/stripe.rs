//! Striped tiles: block-major, every block in a slot.

use bytemuck::{Pod, Zeroable};

/// The shader's text.
pub const SOURCE: &str = include_str!("stripe.wgsl");
/// The shader's entry point.
pub const ENTRY: &str = "stripe";
/// Invocations of a workgroup.
pub const LANES: u32 = 64;
/// Words that an invocation owns.
pub const STEPS: u32 = 16;

/// One tile. A table of them is one dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct StripeTile {
    /// Byte among the source bytes where the tile's rows start: any byte.
    pub source: u32,
    /// Word among the channel words where the tile starts.
    pub dest: u32,
    /// Words of its lines.
    pub words: u32,
    /// Number of the workgroup that packs its first chunk.
    pub first_group: u32,
    /// Rows of the tile.
    pub rows: u32,
    /// Blocks of a row.
    pub blocks: u32,
    /// Bytes of a row in the source.
    pub row_bytes: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Bytes from a block to the next in the tile.
    pub slot_bytes: u32,
    /// [`LANES`] words as whole blocks of all rows, …
    pub step_blocks: u32,
    /// … rows (fewer than the tile's) …
    pub step_rows: u32,
    /// … and bytes (fewer than a slot's).
    pub step_bytes: u32,
}

impl StripeTile {
    /// Sets the step from one of an invocation's words to its next. `rows` and
    /// `slot_bytes` are at least 1.
    pub fn with_steps(self) -> StripeTile {
        let bytes = LANES * 4;
        let (slot_bytes, rows) = (self.slot_bytes.max(1), self.rows.max(1));
        let slots = bytes / slot_bytes;
        StripeTile {
            step_blocks: slots / rows,
            step_rows: slots % rows,
            step_bytes: bytes % slot_bytes,
            ..self
        }
    }
}
