//! `report.json`: how a night went.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wimg_core::{FORMAT_VERSION, ImageLedger};

use super::problem::Problem;
use super::result::{Status, TaskResult};
use super::task::TASKS_FORMAT;
use crate::error::Error;
use crate::store::{host, replace_file};

/// The report.
pub const REPORT_JSON: &str = "report.json";
/// The summary, in words.
pub const SUMMARY_TXT: &str = "summary.txt";
/// The ledger of the images to load.
pub const LEDGER_JSONL: &str = "ledger.jsonl";

/// The exit codes from good to worst.
const SEVERITY: [u8; 6] = [0, 2, 3, 4, 5, 1];

/// Where in the file the keys are that tell it from other programs' reports.
const START_BYTES: usize = 256;

/// Whether a file that begins like this is, or would be, a night's report: also
/// one that breaks off later.
pub fn begins_report(start: &[u8]) -> bool {
    let start = &start[..start.len().min(START_BYTES)];
    let has = |key: &[u8]| start.windows(key.len()).any(|window| window == key);
    start.trim_ascii_start().starts_with(b"{") && has(b"\"format\"") && has(b"\"image_format\"")
}

/// How a night went. Text from files is escaped already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The report's own version.
    pub format: u64,
    /// The version of the image directories.
    pub image_format: u64,
    /// The program's version.
    pub version: String,
    /// The machine that made the report.
    pub host: String,
    /// The night's name, where the nights have names.
    pub night: Option<String>,
    /// Whether it was collected from several workers.
    pub collected: bool,
    /// When the first image began, or the night did, in milliseconds since 1970.
    pub started: u64,
    /// When it ended.
    pub finished: u64,
    /// Seconds from the one to the other.
    pub seconds: f64,
    /// The worst exit code.
    pub code: u8,
    /// Images by what became of them.
    pub counts: Counts,
    /// Bytes of checkpoints that were read to pack.
    pub read_bytes: u64,
    /// Bytes of images that were written.
    pub written_bytes: u64,
    /// What is wrong with the night as a whole.
    pub problem: Option<Problem>,
    /// What is different from the report before.
    pub changes: Vec<Change>,
    /// The images, in order.
    pub rows: Vec<TaskResult>,
}

/// Images by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is a status's count")]
pub struct Counts {
    pub failed: u64,
    pub missing: u64,
    pub stopped: u64,
    pub packed: u64,
    pub up_to_date: u64,
}

/// A difference from the report before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What the checkpoint's results are called.
    pub checkpoint: String,
    /// What the layout's are.
    pub name: String,
    /// The difference.
    pub what: String,
}

impl Report {
    /// The report of these rows; `last` is the one before.
    pub fn new(
        rows: Vec<TaskResult>,
        problem: Option<Problem>,
        night: Option<&str>,
        (started, finished): (u64, u64),
        last: Option<&Report>,
    ) -> Report {
        let mut counts = Counts::default();
        for row in &rows {
            *counts.of_mut(row.status) += 1;
        }
        let codes = rows.iter().map(TaskResult::code);
        let codes = codes.chain(problem.as_ref().map(|problem| problem.code));
        let packed = || rows.iter().filter(|row| row.status == Status::Packed);
        Report {
            format: TASKS_FORMAT,
            image_format: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: host(),
            night: night.map(str::to_owned),
            collected: false,
            started,
            finished,
            seconds: finished.saturating_sub(started) as f64 / 1000.0,
            code: worst(codes),
            counts,
            read_bytes: packed().map(|row| row.read_bytes).sum(),
            written_bytes: packed().map(|row| row.written_bytes).sum(),
            problem,
            changes: changes(&rows, night, last),
            rows,
        }
    }

    /// Reads the report of a root; none where there is none that can be read.
    pub fn read(root: &Path) -> Option<Report> {
        serde_json::from_slice(&std::fs::read(root.join(REPORT_JSON)).ok()?).ok()
    }

    /// The file's text.
    pub fn render(&self) -> String {
        // Strings, integers and finite numbers always serialise.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The ledger of the images to load.
    pub fn ledger(&self) -> ImageLedger {
        ImageLedger { rows: self.rows.iter().filter_map(|row| row.ledger.clone()).collect() }
    }

    /// Puts the report, its summary and the ledger into the root.
    ///
    /// # Errors
    /// I/O.
    pub fn write(&self, root: &Path) -> Result<(), Error> {
        let ledger = wimg_core::ledger::json::lines(&self.ledger());
        replace_file(&root.join(LEDGER_JSONL), ledger.as_bytes())?;
        replace_file(&root.join(SUMMARY_TXT), super::summary::text(self).as_bytes())?;
        replace_file(&root.join(REPORT_JSON), self.render().as_bytes())
    }
}

impl Counts {
    /// Images of a status.
    pub fn of(&self, status: Status) -> u64 {
        match status {
            Status::Failed => self.failed,
            Status::Missing => self.missing,
            Status::Stopped => self.stopped,
            Status::Packed => self.packed,
            Status::UpToDate => self.up_to_date,
        }
    }

    fn of_mut(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Failed => &mut self.failed,
            Status::Missing => &mut self.missing,
            Status::Stopped => &mut self.stopped,
            Status::Packed => &mut self.packed,
            Status::UpToDate => &mut self.up_to_date,
        }
    }
}

/// Of several exit codes the worst: 1, else 5, else 4, else 3.
pub fn worst(codes: impl IntoIterator<Item = u8>) -> u8 {
    let severity = |code: &u8| SEVERITY.iter().position(|known| known == code);
    codes.into_iter().max_by_key(severity).unwrap_or(0)
}

/// What is different from the report before. A report of the same night is
/// not before this one: what that one had is carried on.
fn changes(rows: &[TaskResult], night: Option<&str>, last: Option<&Report>) -> Vec<Change> {
    let Some(last) = last else { return Vec::new() };
    let again = night.is_some() && last.night.as_deref() == night;
    let mut changes = if again { last.changes.clone() } else { Vec::new() };
    let mut add = |row: &TaskResult, what: &str| {
        let change = Change {
            checkpoint: row.checkpoint.clone(),
            name: row.name.clone(),
            what: what.to_owned(),
        };
        if !changes.contains(&change) {
            changes.push(change);
        }
    };
    for row in rows {
        let Some(before) = last.rows.iter().find(|before| before.key() == row.key()) else {
            add(row, "new in the work");
            continue;
        };
        match (before.image_id, row.image_id) {
            (None, Some(_)) => add(row, "has its first image"),
            (Some(_), None) => add(row, "has no image to load any more"),
            (Some(before), Some(now)) if before != now => add(row, "has another image"),
            _ => {}
        }
        let good = |row: &TaskResult| matches!(row.status, Status::Packed | Status::UpToDate);
        match (good(before), good(row)) {
            (true, false) => add(row, "went wrong, and did not before"),
            (false, true) => add(row, "is well again"),
            _ => {}
        }
    }
    for before in &last.rows {
        if !rows.iter().any(|row| row.key() == before.key()) {
            add(before, "is no part of the work any more; its images stay");
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nightly::task::Task;
    use wimg_core::Digest;

    fn row(checkpoint: &str, status: Status, image: Option<&str>) -> TaskResult {
        let task = Task { checkpoint: checkpoint.into(), ..Task::of_bytes(0) };
        let mut row = TaskResult::new(&task, None);
        row.status = status;
        row.image_id = image.map(|image| Digest::of(image.as_bytes()));
        row
    }

    fn report(rows: Vec<TaskResult>, last: Option<&Report>) -> Report {
        Report::new(rows, None, None, (0, 0), last)
    }

    #[test]
    fn what_changed_is_said() {
        let first = report(
            vec![
                row("a", Status::Packed, Some("1")),
                row("b", Status::Packed, Some("1")),
                row("c", Status::Failed, None),
                row("d", Status::Packed, Some("1")),
            ],
            None,
        );
        assert!(first.changes.is_empty());
        let second = report(
            vec![
                row("a", Status::UpToDate, Some("1")),
                row("b", Status::Packed, Some("2")),
                row("c", Status::Packed, Some("1")),
                row("e", Status::Failed, None),
            ],
            Some(&first),
        );
        let said: Vec<String> =
            second.changes.iter().map(|c| format!("{} {}", c.checkpoint, c.what)).collect();
        assert_eq!(
            said,
            [
                "b has another image",
                "c has its first image",
                "c is well again",
                "e new in the work",
                "d is no part of the work any more; its images stay",
            ]
        );
        assert_eq!(
            second.counts,
            Counts { failed: 1, packed: 2, up_to_date: 1, ..Counts::default() }
        );
    }

    #[test]
    fn a_report_is_known_by_its_start() {
        let text = report(vec![row("a", Status::Packed, None)], None).render();
        for len in [100, START_BYTES, text.len()] {
            assert!(begins_report(&text.as_bytes()[..len]), "{len}");
        }
        let padded = " ".repeat(START_BYTES) + &text;
        for other in ["", "{}", "{\"format\":1}", "[{\"format\":1,\"image_format\":1}]", &padded] {
            assert!(!begins_report(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn of_several_codes_the_worst() {
        assert_eq!(worst([]), 0);
        assert_eq!(worst([3, 0, 4]), 4);
        assert_eq!(worst([3, 5, 4]), 5);
        assert_eq!(worst([5, 1, 4]), 1);
    }
}
