//! Doing tasks: checkpoint by checkpoint, only what changed, one failure's
//! harm kept to its own rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use wimg_core::headers::recognise;
use wimg_core::{Plan, Selection};

use super::checkpoint::{NightCheckpoint, find};
use super::config::Config;
use super::event::{Event, Observe};
use super::fresh::{Care, Found, look};
use super::group::{MOST, Pending, Shared, read_alike};
use super::lock::Lock;
use super::place::Place;
use super::problem::Problem;
use super::report::Report;
use super::result::{Status, TaskResult, now_ms};
use super::task::{Task, open, unknown};
use crate::error::Error;
use crate::pack::{PackDone, check_plan};
use crate::source::Source;
use crate::stop::Stop;

/// How often an I/O error is tried again.
const RETRIES: u32 = 3;

/// What a worker goes by.
pub(super) struct Worker<'a> {
    pub(super) config: &'a Config,
    pub(super) care: Care,
    pub(super) night: Option<&'a str>,
    pub(super) stop: &'a Stop,
    pub(super) observe: Observe<'a>,
    /// The last report: what is in it is of an earlier night.
    pub(super) last: Option<&'a Report>,
}

/// What looking at a place gave.
enum Looked<'a> {
    /// Its row is done.
    Done(Box<TaskResult>, Lock),
    /// It is to be packed.
    Pending(Box<Pending<'a>>),
    /// Somebody else works there.
    Busy,
}

impl Worker<'_> {
    /// Does the tasks, in order; gives a row for each.
    pub(super) fn run(&self, tasks: &[Task]) -> Vec<TaskResult> {
        let files: BTreeMap<String, NightCheckpoint> =
            find(self.config).into_iter().map(|found| (found.name.clone(), found)).collect();
        let mut results = Vec::with_capacity(tasks.len());
        for tasks in tasks.chunk_by(|a, b| a.checkpoint == b.checkpoint && a.path == b.path) {
            let Some(first) = tasks.first() else { continue };
            let found = files.get(&first.checkpoint).filter(|found| found.path == first.path);
            let checkpoint = found.cloned().unwrap_or_else(|| NightCheckpoint {
                name: first.checkpoint.clone(),
                path: first.path.clone(),
                files: 1,
                problem: None,
            });
            results.extend(self.checkpoint(&checkpoint, tasks));
        }
        results
    }

    /// Does the tasks of one checkpoint.
    fn checkpoint(&self, checkpoint: &NightCheckpoint, tasks: &[Task]) -> Vec<TaskResult> {
        // What the headers said when the work was listed may be mended since.
        let opened = match &checkpoint.problem {
            Some(problem) => Err(problem.clone()),
            None => self.open(checkpoint, tasks),
        };
        let source = match opened {
            Ok(source) => source,
            Err(problem) => {
                let fail = |task| self.fail(task, problem.clone());
                return tasks.iter().map(fail).collect();
            }
        };
        let mut rows: Vec<Option<TaskResult>> = vec![None; tasks.len()];
        let mut pending = Vec::new();
        let mut busy = Vec::new();
        for (slot, task) in tasks.iter().enumerate() {
            match self.look(slot, task, &source, false) {
                Ok(Looked::Done(result, lock)) => {
                    put(&mut rows, slot, self.done(*result, task, &lock));
                }
                Ok(Looked::Pending(one)) => pending.push(*one),
                Ok(Looked::Busy) => busy.push((slot, task)),
                Err(error) => put(&mut rows, slot, self.fail(task, Problem::of(&error))),
            }
        }
        self.pack_all(checkpoint, &source, pending, &mut rows);
        // Nothing is held while somebody else is waited for.
        for (slot, task) in busy {
            match self.look(slot, task, &source, true) {
                Ok(Looked::Done(result, lock)) => {
                    put(&mut rows, slot, self.done(*result, task, &lock));
                }
                Ok(Looked::Pending(one)) => {
                    self.pack_all(checkpoint, &source, vec![*one], &mut rows);
                }
                Ok(Looked::Busy) => {}
                Err(error) => put(&mut rows, slot, self.fail(task, Problem::of(&error))),
            }
        }
        rows.into_iter().flatten().collect()
    }

    /// Opens a checkpoint, with retries.
    fn open(&self, checkpoint: &NightCheckpoint, tasks: &[Task]) -> Result<Source, Problem> {
        let mut attempt = 1;
        loop {
            let error = match self.stop.check().and_then(|()| open(checkpoint)) {
                Ok(source) => return Ok(source),
                Err(error) => error,
            };
            let problem = Problem::of(&error);
            let Some(task) = tasks.first().filter(|_| may_retry(&error, attempt)) else {
                return Err(problem);
            };
            self.back_off(task, attempt, &problem).map_err(|error| Problem::of(&error))?;
            attempt += 1;
        }
    }

    /// Looks at what is at a task's place. `waits`: for whoever works there.
    fn look<'t>(
        &self,
        slot: usize,
        task: &'t Task,
        source: &Source,
        waits: bool,
    ) -> Result<Looked<'t>, Error> {
        self.stop.check()?;
        let plan = Plan::new(&source.checkpoint, task.select, &task.layout)?;
        check_plan(&plan)?;
        if self.config.require_headers && recognise(&source.checkpoint.table()).is_none() {
            return Err(unknown(&task.path));
        }
        let place = Place::new(&self.config.root, task);
        let told = |who: &str| (self.observe)(Event::Waits { task, who });
        let lock = if waits { Some(place.lock(self.stop, told)?) } else { place.try_lock()? };
        let Some(lock) = lock else { return Ok(Looked::Busy) };
        place.clear()?;
        let started = now_ms();
        let (mut why, mut damaged) = ("there is no image yet".to_owned(), false);
        let current = place.current();
        for id in place.images()? {
            let is_current = current.as_ref() == Some(&id);
            match look(&place.image(&id), source, &plan, self.care, self.stop)? {
                Found::Fresh(fresh) => {
                    place.set_current(&id)?;
                    place.prune(self.config.generations)?;
                    let mut result = TaskResult::new(task, self.night);
                    (result.started, result.status) = (started, Status::UpToDate);
                    result.verified =
                        Some(if fresh.report.quick { "quick" } else { "full" }.into());
                    result.verified_tiles = fresh.report.tiles;
                    result.verify_seconds = fresh.report.seconds;
                    result.loads(fresh.id, fresh.row);
                    return Ok(Looked::Done(Box::new(result), lock));
                }
                // Only the image to load says why: others are old.
                Found::Stale(because) if is_current => why = because,
                Found::Damaged(because) if is_current => (why, damaged) = (because, true),
                Found::Stale(_) | Found::Damaged(_) => {}
            }
        }
        Ok(Looked::Pending(Box::new(Pending { slot, task, plan, place, lock, why, damaged })))
    }

    /// Packs what is to be packed, as many together as read alike.
    fn pack_all<'t>(
        &self,
        checkpoint: &NightCheckpoint,
        source: &Source,
        mut pending: Vec<Pending<'t>>,
        rows: &mut [Option<TaskResult>],
    ) {
        // Those that read in the table's order last.
        pending.sort_by_key(|one| (!read_alike(one.task.select, Selection::Machine), one.slot));
        let alike = |a: &Pending<'t>, b: &Pending<'t>| read_alike(a.task.select, b.task.select);
        for alike in pending.chunk_by(alike) {
            for group in alike.chunks(MOST) {
                let started = now_ms();
                let planned: Vec<_> = group.iter().map(|one| (one, &one.plan)).collect();
                let of = |slot| group.iter().find(|one| one.slot == slot);
                let mut failed = Vec::new();
                self.shared(source).pack(&planned, &mut |slot, packed| match (of(slot), packed) {
                    // Put down at once: the next one's failure is not this one's.
                    (Some(one), Ok(done)) => put(rows, slot, self.row(one, Ok(done), (started, 1))),
                    (Some(one), Err(error)) => failed.push((one, error)),
                    (None, _) => {}
                });
                for (one, error) in failed {
                    let (packed, attempts) = self.retry(checkpoint, one, error);
                    put(rows, one.slot, self.row(one, packed, (started, attempts)));
                }
            }
        }
    }

    fn shared<'s>(&'s self, source: &'s Source) -> Shared<'s> {
        Shared {
            source,
            backend: &self.config.backend,
            margin: self.config.free_margin_bytes,
            generations: self.config.generations,
            stop: self.stop,
            observe: self.observe,
        }
    }

    /// Tries again what failed for a reason that may pass.
    fn retry(
        &self,
        checkpoint: &NightCheckpoint,
        one: &Pending<'_>,
        error: Error,
    ) -> (Result<PackDone, Error>, u32) {
        let mut packed = Err(error);
        let mut attempt = 1;
        while let Err(error) = &packed
            && may_retry(error, attempt)
        {
            if let Err(stopped) = self.back_off(one.task, attempt, &Problem::of(error)) {
                packed = Err(stopped);
                break;
            }
            attempt += 1;
            // The checkpoint may be another by now.
            packed = open(checkpoint).and_then(|source| {
                let plan = Plan::new(&source.checkpoint, one.task.select, &one.task.layout)?;
                check_plan(&plan)?;
                let mut again = Err(Error::Stopped("packing"));
                self.shared(&source).pack(&[(one, &plan)], &mut |_, packed| again = packed);
                again
            });
        }
        (packed, attempt)
    }

    fn back_off(&self, task: &Task, attempt: u32, problem: &Problem) -> Result<(), Error> {
        let seconds = self.config.backoff_seconds << attempt.saturating_sub(1).min(RETRIES);
        (self.observe)(Event::Retry { task, attempt, problem, seconds });
        self.stop.sleep(Duration::from_secs(seconds))
    }

    /// The row of what was packed, or was not, left at its place.
    fn row(
        &self,
        one: &Pending<'_>,
        packed: Result<PackDone, Error>,
        (started, attempts): (u64, u32),
    ) -> TaskResult {
        let mut result = TaskResult::new(one.task, self.night);
        (result.started, result.attempts) = (started, attempts);
        result.why = Some(one.why.clone());
        match packed {
            Ok(done) => {
                result.packed(&done);
                if one.damaged {
                    let cause = format!("the image that was there was damaged: {}", one.why);
                    let advice = "it was packed again; check the disk".to_owned();
                    result.problem = Some(Problem { code: 1, cause, advice });
                }
            }
            Err(error) => {
                let status = match error {
                    Error::Interrupted => Status::Stopped,
                    _ => Status::Failed,
                };
                result.failed(status, Problem::of(&error));
                self.keep(&mut result, &one.place);
            }
        }
        self.put_down(result, &one.place, &one.lock)
    }

    /// What was there before stays the image to load, if it can be opened.
    fn keep(&self, result: &mut TaskResult, place: &Place) {
        let stored = place.current().map(|id| crate::store::StoredImage::open(&place.image(&id)));
        if let Some(Ok(image)) = stored {
            result.loads(image.manifest.id(), image.manifest.ledger);
        }
    }

    /// The row of a task that could not even begin.
    fn fail(&self, task: &Task, problem: Problem) -> TaskResult {
        let mut result = TaskResult::new(task, self.night);
        let asked = self.stop.asked();
        result.failed(if asked { Status::Stopped } else { Status::Failed }, problem);
        let place = Place::new(&self.config.root, task);
        self.keep(&mut result, &place);
        // A row that is not on the disk is still in this run's report; who works
        // there leaves one.
        match place.try_lock() {
            Ok(Some(lock)) if !asked => self.put_down(result, &place, &lock),
            _ => self.told(result),
        }
    }

    /// The row of an image that is up to date. If a worker of the same night
    /// has just packed it, that is what the report should say.
    fn done(&self, result: TaskResult, task: &Task, lock: &Lock) -> TaskResult {
        let place = Place::new(&self.config.root, task);
        let earlier = TaskResult::read(&place).filter(|earlier| {
            let reported =
                self.last.is_some_and(|last| last.rows.iter().any(|r| r.is_same_as(earlier)));
            earlier.status == Status::Packed
                && earlier.image_id == result.image_id
                && earlier.night == result.night
                && !reported
        });
        match earlier {
            Some(earlier) => self.told(earlier),
            None => self.put_down(result, &place, lock),
        }
    }

    /// Leaves a row at its place; `_lock` is that of the place.
    fn put_down(&self, mut result: TaskResult, place: &Place, _lock: &Lock) -> TaskResult {
        result.finished = now_ms();
        if let Err(error) = place.write_result(&result.render()) {
            // The image is as it is; but `--collect` would not know of it.
            result.problem.get_or_insert(Problem::of(&error));
        }
        self.told(result)
    }

    fn told(&self, result: TaskResult) -> TaskResult {
        (self.observe)(Event::Done { result: &result });
        result
    }
}

/// Whether an error may pass: one of I/O that space or patience can mend.
fn may_retry(error: &Error, attempt: u32) -> bool {
    let passes = !matches!(error, Error::Interrupted | Error::Space { .. } | Error::Held { .. });
    attempt <= RETRIES && passes && error.exit_code() == 4
}

fn put(rows: &mut [Option<TaskResult>], slot: usize, row: TaskResult) {
    if let Some(place) = rows.get_mut(slot) {
        *place = Some(row);
    }
}

/// Whether a worker's root is there, or can be made.
pub(super) fn create_root(root: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(root).map_err(|cause| Error::io(root, "creating it", cause))
}
