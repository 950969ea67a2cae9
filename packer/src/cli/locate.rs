//! `wimg locate`: where a row lies, and what lies on a line.

mod line;
mod row;

use wimg_core::{Escaped, Image, Plan};

use super::Console;
use super::args::{LocateArgs, OutputFormat};
use super::failure::Failure;
use super::record::Record;
use super::subject::{self, checkpoint, is_image};
use crate::error::shown;
use crate::store::StoredImage;
use line::LinePlace;
use row::RowPlace;

pub(crate) fn run(args: &LocateArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let plan = plan(args)?;
    let image = plan.image();
    if let Some((channel, line)) = args.at {
        let place = LinePlace::find(image, channel, line)?;
        return write(console, args.output.format, &[(place.record(), place.text())]);
    }
    let tensor = tensor(image, args.tensor.as_deref().unwrap_or_default())?;
    let places = if args.checkpoint_row {
        RowPlace::of_checkpoint_row(image, tensor, args.row)?
    } else {
        vec![RowPlace::of_image_row(image, tensor, args.row)?]
    };
    let places: Vec<_> = places.iter().map(|place| (place.record(), place.text())).collect();
    write(console, args.output.format, &places)
}

/// The image that is there, or the one that the checkpoint would give.
fn plan(args: &LocateArgs) -> Result<Plan, Failure> {
    let path = &args.subject;
    if is_image(path) {
        if args.image.says_anything() {
            return Err(Failure::Usage(format!(
                "`{}` is an image, whose layout and selection are fixed: leave the flags out",
                shown(path)
            )));
        }
        return Ok(StoredImage::open(path)?.plan);
    }
    let source = checkpoint(path)?;
    subject::plan(path, &source, args.image.select, &args.image.layout()?)
}

/// The tensor's place in the image. A name is taken as it is, or as it is shown.
fn tensor(image: &Image, name: &str) -> Result<usize, Failure> {
    let all = image.tensors();
    all.iter()
        .position(|tensor| tensor.name == name)
        .or_else(|| all.iter().position(|t| Escaped::new(&t.name).to_string() == name))
        .ok_or_else(|| {
            Failure::Usage(format!(
                "the image has no tensor `{}`: `wimg plan --tensors` lists the {} that it has",
                Escaped::new(name),
                all.len(),
            ))
        })
}

fn write(
    console: &mut Console<'_>,
    format: OutputFormat,
    places: &[(Record, String)],
) -> Result<(), Failure> {
    if let (OutputFormat::Csv, Some((record, _))) = (format, places.first()) {
        console.out.write_all(record.csv_header().as_bytes())?;
    }
    for (record, text) in places {
        let text = match format {
            OutputFormat::Text => text.clone(),
            OutputFormat::Json => record.json(),
            OutputFormat::Csv => record.csv(),
        };
        console.out.write_all(text.as_bytes())?;
    }
    Ok(())
}
