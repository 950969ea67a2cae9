//! A ledger row with more values after its own.

use wimg_core::ledger::{csv, json};
use wimg_core::{ImageLedger, ImageRow};

use super::record::{Record, tame};

/// A ledger row with more values after its own.
pub(crate) struct RowWith<'a> {
    /// The row.
    pub(crate) row: &'a ImageRow,
    /// What follows it.
    pub(crate) more: Record,
}

impl RowWith<'_> {
    /// The row's object, longer, with a line's end.
    pub(crate) fn json(&self) -> String {
        let (row, more) = (json::row(self.row), self.more.json());
        let row = row.strip_suffix('}').unwrap_or(&row);
        tame(&format!("{row},")) + more.strip_prefix('{').unwrap_or(&more)
    }

    /// The row's table, wider: a header and a line.
    pub(crate) fn csv(&self) -> String {
        let columns = [self.more.csv_header(), self.more.csv()];
        let table = csv::table(&ImageLedger { rows: vec![self.row.clone()] });
        table.lines().zip(columns).map(|(line, more)| format!("{line},{more}")).collect()
    }
}
