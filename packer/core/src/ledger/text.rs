//! The ledger as a table for people.

use super::{ImageLedger, ImageRow};
use crate::escape::Escaped;

const HEADER: [&str; 12] = [
    "checkpoint",
    "layout",
    "selection",
    "tensors",
    "tiles",
    "row bytes",
    "padding",
    "check",
    "channel lines",
    "free lines",
    "skew/largest",
    "tokens/s",
];

/// A header line and a line a row, columns aligned.
pub fn table(ledger: &ImageLedger) -> String {
    let rows: Vec<[String; 12]> = ledger.rows.iter().map(cells).collect();
    let mut widths = HEADER.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let header = HEADER.map(str::to_owned);
    std::iter::once(&header).chain(&rows).map(|row| line(row, &widths)).collect()
}

fn line(row: &[String; 12], widths: &[usize; 12]) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
        // Words to the left, numbers to the right.
        if column < 3 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    });
    let text = cells.collect::<Vec<_>>().join("  ");
    format!("{}\n", text.trim_end())
}

fn cells(row: &ImageRow) -> [String; 12] {
    [
        Escaped::new(&row.checkpoint).to_string(),
        row.layout.clone(),
        row.selection.clone(),
        row.tensors.to_string(),
        row.tiles.to_string(),
        row.row_bytes.to_string(),
        row.padding_bytes.to_string(),
        row.check_bytes.to_string(),
        lines(&row.channel_lines),
        free(row),
        format!("{}/{}", row.skew_lines, row.largest_tile_lines),
        row.ceiling_tokens_s.map_or_else(|| "-".to_owned(), |tokens| format!("{tokens:.3}")),
    ]
}

/// Channels whose lines are all listed; of more, the least and the most are.
const LISTED: usize = 8;

fn lines(channels: &[u64]) -> String {
    match (channels.iter().min(), channels.iter().max()) {
        (Some(least), Some(most)) if channels.len() > LISTED => {
            format!("{least} to {most} on {}", channels.len())
        }
        _ => channels.iter().map(u64::to_string).collect::<Vec<_>>().join(" "),
    }
}

/// The free lines, or in words that there are none.
fn free(row: &ImageRow) -> String {
    if row.fits {
        row.free_lines.to_string()
    } else {
        format!("does not fit, {} short", row.free_lines.unsigned_abs())
    }
}
