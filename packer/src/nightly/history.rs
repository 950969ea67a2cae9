//! `history.jsonl`: a row an image a night, for as long as the root is there.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wimg_core::Digest;

use super::report::Report;
use super::result::Status;
use crate::error::Error;
use crate::fault;

/// Bytes at the end that are looked at for rows that are there already.
const TAIL_BYTES: u64 = 4 << 20;
/// The file.
pub const HISTORY_JSONL: &str = "history.jsonl";

/// One image in one night.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryRow {
    /// When the image was done, in milliseconds since 1970.
    pub time: u64,
    /// The night's name, where the nights have names.
    pub night: Option<String>,
    /// What the checkpoint's results are called.
    pub checkpoint: String,
    /// What the layout's are.
    pub name: String,
    /// What became of it.
    pub result: Status,
    /// Why, where it failed.
    pub cause: Option<String>,
    /// The image to load.
    pub image_id: Option<Digest>,
    /// Bytes of the checkpoint that were read.
    pub read_bytes: u64,
    /// Bytes of the image that were written.
    pub written_bytes: u64,
    /// Seconds that packing took.
    pub seconds: f64,
    /// 10^9 bytes read a second.
    pub gb_per_s: Option<f64>,
    /// What packed it.
    pub backend: Option<String>,
    /// On which device.
    pub adapter: Option<String>,
}

/// Adds those rows of a report that are not there: a report may be made twice,
/// or its making be killed after this.
///
/// # Errors
/// I/O.
pub(super) fn append(root: &Path, report: &Report) -> Result<(), Error> {
    let path = root.join(HISTORY_JSONL);
    let failed = |cause| Error::io(&path, "adding to it", cause);
    let there = tail(&path).map_err(failed)?;
    let there: BTreeSet<(&str, &str, u64)> =
        there.iter().map(|row| (&*row.checkpoint, &*row.name, row.time)).collect();
    let mut text = String::new();
    for row in &report.rows {
        let (checkpoint, name, time) = (row.checkpoint.clone(), row.name.clone(), row.finished);
        if there.contains(&(&*checkpoint, &*name, time)) {
            continue;
        }
        let row = HistoryRow {
            time,
            night: report.night.clone(),
            checkpoint,
            name,
            result: row.status,
            cause: row.problem.as_ref().map(|problem| problem.cause.clone()),
            image_id: row.image_id,
            read_bytes: row.read_bytes,
            written_bytes: row.written_bytes,
            seconds: row.seconds,
            gb_per_s: row.gb_per_s,
            backend: row.backend.clone(),
            adapter: row.adapter.clone(),
        };
        // Strings, integers and finite numbers always serialise.
        text += &(serde_json::to_string(&row).unwrap_or_default() + "\n");
    }
    append_text(&path, &text).map_err(failed)
}

/// The rows at the file's end: more than those of a night.
fn tail(path: &Path) -> io::Result<Vec<HistoryRow>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(cause),
    };
    let len = file.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(len.min(TAIL_BYTES)).unwrap_or(0)];
    file.read_exact_at(&mut bytes, len.saturating_sub(TAIL_BYTES))?;
    // The first may be cut, the last too: neither is a row then.
    let lines = bytes.split(|&byte| byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

fn append_text(path: &Path, text: &str) -> io::Result<()> {
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    let end = whole_lines(&file)?;
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    fault::at("history")?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Where the last whole line ends: what follows was cut off by a kill.
fn whole_lines(file: &File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut bytes = [0; 4096];
    while end > 0 {
        let now = end.min(4096);
        let part = bytes.get_mut(..usize::try_from(now).unwrap_or(0)).unwrap_or_default();
        file.read_exact_at(part, end - now)?;
        if let Some(at) = part.iter().rposition(|&byte| byte == b'\n') {
            return Ok(end - now + at as u64 + 1);
        }
        end -= now;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(HISTORY_JSONL);
        append_text(&path, "{\"a\":1}\n").unwrap();
        let long = "x".repeat(10_000);
        std::fs::write(&path, format!("{{\"a\":1}}\n{{\"b\":{long}")).unwrap();
        append_text(&path, "{\"c\":3}\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":1}\n{\"c\":3}\n");
    }
}
