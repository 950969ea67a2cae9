//! `wimg unpack`: an image back to its checkpoint, or to one of its tensors.

use std::path::Path;

use super::Console;
use super::args::{OutputFormat, UnpackArgs};
use super::failure::Failure;
use super::progress::Reporter;
use super::quantity::Bytes;
use super::record::Record;
use crate::error::shown;
use crate::progress::Progress;
use crate::unpack::{UnpackOptions, Unpacked, unpack, unpack_tensor, write_tensor};

/// What `--out` calls the standard output.
const STDOUT: &str = "-";

pub(crate) fn run(args: &UnpackArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let options = UnpackOptions { out: args.out.clone(), force: args.force };
    let to_stdout = args.out == Path::new(STDOUT);
    let unpacked = {
        let reporter = Reporter::new(console.err, console.bar, args.quiet);
        let tell = |progress: Progress| reporter.tell(progress);
        match &args.tensor {
            Some(name) if to_stdout => {
                write_tensor(&args.dir, name, console.out, &tell)?;
                return Ok(());
            }
            Some(name) => unpack_tensor(&args.dir, name, &options, &tell)?,
            None if to_stdout => {
                let why = "the standard output takes one tensor: name it with --tensor";
                return Err(Failure::Usage(why.to_owned()));
            }
            None => unpack(&args.dir, &options, &tell)?,
        }
    };
    let text = match args.output.format {
        OutputFormat::Text => text(&unpacked),
        OutputFormat::Json => {
            unpacked.files.iter().map(|file| record(&unpacked, file).json()).collect()
        }
        OutputFormat::Csv => csv(&unpacked),
    };
    Ok(console.out.write_all(text.as_bytes())?)
}

fn text(unpacked: &Unpacked) -> String {
    let files: String = unpacked.files.iter().map(|file| shown(file) + "\n").collect();
    format!("{files}{}, image {}\n", Bytes(unpacked.bytes), unpacked.id)
}

fn csv(unpacked: &Unpacked) -> String {
    let records: Vec<Record> = unpacked.files.iter().map(|file| record(unpacked, file)).collect();
    let header = records.first().map(Record::csv_header).unwrap_or_default();
    header + &records.iter().map(Record::csv).collect::<String>()
}

/// A file that was written.
fn record(unpacked: &Unpacked, file: &Path) -> Record {
    Record(vec![
        ("id", unpacked.id.to_string().into()),
        ("path", file.to_string_lossy().as_ref().into()),
        ("files", (unpacked.files.len() as u64).into()),
        ("bytes", unpacked.bytes.into()),
    ])
}
