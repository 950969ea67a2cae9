//! `wimg diff`: how two images differ.

use super::Console;
use super::args::{DiffArgs, OutputFormat};
use super::exit::Exit;
use super::failure::Failure;
use super::record::{Record, Value};
use crate::diff::{DiffReport, Difference, diff};

pub(crate) fn run(args: &DiffArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let report = diff(&args.a, &args.b, args.limit)?;
    // Before anything is written: a reader who leaves early does not mend it.
    if report.count > 0 {
        console.exit.raise(Exit::DAMAGE);
    }
    let format = args.output.format;
    if format == OutputFormat::Csv {
        console.out.write_all(Row::default().record().csv_header().as_bytes())?;
    }
    for difference in &report.differences {
        let text = match format {
            OutputFormat::Text => format!("{difference}\n"),
            OutputFormat::Json => Row::of(difference).record().json(),
            OutputFormat::Csv => Row::of(difference).record().csv(),
        };
        console.out.write_all(text.as_bytes())?;
    }
    match format {
        OutputFormat::Text => console.out.write_all(closing(&report).as_bytes())?,
        OutputFormat::Json => console.out.write_all(summary(&report).json().as_bytes())?,
        // A table has one kind of rows.
        OutputFormat::Csv => {
            let _ = console.err.write_all(closing(&report).as_bytes());
        }
    }
    Ok(())
}

/// The last line for people.
fn closing(report: &DiffReport) -> String {
    let shown = report.differences.len() as u64;
    let more =
        if report.count > shown { format!(", the first {shown} shown") } else { String::new() };
    let tiles = match report.tiles {
        0 => String::new(),
        all => format!(", {} of {all} tiles changed", report.changed_tiles),
    };
    match report.count {
        0 => format!("the same image: {}\n", report.a),
        count => format!(
            "{count} differences{more}: {} tensors changed, {} moved{tiles}; images {} and {}\n",
            report.changed, report.moved, report.a, report.b
        ),
    }
}

/// The last object: its kind is `summary`.
fn summary(report: &DiffReport) -> Record {
    Record(vec![
        ("kind", "summary".into()),
        ("a", report.a.to_string().into()),
        ("b", report.b.to_string().into()),
        ("differences", report.count.into()),
        ("changed_tensors", report.changed.into()),
        ("moved_tensors", report.moved.into()),
        ("tiles", report.tiles.into()),
        ("changed_tiles", report.changed_tiles.into()),
    ])
}

/// A difference as a row.
#[derive(Default)]
struct Row<'a> {
    kind: &'a str,
    tensor: Option<&'a str>,
    what: Option<&'a str>,
    a: Option<String>,
    b: Option<String>,
    /// Tile, channel, line, and byte in the channel's file.
    tile: Option<[u64; 4]>,
    message: String,
}

impl<'a> Row<'a> {
    fn of(difference: &'a Difference) -> Row<'a> {
        let message = difference.to_string();
        let row = Row { message, ..Row::default() };
        let both = |a: &str, b: &str| (Some(a.to_owned()), Some(b.to_owned()));
        match difference {
            Difference::Image { what, a, b } => {
                let (a, b) = both(a, b);
                Row { kind: "image", what: Some(what), a, b, ..row }
            }
            Difference::Only { tensor, in_a } => {
                let what = Some(if *in_a { "a" } else { "b" });
                Row { kind: "only", tensor: Some(tensor), what, ..row }
            }
            Difference::Changed { tensor, what, a, b } => {
                let (a, b) = both(a, b);
                Row { kind: "changed", tensor: Some(tensor), what: Some(what), a, b, ..row }
            }
            Difference::Moved { tensor, what, a, b } => {
                let (a, b) = both(a, b);
                Row { kind: "moved", tensor: Some(tensor), what: Some(what), a, b, ..row }
            }
            Difference::Tile { place, a, b } => {
                let (a, b) = both(&format!("{a:08x}"), &format!("{b:08x}"));
                let tile = &place.tile;
                let at = [tile.index, tile.channel, tile.line, place.file_offset];
                let (tensor, what) = (Some(place.tensor.as_str()), Some("crc32c"));
                Row { kind: "tile", tensor, what, a, b, tile: Some(at), ..row }
            }
        }
    }

    fn record(&self) -> Record {
        let tile = |i: usize| Value::from(self.tile.and_then(|tile| tile.get(i).copied()));
        Record(vec![
            ("kind", self.kind.into()),
            ("tensor", self.tensor.into()),
            ("what", self.what.into()),
            ("a", self.a.clone().into()),
            ("b", self.b.clone().into()),
            ("tile", tile(0)),
            ("channel", tile(1)),
            ("line", tile(2)),
            ("file_offset", tile(3)),
            ("message", Value::Message(self.message.clone())),
        ])
    }
}
