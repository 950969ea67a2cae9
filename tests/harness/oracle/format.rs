//! The ggml formats, typed from the specification a second time.

/// A format: `elems` elements lie in `bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The type number in a GGUF header.
    pub id: u32,
    /// ggml's name.
    pub name: &'static str,
    /// Elements of a block.
    pub elems: usize,
    /// Bytes of a block.
    pub bytes: usize,
}

const fn row(id: u32, name: &'static str, elems: usize, bytes: usize) -> Format {
    Format { id, name, elems, bytes }
}

/// Every known format, by rising id; removed and unknown ids are absent.
pub const FORMATS: [Format; 35] = [
    row(0, "F32", 1, 4),
    row(1, "F16", 1, 2),
    row(2, "Q4_0", 32, 18),
    row(3, "Q4_1", 32, 20),
    row(6, "Q5_0", 32, 22),
    row(7, "Q5_1", 32, 24),
    row(8, "Q8_0", 32, 34),
    row(9, "Q8_1", 32, 36),
    row(10, "Q2_K", 256, 84),
    row(11, "Q3_K", 256, 110),
    row(12, "Q4_K", 256, 144),
    row(13, "Q5_K", 256, 176),
    row(14, "Q6_K", 256, 210),
    row(15, "Q8_K", 256, 292),
    row(16, "IQ2_XXS", 256, 66),
    row(17, "IQ2_XS", 256, 74),
    row(18, "IQ3_XXS", 256, 98),
    row(19, "IQ1_S", 256, 50),
    row(20, "IQ4_NL", 32, 18),
    row(21, "IQ3_S", 256, 110),
    row(22, "IQ2_S", 256, 82),
    row(23, "IQ4_XS", 256, 136),
    row(24, "I8", 1, 1),
    row(25, "I16", 1, 2),
    row(26, "I32", 1, 4),
    row(27, "I64", 1, 8),
    row(28, "F64", 1, 8),
    row(29, "IQ1_M", 256, 56),
    row(30, "BF16", 1, 2),
    row(34, "TQ1_0", 256, 54),
    row(35, "TQ2_0", 256, 66),
    row(39, "MXFP4", 32, 17),
    row(40, "NVFP4", 64, 36),
    row(41, "Q1_0", 128, 18),
    row(42, "Q2_0", 64, 18),
];

/// The format numbered `id`, if there is one.
pub fn format(id: u32) -> Option<Format> {
    FORMATS.into_iter().find(|format| format.id == id)
}
