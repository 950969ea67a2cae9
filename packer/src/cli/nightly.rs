//! `wimg nightly`: every checkpoint in every layout, only what changed.

pub(crate) mod args;
mod log;
mod watch;
mod work;

use std::io;

use super::Console;
use super::exit::Exit;
use super::failure::Failure;
use crate::error::Error;
use crate::nightly::config::{Config, EXAMPLE};
use crate::nightly::event::Event;
use crate::nightly::fresh::Care;
use crate::nightly::problem::Problem;
use crate::nightly::report::{Report, worst};
use crate::nightly::result::TaskResult;
use crate::nightly::shard::{Shard, ShardError, task_of_job};
use crate::nightly::task::{Task, Work};
use crate::nightly::{NightOptions, collect, share, summary, whole};
use crate::stop::Stop;
use args::{NightVerify, NightlyArgs, ShareOf, TaskNumber};
use log::Log;
use watch::Watch;

pub(crate) fn run(args: &NightlyArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    if args.instead.init {
        return init(args, console);
    }
    let config = Config::read(&args.config)?;
    if args.instead.check {
        return work::check(&config, console);
    }
    if args.instead.list {
        let work = Work::of(&config);
        work.tasks.iter().for_each(|task| raise(console, task));
        if let Some(problem) = work.problem() {
            console.fail(&Failure::Found(problem));
        }
        return Ok(console.out.write_all(work.render().as_bytes())?);
    }
    if args.instead.collect {
        let work = listed(args, &config)?;
        let report = collect(&config, &work, args.night.as_deref())?;
        return tell(args, &report, console);
    }
    let stop = Stop::on_signals()
        .map_err(|cause| Error::io(&args.config, "preparing to be asked to stop", cause))?;
    let care = Care { checksum: args.checksum, verify_full: args.verify == NightVerify::Full };
    let options = NightOptions { care, night: args.night.clone(), stop };
    let Some(tasks) = share_tasks(args, &config)? else {
        let report = observed(args, console, |observe| whole(&config, &options, observe))?;
        return tell(args, &report, console);
    };
    let rows = observed(args, console, |observe| share(&config, &tasks, &options, observe))?;
    tell_share(args, &rows, console)
}

/// Writes the example; never over anything.
fn init(args: &NightlyArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let path = &args.config;
    let written = std::fs::File::options()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| io::Write::write_all(&mut file, EXAMPLE.as_bytes()));
    match written {
        Ok(()) => {
            let shown = crate::error::shown(path);
            Ok(writeln!(
                console.out,
                "`{shown}` is written: change it, then `wimg nightly --check`"
            )?)
        }
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            let shown = crate::error::shown(path);
            Err(Failure::Usage(format!("`{shown}` exists and is left as it is")))
        }
        Err(cause) => Err(Error::io(path, "writing it", cause).into()),
    }
}

/// The work: that of `--tasks`, or what the configuration says now.
fn listed(args: &NightlyArgs, config: &Config) -> Result<Work, Failure> {
    match &args.share.tasks {
        Some(path) => Ok(Work::read(path)?),
        None => Ok(Work::of(config)),
    }
}

/// The tasks of a worker; none for a whole night.
fn share_tasks(args: &NightlyArgs, config: &Config) -> Result<Option<Vec<Task>>, Failure> {
    let env = |name: &str| std::env::var(name).ok();
    let usage = |error: ShardError| Failure::Usage(error.to_string());
    let share = &args.share;
    if let Some(task) = share.task {
        let task = match task {
            TaskNumber::Of(task) => task,
            TaskNumber::OfJob => task_of_job(&env).map_err(usage)?,
        };
        let work = listed(args, config)?;
        let found = usize::try_from(task).ok().and_then(|at| work.tasks.get(at)).cloned();
        let count = work.tasks.len();
        let missing =
            || Failure::Usage(format!("there is no task {task}: there are {count}, from 0"));
        return Ok(Some(vec![found.ok_or_else(missing)?]));
    }
    let shard = match (share.shard, share.shards) {
        (Some(ShareOf::Of(share, count)), _) => Shard::new(share - 1, count),
        (Some(ShareOf::OfJob), _) => Shard::of_job(None, &env),
        (None, Some(count)) => Shard::of_job(Some(count), &env),
        (None, None) if share.tasks.is_some() => Ok(Shard { index: 0, count: 1 }),
        (None, None) => return Ok(None),
    };
    let work = listed(args, config)?;
    let tasks = work.tasks.get(shard.map_err(usage)?.tasks(&work.tasks)).unwrap_or_default();
    Ok(Some(tasks.to_vec()))
}

/// Runs something that tells of itself.
fn observed<T>(
    args: &NightlyArgs,
    console: &mut Console<'_>,
    run: impl FnOnce(&(dyn Fn(Event<'_>) + Sync)) -> Result<T, Error>,
) -> Result<T, Failure> {
    let bar = console.bar && !args.quiet && args.log.is_none();
    let log = Log::new(console.err, args.log);
    let watch = Watch::new(bar);
    let done = run(&|event| {
        watch.see(event);
        log.see(event);
    });
    drop(watch);
    Ok(done?)
}

/// The summary, where somebody wants it or has to see it, and the exit code.
fn tell(args: &NightlyArgs, report: &Report, console: &mut Console<'_>) -> Result<(), Failure> {
    console.exit.raise(Exit::of(report.code));
    if report.code != 0 || args.summary || (console.bar && !args.quiet) {
        console.out.write_all(summary::text(report).as_bytes())?;
    }
    Ok(())
}

/// A worker's own rows, in the same way.
fn tell_share(
    args: &NightlyArgs,
    rows: &[TaskResult],
    console: &mut Console<'_>,
) -> Result<(), Failure> {
    let code = worst(rows.iter().map(TaskResult::code));
    console.exit.raise(Exit::of(code));
    if code != 0 || args.summary || (console.bar && !args.quiet) {
        let span = (
            rows.iter().map(|row| row.started).min().unwrap_or(0),
            rows.iter().map(|row| row.finished).max().unwrap_or(0),
        );
        let report = Report::new(rows.to_vec(), None, None, span, None);
        console.out.write_all(summary::text(&report).as_bytes())?;
    }
    Ok(())
}

/// A task that cannot be done.
fn raise(console: &mut Console<'_>, task: &Task) {
    if let Some(problem) = &task.problem {
        let problem = Problem {
            cause: format!("{} {}: {}", task.checkpoint, task.name, problem.cause),
            ..problem.clone()
        };
        console.fail(&Failure::Found(problem));
    }
}
