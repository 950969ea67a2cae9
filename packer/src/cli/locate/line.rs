//! What lies on a channel's line.

use wimg_core::{Escaped, Image, RowByte, TensorEntry, Tile};

use crate::cli::failure::Failure;
use crate::cli::record::Record;

/// What lies on a channel's line.
pub(crate) struct LinePlace<'a> {
    image: &'a Image,
    tensor: &'a TensorEntry,
    channel: u64,
    line: u64,
    tile: Tile,
}

impl<'a> LinePlace<'a> {
    pub(crate) fn find(
        image: &'a Image,
        channel: u64,
        line: u64,
    ) -> Result<LinePlace<'a>, Failure> {
        let held = usize::try_from(channel).ok().and_then(|lane| image.channel_lines().get(lane));
        let Some(&held) = held else {
            let channels = image.channel_lines().len();
            let text = format!("there is no channel {channel}: the image has {channels}, from 0");
            return Err(Failure::Usage(text));
        };
        let found = image.at(channel, line).and_then(|tile| {
            let tensor = image.tensors().get(tile.tensor)?;
            Some(LinePlace { image, tensor, channel, line, tile })
        });
        found.ok_or_else(|| {
            let held = if held == 0 { "none".to_owned() } else { format!("{held}, from 0") };
            let text = format!("channel {channel} has no line {line}: it holds {held}");
            Failure::Usage(text)
        })
    }

    /// The line's first byte in the tile.
    fn byte(&self) -> u64 {
        (self.line - self.tile.line) * self.image.layout().line_bytes
    }

    /// What the line's first byte belongs to; `None` where it is past the rows.
    fn row_byte(&self) -> Option<RowByte> {
        self.image.row_byte(&self.tile, self.byte())
    }

    pub(crate) fn record(&self) -> Record {
        let tile = &self.tile;
        let starts = self.row_byte();
        let starts = starts.as_ref();
        Record(vec![
            ("channel", self.channel.into()),
            ("at_line", self.line.into()),
            ("file_offset", (self.line * self.image.layout().line_bytes).into()),
            ("tile", tile.index.into()),
            ("tensor", self.tensor.name.as_str().into()),
            ("first_row", tile.first_row.into()),
            ("end_row", tile.end_row.into()),
            ("line", tile.line.into()),
            ("lines", tile.lines.into()),
            ("byte", self.byte().into()),
            ("row", starts.map(|at| at.row).into()),
            ("block", starts.and_then(|at| at.block).into()),
            ("row_byte", starts.map(|at| at.byte).into()),
        ])
    }

    /// The tile and the row, with the arithmetic that finds them.
    pub(crate) fn text(&self) -> String {
        let Tile { index, first_row, end_row, channel, line, lines, .. } = self.tile;
        let line_bytes = self.image.layout().line_bytes;
        let at = match self.row_byte() {
            Some(RowByte { row, block: None, byte }) => {
                format!("row {row} from its byte {byte} on")
            }
            Some(RowByte { row, block: Some(block), byte }) => {
                format!("block {block} of row {row} from its byte {byte} on")
            }
            None => "what fills the tile: no row".to_owned(),
        };
        let byte = self.byte();
        let shown = [
            ("tile", format!("{index}, tensor {}", Escaped::new(&self.tensor.name))),
            ("rows", format!("{first_row} to {}", end_row - 1)),
            ("lines", format!("{line} to {} of channel {channel}", line + lines - 1)),
            ("byte", format!("{byte} of the tile = ({} - {line}) * {line_bytes}", self.line)),
            (
                "file",
                format!(
                    "channel-{channel}.bin byte {} = {} * {line_bytes}",
                    self.line * line_bytes,
                    self.line
                ),
            ),
            ("starts", format!("with {at}")),
        ];
        shown.iter().map(|(name, value)| format!("{name:<8}  {value}\n")).collect()
    }
}
