//! `wimg plan`: what packing a checkpoint would give and take.

use std::path::Path;

use wimg_core::ledger::checkpoint_name;
use wimg_core::{Escaped, Image, ImageRow, Placement, Plan, Tile, plan::Source};

use super::Console;
use super::args::{OutputFormat, PlanArgs};
use super::failure::Failure;
use super::quantity::{Bytes, list};
use super::record::{Record, Value};
use super::row::RowWith;
use super::subject::{self, checkpoint};
use crate::error::Error;
use crate::pack::{PackCost, cost};

pub(crate) fn run(args: &PlanArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let source = checkpoint(&args.checkpoint)?;
    let plan = subject::plan(&args.checkpoint, &source, args.image.select, &args.image.layout()?)?;
    let format = args.output.format;
    if args.tiles {
        return tiles(&plan, format, console);
    }
    if args.tensors {
        return tensors(&plan, format, console);
    }
    let name = checkpoint_name(&source.checkpoint.table(), source.checkpoint.name());
    // Without a place for the image, a name in the current folder: its file system counts.
    let out = args.out.as_deref().unwrap_or(Path::new("image"));
    let sum = Sum {
        row: ImageRow::new(&name, &plan).map_err(Error::from)?,
        cost: cost(&source, &plan, Some(out))?,
        refusal: refusal(&plan),
    };
    let text = match format {
        OutputFormat::Text => sum.text(&plan),
        OutputFormat::Json => sum.with_costs().json(),
        OutputFormat::Csv => sum.with_costs().csv(),
    };
    Ok(console.out.write_all(text.as_bytes())?)
}

/// Why the plan would not be packed, if it would not.
fn refusal(plan: &Plan) -> Option<String> {
    let (image, limit) = (plan.image(), plan.image().layout().channel_lines);
    let error = match (0..).zip(image.channel_lines()).max_by_key(|(_, lines)| **lines) {
        Some((channel, &lines)) if lines > limit => Error::DoesNotFit { channel, lines, limit },
        _ => plan.check_packable().err()?.into(),
    };
    Some(error.to_string())
}

/// The ledger's row, and what packing takes.
struct Sum {
    row: ImageRow,
    cost: PackCost,
    refusal: Option<String>,
}

impl Sum {
    fn with_costs(&self) -> RowWith<'_> {
        let PackCost { read_bytes, write_bytes, memory_bytes, free_bytes } = self.cost;
        let more = Record(vec![
            ("read_bytes", read_bytes.into()),
            ("write_bytes", write_bytes.into()),
            ("memory_bytes", memory_bytes.into()),
            ("free_bytes", free_bytes.into()),
            ("refusal", self.refusal.clone().into()),
        ]);
        RowWith { row: &self.row, more }
    }

    fn text(&self, plan: &Plan) -> String {
        let row = &self.row;
        let held: u64 = row.channel_lines.iter().sum();
        let mut lines = vec![
            ("checkpoint", Escaped::new(&row.checkpoint).to_string()),
            ("layout", row.layout.clone()),
            ("selection", row.selection.clone()),
            ("tensors", row.tensors.to_string()),
            ("tiles", row.tiles.to_string()),
            ("rows", Bytes(row.row_bytes).to_string()),
            ("padding", Bytes(row.padding_bytes).to_string()),
            ("check words", Bytes(row.check_bytes).to_string()),
            ("lines", format!("{held}, on each channel {}", list(&row.channel_lines))),
            ("free lines", self.free(plan)),
            (
                "skew",
                format!(
                    "{} lines, the largest tile has {}",
                    row.skew_lines, row.largest_tile_lines
                ),
            ),
            ("a pass", format!("{} lines of each channel", list(&row.pass_lines))),
        ];
        if let Some(tokens) = row.ceiling_tokens_s {
            lines.push(("ceiling", format!("{tokens:.3} tokens/s, a line a clock at 300 MHz")));
        }
        lines.push(("to read", Bytes(self.cost.read_bytes).to_string()));
        lines.push(("to write", Bytes(self.cost.write_bytes).to_string()));
        lines.push(("memory", format!("about {}", Bytes(self.cost.memory_bytes))));
        if let Some(free) = self.cost.free_bytes {
            let short = self.cost.write_bytes.saturating_sub(free);
            let short = if short > 0 { format!(", {short} bytes short") } else { String::new() };
            lines.push(("free space", format!("{}{short}", Bytes(free))));
        }
        if let Some(refusal) = &self.refusal {
            lines.push(("cannot be packed", refusal.clone()));
        }
        lines.iter().map(|(name, value)| format!("{name:<16}  {value}\n")).collect()
    }

    fn free(&self, plan: &Plan) -> String {
        let limit = plan.image().layout().channel_lines;
        if self.row.fits {
            format!("{} of {limit} on the fullest channel", self.row.free_lines)
        } else {
            let short = self.row.free_lines.unsigned_abs();
            format!("none: it does not fit, the fullest channel is {short} lines short of {limit}")
        }
    }
}

/// Every tensor's placement.
fn tensors(plan: &Plan, format: OutputFormat, console: &mut Console<'_>) -> Result<(), Failure> {
    let image = plan.image();
    let places = image.placements().iter().zip(plan.sources());
    let mut first = true;
    for (index, (placement, source)) in places.enumerate() {
        let record = tensor_record(image, index, placement, source);
        let text = match format {
            OutputFormat::Text => tensor_text(image, index, placement),
            OutputFormat::Json => record.json(),
            OutputFormat::Csv if first => record.csv_header() + &record.csv(),
            OutputFormat::Csv => record.csv(),
        };
        console.out.write_all(text.as_bytes())?;
        first = false;
    }
    Ok(())
}

fn tensor_record(image: &Image, index: usize, placement: &Placement, source: &Source) -> Record {
    let cut = &placement.cut;
    let entry = image.tensors().get(index);
    let order = placement.order().iter().map(|&lane| u64::from(lane)).collect::<Vec<_>>();
    Record(vec![
        ("tensor", entry.map(|tensor| tensor.name.as_str()).into()),
        ("format", entry.map(|tensor| tensor.format.to_string()).into()),
        ("dims", entry.map(|tensor| tensor.dims.clone()).into()),
        ("streamed", entry.map(|tensor| tensor.streamed).into()),
        ("kernel", entry.map(|tensor| tensor.kernel).into()),
        ("striped", cut.striped.into()),
        ("shard", source.shard.into()),
        ("offset", source.offset.into()),
        ("length", source.len.into()),
        ("rows", cut.rows.into()),
        ("row_bytes", cut.row_bytes.into()),
        ("pieces", cut.pieces.into()),
        ("block_bytes", cut.block_bytes.into()),
        ("slot_bytes", cut.slot_bytes.into()),
        ("tile_rows", cut.tile_rows.into()),
        ("tile_lines", cut.tile_lines.into()),
        ("last_tile_lines", cut.last_tile_lines.into()),
        ("first_tile", placement.tiles.start.into()),
        ("tiles", cut.tiles.into()),
        ("order", order.into()),
        ("first_line", placement.first_line.clone().into()),
    ])
}

/// The tensor on one line, its placement on the next.
fn tensor_text(image: &Image, index: usize, placement: &Placement) -> String {
    let cut = &placement.cut;
    let Some(tensor) = image.tensors().get(index) else { return String::new() };
    let mut kind = String::new();
    for (is, word) in
        [(tensor.streamed, ", streamed"), (tensor.kernel, ", kernel"), (cut.striped, ", striped")]
    {
        kind += if is { word } else { "" };
    }
    format!(
        "{}: {} [{}]{kind}\n  rows {} of {} bytes, tiles {} to {} of {} rows and {} lines, channels {} from lines {}\n",
        Escaped::new(&tensor.name),
        tensor.format,
        list(&tensor.dims),
        cut.rows,
        cut.row_bytes,
        placement.tiles.start,
        placement.tiles.end - 1,
        cut.tile_rows,
        cut.tile_lines,
        list(placement.order()),
        list(&placement.first_line),
    )
}

/// Every tile, as it comes: there may be millions.
fn tiles(plan: &Plan, format: OutputFormat, console: &mut Console<'_>) -> Result<(), Failure> {
    let image = plan.image();
    if format == OutputFormat::Text {
        let columns = tile_text(&TILE_COLUMNS.map(str::to_owned), "tensor");
        console.out.write_all(columns.as_bytes())?;
    }
    let mut first = true;
    for tile in image.tiles() {
        let text = match format {
            OutputFormat::Text => tile_text(
                &[tile.index, tile.channel, tile.line, tile.lines, tile.first_row, tile.rows()]
                    .map(|number| number.to_string()),
                &Escaped::new(tensor_name(image, &tile)).to_string(),
            ),
            OutputFormat::Json => tile_record(image, &tile).json(),
            OutputFormat::Csv => {
                let record = tile_record(image, &tile);
                let header = if first { record.csv_header() } else { String::new() };
                header + &record.csv()
            }
        };
        console.out.write_all(text.as_bytes())?;
        first = false;
    }
    Ok(())
}

/// What the text of a tile shows before the tensor's name.
const TILE_COLUMNS: [&str; 6] = ["tile", "channel", "line", "lines", "first row", "rows"];

fn tile_text([tile, channel, line, lines, first_row, rows]: &[String; 6], tensor: &str) -> String {
    format!("{tile:>9} {channel:>7} {line:>10} {lines:>7} {first_row:>9} {rows:>7}  {tensor}\n")
}

fn tensor_name<'a>(image: &'a Image, tile: &Tile) -> &'a str {
    image.tensors().get(tile.tensor).map_or("", |tensor| &tensor.name)
}

fn tile_record(image: &Image, tile: &Tile) -> Record {
    let line_bytes = image.layout().line_bytes;
    Record(vec![
        ("tile", tile.index.into()),
        ("tensor", tensor_name(image, tile).into()),
        ("first_row", tile.first_row.into()),
        ("end_row", tile.end_row.into()),
        ("channel", tile.channel.into()),
        ("line", tile.line.into()),
        ("lines", tile.lines.into()),
        ("file_offset", Value::from(tile.line * line_bytes)),
        ("bytes", Value::from(tile.lines * line_bytes)),
    ])
}
