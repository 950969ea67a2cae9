//! How a night went, in words: what failed first.

use std::collections::BTreeMap;

use super::problem::Problem;
use super::report::Report;
use super::result::{Status, TaskResult};

/// The summary. Names are escaped in the report already.
pub fn text(report: &Report) -> String {
    let mut text = headline(report);
    if let Some(problem) = &report.problem {
        text += &format!("\n{}", said(problem));
    }
    section(&mut text, "Failed", &failures(report));
    let damaged = report.rows.iter().filter(|row| row.status == Status::Packed);
    let damaged: Vec<String> = damaged
        .filter_map(|row| Some(format!("{}\n{}", named(row), said(row.problem.as_ref()?))))
        .collect();
    section(&mut text, "Mended", &damaged);
    let changes: Vec<String> = report
        .changes
        .iter()
        .map(|change| format!("{} {}: {}\n", change.checkpoint, change.name, change.what))
        .collect();
    section(&mut text, "Changed since the report before", &changes);
    let packed = report.rows.iter().filter(|row| row.status == Status::Packed);
    section(&mut text, "Packed", &packed.map(packed_line).collect::<Vec<_>>());
    text
}

fn section(text: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        *text += &format!("\n{title}\n");
        for item in items {
            for line in item.lines() {
                *text += &format!("  {line}\n");
            }
        }
    }
}

/// One line that tells how it went.
fn headline(report: &Report) -> String {
    let counts = &report.counts;
    let images = report.rows.len();
    let all = |status| usize::try_from(counts.of(status)).is_ok_and(|count| count == images);
    let time = format!("{:.1} s", report.seconds);
    if images == 0 {
        return format!("There was nothing to do: no images in the work ({time}).\n");
    }
    if all(Status::UpToDate) && report.code == 0 {
        return format!("All {images} images are up to date; nothing was packed ({time}).\n");
    }
    let parts: Vec<String> = Status::ALL
        .into_iter()
        .filter(|status| counts.of(*status) > 0)
        .map(|status| format!("{} {}", counts.of(status), word(status)))
        .collect();
    let verdict = if report.code == 0 { "All is well" } else { "Something is wrong" };
    let parts = parts.join(", ");
    let mut line = format!("{verdict}: of {images} images {parts} ({time}");
    if report.read_bytes > 0 {
        let (read, written) = (report.read_bytes as f64 / 1e9, report.written_bytes as f64 / 1e9);
        line += &format!("; {read:.3} GB read, {written:.3} GB written");
    }
    line + ").\n"
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Failed => "failed",
        Status::Missing => "left no result",
        Status::Stopped => "were stopped",
        Status::Packed => "were packed",
        Status::UpToDate => "are up to date",
    }
}

/// What failed, those of one cause together.
fn failures(report: &Report) -> Vec<String> {
    let bad = |row: &&TaskResult| !matches!(row.status, Status::Packed | Status::UpToDate);
    let mut by_cause: BTreeMap<(Status, String), Vec<&TaskResult>> = BTreeMap::new();
    for row in report.rows.iter().filter(bad) {
        let cause = row.problem.as_ref().map(said).unwrap_or_default();
        by_cause.entry((row.status, cause)).or_default().push(row);
    }
    let mut items = Vec::new();
    for ((_, cause), rows) in by_cause {
        let names: String = rows.iter().map(|row| named(row)).collect::<Vec<_>>().join("\n");
        items.push(format!("{names}\n{cause}"));
    }
    items
}

/// Which image, and what can be loaded meanwhile.
fn named(row: &TaskResult) -> String {
    let (checkpoint, name) = row.key();
    match (row.status, &row.image) {
        (Status::Packed | Status::UpToDate, _) => format!("{checkpoint} {name}"),
        (_, Some(_)) => format!("{checkpoint} {name} (the image before it stays)"),
        (_, None) => format!("{checkpoint} {name} (there is no image)"),
    }
}

/// A problem, set in.
fn said(problem: &Problem) -> String {
    let Problem { code, cause, advice } = problem;
    format!("    why: {cause} (exit code {code})\n    do:  {advice}\n")
}

fn packed_line(row: &TaskResult) -> String {
    let (checkpoint, name) = row.key();
    let speed = row.gb_per_s.unwrap_or(0.0);
    let why = row.why.as_deref().unwrap_or("");
    format!(
        "{checkpoint} {name}: {:.3} GB in {:.1} s, {speed:.2} GB/s; {why}\n",
        row.written_bytes as f64 / 1e9,
        row.seconds
    )
}
