//! `run.json`: how one copy of an image was made. Nothing in it says what the
//! image is; it is the only file that may differ between two copies.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wimg_core::Digest;

use crate::backend::BackendReport;
use crate::error::shown;
use crate::source::Source;
use crate::store::{self, RUN_JSON};

/// How a copy was made.
#[derive(Clone, Debug, Serialize)]
pub struct Run<'a> {
    /// The program.
    pub program: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The checkpoint's files.
    pub sources: Vec<RunSource>,
    /// The machine.
    pub host: String,
    /// Seconds since 1970.
    pub time: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Bytes of the checkpoint that were read.
    pub read_bytes: u64,
    /// 10^9 of them a second.
    pub gb_per_s: f64,
    /// What packed.
    pub packed: &'a BackendReport,
}

/// What is read of it again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RunRecord {
    /// The checkpoint's files.
    pub sources: Vec<RunSource>,
    /// Seconds since 1970.
    pub time: u64,
}

/// A file of the checkpoint, as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSource {
    /// Where it was, escaped.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// When it was last written: nanoseconds since 1970, in decimal (they pass 2^53).
    pub mtime_ns: String,
    /// The digest of its bytes before the data; absent in older copies.
    #[serde(default)]
    pub header_blake3: Option<Digest>,
}

impl Run<'_> {
    /// A copy that was just made from `source`.
    pub fn new<'a>(
        source: &Source,
        packed: &'a BackendReport,
        seconds: f64,
        read_bytes: u64,
    ) -> Run<'a> {
        Run {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            sources: sources(source),
            host: store::host(),
            time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            seconds,
            read_bytes,
            gb_per_s: read_bytes as f64 / seconds.max(1e-9) / 1e9,
            packed,
        }
    }

    /// The file's text.
    pub fn render(&self) -> String {
        // Strings, integers and finite numbers always serialise.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl RunRecord {
    /// Reads that of an image; none where there is none that can be read.
    ///
    /// # Errors
    /// What the system refuses; that there is no such file is no error.
    pub fn read(dir: &Path) -> io::Result<Option<RunRecord>> {
        match std::fs::read(dir.join(RUN_JSON)) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause),
        }
    }
}

/// The files of a checkpoint as they are now.
pub fn sources(source: &Source) -> Vec<RunSource> {
    let files = source.files.iter().zip(&source.headers);
    files
        .map(|(file, header)| RunSource {
            path: shown(&std::path::absolute(&file.path).unwrap_or_else(|_| file.path.clone())),
            bytes: file.len,
            mtime_ns: file.mtime.to_string(),
            header_blake3: Some(Digest::of(header)),
        })
        .collect()
}
