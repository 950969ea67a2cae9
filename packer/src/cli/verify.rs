//! `wimg verify`: every damage of an image, each named.

use wimg_core::Damage;
use wimg_core::verify::TilePlace;

use super::Console;
use super::args::{OutputFormat, VerifyArgs};
use super::exit::Exit;
use super::failure::Failure;
use super::progress::Reporter;
use super::quantity::Bytes;
use super::record::{Record, Value};
use crate::stop::Stop;
use crate::verify::{VerifyOptions, VerifyReport, verify};

pub(crate) fn run(args: &VerifyArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let options = VerifyOptions {
        quick: args.quick,
        source: args.source.clone(),
        limit: args.limit,
        backend: args.backend.options(),
        stop: Stop::default(),
    };
    let report = {
        let reporter = Reporter::new(console.err, console.bar, args.quiet);
        verify(&args.dir, &options, &|progress| reporter.tell(progress))?
    };
    // Before anything is written: a reader who leaves early does not mend it.
    if report.damages > 0 {
        console.exit.raise(Exit::DAMAGE);
    }
    let format = args.output.format;
    if format == OutputFormat::Csv {
        console.out.write_all(none().csv_header().as_bytes())?;
    }
    for damage in &report.damage {
        let text = match format {
            OutputFormat::Text => format!("{damage}\n"),
            OutputFormat::Json => record(damage).json(),
            OutputFormat::Csv => record(damage).csv(),
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
fn closing(report: &VerifyReport) -> String {
    let shown = report.damage.len() as u64;
    let found = match report.damages {
        0 => "no damage".to_owned(),
        1 => "1 damage".to_owned(),
        all if all > shown => format!("{all} damages, the first {shown} shown"),
        all => format!("{all} damages"),
    };
    let look = if report.quick { "a quick look at" } else { "checked" };
    format!(
        "{found}: {look} {} tiles, {} in {:.3} s, image {}\n",
        report.tiles,
        Bytes(report.bytes),
        report.seconds,
        report.id
    )
}

/// The last object: its kind is `summary`.
fn summary(report: &VerifyReport) -> Record {
    Record(vec![
        ("kind", "summary".into()),
        ("id", report.id.to_string().into()),
        ("damages", report.damages.into()),
        ("tiles", report.tiles.into()),
        ("bytes", report.bytes.into()),
        ("quick", report.quick.into()),
        ("backend", if report.adapter.is_some() { "gpu" } else { "cpu" }.into()),
        ("adapter", report.adapter.clone().into()),
        ("seconds", report.seconds.into()),
    ])
}

/// What a damage record says of where it is.
#[derive(Default)]
struct Where<'a> {
    tensor: Option<&'a str>,
    place: Option<&'a TilePlace>,
    file: Option<String>,
    file_offset: Option<u64>,
}

fn record(damage: &Damage) -> Record {
    let of_tile = |place| tile_bytes(place, 0);
    let (kind, at) = match damage {
        Damage::TileCrc { place, .. } => ("tile", of_tile(place)),
        Damage::Padding { place, byte } => ("padding", tile_bytes(place, *byte)),
        Damage::Source { place, byte } => ("source", tile_bytes(place, *byte)),
        Damage::Tensor { tensor, .. } => {
            ("tensor", Where { tensor: Some(tensor), ..Where::default() })
        }
        Damage::File { name, offset, .. } => {
            ("file", Where { file: Some(name.clone()), file_offset: *offset, ..Where::default() })
        }
        _ => ("other", Where::default()),
    };
    named(kind, &at, &damage.to_string())
}

/// A tile's place, from a byte of it on.
fn tile_bytes(place: &TilePlace, byte: u64) -> Where<'_> {
    Where {
        tensor: Some(&place.tensor),
        place: Some(place),
        file: Some(format!("channel-{}.bin", place.tile.channel)),
        file_offset: Some(place.file_offset + byte),
    }
}

/// A record of no damage: it has the names.
fn none() -> Record {
    named("", &Where::default(), "")
}

fn named(kind: &str, at: &Where<'_>, message: &str) -> Record {
    let tile = |get: fn(&TilePlace) -> u64| Value::from(at.place.map(get));
    Record(vec![
        ("kind", kind.into()),
        ("tensor", at.tensor.into()),
        ("tile", tile(|place| place.tile.index)),
        ("first_row", tile(|place| place.tile.first_row)),
        ("end_row", tile(|place| place.tile.end_row)),
        ("channel", tile(|place| place.tile.channel)),
        ("line", tile(|place| place.tile.line)),
        ("lines", tile(|place| place.tile.lines)),
        ("file", at.file.clone().into()),
        ("file_offset", at.file_offset.into()),
        ("message", Value::Message(message.to_owned())),
    ])
}
