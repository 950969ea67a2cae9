//! `wimg ledger`: a row an image.

use std::path::Path;

use wimg_core::ledger::{checkpoint_name, csv, json, text};
use wimg_core::{HEADERS, ImageLayout, ImageLedger, ImageRow, Plan};

use super::Console;
use super::args::{ImageArgs, LedgerArgs, OutputFormat};
use super::failure::Failure;
use super::record::tame;
use super::subject::{checkpoint, is_image, plan};
use crate::error::Error;
use crate::store::StoredImage;

pub(crate) fn run(args: &LedgerArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let layouts = layouts(&args.image)?;
    let mut ledger = ImageLedger::default();
    if args.subjects.is_empty() {
        ledger = known(&args.image, &layouts)?;
    }
    // One that is no good does not keep the others from being shown.
    for subject in &args.subjects {
        match rows(subject, &args.image, &layouts) {
            Ok(rows) => ledger.rows.extend(rows),
            Err(failure) => console.fail(&failure),
        }
    }
    if !args.subjects.is_empty() && ledger.rows.is_empty() {
        return Ok(());
    }
    let text = match args.output.format {
        OutputFormat::Text => text::table(&ledger),
        OutputFormat::Json => tame(&json::lines(&ledger)),
        OutputFormat::Csv => csv::table(&ledger),
    };
    Ok(console.out.write_all(text.as_bytes())?)
}

/// The layout that the flags say; if they say none, both of the card.
fn layouts(args: &ImageArgs) -> Result<Vec<ImageLayout>, Failure> {
    if args.says_layout() {
        Ok(vec![args.layout()?])
    } else {
        Ok(vec![ImageLayout::beat64(), ImageLayout::beat72()])
    }
}

/// The rows of every header.
fn known(args: &ImageArgs, layouts: &[ImageLayout]) -> Result<ImageLedger, Failure> {
    let mut ledger = ImageLedger::default();
    for header in HEADERS.iter() {
        let selected = args.select.of(&header.table()).map_err(Error::from)?;
        for layout in layouts {
            let plan = Plan::of(selected.clone(), layout, Vec::new()).map_err(Error::from)?;
            ledger.rows.push(ImageRow::new(header.name, &plan).map_err(Error::from)?);
        }
    }
    Ok(ledger)
}

/// An image's row, as its manifest has it, or a checkpoint's, one a layout.
fn rows(path: &Path, args: &ImageArgs, layouts: &[ImageLayout]) -> Result<Vec<ImageRow>, Failure> {
    if is_image(path) {
        return Ok(vec![StoredImage::open(path)?.manifest.ledger]);
    }
    let source = checkpoint(path)?;
    let table = source.checkpoint.table();
    let name = checkpoint_name(&table, source.checkpoint.name());
    let mut rows = Vec::with_capacity(layouts.len());
    for layout in layouts {
        let plan = plan(path, &source, args.select, layout)?;
        rows.push(ImageRow::new(&name, &plan).map_err(Error::from)?);
    }
    Ok(rows)
}
