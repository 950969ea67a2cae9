//! A night: every checkpoint in every layout, only what changed.
//!
//! A night's work is checkpoints × layouts ([`task`]). Results are
//! `ROOT/<checkpoint>/<layout>/<image id>/`, and beside them `current`, a link
//! that is swapped in one step, so that a loader has one stable path. Each
//! image is a unit of its own: it is locked, looked at ([`fresh`]), packed if
//! something else would be made, verified, put in place and linked; only then
//! do old ones go. So a night may be killed anywhere and started again.
//!
//! The work may be one machine's ([`whole`]) or that of many workers
//! ([`share`]), each doing some tasks, with nothing between them but the disk;
//! then [`collect`] makes the report of what they left. There is no scheduler
//! here: which worker does what is said by whoever starts them ([`shard`]).
//!
//! It promises that
//! - `current` always leads to a whole image that was verified, or is not there;
//! - a checkpoint that cannot be read, or read rightly, harms its own rows only;
//! - nobody packs what somebody else is packing.

pub mod checkpoint;
pub mod config;
pub mod event;
pub mod fresh;
mod group;
pub mod history;
mod lock;
pub mod page;
mod place;
pub mod problem;
pub mod report;
pub mod result;
pub mod shard;
pub mod summary;
pub mod task;
mod worker;

use std::path::PathBuf;
use std::time::Instant;

use crate::error::Error;
use crate::fault;
use crate::stop::Stop;
use config::Config;
use event::{Event, Observe};
use fresh::Care;
use lock::Lock;
use place::Place;
use problem::Problem;
use report::{Report, worst};
use result::{Status, TaskResult, now_ms};
use task::{Task, Work};
use worker::{Worker, create_root};

/// How a night is done.
#[derive(Clone, Debug, Default)]
pub struct NightOptions {
    /// How closely images that are there are looked at.
    pub care: Care,
    /// The night's name: workers and `collect` of one night say the same.
    pub night: Option<String>,
    /// Looked at before every window.
    pub stop: Stop,
}

/// Does all of the work, and reports.
///
/// # Errors
/// Another whole night that goes on; a root or report that cannot be written.
/// What fails of the work is in the report.
pub fn whole(
    config: &Config,
    options: &NightOptions,
    observe: Observe<'_>,
) -> Result<Report, Error> {
    let started = now_ms();
    create_root(&config.root)?;
    let _lock = lock(config)?;
    let last = Report::read(&config.root);
    let work = Work::of(config);
    observe(Event::Begin { tasks: &work.tasks });
    let rows = worker(config, options, observe, last.as_ref()).run(&work.tasks);
    let night = options.night.as_deref();
    let span = (started, now_ms());
    let report = Report::new(rows, work.problem(), night, span, last.as_ref());
    put_down(config, &report)?;
    observe(Event::End { code: report.code, seconds: report.seconds });
    Ok(report)
}

/// Does some of the tasks, as one of several workers; gives their rows.
///
/// # Errors
/// A root that cannot be written. What fails of the work is in the rows.
pub fn share(
    config: &Config,
    tasks: &[Task],
    options: &NightOptions,
    observe: Observe<'_>,
) -> Result<Vec<TaskResult>, Error> {
    let started = Instant::now();
    create_root(&config.root)?;
    let last = Report::read(&config.root);
    observe(Event::Begin { tasks });
    let rows = worker(config, options, observe, last.as_ref()).run(tasks);
    let code = worst(rows.iter().map(TaskResult::code));
    observe(Event::End { code, seconds: started.elapsed().as_secs_f64() });
    Ok(rows)
}

/// Makes the report of what workers have left. With a night's name, those
/// results count that have it; else those that no report has had yet.
///
/// # Errors
/// Another whole night that goes on; a root or report that cannot be written.
pub fn collect(config: &Config, work: &Work, night: Option<&str>) -> Result<Report, Error> {
    create_root(&config.root)?;
    let _lock = lock(config)?;
    let last = Report::read(&config.root);
    let rows: Vec<TaskResult> =
        work.tasks.iter().map(|task| left(config, task, night, last.as_ref())).collect();
    let there = || rows.iter().filter(|row| row.status != Status::Missing);
    let now = now_ms();
    let started = there().map(|row| row.started).min().unwrap_or(now);
    let finished = there().map(|row| row.finished).max().unwrap_or(now);
    let span = (started, finished);
    let mut report = Report::new(rows, work.problem(), night, span, last.as_ref());
    report.collected = true;
    put_down(config, &report)?;
    Ok(report)
}

/// The row that a worker has left, or one that says that none has.
fn left(config: &Config, task: &Task, night: Option<&str>, last: Option<&Report>) -> TaskResult {
    let place = Place::new(&config.root, task);
    let counts = |row: &TaskResult| match night {
        Some(night) => row.night.as_deref() == Some(night),
        None => !last.is_some_and(|last| last.rows.iter().any(|other| other.is_same_as(row))),
    };
    let found = TaskResult::read(&place);
    let old = found.is_some();
    if let Some(row) = found.filter(counts) {
        return row;
    }
    let mut row = TaskResult::new(task, night);
    let since = if old { ", only one of an earlier night" } else { "" };
    let cause = format!("no worker has left a result of task {}{since}", task.task);
    let advice = "look at what the scheduler says of its job, and run it again".to_owned();
    row.failed(Status::Missing, Problem { code: 4, cause, advice });
    if let Some(Ok(image)) =
        place.current().map(|id| crate::store::StoredImage::open(&place.image(&id)))
    {
        row.loads(image.manifest.id(), image.manifest.ledger);
    }
    row
}

fn worker<'a>(
    config: &'a Config,
    options: &'a NightOptions,
    observe: Observe<'a>,
    last: Option<&'a Report>,
) -> Worker<'a> {
    let NightOptions { care, night, stop } = options;
    Worker { config, care: *care, night: night.as_deref(), stop, observe, last }
}

/// The lock of whole nights and of `collect`: one at a time over a root.
fn lock(config: &Config) -> Result<Lock, Error> {
    let path: PathBuf = config.root.join(".nightly.lock");
    Lock::take(&path)
}

/// The report and all that goes with it. The report comes last: until it is
/// there, the next night takes these rows for its own. The page shows what is
/// in it.
fn put_down(config: &Config, report: &Report) -> Result<(), Error> {
    let failed = |cause| Error::io(&config.root, "writing the report", cause);
    fault::at("report").map_err(failed)?;
    history::append(&config.root, report)?;
    report.write(&config.root)?;
    page::write(&config.root, report)
}
