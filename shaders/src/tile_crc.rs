//! CRC-32C of every tile, and its check word.

use bytemuck::{Pod, Zeroable};

/// The shader's text.
pub const SOURCE: &str = include_str!("tile_crc.wgsl");
/// The shader's entry point.
pub const ENTRY: &str = "tile_crc";
/// Invocations of a workgroup: the most lanes that may share a tile.
pub const INVOCATIONS: u32 = 64;
/// CRC-32C's polynomial without x^32, reflected: bit 31 is x^0.
pub const POLYNOMIAL: u32 = 0x82F6_3B78;
/// The polynomial's degree: vectors of four words that folding leaves of a lane.
pub const DEGREE: u32 = 32;
/// The override that says how many lanes share a tile: a power of two, at
/// most [`INVOCATIONS`].
pub const LANES: &str = "LANES";

/// One tile. A table of them is one dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CrcTile {
    /// Word among the channel words where the tile starts.
    pub first: u32,
    /// Words that the CRC covers: all but the check word.
    pub words: u32,
    /// The CRC-32C of as many zeros: what the all-ones start comes to.
    pub start: u32,
    /// 1 where the CRC is also written behind the words it covers, else 0.
    pub check: u32,
}

/// Powers of x modulo the polynomial, for one number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Weights {
    /// y x^i for i from 0 to 31, four to an entry, where y = x^(128 lanes).
    pub advance: [[u32; 4]; 8],
    /// x^(-32 n) for n from 0 to 3.
    pub behind: [u32; 4],
    /// By lane t and component c: x^(32 (4 (lanes - t) - c)) / y^32.
    pub lanes: [[u32; 4]; 64],
}
