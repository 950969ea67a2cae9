//! The work of a night: checkpoints × layouts, and `tasks.json`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wimg_core::headers::recognise;
use wimg_core::{Escaped, HEADERS, ImageLayout, Plan, Selection};

use super::checkpoint::{NightCheckpoint, find};
use super::config::Config;
use super::problem::Problem;
use crate::error::Error;
use crate::pack::{check_plan, cost};
use crate::source::{Source, several};

/// The version of `tasks.json` and of the reports.
pub const TASKS_FORMAT: u64 = 1;

/// One image of a night.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its number, from 0.
    pub task: u64,
    /// What the checkpoint's results are called.
    pub checkpoint: String,
    /// What the layout's are.
    pub name: String,
    /// The layout.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub layout: ImageLayout,
    /// Which tensors.
    #[serde(serialize_with = "as_word", deserialize_with = "from_text")]
    pub select: Selection,
    /// A file of the checkpoint.
    pub path: PathBuf,
    /// Which of `HEADERS` the checkpoint is, by its table.
    pub header: Option<String>,
    /// Bytes of the checkpoint to read.
    pub read_bytes: u64,
    /// Bytes to write.
    pub write_bytes: u64,
    /// Why it cannot be done, as far as the headers tell.
    pub problem: Option<Problem>,
}

fn as_text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_word<S: Serializer>(value: &Selection, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(value.name())
}

fn from_text<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(serde::de::Error::custom)
}

/// The work of a night, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// The images: checkpoint by checkpoint, layout by layout.
    pub tasks: Vec<Task>,
    /// Those of `HEADERS` that no checkpoint is, where all are required.
    pub missing: Vec<String>,
}

impl Work {
    /// Looks at every checkpoint's headers; nothing else is read, and nothing
    /// written.
    pub fn of(config: &Config) -> Work {
        let mut work = Work::default();
        for checkpoint in find(config) {
            work.add(config, &checkpoint);
        }
        if config.require_headers {
            let here = |name: &str| work.tasks.iter().any(|t| t.header.as_deref() == Some(name));
            let missing = HEADERS.iter().filter(|header| !here(header.name));
            work.missing = missing.map(|header| header.name.to_owned()).collect();
        }
        work
    }

    fn add(&mut self, config: &Config, checkpoint: &NightCheckpoint) {
        let opened = match &checkpoint.problem {
            Some(problem) => Err(problem.clone()),
            None => open(checkpoint).map_err(|error| Problem::of(&error)),
        };
        let header = opened.as_ref().ok().and_then(|s| recognise(&s.checkpoint.table()));
        for wanted in &config.layouts {
            let sized = opened.as_ref().map_err(Clone::clone).and_then(|source| {
                if config.require_headers && header.is_none() {
                    return Err(Problem::of(&unknown(&checkpoint.path)));
                }
                size(source, wanted.select, &wanted.layout).map_err(|error| Problem::of(&error))
            });
            let (read_bytes, write_bytes) = sized.as_ref().copied().unwrap_or_default();
            self.tasks.push(Task {
                task: self.tasks.len() as u64,
                checkpoint: checkpoint.name.clone(),
                name: wanted.name.clone(),
                layout: wanted.layout,
                select: wanted.select,
                path: checkpoint.path.clone(),
                header: header.map(|header| header.name.to_owned()),
                read_bytes,
                write_bytes,
                problem: sized.err(),
            });
        }
    }

    /// What is wrong with the work as a whole.
    pub fn problem(&self) -> Option<Problem> {
        if self.missing.is_empty() {
            return None;
        }
        let cause = format!("checkpoints required and not found: {}", self.missing.join(", "));
        Some(Problem::bad_input(cause, "put them where the configuration says, or require none"))
    }

    /// `tasks.json`: one task a line. The same work gives the same text.
    pub fn render(&self) -> String {
        let lines: Vec<String> = self.tasks.iter().map(json).collect();
        let (missing, tasks) = (json(&self.missing), lines.join(",\n"));
        format!("{{\"format\":{TASKS_FORMAT},\n\"missing\":{missing},\n\"tasks\":[\n{tasks}\n]}}\n")
    }

    /// Reads `tasks.json`.
    ///
    /// # Errors
    /// A file that cannot be read, is of a later format, or is none.
    pub fn read(path: &Path) -> Result<Work, Error> {
        #[derive(Deserialize)]
        struct File {
            format: u64,
            missing: Vec<String>,
            tasks: Vec<Task>,
        }
        let text = std::fs::read(path).map_err(|cause| Error::io(path, "reading it", cause))?;
        let wrong = |why: String| Error::Night { path: path.to_owned(), why };
        let file: File = serde_json::from_slice(&text)
            .map_err(|error| wrong(Escaped::new(&error.to_string()).to_string()))?;
        if file.format != TASKS_FORMAT {
            return Err(wrong(format!("its format is {}, not {TASKS_FORMAT}", file.format)));
        }
        for (expected, task) in (0..).zip(&file.tasks) {
            // A folder's name, not a way out of the root.
            let inside =
                |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('/');
            if task.task != expected || !inside(&task.checkpoint) || !inside(&task.name) {
                return Err(wrong(format!("task {expected} is not what `--list` writes")));
            }
        }
        Ok(Work { tasks: file.tasks, missing: file.missing })
    }
}

/// Serde takes what is made of text, numbers and lists; a path that is no text
/// was refused before.
fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Opens a checkpoint of a night.
pub(super) fn open(checkpoint: &NightCheckpoint) -> Result<Source, Error> {
    open_path(&checkpoint.path, checkpoint.files)
}

/// Opens the checkpoint of `path`, which by its files' names has so many.
fn open_path(path: &Path, files: usize) -> Result<Source, Error> {
    if path.to_str().is_none() {
        let why = "its path is not UTF-8, so no task can name it".to_owned();
        return Err(Error::Night { path: path.to_owned(), why });
    }
    let source = Source::open(path)?;
    // Names like a set's on files that are none: a name proves nothing.
    if source.files.len() < files {
        let folder = path.parent().unwrap_or(path);
        return Err(several(folder, &[path.file_name().unwrap_or_default().into()]).into());
    }
    Ok(source)
}

/// Bytes to read and to write.
fn size(source: &Source, select: Selection, layout: &ImageLayout) -> Result<(u64, u64), Error> {
    let plan = Plan::new(&source.checkpoint, select, layout)?;
    check_plan(&plan)?;
    let cost = cost(source, &plan, None)?;
    Ok((cost.read_bytes, cost.write_bytes))
}

/// A checkpoint that is not one of those that are required.
pub(super) fn unknown(path: &Path) -> Error {
    let why = "it is none of the checkpoints that are required, by its tensor table".to_owned();
    Error::Night { path: path.to_owned(), why }
}

#[cfg(test)]
impl Task {
    /// A task that reads so many bytes.
    pub(super) fn of_bytes(read_bytes: u64) -> Task {
        Task {
            task: 0,
            checkpoint: "c".into(),
            name: "l".into(),
            layout: ImageLayout::default(),
            select: Selection::Machine,
            path: "c.gguf".into(),
            header: None,
            read_bytes,
            write_bytes: 0,
            problem: None,
        }
    }
}
