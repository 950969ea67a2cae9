//! The ledger as JSON Lines: one object a row, keys as in [`ImageRow`].

use super::{ImageLedger, ImageRow};

/// One row, without a line's end.
pub fn row(row: &ImageRow) -> String {
    // Strings, integers and finite numbers always serialise.
    serde_json::to_string(row).unwrap_or_default()
}

/// All rows, each on a line.
pub fn lines(ledger: &ImageLedger) -> String {
    ledger.rows.iter().map(|each| row(each) + "\n").collect()
}

/// Reads rows back; blank lines do not count.
pub fn read(text: &str) -> Result<ImageLedger, serde_json::Error> {
    let rows = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
    Ok(ImageLedger { rows: rows.collect::<Result<_, _>>()? })
}
