//! ggml's tensor formats: the one table of ids, names and block sizes.
//!
//! Source: ggml's `ggml_type` enumeration and block structures.

use std::fmt;

/// A ggml tensor format, by its id in a GGUF file.
///
/// Any id can be held and listed. One that ggml has removed, or that this
/// table does not know (forks use private ids), has no [`Block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Format(u32);

/// A format's unit: `elems` elements stored in `bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Elements of a block.
    pub elems: u64,
    /// Bytes of a block.
    pub bytes: u64,
}

/// id, name, elements and bytes of a block, sorted by id.
const TABLE: &[(u32, &str, u64, u64)] = &[
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 36),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
    (42, "Q2_0", 64, 18),
];

/// Ids that ggml once used and has removed.
const REMOVED: &[u32] = &[4, 5, 31, 32, 33, 36, 37, 38];

impl Format {
    /// `F32`, one element in four bytes.
    pub const F32: Format = Format(0);
    /// `Q8_0`, 32 elements in 34 bytes: the format that octets regroup.
    pub const Q8_0: Format = Format(8);

    /// The format with this id, known or not.
    pub const fn from_id(id: u32) -> Format {
        Format(id)
    }

    /// The known format of this name, in ggml's spelling.
    pub fn from_name(name: &str) -> Option<Format> {
        TABLE.iter().find(|row| row.1 == name).map(|row| Format(row.0))
    }

    /// Every known format, by ascending id.
    pub fn all() -> impl Iterator<Item = Format> {
        TABLE.iter().map(|row| Format(row.0))
    }

    /// The id in a GGUF file.
    pub const fn id(self) -> u32 {
        self.0
    }

    /// The format's block, if the format is known.
    pub fn block(self) -> Option<Block> {
        self.row().map(|row| Block { elems: row.2, bytes: row.3 })
    }

    /// Whether ggml once had this format and removed it.
    pub fn is_removed(self) -> bool {
        REMOVED.contains(&self.0)
    }

    fn row(self) -> Option<&'static (u32, &'static str, u64, u64)> {
        let at = TABLE.binary_search_by_key(&self.0, |row| row.0).ok()?;
        TABLE.get(at)
    }
}

/// ggml's name, or `type N` for an id without one.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.pad(row.1),
            None => f.pad(&format!("type {}", self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_disjoint_from_the_removed_ids() {
        assert!(TABLE.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(REMOVED.iter().all(|&id| Format(id).block().is_none()));
        assert_eq!(Format::all().count(), 35);
        for format in Format::all() {
            assert_eq!(Format::from_name(&format.to_string()), Some(format));
        }
    }

    #[test]
    fn unknown_ids_are_held_and_named() {
        assert_eq!(Format::from_id(148).to_string(), "type 148");
        assert!(Format::from_id(4).is_removed());
        assert!(!Format::from_id(148).is_removed());
        assert_eq!(Format::F32.to_string(), "F32");
        assert_eq!(Format::Q8_0.block(), Some(Block { elems: 32, bytes: 34 }));
    }
}
