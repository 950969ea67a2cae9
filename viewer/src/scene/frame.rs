//! Where the lanes of a map are on a canvas, and which of their lines show.

use std::ops::Range;

use crate::model::quantity::whole;

/// The fewest lines that a map shows.
const LEAST_LINES: u64 = 16;

/// The lanes of a map on a canvas.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Pixels of the canvas to a pixel of the page.
    pub scale: f64,
    /// Where lanes start, in pixels: their names are before it.
    pub left: f64,
    /// Where the first lane is, in pixels.
    pub top: f64,
    /// Pixels of a lane.
    pub width: u32,
    /// Pixels across a lane.
    pub lane: f64,
    /// Pixels between lanes.
    pub gap: f64,
    /// Lanes.
    pub channels: u64,
    /// The lines that show; never none.
    pub span: Range<u64>,
}

impl Frame {
    /// Lanes for a canvas `width` pixels wide.
    pub fn new(width: u32, scale: f64, channels: u64, span: Range<u64>) -> Frame {
        let (lane, gap) = match channels {
            0..=4 => (34.0, 10.0),
            5..=8 => (24.0, 8.0),
            9..=32 => (14.0, 4.0),
            _ => (7.0, 2.0),
        };
        let gutter = if width < 600 { 26.0 } else { 76.0 };
        let left = (gutter * scale).round();
        let width = u32::try_from(whole(f64::from(width) - left - 2.0 * scale)).unwrap_or(1).max(1);
        let span = span.start..span.end.max(span.start + 1);
        Frame {
            scale,
            left,
            top: (14.0 * scale).round(),
            width,
            lane: (lane * scale).round(),
            gap: (gap * scale).round(),
            channels,
            span,
        }
    }

    /// Pixels that the canvas needs from top to bottom.
    pub fn height(&self) -> f64 {
        self.axis_top() + 24.0 * self.scale
    }

    /// Where the axis below the lanes is.
    pub fn axis_top(&self) -> f64 {
        self.top + self.channels as f64 * (self.lane + self.gap)
    }

    /// A lane's top.
    pub fn lane_top(&self, channel: u64) -> f64 {
        self.top + channel as f64 * (self.lane + self.gap)
    }

    /// Lines that show.
    pub fn lines(&self) -> u64 {
        self.span.end - self.span.start
    }

    /// The pixel of the lane that a line starts in; lines outside are clamped.
    pub fn pixel(&self, line: u64) -> u64 {
        let line = line.clamp(self.span.start, self.span.end) - self.span.start;
        let wide = u128::from(line) * u128::from(self.width) / u128::from(self.lines());
        u64::try_from(wide).unwrap_or(u64::MAX)
    }

    /// The first line that starts in a pixel of the lane or after it.
    pub fn first_line(&self, pixel: u64) -> u64 {
        let wide = u128::from(pixel) * u128::from(self.lines());
        let line = wide.div_ceil(u128::from(self.width));
        self.span.start.saturating_add(u64::try_from(line).unwrap_or(u64::MAX))
    }

    /// The line under a place, if that is on the lanes.
    pub fn line_at(&self, x: f64) -> Option<u64> {
        let along = x - self.left;
        if !(0.0..f64::from(self.width)).contains(&along) {
            return None;
        }
        let line = u128::from(whole(along)) * u128::from(self.lines()) / u128::from(self.width);
        Some(self.span.start + u64::try_from(line).ok()?)
    }

    /// The channel of the lane under a place.
    pub fn channel_at(&self, y: f64) -> Option<u64> {
        let down = y - self.top;
        let channel = whole(down / (self.lane + self.gap));
        let within = down - channel as f64 * (self.lane + self.gap);
        (down >= 0.0 && channel < self.channels && within < self.lane).then_some(channel)
    }
}

/// The span with `factor` times as many lines, about one that keeps its place;
/// inside of `0..whole`.
pub fn zoomed(span: &Range<u64>, all: u64, about: u64, factor: f64) -> Range<u64> {
    let lines = (span.end - span.start).max(1);
    let most = all.max(LEAST_LINES);
    let wanted = whole((lines as f64 * factor).round()).clamp(LEAST_LINES, most);
    let share = about.saturating_sub(span.start) as f64 / lines as f64;
    let before = whole(wanted as f64 * share.min(1.0));
    clamped(about.saturating_sub(before), wanted, most)
}

/// The span moved by a share of its lines; inside of `0..all`.
pub fn panned(span: &Range<u64>, all: u64, share: f64) -> Range<u64> {
    let lines = span.end - span.start;
    let step = whole((lines as f64 * share.abs()).round()).max(1);
    moved(span, all, if share < 0.0 { -i128::from(step) } else { i128::from(step) })
}

/// The span moved by lines; inside of `0..all`.
pub fn moved(span: &Range<u64>, all: u64, by: i128) -> Range<u64> {
    let start = (i128::from(span.start) + by).max(0);
    clamped(u64::try_from(start).unwrap_or(u64::MAX), span.end - span.start, all.max(LEAST_LINES))
}

/// A span that shows `lines` with a little around them.
pub fn fitted(lines: &Range<u64>, all: u64) -> Range<u64> {
    let held = lines.end.saturating_sub(lines.start).max(1);
    let around = (held / 16).max(1);
    let wanted = (held + 2 * around).max(LEAST_LINES);
    let before = (wanted - held) / 2;
    clamped(lines.start.saturating_sub(before), wanted, all.max(LEAST_LINES))
}

fn clamped(start: u64, lines: u64, all: u64) -> Range<u64> {
    let lines = lines.min(all);
    let start = start.min(all - lines);
    start..start + lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_lines_agree() {
        for span in [0..111_659_422u64, 7..23, 1_000_000..1_000_513, 0..1 << 40] {
            let frame = Frame::new(1276, 1.0, 4, span.clone());
            let width = u64::from(frame.width);
            assert_eq!((frame.pixel(span.start), frame.pixel(span.end)), (0, width));
            assert_eq!((frame.first_line(0), frame.first_line(width)), (span.start, span.end));
            for pixel in 0..width {
                let line = frame.first_line(pixel);
                assert!(frame.pixel(line) >= pixel);
                assert!(line == span.start || frame.pixel(line - 1) < pixel);
                let at = frame.line_at(frame.left + pixel as f64 + 0.5).unwrap();
                assert!(span.contains(&at) && frame.pixel(at) <= pixel);
            }
            assert_eq!(frame.line_at(frame.left - 1.0), None);
            assert_eq!(frame.line_at(frame.left + f64::from(frame.width)), None);
        }
    }

    #[test]
    fn lanes_are_found_and_what_is_between_them_is_not() {
        let frame = Frame::new(900, 2.0, 4, 0..100);
        for channel in 0..4 {
            assert_eq!(frame.channel_at(frame.lane_top(channel)), Some(channel));
            assert_eq!(frame.channel_at(frame.lane_top(channel) + frame.lane - 1.0), Some(channel));
            assert_eq!(frame.channel_at(frame.lane_top(channel) + frame.lane + 1.0), None);
        }
        assert_eq!(frame.channel_at(frame.axis_top() + 1.0), None);
        assert_eq!(frame.channel_at(0.0), None);
    }

    #[test]
    fn zoom_keeps_its_place_and_stays_inside() {
        let all = 1_000_000;
        let near = zoomed(&(0..all), all, 250_000, 0.5);
        assert_eq!(near, 125_000..625_000);
        assert_eq!(zoomed(&near, all, 250_000, 2.0), 0..all);
        assert_eq!(zoomed(&(0..20), all, 0, 0.01), 0..16);
        assert_eq!(zoomed(&(0..10), 10, 5, 9.0), 0..16, "an image of ten lines");
        assert_eq!(zoomed(&(999_984..all), all, all, 4.0), 999_936..all);
        assert_eq!(panned(&(0..100), all, -1.0), 0..100);
        assert_eq!(panned(&(0..100), all, 0.25), 25..125);
        assert_eq!(panned(&(999_950..all), all, 1.0), 999_950..all);
        assert_eq!(fitted(&(1000..1510), all), 969..1541);
        assert_eq!(fitted(&(0..1), all), 0..16);
        let tiny = fitted(&(3..4), 5);
        assert_eq!(tiny, 0..16);
    }
}
