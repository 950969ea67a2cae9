//! `report.html`: the page over the images of a night, in one file.

use std::path::Path;

use super::report::{LEDGER_JSONL, REPORT_JSON, Report};
use crate::error::Error;
use crate::page::Page;
use crate::report::Report as PageReport;

/// The file.
pub const REPORT_HTML: &str = "report.html";

/// Writes the page over the report, the ledger and the images to load, where this program
/// has one. An image that cannot be read is in the report's rows, not in it.
///
/// # Errors
/// A page that cannot be made one file; I/O.
pub(super) fn write(root: &Path, report: &Report) -> Result<(), Error> {
    let Some(page) = Page::embedded() else { return Ok(()) };
    let mut shown = PageReport::default();
    shown.add_night_as(&root.join(REPORT_JSON), REPORT_JSON)?;
    if !report.ledger().rows.is_empty() {
        shown.add(&root.join(LEDGER_JSONL))?;
    }
    for row in &report.rows {
        if let Some(image) = &row.image {
            let name = format!("{}/{}", row.checkpoint, row.name);
            let _ = shown.add_image_as(&root.join(image), &name);
        }
    }
    shown.write(page, &root.join(REPORT_HTML), true).map(|_| ())
}
