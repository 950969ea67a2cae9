//! Layout strings.

use wimg_core::{Format, ImageLayout, Plan, Selection, TensorEntry, TensorTable};
use wimg_core::{Window, WindowLimit, plan::Source};

use crate::split::consistent;

/// Reads `data` as a layout: one that is read is written as it is read again,
/// and lays tensors of several kinds out or refuses them.
///
/// # Panics
/// Something is wrong with layouts or plans.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(layout) = text.parse::<ImageLayout>() else { return };
    assert_eq!(layout.to_string().parse(), Ok(layout));
    for (kernel, streamed) in [(false, false), (false, true), (true, false)] {
        let entry = |name: &str, format, dims: &[u64]| TensorEntry {
            name: name.to_owned(),
            format,
            dims: dims.to_vec(),
            kernel,
            streamed,
        };
        let tensors = match kernel {
            true => vec![entry("k", Format::F32, &[4, 60]), entry("l", Format::F32, &[3, 1021])],
            false => vec![
                entry("a", Format::Q8_0, &[512, 70]),
                entry("b", Format::F32, &[3]),
                entry("c", Format::Q8_0, &[256, 1 << 40]),
            ],
        };
        let lens = [38_080, 12, 272 << 40];
        let sources = lens.map(|len| Source { shard: 0, offset: 0, len });
        let table = TensorTable { tensors, ..TensorTable::default() };
        let Ok(mut selected) = Selection::Table.of(&table) else { unreachable!() };
        selected.tensors = table.tensors.clone();
        let sources = match kernel {
            true => [960, 12_252].map(|len| Source { shard: 0, offset: 0, len }).to_vec(),
            false => sources.to_vec(),
        };
        let Ok(plan) = Plan::of(selected, &layout, sources) else { continue };
        consistent(&plan);
        let windows: Vec<Window> = plan.windows(WindowLimit::default()).take(3).collect();
        for window in windows {
            assert!(window.tasks.len() == 1 || window.channel_bytes <= 8 << 20);
        }
    }
}
