//! The skew over a pass: a bar a pixel.

use wimg_core::Image;

use crate::model::quantity::count;
use crate::model::skew::SkewStep;
use crate::scene::{Align, Op, Paint, Scene, axis};

/// Draws the skew of all tensors: across, the tiles in image order; up, lines.
/// The line on top is the largest tile, which the skew never passes.
pub fn skew(image: &Image, steps: &[SkewStep], width: u32, scale: f64) -> Scene {
    let (left, top, tall) = (64.0 * scale, 16.0 * scale, 220.0 * scale);
    let across = (f64::from(width) - left - 12.0 * scale).max(1.0);
    let height = top + tall + 40.0 * scale;
    let mut scene = Scene { width: f64::from(width), height, ops: Vec::new() };
    let ops = &mut scene.ops;
    let most = image.largest_tile_lines().max(image.skew_lines()).max(1);
    let tiles = image.tile_count().max(1);
    let up = |lines: u64| top + tall - lines as f64 / most as f64 * tall;
    for tick in axis::ticks(&(0..most), 5) {
        ops.push(Op::rect(left, up(tick), across, 1.0, Paint::Free));
        let at = left - 8.0 * scale;
        ops.push(Op::text(at, up(tick), count(tick), Paint::Faint, Align::End));
    }
    for (pixel, lines) in columns(steps, tiles, across) {
        let y = up(lines);
        ops.push(Op::rect(left + pixel, y, 1.0, top + tall - y, Paint::Plot));
    }
    let limit = up(image.largest_tile_lines());
    ops.push(Op::rect(left, limit, across, scale, Paint::Pin));
    let text = format!("largest tile, {} lines", count(image.largest_tile_lines()));
    ops.push(Op::text(left + across, limit - 8.0 * scale, text, Paint::Ink, Align::End));
    let parts = if across < 500.0 * scale { 3 } else { 6 };
    for tick in axis::ticks(&(0..tiles), parts) {
        let x = left + tick as f64 / tiles as f64 * across;
        ops.push(Op::rect(x, top + tall, scale, 5.0 * scale, Paint::Faint));
        let align = if tick == 0 { Align::Start } else { Align::Middle };
        ops.push(Op::text(x, top + tall + 14.0 * scale, count(tick), Paint::Faint, align));
    }
    let (x, y) = (left + across, top + tall + 30.0 * scale);
    ops.push(Op::text(x, y, "tiles dealt".to_owned(), Paint::Faint, Align::End));
    scene
}

/// By pixel that shows something: the largest skew of the tensors in it.
fn columns(steps: &[SkewStep], tiles: u64, across: f64) -> Vec<(f64, u64)> {
    let mut columns: Vec<(f64, u64)> = Vec::new();
    for step in steps {
        let place = |tile: u64| (tile as f64 / tiles as f64 * across).floor();
        let (first, end) = (place(step.from), place(step.to).max(place(step.from) + 1.0));
        let mut pixel = first;
        if let Some(last) = columns.last_mut().filter(|last| last.0 >= first) {
            last.1 = last.1.max(step.lines);
            pixel = last.0 + 1.0;
        }
        while pixel < end.min(across) {
            columns.push((pixel, step.lines));
            pixel += 1.0;
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use wimg_core::{HEADERS, ImageLayout, Plan, Selection};

    use super::*;
    use crate::model::skew::steps;

    #[test]
    fn the_highest_bar_is_the_skew() {
        let selected = Selection::Machine.of(&HEADERS[1].table()).unwrap();
        let plan = Plan::of(selected, &ImageLayout::beat72(), Vec::new()).unwrap();
        let image = plan.image();
        let steps = steps(image);
        for width in [300, 1200, 4000] {
            let scene = skew(image, &steps, width, 1.0);
            assert!(scene.ops.len() <= width as usize + 60, "{}", scene.ops.len());
            let columns = columns(&steps, image.tile_count(), f64::from(width));
            assert_eq!(columns.iter().map(|c| c.1).max(), Some(image.skew_lines()));
            assert!(columns.windows(2).all(|pair| pair[0].0 < pair[1].0));
            assert!(columns.len() > width as usize * 9 / 10);
        }
    }
}
