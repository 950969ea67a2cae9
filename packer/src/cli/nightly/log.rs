//! A night's events as lines: JSON objects for programs, words for people.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::args::NightLog;
use crate::nightly::event::Event;
use crate::nightly::result::TaskResult;
use crate::nightly::task::Task;

/// Writes events, as they are wanted.
pub(super) struct Log<'a> {
    how: Option<NightLog>,
    err: Mutex<&'a mut (dyn Write + Send)>,
}

impl<'a> Log<'a> {
    pub(super) fn new(err: &'a mut (dyn Write + Send), how: Option<NightLog>) -> Log<'a> {
        Log { how, err: Mutex::new(err) }
    }

    /// Writes an event, if it is one that is written.
    pub(super) fn see(&self, event: Event<'_>) {
        let line = match self.how {
            None => None,
            Some(NightLog::Json) => object(event).map(|object| object.to_string()),
            Some(NightLog::Text) => words(event),
        };
        if let Some(line) = line {
            let mut err = self.err.lock().unwrap_or_else(PoisonError::into_inner);
            // The night goes on where nobody can be told of it.
            let _ = writeln!(err, "{line}");
        }
    }
}

/// An event's object; names are stable. Progress is for bars.
fn object(event: Event<'_>) -> Option<Value> {
    let of = |task: &Task| (task.checkpoint.clone(), task.name.clone());
    Some(match event {
        Event::Begin { tasks } => json!({ "event": "begin", "images": tasks.len() }),
        Event::Waits { task, who } => {
            let (checkpoint, name) = of(task);
            json!({ "event": "waits", "checkpoint": checkpoint, "name": name, "who": who })
        }
        Event::Retry { task, attempt, problem, seconds } => {
            let (checkpoint, name) = of(task);
            json!({
                "event": "retry", "checkpoint": checkpoint, "name": name, "attempt": attempt,
                "cause": problem.cause, "seconds": seconds,
            })
        }
        Event::Done { result } => json!({ "event": "done", "result": result }),
        Event::End { code, seconds } => {
            json!({ "event": "end", "code": code, "seconds": seconds })
        }
        _ => return None,
    })
}

fn words(event: Event<'_>) -> Option<String> {
    let of = |task: &Task| format!("{} {}", task.checkpoint, task.name);
    Some(match event {
        Event::Begin { tasks } => format!("{} images", tasks.len()),
        Event::Waits { task, who } => format!("{}: waits for {who}", of(task)),
        Event::Retry { task, problem, seconds, .. } => {
            format!("{}: {}; again in {seconds} s", of(task), problem.cause)
        }
        Event::Done { result } => done(result),
        Event::End { code, seconds } => format!("exit code {code} after {seconds:.1} s"),
        _ => return None,
    })
}

fn done(result: &TaskResult) -> String {
    let (checkpoint, name) = result.key();
    let cause = result.problem.as_ref().map(|problem| format!(": {}", problem.cause));
    format!("{checkpoint} {name}: {}{}", result.status.name(), cause.unwrap_or_default())
}
