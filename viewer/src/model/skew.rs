//! How far the channels are apart as a pass goes on.

use wimg_core::Image;

/// The skew while one tensor is dealt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkewStep {
    /// The tensor's place in the image.
    pub tensor: usize,
    /// Tiles dealt before it.
    pub from: u64,
    /// Tiles dealt after it.
    pub to: u64,
    /// The most lines that two channels differ by meanwhile.
    pub lines: u64,
}

/// The skew of every tensor, in image order.
pub fn steps(image: &Image) -> Vec<SkewStep> {
    let each = image.placements().iter().zip(image.tensor_skews()).enumerate();
    each.map(|(tensor, (placement, lines))| SkewStep {
        tensor,
        from: placement.tiles.start,
        to: placement.tiles.end,
        lines,
    })
    .collect()
}
