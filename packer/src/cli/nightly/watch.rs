//! A night on a terminal: one bar for all of it, one for what goes on.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::cli::progress::{line, span_left};
use crate::nightly::event::Event;
use crate::progress::{Progress, Stage};

/// The bars, if there are any.
pub(super) struct Watch {
    bars: Option<Bars>,
}

struct Bars {
    _both: MultiProgress,
    night: ProgressBar,
    job: ProgressBar,
    state: Mutex<State>,
}

/// How far the night is. Bytes are those of images.
struct State {
    began: Instant,
    /// By task: bytes packed so far.
    packed: BTreeMap<u64, u64>,
    /// Bytes of tasks that are done, whatever became of them.
    done: u64,
    /// By checkpoint and layout: bytes.
    sizes: BTreeMap<(String, String), (u64, u64)>,
    total: u64,
    images: (usize, usize),
    failed: usize,
    /// The stage of the job that goes on, and since when.
    job: Option<(u64, Stage, Instant)>,
}

impl Watch {
    pub(super) fn new(bar: bool) -> Watch {
        let bars = bar.then(|| {
            let both = MultiProgress::new();
            let add = || both.add(ProgressBar::no_length());
            let (night, job) = (add(), add());
            let style = ProgressStyle::with_template("{bar:24} {msg}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            night.set_style(style.clone());
            job.set_style(style);
            Bars { _both: both, night, job, state: Mutex::new(State::new()) }
        });
        Watch { bars }
    }

    /// Takes notice.
    pub(super) fn see(&self, event: Event<'_>) {
        let Some(bars) = &self.bars else { return };
        let mut state = bars.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = state.see(event) {
            bars.job.set_message(text);
            if let Event::Progress { progress, .. } = event {
                bars.job.set_length(progress.total);
                bars.job.set_position(progress.done);
            }
        }
        bars.night.set_length(state.total);
        bars.night.set_position(state.bytes());
        bars.night.set_message(state.text(Instant::now()));
    }
}

/// Clears the bars, also when the night fails.
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bars) = &self.bars {
            bars.job.finish_and_clear();
            bars.night.finish_and_clear();
        }
    }
}

impl State {
    fn new() -> State {
        State {
            began: Instant::now(),
            packed: BTreeMap::new(),
            done: 0,
            sizes: BTreeMap::new(),
            total: 0,
            images: (0, 0),
            failed: 0,
            job: None,
        }
    }

    /// What to say of the job that goes on.
    fn see(&mut self, event: Event<'_>) -> Option<String> {
        match event {
            Event::Begin { tasks } => {
                self.images.1 = tasks.len();
                for task in tasks {
                    self.total += task.write_bytes;
                    let key = (task.checkpoint.clone(), task.name.clone());
                    self.sizes.insert(key, (task.task, task.write_bytes));
                }
                None
            }
            Event::Progress { task, progress } => {
                if progress.stage == Stage::Pack {
                    self.packed.insert(task.task, progress.done);
                }
                let now = Instant::now();
                let since = match self.job {
                    Some((job, stage, since)) if (job, stage) == (task.task, progress.stage) => {
                        since
                    }
                    _ => now,
                };
                self.job = Some((task.task, progress.stage, since));
                let text = line(progress, now.saturating_duration_since(since));
                Some(format!("{} {}: {text}", task.checkpoint, task.name))
            }
            Event::Waits { task, who } => {
                Some(format!("{} {}: waits for {who}", task.checkpoint, task.name))
            }
            Event::Retry { task, seconds, problem, .. } => Some(format!(
                "{} {}: {}; again in {seconds} s",
                task.checkpoint, task.name, problem.cause
            )),
            Event::Done { result } => {
                let (checkpoint, name) = result.key();
                if let Some((task, bytes)) =
                    self.sizes.get(&(checkpoint.to_owned(), name.to_owned()))
                {
                    self.packed.remove(task);
                    self.done += bytes;
                }
                self.images.0 += 1;
                self.failed += usize::from(result.code() != 0);
                None
            }
            Event::End { .. } => None,
        }
    }

    fn bytes(&self) -> u64 {
        self.done + self.packed.values().sum::<u64>()
    }

    fn text(&self, now: Instant) -> String {
        let elapsed = now.saturating_duration_since(self.began);
        let (done, images) = self.images;
        let progress = Progress { stage: Stage::Pack, done: self.bytes(), total: self.total };
        let mut text = format!("{done} of {images} images{}", span_left(progress, elapsed));
        if self.failed > 0 {
            text += &format!(", {} with problems", self.failed);
        }
        text
    }
}
