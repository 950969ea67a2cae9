//! One lane: which class each of its pixels shows.

use std::ops::Range;

use wimg_core::Image;

use crate::model::kind::Kinds;
use crate::scene::frame::Frame;

/// Pixels of a lane, one after another, that show one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strip {
    /// The class.
    pub class: usize,
    /// The pixels.
    pub pixels: Range<u64>,
}

/// The strips of a channel's lane. A pixel shows the class that has the most of
/// its lines. Costs O(tensors that show), never O(tiles).
pub fn strips(image: &Image, kinds: &Kinds, frame: &Frame, channel: u64) -> Vec<Strip> {
    let mut lane = Lane::default();
    for run in image.runs(channel, frame.span.clone()) {
        let class = kinds.class.get(run.tensor).copied().unwrap_or(0);
        let from = run.lines.start.max(frame.span.start);
        let to = run.lines.end.min(frame.span.end);
        let (first, last) = (frame.pixel(from), frame.pixel(to));
        if first == last {
            lane.weigh(first, class, to - from);
            continue;
        }
        lane.weigh(first, class, frame.first_line(first + 1) - from);
        lane.fill(class, first + 1..last);
        lane.weigh(last, class, to.saturating_sub(frame.first_line(last)));
    }
    lane.settle();
    lane.strips
}

/// A lane as it grows.
#[derive(Default)]
struct Lane {
    strips: Vec<Strip>,
    /// The pixel that is being weighed.
    pixel: u64,
    /// By class: its lines in that pixel.
    weights: Vec<(usize, u64)>,
}

impl Lane {
    /// Gives a class some of a pixel's lines.
    fn weigh(&mut self, pixel: u64, class: usize, lines: u64) {
        if lines == 0 {
            return;
        }
        if pixel != self.pixel {
            self.settle();
            self.pixel = pixel;
        }
        match self.weights.iter_mut().find(|(of, _)| *of == class) {
            Some((_, sum)) => *sum += lines,
            None => self.weights.push((class, lines)),
        }
    }

    /// Gives a class whole pixels.
    fn fill(&mut self, class: usize, pixels: Range<u64>) {
        if !pixels.is_empty() {
            self.settle();
            self.push(class, pixels);
        }
    }

    /// Decides the pixel that was being weighed.
    fn settle(&mut self) {
        let heaviest = self.weights.iter().copied().reduce(|best, next| match next.1 > best.1 {
            true => next,
            false => best,
        });
        self.weights.clear();
        if let Some((class, _)) = heaviest {
            self.push(class, self.pixel..self.pixel + 1);
        }
    }

    fn push(&mut self, class: usize, pixels: Range<u64>) {
        match self.strips.last_mut().filter(|s| s.class == class && s.pixels.end == pixels.start) {
            Some(last) => last.pixels.end = pixels.end,
            None => self.strips.push(Strip { class, pixels }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use wimg_core::{HEADERS, Plan, Selection};

    use super::*;
    use crate::model::kind::ColourBy;

    fn host(pixel: u64) -> usize {
        usize::try_from(pixel).unwrap()
    }

    /// By pixel: the lines of each class, counted line by line.
    fn naive(image: &Image, kinds: &Kinds, frame: &Frame) -> Vec<BTreeMap<usize, u64>> {
        let mut pixels = vec![BTreeMap::new(); frame.width as usize];
        for line in frame.span.clone() {
            let class = image.at(1, line).map(|tile| kinds.class[tile.tensor]);
            for pixel in frame.pixel(line)..frame.pixel(line + 1).max(frame.pixel(line) + 1) {
                if let Some(class) = class {
                    *pixels[host(pixel)].entry(class).or_insert(0) += 1;
                }
            }
        }
        pixels
    }

    #[test]
    fn every_pixel_shows_what_it_holds_most_of() {
        let selected = Selection::Machine.of(&HEADERS[1].table()).unwrap();
        let plan = Plan::of(selected, &"4x64/512".parse().unwrap(), Vec::new()).unwrap();
        let image = plan.image();
        let kinds = Kinds::new(image.tensors(), ColourBy::Role);
        let held = image.channel_lines()[1];
        let mut checked = 0;
        // Many lines a pixel, about one, and many pixels a line; inside and at the end.
        for (start, lines) in
            [(25_000_000, 40_000), (25_000_000, 500), (25_010_000, 20), (held - 300, 600)]
        {
            let frame = Frame::new(400, 1.0, 4, start..start + lines);
            let expected = naive(image, &kinds, &frame);
            let mut shown = vec![None; frame.width as usize];
            for strip in strips(image, &kinds, &frame, 1) {
                for pixel in strip.pixels {
                    assert_eq!(shown[host(pixel)], None, "no pixel is painted twice");
                    shown[host(pixel)] = Some(strip.class);
                }
            }
            for (shown, held) in shown.iter().zip(&expected) {
                let most = held.values().max();
                assert_eq!(shown.map(|class| &held[&class]), most);
                checked += 1;
            }
        }
        assert!(checked > 1000);
    }
}
