//! `wimg nightly --check`: the work, before it is done.

use super::{Console, Failure};
use crate::cli::quantity::Bytes;
use crate::nightly::config::Config;
use crate::nightly::problem::Problem;
use crate::nightly::task::{Task, Work};

/// Shows the work, a line an image, and what is wrong with it.
pub(super) fn check(config: &Config, console: &mut Console<'_>) -> Result<(), Failure> {
    let work = Work::of(config);
    let widths = |of: fn(&Task) -> &str| work.tasks.iter().map(|task| of(task).len()).max();
    let checkpoints = widths(|task| &task.checkpoint).unwrap_or(0);
    let names = widths(|task| &task.name).unwrap_or(0);
    let mut text = String::new();
    for task in &work.tasks {
        let what = match &task.problem {
            Some(problem) => format!("cannot be packed: {}", problem.cause),
            None => format!("{} to write", Bytes(task.write_bytes)),
        };
        let (checkpoint, name) = (&task.checkpoint, &task.name);
        text += &format!(
            "{:>4}  {checkpoint:<checkpoints$}  {name:<names$}  {} {}  {what}\n",
            task.task,
            task.layout,
            task.select.name()
        );
    }
    let good = || work.tasks.iter().filter(|task| task.problem.is_none());
    let bytes = good().map(|task| task.write_bytes).sum();
    let (all, bad) = (work.tasks.len(), work.tasks.len() - good().count());
    text += &format!("{all} images, {bad} of them cannot be packed; {} in all\n", Bytes(bytes));
    console.out.write_all(text.as_bytes())?;
    let problems = work.tasks.iter().filter_map(|task| task.problem.clone());
    let problems: Vec<Problem> = problems.chain(work.problem()).collect();
    let mut seen: Vec<&Problem> = Vec::new();
    for problem in &problems {
        if !seen.contains(&problem) {
            seen.push(problem);
            console.fail(&Failure::Found(problem.clone()));
        }
    }
    Ok(())
}
