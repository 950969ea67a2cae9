//! The channel map: a lane a channel, its lines along it.

use wimg_core::{Image, Tile};

use crate::model::kind::Kinds;
use crate::model::quantity::count;
use crate::scene::frame::Frame;
use crate::scene::lane::strips;
use crate::scene::{Align, Op, Paint, Scene, axis};

/// A tile needs so many pixels for its edges to show.
const EDGED: u64 = 6;
/// And so many for its number.
const LABELLED: f64 = 64.0;

/// What is marked on a map.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The pinned tile.
    pub pin: Option<Tile>,
    /// The tile that is pointed at.
    pub hover: Option<Tile>,
    /// Damaged tiles, in any order.
    pub damage: Vec<Tile>,
}

/// Draws a map. A lane takes at most four operations a pixel, however many
/// tiles it has: one strip, a quarter of an edge, and a damage at the most.
pub fn map(image: &Image, kinds: &Kinds, frame: &Frame, marks: &Marks) -> Scene {
    let width = frame.left + f64::from(frame.width) + 2.0 * frame.scale;
    let mut scene = Scene { width, height: frame.height(), ops: Vec::new() };
    for (channel, &held) in (0..).zip(image.channel_lines()) {
        lane(&mut scene.ops, image, kinds, frame, channel, held);
    }
    ticks(&mut scene.ops, frame);
    for channel in 0..frame.channels {
        damage(&mut scene.ops, frame, channel, &marks.damage);
    }
    for (tile, paint) in [(marks.hover, Paint::Hover), (marks.pin, Paint::Pin)] {
        if let Some(tile) = tile {
            outline(&mut scene.ops, frame, &tile, paint);
        }
    }
    if let Some(tile) = marks.pin {
        beyond(&mut scene.ops, frame, &tile);
    }
    scene
}

fn lane(ops: &mut Vec<Op>, image: &Image, kinds: &Kinds, frame: &Frame, channel: u64, held: u64) {
    let (top, lane) = (frame.lane_top(channel), frame.lane);
    let capacity = image.layout().channel_lines;
    ops.push(Op::rect(frame.left, top, f64::from(frame.width), lane, Paint::Free));
    for strip in strips(image, kinds, frame, channel) {
        let (from, to) = (strip.pixels.start as f64, strip.pixels.end as f64);
        ops.push(Op::rect(frame.left + from, top, to - from, lane, Paint::Class(strip.class)));
    }
    if held > capacity && frame.span.end > capacity {
        let (from, to) = (frame.pixel(capacity) as f64, frame.pixel(held) as f64);
        let third = lane / 3.0;
        ops.push(Op::rect(
            frame.left + from,
            top + third,
            (to - from).max(1.0),
            third,
            Paint::Over,
        ));
    }
    edges(ops, image, kinds, frame, channel);
    let narrow = frame.left < 50.0 * frame.scale;
    let name = if narrow { channel.to_string() } else { format!("channel {channel}") };
    if lane >= 9.0 * frame.scale || channel.is_multiple_of(8) {
        let middle = top + lane / 2.0;
        let at = frame.left - 6.0 * frame.scale;
        ops.push(Op::text(at, middle, name, Paint::Ink, Align::End));
    }
}

/// Where tiles are wide enough, the lines between them and their numbers. Goes
/// on by at least [`EDGED`] pixels at a time.
fn edges(ops: &mut Vec<Op>, image: &Image, kinds: &Kinds, frame: &Frame, channel: u64) {
    if frame.lines() / u64::from(frame.width) * EDGED > image.largest_tile_lines() {
        return;
    }
    let (top, lane) = (frame.lane_top(channel), frame.lane);
    let mut line = frame.span.start;
    while line < frame.span.end {
        let Some(tile) = image.at(channel, line) else { break };
        let (from, to) = (frame.pixel(tile.line), frame.pixel(tile.line + tile.lines));
        if to - from >= EDGED {
            let x = frame.left + from as f64;
            if tile.line > frame.span.start {
                ops.push(Op::rect(x, top, frame.scale.floor().max(1.0), lane, Paint::Edge));
            }
            let wide = (to - from) as f64;
            if wide >= LABELLED * frame.scale && lane >= 14.0 * frame.scale {
                let (middle, text) = (x + wide / 2.0, count(tile.index));
                let on = Paint::On(kinds.class.get(tile.tensor).copied().unwrap_or(0));
                ops.push(Op::text(middle, top + lane / 2.0, text, on, Align::Middle));
            }
        }
        line = (tile.line + tile.lines).max(frame.first_line(from + EDGED));
    }
}

fn ticks(ops: &mut Vec<Op>, frame: &Frame) {
    let most = u64::from(frame.width) / 110;
    let top = frame.axis_top();
    for tick in axis::ticks(&frame.span, most.clamp(2, 12)) {
        let x = frame.left + frame.pixel(tick) as f64;
        let end = frame.left + f64::from(frame.width);
        ops.push(Op::rect(x.min(end - 1.0), top, frame.scale, 5.0 * frame.scale, Paint::Faint));
        let room = 44.0 * frame.scale;
        let align = match () {
            () if x - frame.left < room => Align::Start,
            () if end - x < room => Align::End,
            () => Align::Middle,
        };
        let text = count(tick);
        ops.push(Op::text(x, top + 14.0 * frame.scale, text, Paint::Faint, align));
    }
}

/// A bar across the lane and a mark above it for each damage: one a pixel at most.
fn damage(ops: &mut Vec<Op>, frame: &Frame, channel: u64, damage: &[Tile]) {
    let shown = damage.iter().filter(|tile| {
        tile.channel == channel
            && tile.line < frame.span.end
            && tile.line + tile.lines > frame.span.start
    });
    let mut pixels: Vec<(u64, u64)> =
        shown.map(|tile| (frame.pixel(tile.line), frame.pixel(tile.line + tile.lines))).collect();
    pixels.sort_unstable();
    pixels.dedup_by_key(|(from, _)| *from);
    let (top, lane) = (frame.lane_top(channel), frame.lane);
    let mut marked = None;
    for (from, to) in pixels {
        let wide = (to - from).max(2) as f64;
        let x = frame.left + from as f64;
        ops.push(Op::rect(x, top, wide, lane, Paint::Damage));
        if marked.is_none_or(|last| from >= last + 4) {
            let size = 7.0 * frame.scale;
            ops.push(Op::Mark { x: x + wide / 2.0, y: top, size, paint: Paint::Damage });
            marked = Some(from);
        }
    }
}

fn outline(ops: &mut Vec<Op>, frame: &Frame, tile: &Tile, paint: Paint) {
    if tile.line >= frame.span.end || tile.line + tile.lines <= frame.span.start {
        return;
    }
    let (from, to) = (frame.pixel(tile.line) as f64, frame.pixel(tile.line + tile.lines) as f64);
    let least = 4.0 * frame.scale;
    // A tile less than a few pixels wide is shown by a box that one can see.
    let spare = (least - (to - from)).max(0.0) / 2.0;
    let (top, out) = (frame.lane_top(tile.channel), 2.0 * frame.scale);
    ops.push(Op::Frame {
        x: frame.left + from - spare,
        y: top - out,
        w: (to - from).max(least),
        h: frame.lane + 2.0 * out,
        paint,
    });
}

/// Where the pinned tile is, if it does not show: a sign at that end of its lane.
fn beyond(ops: &mut Vec<Op>, frame: &Frame, tile: &Tile) {
    let before = tile.line + tile.lines <= frame.span.start;
    if !before && tile.line < frame.span.end {
        return;
    }
    let (w, h) = (66.0 * frame.scale, frame.lane.min(18.0 * frame.scale));
    let y = frame.lane_top(tile.channel) + (frame.lane - h) / 2.0;
    let end = frame.left + f64::from(frame.width) - w;
    let (x, text) = if before { (frame.left, "\u{25c2} pinned") } else { (end, "pinned \u{25b8}") };
    ops.push(Op::rect(x, y, w, h, Paint::Ground));
    let middle = (x + w / 2.0, y + h / 2.0);
    ops.push(Op::text(middle.0, middle.1, text.to_owned(), Paint::Ink, Align::Middle));
}

#[cfg(test)]
mod tests {
    use wimg_core::{Format, TensorEntry, TensorTable, weight_image};

    use super::*;
    use crate::model::kind::ColourBy;

    fn image(shapes: &[(&str, u64, u64)], layout: &str) -> Image {
        let entry = |&(name, row, rows): &(&str, u64, u64)| TensorEntry {
            name: name.to_owned(),
            format: Format::F32,
            dims: vec![row, rows],
            kernel: false,
            streamed: false,
        };
        let tensors: Vec<TensorEntry> = shapes.iter().map(entry).collect();
        let order: Vec<usize> = (0..tensors.len()).collect();
        let table = TensorTable { tensors, ..TensorTable::default() };
        weight_image(&table, &order, &layout.parse().unwrap()).unwrap()
    }

    /// The operations of the busiest lane, by its rows of pixels.
    fn busiest(scene: &Scene, frame: &Frame) -> usize {
        let top = |op: &Op| match *op {
            Op::Rect { y, .. } | Op::Frame { y, .. } | Op::Mark { y, .. } | Op::Text { y, .. } => y,
        };
        let on = |channel: u64| {
            let from = frame.lane_top(channel) - frame.gap / 2.0;
            let to = from + frame.lane + frame.gap;
            scene.ops.iter().filter(|op| (from..to).contains(&top(op))).count()
        };
        (0..frame.channels).map(on).max().unwrap()
    }

    #[test]
    fn a_lane_takes_at_most_four_operations_a_pixel() {
        let names: Vec<String> = (0..20_000).map(|i| format!("blk.{}.{}", i % 7, i)).collect();
        let many: Vec<(&str, u64, u64)> = names.iter().map(|n| (n.as_str(), 5, 3)).collect();
        let images = [
            ("10^6 tiles", image(&[("a", 16, 1_000_000)], "4x64/1")),
            ("10^8 tiles", image(&[("a", 1, 60_000_000), ("b", 2, 40_000_000)], "4x4/1")),
            ("10^8 tiles on a channel", image(&[("a", 1, 100_000_000)], "1x4/1")),
            ("20000 tensors", image(&many, "2x4/4")),
        ];
        assert_eq!(images[0].1.tile_count(), 1_000_000);
        assert_eq!(images[1].1.tile_count(), 100_000_000);
        let mut fullest = 0;
        for (what, image) in &images {
            let kinds = Kinds::new(image.tensors(), ColourBy::Tensor);
            let held = image.channel_lines()[0];
            let damage: Vec<Tile> = image.channel_tiles(0, 0..held).take(100_000).collect();
            assert!(damage.len() > 10_000);
            for lines in [held, held / 10 + 1, 40_000, 4000, 2000, 900, 300, 100, 16] {
                for start in [0, (held / 3).min(held.saturating_sub(lines))] {
                    let channels = image.layout().channels;
                    let frame = Frame::new(1000, 1.0, channels, start..start + lines);
                    let pin = image.at(0, start);
                    let marks = Marks { pin, hover: pin, damage: damage.clone() };
                    let scene = map(image, &kinds, &frame, &marks);
                    let ops = busiest(&scene, &frame);
                    assert!(ops <= 4 * frame.width as usize, "{what}, {lines} lines: {ops}");
                    fullest = fullest.max(ops);
                }
            }
        }
        assert!(fullest > 900, "the bound is put to the test: {fullest}");
    }

    #[test]
    fn a_small_map_reads_as_it_looks() {
        let image = image(&[("a", 4, 40), ("b", 16, 9)], "2x16/8");
        let kinds = Kinds::new(image.tensors(), ColourBy::Tensor);
        let frame = Frame::new(200, 1.0, 2, 0..48);
        let marks = Marks { pin: image.at(1, 20), ..Marks::default() };
        let text: Vec<String> =
            map(&image, &kinds, &frame, &marks).ops.iter().map(|op| format!("{op:?}")).collect();
        expect_test::expect_file!["map.txt"].assert_eq(&(text.join("\n") + "\n"));
    }

    #[test]
    fn a_pinned_tile_that_does_not_show_is_pointed_at() {
        let image = image(&[("a", 4, 40), ("b", 16, 9)], "2x16/8");
        let kinds = Kinds::new(image.tensors(), ColourBy::Tensor);
        let marks = Marks { pin: image.at(1, 20), ..Marks::default() };
        let mut said = Vec::new();
        for span in [0..10, 10..20, 18..30, 24..40] {
            let scene = map(&image, &kinds, &Frame::new(200, 1.0, 2, span), &marks);
            let sign = scene.ops.iter().find_map(|op| match op {
                Op::Text { text, y, .. } if text.contains("pinned") => Some((text.clone(), *y)),
                _ => None,
            });
            said.push(sign);
        }
        let sign = |text: &str| Some((text.to_owned(), 75.0));
        let (left, right) = ("\u{25c2} pinned", "pinned \u{25b8}");
        assert_eq!(said, [sign(right), None, None, sign(left)]);
    }

    #[test]
    fn what_does_not_fit_is_marked() {
        let image = image(&[("a", 4, 40)], "1x16/8@30");
        assert!(!image.fits());
        let kinds = Kinds::new(image.tensors(), ColourBy::Tensor);
        let scene = map(&image, &kinds, &Frame::new(200, 1.0, 1, 0..40), &Marks::default());
        let over = |op: &&Op| matches!(op, Op::Rect { paint: Paint::Over, .. });
        assert_eq!(scene.ops.iter().filter(over).count(), 1);
    }
}
