//! Where a row of a tensor lies.

use std::fmt::Write;

use wimg_core::{Escaped, Image, Location, Placement, TensorEntry};

use crate::cli::failure::Failure;
use crate::cli::quantity::list;
use crate::cli::record::Record;

/// Where an image row lies, or a kernel's element of a checkpoint row.
pub(crate) struct RowPlace<'a> {
    image: &'a Image,
    tensor: &'a TensorEntry,
    placement: &'a Placement,
    /// The image row.
    row: u64,
    /// The checkpoint's row, where that was asked for.
    checkpoint_row: Option<u64>,
    /// Of a kernel's element: its byte in the image row, and its bytes.
    element: Option<(u64, u64)>,
    location: Location,
}

impl<'a> RowPlace<'a> {
    /// Image row `row` of tensor number `tensor`.
    pub(crate) fn of_image_row(
        image: &'a Image,
        tensor: usize,
        row: u64,
    ) -> Result<RowPlace<'a>, Failure> {
        let entry = image.tensors().get(tensor).zip(image.placements().get(tensor));
        let location = image.locate(tensor, row);
        match (entry, location) {
            (Some((tensor, placement)), Some(location)) => Ok(RowPlace {
                image,
                tensor,
                placement,
                row,
                checkpoint_row: None,
                element: None,
                location,
            }),
            (entry, _) => Err(no_row("image", row, entry.map_or(0, |(_, place)| place.cut.rows))),
        }
    }

    /// The checkpoint's row `row` of tensor number `tensor`: a kernel's row is
    /// one channel's taps, of which each lies in an image row of its own.
    pub(crate) fn of_checkpoint_row(
        image: &'a Image,
        tensor: usize,
        row: u64,
    ) -> Result<Vec<RowPlace<'a>>, Failure> {
        let Some((entry, placement)) = image
            .tensors()
            .get(tensor)
            .zip(image.placements().get(tensor))
            .filter(|(e, _)| e.kernel)
        else {
            let place = RowPlace::of_image_row(image, tensor, row)?;
            return Ok(vec![RowPlace { checkpoint_row: Some(row), ..place }]);
        };
        let cut = &placement.cut;
        let channels = entry.dims.get(1).copied().unwrap_or(0);
        if row >= channels {
            return Err(no_row("checkpoint", row, channels));
        }
        // The elements of an image row: a piece of a tap's channels.
        let per_piece = channels / cut.pieces;
        let element_bytes = cut.row_bytes / per_piece;
        let element = Some((row % per_piece * element_bytes, element_bytes));
        let taps = cut.rows / cut.pieces;
        (0..taps)
            .map(|tap| {
                let image_row = tap * cut.pieces + row / per_piece;
                let place = RowPlace::of_image_row(image, tensor, image_row)?;
                Ok(RowPlace { checkpoint_row: Some(row), element, ..place })
            })
            .collect()
    }

    /// The byte in the tile where it starts.
    fn byte(&self) -> u64 {
        self.location.byte + self.element.map_or(0, |(byte, _)| byte)
    }

    /// The byte in the channel's file where it starts.
    fn file_offset(&self) -> u64 {
        self.location.tile.line * self.image.layout().line_bytes + self.byte()
    }

    /// Its bytes, without slots' zeros.
    fn length(&self) -> u64 {
        self.element.map_or(self.placement.cut.row_bytes, |(_, bytes)| bytes)
    }

    /// Of a kernel: the tap and the piece that the image row is.
    fn tap_and_piece(&self) -> Option<(u64, u64)> {
        let pieces = self.placement.cut.pieces;
        self.tensor.kernel.then(|| (self.row / pieces, self.row % pieces))
    }

    pub(crate) fn record(&self) -> Record {
        let tile = &self.location.tile;
        let cut = &self.placement.cut;
        let striped = |value: u64| cut.striped.then_some(value);
        Record(vec![
            ("tensor", self.tensor.name.as_str().into()),
            ("row", self.row.into()),
            ("checkpoint_row", self.checkpoint_row.into()),
            ("tap", self.tap_and_piece().map(|(tap, _)| tap).into()),
            ("piece", self.tap_and_piece().map(|(_, piece)| piece).into()),
            ("tile", tile.index.into()),
            ("first_row", tile.first_row.into()),
            ("end_row", tile.end_row.into()),
            ("channel", tile.channel.into()),
            ("line", tile.line.into()),
            ("lines", tile.lines.into()),
            ("byte", self.byte().into()),
            ("file_offset", self.file_offset().into()),
            ("length", self.length().into()),
            ("blocks", striped(cut.row_bytes / cut.block_bytes).into()),
            ("block_bytes", striped(cut.block_bytes).into()),
            ("block_stride", self.location.block_stride.into()),
        ])
    }

    /// The place, with the arithmetic that finds it.
    pub(crate) fn text(&self) -> String {
        let tile = &self.location.tile;
        let cut = &self.placement.cut;
        let layout = self.image.layout();
        let channels = self.placement.order().len() as u64;
        let nth = tile.index - self.placement.tiles.start;
        let starts = usize::try_from(tile.channel)
            .ok()
            .and_then(|lane| self.placement.first_line.get(lane))
            .copied()
            .unwrap_or(0);
        let mut lines = vec![
            ("row", self.title()),
            (
                "tile",
                format!(
                    "{} = {} + {nth}, where {nth} = {} / {} rows a tile; rows {} to {}",
                    tile.index,
                    self.placement.tiles.start,
                    self.row,
                    cut.tile_rows,
                    tile.first_row,
                    tile.end_row - 1,
                ),
            ),
            (
                "channel",
                format!(
                    "{}, place {} = {nth} mod {channels} of the order {}",
                    tile.channel,
                    nth % channels,
                    list(self.placement.order()),
                ),
            ),
            (
                "line",
                format!(
                    "{} = {starts} + {nth} / {channels} * {}; {} lines",
                    tile.line, cut.tile_lines, tile.lines
                ),
            ),
            ("byte", self.byte_text()),
            (
                "file",
                format!(
                    "channel-{}.bin byte {} = {} * {} + {}",
                    tile.channel,
                    self.file_offset(),
                    tile.line,
                    layout.line_bytes,
                    self.byte(),
                ),
            ),
        ];
        if let Some(stride) = self.location.block_stride {
            lines.push((
                "blocks",
                format!(
                    "{} of {} bytes, one every {stride} = {} rows * {} bytes",
                    cut.row_bytes / cut.block_bytes,
                    cut.block_bytes,
                    tile.rows(),
                    cut.slot_bytes,
                ),
            ));
        }
        lines.iter().map(|(name, value)| format!("{name:<8}  {value}\n")).collect()
    }

    fn title(&self) -> String {
        let mut title = format!("{}, image row {}", Escaped::new(&self.tensor.name), self.row);
        if let Some((tap, piece)) = self.tap_and_piece() {
            let pieces = self.placement.cut.pieces;
            // Writing to a string cannot fail.
            let _ = write!(title, " = tap {tap} * {pieces} pieces + {piece}");
        }
        if let (Some(row), Some(_)) = (self.checkpoint_row, self.element) {
            let _ = write!(title, ", the element of the checkpoint's row {row}");
        }
        title
    }

    fn byte_text(&self) -> String {
        let cut = &self.placement.cut;
        let row_step = if cut.striped { cut.slot_bytes } else { cut.row_bytes };
        let start = format!("({} - {}) * {row_step}", self.row, self.location.tile.first_row);
        match self.element {
            Some((byte, bytes)) => {
                format!("{} of the tile = {start} + {byte}; {bytes} bytes", self.byte())
            }
            None => format!("{} of the tile = {start}; {} bytes", self.byte(), self.length()),
        }
    }
}

fn no_row(of: &str, row: u64, rows: u64) -> Failure {
    Failure::Usage(format!("there is no {of} row {row}: the tensor has {rows}, from 0"))
}
