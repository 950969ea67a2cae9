//! A tensor's lines on one channel: what is drawn of an image that has more
//! tiles than a screen has pixels.

use std::ops::Range;

use super::{Image, starts};

/// A tensor's lines on one channel; its tiles there lie in them end to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The tensor's place in the image.
    pub tensor: usize,
    /// The channel's lines; at least one.
    pub lines: Range<u64>,
    /// The tensor's tiles there.
    pub tiles: u64,
}

impl Image {
    /// The tensors that have one of a channel's `lines`, in order, each with
    /// all of its lines there. O(log tensors) to the first and O(1) to each
    /// next one that has a line, whatever the number of tiles.
    pub fn runs(&self, channel: u64, lines: Range<u64>) -> impl Iterator<Item = Run> + '_ {
        let lane = usize::try_from(channel).unwrap_or(usize::MAX);
        let first = self.placements.partition_point(|p| ends(p, lane) <= lines.start);
        let placements = self.placements.iter().enumerate().skip(first);
        placements
            .take_while(move |(_, p)| starts(p, lane) < lines.end)
            .map(move |(tensor, p)| {
                let lines = starts(p, lane)..ends(p, lane);
                Run { tensor, lines, tiles: p.tiles_on(lane) }
            })
            .filter(|run| !run.lines.is_empty())
    }
}

/// The channel's line after the tensor's last tile there.
fn ends(placement: &super::Placement, lane: usize) -> u64 {
    match starts(placement, lane) {
        // No such channel.
        u64::MAX => u64::MAX,
        start => start + placement.lines_on(lane),
    }
}

#[cfg(test)]
mod tests {
    use crate::{HEADERS, ImageLayout, Selection, TensorTable, weight_image};

    #[test]
    fn runs_are_the_tiles_joined() {
        let table = TensorTable { tensors: small_tensors(), ..HEADERS[0].table() };
        let order: Vec<usize> = (0..table.tensors.len()).collect();
        let layout: ImageLayout = "5x64/16+check".parse().unwrap();
        let image = weight_image(&table, &order, &layout).unwrap();
        let mut seen = 0;
        for (channel, &held) in (0..).zip(image.channel_lines()) {
            for (from, to) in [(0, held), (held / 3, held / 2), (held - 1, held), (7, 8)] {
                let mut joined: Vec<(usize, u64)> = Vec::new();
                for tile in image.channel_tiles(channel, from..to) {
                    match joined.last_mut().filter(|last| last.0 == tile.tensor) {
                        Some(last) => last.1 += 1,
                        None => joined.push((tile.tensor, 1)),
                    }
                }
                let runs: Vec<_> = image.runs(channel, from..to).collect();
                let tensors: Vec<usize> = runs.iter().map(|run| run.tensor).collect();
                assert_eq!(tensors, joined.iter().map(|j| j.0).collect::<Vec<_>>());
                if (from, to) == (0, held) {
                    let tiles: Vec<u64> = runs.iter().map(|run| run.tiles).collect();
                    assert_eq!(tiles, joined.iter().map(|j| j.1).collect::<Vec<_>>());
                    assert!(runs.windows(2).all(|pair| pair[0].lines.end == pair[1].lines.start));
                    assert_eq!(runs.last().unwrap().lines.end, held);
                }
                seen += runs.len();
            }
        }
        assert!(seen > 40, "{seen} runs");
        assert_eq!(image.runs(5, 0..1).count(), 0, "there is no channel 5");
    }

    fn small_tensors() -> Vec<crate::TensorEntry> {
        let selected = Selection::Machine.of(&HEADERS[1].table()).unwrap();
        selected.tensors.into_iter().filter(|t| t.dims.len() == 1 || t.kernel).collect()
    }
}
