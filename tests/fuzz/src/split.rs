//! Split sets, and plans of whatever they hold.

use wimg_core::{Checkpoint, Header, ImageLayout, Plan, Selection};

use crate::gguf::verdict;

/// Shards of a set, at most.
const SHARDS: usize = 4;

/// Takes `data` as shards, each after its length of three bytes, and plans
/// what they hold under layouts of every kind.
///
/// # Panics
/// Something is wrong with the checkpoint or its plans.
pub fn check(data: &[u8]) {
    let mut rest = data;
    let mut headers: Vec<Header> = Vec::new();
    while let Some((&[a, b, c], after)) = rest.split_first_chunk::<3>() {
        let len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        let (shard, after) = after.split_at(len.min(after.len()));
        rest = after;
        let Ok(header) = verdict(shard, usize::MAX) else { return };
        headers.push(header);
        if headers.len() == SHARDS {
            break;
        }
    }
    let Ok(checkpoint) = Checkpoint::new(headers) else { return };
    covered_once(&checkpoint);
    for layout in ["4x64/512", "3x72/7+check", "1x4/1+stripe3+slot5", "5x16/2+check+stripe1+octets"]
    {
        let Ok(layout) = layout.parse::<ImageLayout>() else { unreachable!() };
        for selection in Selection::ALL {
            if let Ok(plan) = Plan::new(&checkpoint, selection, &layout) {
                consistent(&plan);
            }
        }
    }
}

/// Headers, tensors and gaps are every byte of every shard, once.
fn covered_once(checkpoint: &Checkpoint) {
    let gaps = checkpoint.gaps();
    for (shard, header) in (0u32..).zip(&checkpoint.shards) {
        let tensors = checkpoint.tensors.iter().filter(|tensor| tensor.shard == shard);
        let mut runs: Vec<(u64, u64)> = vec![(0, header.header_len)];
        runs.extend(tensors.filter_map(|tensor| Some((tensor.offset, tensor.len?))));
        runs.retain(|&(_, len)| len > 0);
        runs.extend(gaps.iter().filter(|gap| gap.shard == shard).map(|gap| (gap.offset, gap.len)));
        runs.sort_unstable();
        let end = runs.iter().fold(0, |at, &(offset, len)| {
            assert_eq!(offset, at);
            offset + len
        });
        assert_eq!(end, header.file_len);
    }
}

/// A place that is found leads back to what was looked for.
pub(crate) fn consistent(plan: &Plan) {
    let image = plan.image();
    let line_bytes = u128::from(image.layout().line_bytes);
    let lines: u128 = image.channel_lines().iter().map(|&lines| u128::from(lines)).sum();
    let tensors: u128 = plan.sources().iter().map(|source| u128::from(source.len)).sum();
    assert!(lines * line_bytes >= tensors);
    assert!(image.skew_lines() <= image.largest_tile_lines());
    for (tensor, placement) in image.placements().iter().enumerate() {
        for row in [0, placement.cut.rows / 2, placement.cut.rows - 1] {
            let tile = image.locate(tensor, row).map(|found| found.tile);
            assert!(tile.is_some(), "row {row} is nowhere");
            let Some(tile) = tile else { continue };
            assert!((tile.first_row..tile.end_row).contains(&row));
            assert_eq!(image.at(tile.channel, tile.line), Some(tile));
            assert_eq!(image.tile(tile.index), Some(tile));
        }
    }
}
