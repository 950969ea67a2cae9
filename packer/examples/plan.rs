//! Where a tensor's rows would lie, without packing anything: `plan CHECKPOINT TENSOR`
#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::path::Path;

use wimg::core::{ImageLayout, ImageRow, Plan, Selection};
use wimg::source::Source;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, checkpoint, tensor] = args.as_slice() else {
        return Err("usage: plan CHECKPOINT TENSOR".into());
    };
    // Only headers are read, so a checkpoint of any size opens at once.
    let source = Source::open(Path::new(checkpoint))?;
    let layout: ImageLayout = "4x72/512+check".parse()?;
    let plan = Plan::new(&source.checkpoint, Selection::Table, &layout)?;
    let row = ImageRow::new("mine", &plan)?;
    println!(
        "{} tensors, {} tiles, lines a channel: {:?}",
        row.tensors, row.tiles, row.channel_lines
    );

    let image = plan.image();
    let found = image.tensors().iter().position(|entry| entry.name == *tensor);
    let index = found.ok_or("the checkpoint has no such tensor")?;
    let rows = image.placements().get(index).map_or(0, |placement| placement.cut.rows);
    for row in [0, rows / 2, rows - 1] {
        let at = image.locate(index, row).ok_or("no such row")?;
        let byte = at.tile.line * layout.line_bytes + at.byte;
        println!("row {row}: channel {}, line {}, file byte {byte}", at.tile.channel, at.tile.line);
    }
    Ok(())
}
