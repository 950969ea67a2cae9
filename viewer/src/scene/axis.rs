//! Round places for an axis' ticks.

use std::ops::Range;

/// A step of 1, 2 or 5 times a power of ten that cuts `span` into at most
/// `most` parts.
pub fn step(span: u64, most: u64) -> u64 {
    let least = span / most.max(1) + 1;
    let mut power = 1u64;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if step >= least {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The ticks of a span: multiples of its [`step`].
pub fn ticks(span: &Range<u64>, most: u64) -> Vec<u64> {
    let step = step(span.end.saturating_sub(span.start), most);
    let first = span.start.div_ceil(step);
    let ticks = (first..).map_while(|n| n.checked_mul(step));
    ticks.take_while(|tick| *tick <= span.end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(&(0..10), 10), [0, 2, 4, 6, 8, 10]);
        assert_eq!(ticks(&(999..2001), 4), [1000, 1500, 2000]);
        assert_eq!(ticks(&(0..111_659_422), 6).len(), 6);
        for span in [0..1, 5..6, 0..u64::MAX, 123..1 << 40] {
            let ticks = ticks(&span, 8);
            assert!(ticks.len() <= 9, "{span:?}: {ticks:?}");
        }
    }
}
