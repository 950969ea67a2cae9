//! The ledger as CSV (RFC 4180, lines end in LF): lists are joined by spaces.

use super::{ImageLedger, ImageRow};
use crate::escape::Escaped;

/// The columns' names, those of [`ImageRow`].
const HEADER: &str = "checkpoint,beat,layout,selection,tensors,tiles,row_bytes,padding_bytes,\
check_bytes,channel_lines,free_lines,fits,skew_lines,largest_tile_lines,pass_lines,ceiling_tokens_s";

/// A header line and all rows.
pub fn table(ledger: &ImageLedger) -> String {
    let mut out = format!("{HEADER}\n");
    for row in &ledger.rows {
        out += &cells(row).join(",");
        out.push('\n');
    }
    out
}

fn cells(row: &ImageRow) -> [String; 16] {
    [
        cell(&row.checkpoint),
        row.beat.to_string(),
        cell(&row.layout),
        cell(&row.selection),
        row.tensors.to_string(),
        row.tiles.to_string(),
        row.row_bytes.to_string(),
        row.padding_bytes.to_string(),
        row.check_bytes.to_string(),
        list(&row.channel_lines),
        row.free_lines.to_string(),
        row.fits.to_string(),
        row.skew_lines.to_string(),
        row.largest_tile_lines.to_string(),
        list(&row.pass_lines),
        row.ceiling_tokens_s.map(|tokens| tokens.to_string()).unwrap_or_default(),
    ]
}

fn list(lines: &[u64]) -> String {
    lines.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// A text cell. Control characters are escaped, quotes doubled, and a start
/// that a spreadsheet would take for a formula is made text.
pub fn cell(text: &str) -> String {
    shown_cell(Escaped::new(text).to_string())
}

/// A cell of text whose control characters are escaped already.
pub fn shown_cell(mut shown: String) -> String {
    if shown.starts_with(['=', '+', '-', '@']) {
        shown.insert(0, '\'');
    }
    if shown.contains([',', '"', '\'']) || shown.starts_with(' ') || shown.ends_with(' ') {
        shown = format!("\"{}\"", shown.replace('"', "\"\""));
    }
    shown
}
