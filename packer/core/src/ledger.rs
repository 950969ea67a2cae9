//! The ledger: what each image holds and costs, a row an image.

pub mod csv;
pub mod json;
pub mod text;

use serde::{Deserialize, Serialize};

use crate::error::ImageError;
use crate::headers::{HEADERS, recognise};
use crate::layout::ImageLayout;
use crate::plan::Plan;
use crate::selection::{Pass, Selection};
use crate::tensor::TensorTable;
use crate::tile::tensor_bytes;

/// Lines that a channel of the card gives a second: one a clock at 300 MHz.
pub const LINES_PER_SECOND: f64 = 300e6;

/// One image, summed. The fields are those of every format, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageRow {
    /// What the checkpoint is called: a `HEADERS` name where its table is one
    /// of them, else its `general.name`, else empty.
    pub checkpoint: String,
    /// Bytes of a line.
    pub beat: u64,
    /// The layout string.
    pub layout: String,
    /// The selection's word.
    pub selection: String,
    /// Tensors of the image.
    pub tensors: u64,
    /// Tiles of the image.
    pub tiles: u64,
    /// Bytes of the tensors, as the checkpoint has them.
    pub row_bytes: u64,
    /// Zero bytes: slots' and those that fill lines.
    pub padding_bytes: u64,
    /// Bytes of check words.
    pub check_bytes: u64,
    /// The lines each channel holds.
    pub channel_lines: Vec<u64>,
    /// Lines that the fullest channel leaves free; negative where it does not fit.
    pub free_lines: i64,
    /// Whether every channel holds its lines.
    pub fits: bool,
    /// The most lines that two channels differ by after any tile.
    pub skew_lines: u64,
    /// Lines of the largest tile.
    pub largest_tile_lines: u64,
    /// The lines that a decode pass reads of each channel.
    pub pass_lines: Vec<u64>,
    /// Tokens a second at which the fullest channel's lines of a pass would
    /// stream; none without a step.
    pub ceiling_tokens_s: Option<f64>,
}

/// Rows, in the order in which they were asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageLedger {
    /// The rows.
    pub rows: Vec<ImageRow>,
}

impl ImageRow {
    /// Sums a plan.
    pub fn new(checkpoint: &str, plan: &Plan) -> Result<ImageRow, ImageError> {
        let image = plan.image();
        let layout = image.layout();
        let mut row_bytes = 0u64;
        for tensor in image.tensors() {
            row_bytes = row_bytes.checked_add(tensor_bytes(tensor)?).ok_or_else(|| {
                ImageError::Overflow { tensor: tensor.name.clone(), what: "image's bytes" }
            })?;
        }
        // The image's lines in bytes are a u64: it refuses what passes that.
        let all_bytes = image.channel_lines().iter().sum::<u64>() * layout.line_bytes;
        let check_bytes = image.tile_count() * layout.check_bytes();
        let pass_lines = pass_lines(plan);
        let busiest = pass_lines.iter().max().copied().filter(|&lines| lines > 0);
        Ok(ImageRow {
            checkpoint: checkpoint.to_owned(),
            beat: layout.line_bytes,
            layout: layout.to_string(),
            selection: plan.selection().name().to_owned(),
            tensors: image.tensors().len() as u64,
            tiles: image.tile_count(),
            row_bytes,
            padding_bytes: all_bytes - row_bytes - check_bytes,
            check_bytes,
            channel_lines: image.channel_lines().to_vec(),
            free_lines: i64::try_from(image.free_lines()).unwrap_or(i64::MIN),
            fits: image.fits(),
            skew_lines: image.skew_lines(),
            largest_tile_lines: image.largest_tile_lines(),
            pass_lines,
            ceiling_tokens_s: busiest
                .filter(|_| plan.has_step())
                .map(|lines| LINES_PER_SECOND / lines as f64),
        })
    }

    /// Bytes of all lines.
    pub fn image_bytes(&self) -> u64 {
        self.row_bytes + self.padding_bytes + self.check_bytes
    }
}

/// By channel: the lines of all tiles but those of an unstreamed embedding, of
/// which a pass reads one row. That is the definition for every selection, also
/// for tensors that no step reads.
fn pass_lines(plan: &Plan) -> Vec<u64> {
    let mut lines = plan.image().channel_lines().to_vec();
    for (placement, pass) in plan.image().placements().iter().zip(plan.passes()) {
        if *pass == Pass::Row {
            for (lane, lines) in lines.iter_mut().enumerate() {
                *lines -= placement.lines_on(lane);
            }
        }
    }
    lines
}

/// What a ledger calls a checkpoint: its `HEADERS` name, if its table is one of
/// them, else `general.name`. A file's name is never believed.
pub fn checkpoint_name(table: &TensorTable, general_name: Option<&[u8]>) -> String {
    match recognise(table) {
        Some(header) => header.name.to_owned(),
        None => String::from_utf8_lossy(general_name.unwrap_or_default()).into_owned(),
    }
}

/// Every `HEADERS` checkpoint's `machine` image at beat 64, then at beat 72.
pub fn image_ledger() -> Result<ImageLedger, ImageError> {
    let mut rows = Vec::with_capacity(HEADERS.len() * 2);
    for header in HEADERS.iter() {
        let selected = Selection::Machine.of(&header.table())?;
        let plan = Plan::of(selected, &ImageLayout::beat64(), Vec::new())?;
        rows.push(ImageRow::new(header.name, &plan)?);
        let plan = plan.relaid(&ImageLayout::beat72())?;
        rows.push(ImageRow::new(header.name, &plan)?);
    }
    Ok(ImageLedger { rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_rows() {
        let ledger = image_ledger().unwrap();
        assert_eq!(ledger.rows.len(), 16);
        for row in &ledger.rows {
            let lines: u64 = row.channel_lines.iter().sum();
            assert_eq!(lines * row.beat, row.image_bytes(), "{}", row.checkpoint);
            assert!(row.skew_lines <= row.largest_tile_lines, "{}", row.checkpoint);
            assert!(row.fits);
        }
        expect_test::expect_file!["ledger/ledger.txt"].assert_eq(&text::table(&ledger));
        expect_test::expect_file!["ledger/ledger.csv"].assert_eq(&csv::table(&ledger));
        expect_test::expect_file!["ledger/ledger.jsonl"].assert_eq(&json::lines(&ledger));
        let find = |name: &str, beat| {
            ledger.rows.iter().find(|row| row.checkpoint == name && row.beat == beat).unwrap()
        };
        let row = find("qwen3.8-27b-ggml-org-q8_0", 64);
        assert_eq!((row.tensors, row.tiles), (851, 1_018_231));
        assert_eq!((row.row_bytes, row.padding_bytes, row.check_bytes), (28_584_769_536, 0, 0));
        assert_eq!(row.channel_lines, [111_659_254, 111_659_422, 111_659_270, 111_659_078]);
        assert_eq!((row.skew_lines, row.largest_tile_lines), (510, 510));
        let row = find("qwen3.8-27b-ggml-org-q4_k_m", 72);
        assert_eq!((row.tensors, row.tiles), (851, 578_359));
        assert_eq!(row.row_bytes, 18_962_876_416);
        assert_eq!((row.padding_bytes, row.check_bytes), (32_555_260, 2_313_436));
        assert_eq!(row.channel_lines, [65_964_286, 65_964_397, 65_964_365, 65_964_523]);
        assert_eq!((row.skew_lines, row.largest_tile_lines), (481, 491));
    }

    #[test]
    fn an_image_of_nothing_has_a_row() {
        let selected = Selection::Table.of(&TensorTable::default()).unwrap();
        let plan = Plan::of(selected, &ImageLayout::beat64(), Vec::new()).unwrap();
        let row = ImageRow::new("", &plan).unwrap();
        assert_eq!((row.tiles, row.image_bytes(), row.ceiling_tokens_s), (0, 0, None));
        assert_eq!(row.channel_lines, [0; 4]);
    }

    #[test]
    fn of_many_channels_the_table_has_the_least_and_the_most() {
        let table = HEADERS[0].table();
        for (channels, shown) in [(8, None), (9, Some("  49626112 to 49626536 on 9  "))] {
            let layout = ImageLayout { channels, ..ImageLayout::beat64() };
            let plan = Plan::of(Selection::Machine.of(&table).unwrap(), &layout, Vec::new());
            let row = ImageRow::new("", &plan.unwrap()).unwrap();
            let listed = row.channel_lines.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
            let text = text::table(&ImageLedger { rows: vec![row] });
            assert!(text.contains(shown.unwrap_or(&listed)), "{text}");
        }
    }

    #[test]
    fn names_from_files_stay_in_their_cell() {
        let mut row = image_ledger().unwrap().rows.remove(0);
        row.checkpoint = "=a\u{1b}[2J,\"b\"\nc".into();
        let ledger = ImageLedger { rows: vec![row] };
        assert_eq!(text::table(&ledger).lines().count(), 2);
        assert!(!text::table(&ledger).contains('\u{1b}'));
        let csv = csv::table(&ledger);
        assert!(csv.contains("\n\"'=a\\u{1b}[2J,\"\"b\"\"\\nc\",64,"), "{csv}");
        assert_eq!(json::lines(&ledger).lines().count(), 1);
    }
}
