//! Windows: every tile once, from its own bytes, to its own lines, within the limit.

use std::cell::Cell;

use proptest::prelude::*;
use wimg_core::window::SourceRange;
use wimg_core::{Plan, Window, WindowLimit};
use wimg_tests::cases::{cases, for_each};
use wimg_tests::twin;

use crate::plan::Same;

/// Limits around one tile, around a few, around everything.
pub(crate) fn limits() -> impl Strategy<Value = WindowLimit> {
    let limit = |(bytes, tiles)| WindowLimit { bytes, tiles };
    prop_oneof![
        1 => Just(WindowLimit::default()),
        1 => Just(WindowLimit { tiles: 1, ..WindowLimit::default() }),
        1 => Just(WindowLimit { bytes: 0, tiles: 0 }),
        1 => Just(WindowLimit { bytes: u64::MAX, tiles: u64::MAX }),
        3 => (1..=4096_u64, 1..=40_u64).prop_map(limit),
        3 => (1..=100_000_u64, 1..=1000_u64).prop_map(limit),
    ]
}

/// What the windows before have left: lines by channel, bytes by tensor, the next tile.
struct Before {
    lines: Vec<u64>,
    bytes: Vec<u64>,
    tile: u64,
}

/// All windows of a plan; how many there are.
pub(crate) fn windows_hold(plan: &Plan, limit: WindowLimit) -> Result<usize, TestCaseError> {
    let image = plan.image();
    let mut before = Before {
        lines: vec![0; image.channel_lines().len()],
        bytes: vec![0; image.tensors().len()],
        tile: 0,
    };
    let mut windows = 0;
    for window in plan.windows(limit) {
        window_holds(plan, limit, &window, &mut before)?;
        windows += 1;
    }
    prop_assert_eq!(before.tile, image.tile_count());
    prop_assert_eq!(&before.lines, image.channel_lines());
    let lens: Vec<u64> = plan.sources().iter().map(|source| source.len).collect();
    prop_assert_eq!(before.bytes, lens);
    Ok(windows)
}

fn window_holds(plan: &Plan, limit: WindowLimit, window: &Window, before: &mut Before) -> Same {
    let tiles = window.tasks.len() as u64;
    let within = window.source_bytes <= limit.bytes
        && window.channel_bytes <= limit.bytes
        && tiles <= limit.tiles;
    prop_assert!(tiles == 1 || (tiles > 1 && within), "{limit:?}: {window:?}");
    prop_assert_eq!(&window.tiles, &(before.tile..before.tile + tiles));
    before.tile += tiles;
    sources_hold(plan, window, before)?;
    runs_hold(plan, window, before)?;
    for (number, task) in window.tiles.clone().zip(&window.tasks) {
        let image = plan.image();
        prop_assert_eq!(Some(task.tile), image.tile(number));
        let range = window.sources.iter().find(|range| range.tensor == task.tile.tensor).unwrap();
        let cut = &image.placements()[task.tile.tensor].cut;
        let first = if image.tensors()[task.tile.tensor].kernel {
            0
        } else {
            task.tile.first_row * cut.row_bytes - range.tensor_offset
        };
        prop_assert_eq!(task.source, range.at + first);
        let run = &window.runs[usize::try_from(task.tile.channel).unwrap()];
        let line_bytes = image.layout().line_bytes;
        prop_assert_eq!(task.dest, run.at + (task.tile.line - run.line) * line_bytes);
        prop_assert_eq!(task.len, task.tile.lines * line_bytes);
        prop_assert!(task.dest + task.len <= run.at + run.lines * line_bytes);
    }
    Ok(())
}

/// The ranges lie end to end, inside their tensors, and go on where the window before stopped.
fn sources_hold(plan: &Plan, window: &Window, before: &mut Before) -> Same {
    let mut at = 0;
    prop_assert!(window.sources.is_sorted_by(|a, b| a.tensor < b.tensor));
    for range in &window.sources {
        let SourceRange { tensor, shard, offset, tensor_offset, len, .. } = *range;
        let source = plan.sources()[tensor];
        prop_assert_eq!((range.at, shard), (at, source.shard));
        prop_assert_eq!(offset, source.offset + tensor_offset);
        prop_assert!(len > 0 && tensor_offset + len <= source.len);
        if plan.image().tensors()[tensor].kernel {
            prop_assert_eq!((tensor_offset, len), (0, source.len));
            before.bytes[tensor] = len;
        } else {
            prop_assert_eq!(tensor_offset, before.bytes[tensor]);
            before.bytes[tensor] += len;
        }
        at += len;
    }
    prop_assert_eq!(window.source_bytes, at);
    Ok(())
}

/// One run a channel, end to end, each going on where the window before stopped.
fn runs_hold(plan: &Plan, window: &Window, before: &mut Before) -> Same {
    let mut at = 0;
    prop_assert_eq!(window.runs.len(), before.lines.len());
    for (channel, (run, line)) in window.runs.iter().zip(&mut before.lines).enumerate() {
        prop_assert_eq!((run.channel, run.line, run.at), (channel as u64, *line, at));
        *line += run.lines;
        at += run.lines * plan.image().layout().line_bytes;
    }
    prop_assert_eq!(window.channel_bytes, at);
    Ok(())
}

#[test]
fn windows_hold_every_tile_once_within_their_limit() {
    let (plans, windows, several) = (Cell::new(0), Cell::new(0), Cell::new(0));
    for_each(0xE004, 3000, &(cases(), limits()), |(case, limit)| {
        let (_, sources) = twin::shards(&case.tensors);
        let Ok(plan) = twin::plan(&case.tensors, &case.layout, sources) else {
            return Ok(());
        };
        let count = windows_hold(&plan, limit)?;
        plans.set(plans.get() + 1);
        windows.set(windows.get() + count);
        several.set(several.get() + u32::from(count > 1));
        // All of a case's bytes fit a window when nothing limits it.
        let unlimited = WindowLimit { bytes: u64::MAX, tiles: u64::MAX };
        prop_assert_eq!(plan.windows(unlimited).count(), usize::from(!case.tensors.is_empty()));
        Ok(())
    });
    let counts = (plans.get(), windows.get(), several.get());
    assert!(counts.0 > 2800 && counts.1 > 30_000 && counts.2 > 1000, "{counts:?}");
}
