//! How far the channels are apart as the pass goes on.

use super::{Image, first_round_skew, spread};

impl Image {
    /// By tensor: the most lines that two channels differ by after any of its
    /// tiles. The largest is [`Image::skew_lines`].
    pub fn tensor_skews(&self) -> impl Iterator<Item = u64> + '_ {
        let after = self.placements.iter().skip(1).map(|next| next.first_line.as_slice());
        let after = after.chain(std::iter::once(self.channel_lines.as_slice()));
        self.placements.iter().zip(after).map(|(placement, after)| {
            let mut sorted = placement.first_line.clone();
            sorted.sort_unstable();
            first_round_skew(sorted.into_iter(), &placement.cut).max(spread(after.iter().copied()))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{HEADERS, ImageLayout, Plan, Selection};

    #[test]
    fn the_largest_is_the_images() {
        for layout in [ImageLayout::beat64(), ImageLayout::beat72()] {
            let selected = Selection::Machine.of(&HEADERS[1].table()).unwrap();
            let plan = Plan::of(selected, &layout, Vec::new()).unwrap();
            let image = plan.image();
            let skews: Vec<u64> = image.tensor_skews().collect();
            assert_eq!(skews.len(), image.tensors().len());
            assert_eq!(skews.iter().max(), Some(&image.skew_lines()));
            assert!(skews.iter().min() < Some(&image.skew_lines()));
        }
    }
}
