//! What became of one image in one night: a row of the report, and the
//! `result.json` beside the images.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wimg_core::{Digest, Escaped, ImageRow};

use super::place::{Place, RESULT_JSON};
use super::problem::Problem;
use super::task::Task;
use crate::error::shown;
use crate::pack::PackDone;
use crate::store::host;

/// What became of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It could not be made; what was there stays.
    Failed,
    /// No worker has left a result.
    Missing,
    /// Somebody asked to stop before it was its turn, or while it was made.
    Stopped,
    /// It was made, verified and put in place.
    Packed,
    /// What was there is what would be made.
    UpToDate,
}

impl Status {
    /// All of them, the worst first.
    pub const ALL: [Status; 5] =
        [Status::Failed, Status::Missing, Status::Stopped, Status::Packed, Status::UpToDate];

    /// Its word, as files have it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Failed => "failed",
            Status::Missing => "missing",
            Status::Stopped => "stopped",
            Status::Packed => "packed",
            Status::UpToDate => "up_to_date",
        }
    }
}

/// What became of an image. Text from files is escaped already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    /// What the checkpoint's results are called.
    pub checkpoint: String,
    /// What the layout's are.
    pub name: String,
    /// The layout string.
    pub layout: String,
    /// The selection's word.
    pub select: String,
    /// A file of the checkpoint.
    pub source: String,
    /// Which of `HEADERS` the checkpoint is.
    pub header: Option<String>,
    /// What became of it.
    pub status: Status,
    /// Why it was packed, or why what was there was not left.
    pub why: Option<String>,
    /// What went wrong. An image that was found damaged and packed again has
    /// one too.
    pub problem: Option<Problem>,
    /// The folder of the image to load now, from the root; none where there is none.
    pub image: Option<String>,
    /// Its id.
    pub image_id: Option<Digest>,
    /// What of it was checked this night: `full`, `quick` or nothing.
    pub verified: Option<String>,
    /// Tiles that were checked.
    pub verified_tiles: u64,
    /// Bytes of the checkpoint that were read to pack it.
    pub read_bytes: u64,
    /// Bytes of the image that were written.
    pub written_bytes: u64,
    /// Seconds that packing took.
    pub seconds: f64,
    /// Seconds that checking took.
    pub verify_seconds: f64,
    /// 10^9 bytes read a second while it was packed.
    pub gb_per_s: Option<f64>,
    /// What packed it.
    pub backend: Option<String>,
    /// On which device, where that is not the CPU.
    pub adapter: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// The machine.
    pub host: String,
    /// Which night it belongs to, where the nights have names.
    pub night: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started: u64,
    /// When it ended.
    pub finished: u64,
    /// The ledger's row of the image to load now.
    pub ledger: Option<ImageRow>,
}

impl TaskResult {
    /// A result that says nothing yet but that it failed.
    pub(super) fn new(task: &Task, night: Option<&str>) -> TaskResult {
        let now = now_ms();
        TaskResult {
            checkpoint: task.checkpoint.clone(),
            name: task.name.clone(),
            layout: task.layout.to_string(),
            select: task.select.name().to_owned(),
            source: shown(&task.path),
            header: task.header.clone(),
            status: Status::Failed,
            why: None,
            problem: None,
            image: None,
            image_id: None,
            verified: None,
            verified_tiles: 0,
            read_bytes: 0,
            written_bytes: 0,
            seconds: 0.0,
            verify_seconds: 0.0,
            gb_per_s: None,
            backend: None,
            adapter: None,
            attempts: 0,
            host: host(),
            night: night.map(str::to_owned),
            started: now,
            finished: now,
            ledger: None,
        }
    }

    /// The image that was packed.
    pub(super) fn packed(&mut self, done: &PackDone) {
        self.status = Status::Packed;
        self.read_bytes = done.read_bytes;
        self.written_bytes = done.written_bytes;
        self.seconds = done.seconds;
        self.gb_per_s = Some(done.read_bytes as f64 / done.seconds.max(1e-9) / 1e9);
        self.backend = Some(done.backend.backend.to_owned());
        let adapter = done.backend.adapter.as_ref().filter(|_| done.backend.gpu_bytes > 0);
        self.adapter = adapter.map(|adapter| Escaped::new(adapter).to_string());
        if let Some(report) = &done.verified {
            self.verified = Some("full".to_owned());
            self.verified_tiles = report.tiles;
            self.verify_seconds = report.seconds;
        }
        self.loads(done.id, done.row.clone());
    }

    /// The image to load now.
    pub(super) fn loads(&mut self, id: Digest, row: ImageRow) {
        self.image = Some(format!("{}/{}/{id}", self.checkpoint, self.name));
        self.image_id = Some(id);
        self.ledger = Some(row);
    }

    /// It failed, or was stopped: what was there stays.
    pub(super) fn failed(&mut self, status: Status, problem: Problem) {
        self.status = status;
        self.problem = Some(problem);
    }

    /// The exit code that it asks for.
    pub fn code(&self) -> u8 {
        self.problem.as_ref().map_or(0, |problem| problem.code)
    }

    /// What the checkpoint and the layout are called.
    pub fn key(&self) -> (&str, &str) {
        (&self.checkpoint, &self.name)
    }

    /// Whether both are one worker's word on one image.
    pub fn is_same_as(&self, other: &TaskResult) -> bool {
        self.key() == other.key() && self.finished == other.finished && self.host == other.host
    }

    /// What the last worker left at a place, if that can be read.
    pub(super) fn read(place: &Place) -> Option<TaskResult> {
        TaskResult::read_file(&place.dir.join(RESULT_JSON))
    }

    fn read_file(path: &Path) -> Option<TaskResult> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// The text of `result.json`.
    pub(super) fn render(&self) -> String {
        // Strings, integers and finite numbers always serialise.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
