//! Progress: a bar on a terminal, else a line every few seconds, or nothing.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::progress::{Progress, Stage};

/// The least time between two plain lines.
const LINES_APART: Duration = Duration::from_secs(5);

/// Shows how far work has come. May be told from any thread.
pub(crate) struct Reporter<'a> {
    state: Mutex<State<'a>>,
}

struct State<'a> {
    view: View<'a>,
    /// The stage that goes on, and since when.
    stage: Option<(Stage, Instant)>,
    /// When a plain line was last due.
    told: Instant,
}

enum View<'a> {
    Silent,
    Bar(ProgressBar),
    Lines(&'a mut (dyn Write + Send)),
}

impl<'a> Reporter<'a> {
    /// `bar`: whether `err` is a terminal.
    pub(crate) fn new(err: &'a mut (dyn Write + Send), bar: bool, quiet: bool) -> Reporter<'a> {
        let view = match (quiet, bar) {
            (true, _) => View::Silent,
            (false, true) => View::Bar(ProgressBar::no_length().with_style(style())),
            (false, false) => View::Lines(err),
        };
        Reporter { state: Mutex::new(State { view, stage: None, told: Instant::now() }) }
    }

    /// Takes notice.
    pub(crate) fn tell(&self, progress: Progress) {
        // A thread that panicked while it told leaves a state that is as good as any.
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.tell(progress, Instant::now());
    }
}

/// Clears the bar, also when the work fails.
impl Drop for Reporter<'_> {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let View::Bar(bar) = &state.view {
            bar.finish_and_clear();
        }
    }
}

impl State<'_> {
    fn tell(&mut self, progress: Progress, now: Instant) {
        let started = match self.stage {
            Some((stage, started)) if stage == progress.stage => started,
            _ => {
                self.stage = Some((progress.stage, now));
                if let View::Bar(bar) = &self.view {
                    bar.set_length(progress.total);
                }
                now
            }
        };
        let text = || line(progress, now.saturating_duration_since(started));
        match &mut self.view {
            View::Silent => {}
            View::Bar(bar) => {
                bar.set_message(text());
                bar.set_position(progress.done);
            }
            View::Lines(err) => {
                if now.saturating_duration_since(self.told) >= LINES_APART {
                    self.told = now;
                    // Work goes on where nobody can be told of it.
                    let _ = writeln!(err, "{}", text());
                }
            }
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{bar:24} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Bytes, speed and time left.
pub(crate) fn line(progress: Progress, elapsed: Duration) -> String {
    let Progress { stage, done, total } = progress;
    let doing = match stage {
        Stage::Pack => "packing",
        Stage::Verify => "verifying",
        Stage::Unpack => "unpacking",
        Stage::Synth => "writing",
    };
    let percent = u128::from(done) * 100 / u128::from(total.max(1));
    format!("{doing}: {done} of {total} bytes, {percent} %{}", span_left(progress, elapsed))
}

/// Speed and time left, once they can be told.
pub(crate) fn span_left(Progress { done, total, .. }: Progress, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if done == 0 || seconds <= 0.0 {
        return String::new();
    }
    let speed = done as f64 / seconds;
    let left = Duration::from_secs_f64(total.saturating_sub(done) as f64 / speed);
    format!(", {:.2} GB/s, {} left", speed / 1e9, span(left))
}

/// A time for people.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stage: Stage, done: u64) -> Progress {
        Progress { stage, done, total: 4_000_000_000 }
    }

    #[test]
    fn bytes_speed_and_time_left() {
        for (done, seconds, expected) in [
            (0, 1, "packing: 0 of 4000000000 bytes, 0 %"),
            (
                1_000_000_000,
                2,
                "packing: 1000000000 of 4000000000 bytes, 25 %, 0.50 GB/s, 6 s left",
            ),
            (
                40_000_000,
                2,
                "packing: 40000000 of 4000000000 bytes, 1 %, 0.02 GB/s, 3 min 18 s left",
            ),
            (1_000_000, 3, "packing: 1000000 of 4000000000 bytes, 0 %, 0.00 GB/s, 3 h 19 min left"),
            (
                4_000_000_000,
                4,
                "packing: 4000000000 of 4000000000 bytes, 100 %, 1.00 GB/s, 0 s left",
            ),
        ] {
            assert_eq!(line(at(Stage::Pack, done), Duration::from_secs(seconds)), expected);
        }
        let empty = Progress { stage: Stage::Verify, done: 0, total: 0 };
        assert_eq!(line(empty, Duration::ZERO), "verifying: 0 of 0 bytes, 0 %");
    }

    #[test]
    fn lines_are_seconds_apart_and_each_stage_has_its_own_time() {
        let mut err = Vec::new();
        let start = Instant::now();
        let mut state = State { view: View::Lines(&mut err), stage: None, told: start };
        let mut tell = |seconds, stage, done| {
            state.tell(at(stage, done), start + Duration::from_secs(seconds));
        };
        tell(0, Stage::Pack, 0);
        tell(4, Stage::Pack, 1_000_000_000);
        tell(5, Stage::Pack, 2_000_000_000);
        tell(9, Stage::Pack, 3_000_000_000);
        tell(9, Stage::Verify, 0);
        tell(11, Stage::Verify, 1_000_000_000);
        assert_eq!(
            String::from_utf8(err).unwrap(),
            "packing: 2000000000 of 4000000000 bytes, 50 %, 0.40 GB/s, 5 s left\n\
             verifying: 1000000000 of 4000000000 bytes, 25 %, 0.50 GB/s, 6 s left\n"
        );
    }
}
