//! The ledger as a table: columns, cells, order and filter.

use std::cmp::Ordering;

use wimg_core::{Escaped, ImageLayout, ImageRow};

use crate::model::library::Entry;
use crate::model::quantity::{bytes, count, grouped, percent, share};
use crate::model::state::Sort;

/// A column. The names are those of `wimg ledger --format csv`, but for
/// `padding_share`, which that leaves to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// What the checkpoint is called.
    Checkpoint,
    /// Bytes of a line.
    Beat,
    /// The layout.
    Layout,
    /// The selection.
    Selection,
    /// Tokens a second at most.
    CeilingTokens,
    /// The lines of each channel, as bars.
    ChannelLines,
    /// The least free lines of a channel.
    FreeLines,
    /// Bytes of the tensors' rows.
    RowBytes,
    /// Zero bytes.
    PaddingBytes,
    /// Those as a part of the image.
    PaddingShare,
    /// Bytes of check words.
    CheckBytes,
    /// The most lines that two channels differ by.
    SkewLines,
    /// Lines of the largest tile.
    LargestTileLines,
    /// Tiles.
    Tiles,
    /// Tensors.
    Tensors,
}

impl Column {
    /// All columns, in the table's order.
    pub const ALL: [Column; 15] = [
        Column::Checkpoint,
        Column::Beat,
        Column::Layout,
        Column::Selection,
        Column::CeilingTokens,
        Column::ChannelLines,
        Column::FreeLines,
        Column::RowBytes,
        Column::PaddingBytes,
        Column::PaddingShare,
        Column::CheckBytes,
        Column::SkewLines,
        Column::LargestTileLines,
        Column::Tiles,
        Column::Tensors,
    ];

    /// The name in links and in the page's cells.
    pub fn name(self) -> &'static str {
        match self {
            Column::Checkpoint => "checkpoint",
            Column::Beat => "beat",
            Column::Layout => "layout",
            Column::Selection => "selection",
            Column::CeilingTokens => "ceiling_tokens_s",
            Column::ChannelLines => "channel_lines",
            Column::FreeLines => "free_lines",
            Column::RowBytes => "row_bytes",
            Column::PaddingBytes => "padding_bytes",
            Column::PaddingShare => "padding_share",
            Column::CheckBytes => "check_bytes",
            Column::SkewLines => "skew_lines",
            Column::LargestTileLines => "largest_tile_lines",
            Column::Tiles => "tiles",
            Column::Tensors => "tensors",
        }
    }

    /// The column of a name.
    pub fn from_name(name: &str) -> Option<Column> {
        Column::ALL.into_iter().find(|column| column.name() == name)
    }

    /// The words of its header.
    pub fn title(self) -> &'static str {
        match self {
            Column::Checkpoint => "checkpoint",
            Column::Beat => "beat",
            Column::Layout => "layout",
            Column::Selection => "selection",
            Column::CeilingTokens => "tokens/s",
            Column::ChannelLines => "channels' fill",
            Column::FreeLines => "free lines",
            Column::RowBytes => "row bytes",
            Column::PaddingBytes => "padding",
            Column::PaddingShare => "padding %",
            Column::CheckBytes => "check words",
            Column::SkewLines => "skew",
            Column::LargestTileLines => "largest tile",
            Column::Tiles => "tiles",
            Column::Tensors => "tensors",
        }
    }

    /// What the column holds, in a sentence.
    pub fn hint(self) -> &'static str {
        match self {
            Column::Checkpoint => "the public name of the checkpoint's tensors, or general.name",
            Column::Beat => "bytes of a line: what a channel gives a clock",
            Column::Layout => "channels x line bytes / tile lines, and what is not the default",
            Column::Selection => "which tensors the image holds",
            Column::CeilingTokens => {
                "the most tokens a second: 300 million lines a second and channel over the fullest channel's lines of a pass"
            }
            Column::ChannelLines => "the lines that each channel holds, of those that it has",
            Column::FreeLines => "lines that the fullest channel leaves free",
            Column::RowBytes => "bytes of the tensors, as the checkpoint has them",
            Column::PaddingBytes => "zero bytes: the ends of tiles, and of slots",
            Column::PaddingShare => "padding as a part of the image",
            Column::CheckBytes => "bytes of the tiles' check words",
            Column::SkewLines => "the most lines that two channels differ by, after any tile",
            Column::LargestTileLines => "lines of the largest tile",
            Column::Tiles => "runs of rows, each on one channel",
            Column::Tensors => "tensors of the image",
        }
    }

    /// Whether its cells are numbers, which stand to the right.
    pub fn is_number(self) -> bool {
        !matches!(
            self,
            Column::Checkpoint | Column::Layout | Column::Selection | Column::ChannelLines
        )
    }
}

/// A cell for people.
pub fn text(row: &ImageRow, column: Column) -> String {
    match column {
        Column::Checkpoint if row.checkpoint.is_empty() => "(no name)".to_owned(),
        Column::Checkpoint => Escaped::new(&row.checkpoint).to_string(),
        Column::Layout => Escaped::new(&row.layout).to_string(),
        Column::Selection => Escaped::new(&row.selection).to_string(),
        Column::FreeLines if !row.fits => {
            format!("does not fit: {} lines short", grouped(-i128::from(row.free_lines)))
        }
        Column::FreeLines => grouped(row.free_lines.into()),
        Column::CeilingTokens => {
            row.ceiling_tokens_s.map_or_else(|| "\u{2013}".to_owned(), |t| format!("{t:.3}"))
        }
        Column::PaddingShare => percent(padding_share(row)),
        Column::ChannelLines => {
            row.channel_lines.iter().copied().map(count).collect::<Vec<_>>().join(" ")
        }
        Column::RowBytes => bytes(row.row_bytes),
        Column::PaddingBytes => bytes(row.padding_bytes),
        Column::CheckBytes => bytes(row.check_bytes),
        Column::Beat => row.beat.to_string(),
        Column::SkewLines => count(row.skew_lines),
        Column::LargestTileLines => count(row.largest_tile_lines),
        Column::Tiles => count(row.tiles),
        Column::Tensors => count(row.tensors),
    }
}

/// A cell exactly: digits, or the text as it is.
pub fn value(row: &ImageRow, column: Column) -> String {
    match column {
        Column::Checkpoint => row.checkpoint.clone(),
        Column::Beat => row.beat.to_string(),
        Column::Layout => row.layout.clone(),
        Column::Selection => row.selection.clone(),
        Column::CeilingTokens => row.ceiling_tokens_s.map(|t| t.to_string()).unwrap_or_default(),
        Column::ChannelLines => {
            row.channel_lines.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
        }
        Column::FreeLines => row.free_lines.to_string(),
        Column::RowBytes => row.row_bytes.to_string(),
        Column::PaddingBytes => row.padding_bytes.to_string(),
        Column::PaddingShare => padding_share(row).to_string(),
        Column::CheckBytes => row.check_bytes.to_string(),
        Column::SkewLines => row.skew_lines.to_string(),
        Column::LargestTileLines => row.largest_tile_lines.to_string(),
        Column::Tiles => row.tiles.to_string(),
        Column::Tensors => row.tensors.to_string(),
    }
}

/// Padding as a part of the image.
pub fn padding_share(row: &ImageRow) -> f64 {
    share(row.padding_bytes, row.image_bytes())
}

/// By channel: the part of its lines that it holds; more than 1 where they do
/// not fit. A layout that cannot be read is taken for the card's.
pub fn fill(row: &ImageRow) -> Vec<f64> {
    let layout: ImageLayout = row.layout.parse().unwrap_or_default();
    row.channel_lines.iter().map(|&lines| share(lines, layout.channel_lines)).collect()
}

/// The places of the entries that the filter keeps, in the order asked for.
/// Every word of the filter must be in the checkpoint's name, its subject's,
/// the layout or the selection, whatever the case.
pub fn shown(entries: &[Entry], filter: &str, sort: Option<Sort>) -> Vec<usize> {
    let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
    let kept = |entry: &Entry| {
        let Entry { subject, row } = entry;
        let all = format!("{} {subject} {} {}", row.checkpoint, row.layout, row.selection);
        let all = all.to_lowercase();
        words.iter().all(|word| all.contains(word))
    };
    let kept = entries.iter().enumerate().filter(|(_, entry)| kept(entry));
    let mut kept: Vec<(usize, &ImageRow)> = kept.map(|(at, entry)| (at, &entry.row)).collect();
    if let Some(Sort { column, down }) = sort {
        // Stable: equal cells stay in the ledger's order, either way.
        kept.sort_by(|(_, a), (_, b)| {
            let order = compare(a, b, column);
            if down { order.reverse() } else { order }
        });
    }
    kept.into_iter().map(|(at, _)| at).collect()
}

fn compare(a: &ImageRow, b: &ImageRow, column: Column) -> Ordering {
    match column {
        Column::Checkpoint => a.checkpoint.cmp(&b.checkpoint),
        Column::Layout => a.layout.cmp(&b.layout),
        Column::Selection => a.selection.cmp(&b.selection),
        Column::FreeLines => a.free_lines.cmp(&b.free_lines),
        Column::CeilingTokens => {
            let key = |row: &ImageRow| row.ceiling_tokens_s.unwrap_or(-1.0);
            key(a).total_cmp(&key(b))
        }
        Column::PaddingShare => padding_share(a).total_cmp(&padding_share(b)),
        Column::ChannelLines => {
            let most = |row: &ImageRow| fill(row).into_iter().fold(0.0, f64::max);
            most(a).total_cmp(&most(b))
        }
        Column::Beat => a.beat.cmp(&b.beat),
        Column::RowBytes => a.row_bytes.cmp(&b.row_bytes),
        Column::PaddingBytes => a.padding_bytes.cmp(&b.padding_bytes),
        Column::CheckBytes => a.check_bytes.cmp(&b.check_bytes),
        Column::SkewLines => a.skew_lines.cmp(&b.skew_lines),
        Column::LargestTileLines => a.largest_tile_lines.cmp(&b.largest_tile_lines),
        Column::Tiles => a.tiles.cmp(&b.tiles),
        Column::Tensors => a.tensors.cmp(&b.tensors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::library::Library;

    #[test]
    fn the_first_row_for_people() {
        let library = Library::of_headers();
        let row = &library.entries[0].row;
        let cells = Column::ALL.map(|column| {
            let text = text(row, column).replace('\u{202f}', "_");
            format!("{} = {text} = {}", column.title(), value(row, column))
        });
        expect_test::expect![[r#"
            checkpoint = qwen3.8-27b-ggml-org-q8_0 = qwen3.8-27b-ggml-org-q8_0
            beat = 64 = 64
            layout = 4x64/512 = 4x64/512
            selection = machine = machine
            tokens/s = 2.820 = 2.820009562088423
            channels' fill = 111_659_254 111_659_422 111_659_270 111_659_078 = 111659254 111659422 111659270 111659078
            free lines = 22_558_306 = 22558306
            row bytes = 28.6_GB = 28584769536
            padding = 0_B = 0
            padding % = 0.00% = 0
            check words = 0_B = 0
            skew = 510 = 510
            largest tile = 510 = 510
            tiles = 1_018_231 = 1018231
            tensors = 851 = 851"#]].assert_eq(&cells.join("\n"));
    }

    #[test]
    fn names_are_unique() {
        for column in Column::ALL {
            assert_eq!(Column::from_name(column.name()), Some(column));
        }
    }

    #[test]
    fn sorting_and_filtering_keep_what_they_must() {
        let entries = Library::of_headers().entries;
        assert_eq!(shown(&entries, "", None), (0..16).collect::<Vec<_>>());
        let kept = shown(&entries, " Q8_0  72 ", None);
        assert!(!kept.is_empty() && kept.len() < 16);
        assert!(kept.iter().all(|&at| entries[at].row.checkpoint.contains("q8_0")));
        assert!(kept.iter().all(|&at| entries[at].row.beat == 72));
        assert!(shown(&entries, "nobody", None).is_empty());
        for column in Column::ALL {
            let up = shown(&entries, "", Some(Sort { column, down: false }));
            let down = shown(&entries, "", Some(Sort { column, down: true }));
            for pair in up.windows(2) {
                let order = compare(&entries[pair[0]].row, &entries[pair[1]].row, column);
                assert!(order.is_le() && (order.is_lt() || pair[0] < pair[1]), "{column:?}");
            }
            let (first, last) = (&entries[down[0]].row, &entries[down[15]].row);
            assert!(compare(first, last, column).is_ge());
        }
    }

    #[test]
    fn what_does_not_fit_is_said_in_words() {
        let mut row = Library::of_headers().entries[0].row.clone();
        row.fits = false;
        row.free_lines = -12_345;
        let said = text(&row, Column::FreeLines);
        assert_eq!(said, "does not fit: 12\u{202f}345 lines short");
        row.checkpoint = "<img src=x>\n\u{202e}".to_owned();
        assert_eq!(text(&row, Column::Checkpoint), "<img src=x>\\n\\u{202e}");
        row.layout = "1x64/512@7".to_owned();
        row.channel_lines = vec![14];
        assert_eq!(fill(&row), [2.0]);
    }
}
