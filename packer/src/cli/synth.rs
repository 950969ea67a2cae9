//! `wimg synth`: a checkpoint with a public one's structure.

use wimg_core::headers;

use super::Console;
use super::args::{OutputFormat, SynthArgs};
use super::failure::Failure;
use super::progress::Reporter;
use super::quantity::Bytes;
use super::record::Record;
use crate::error::{Error, shown};
use crate::synth::{Synth, SynthDone};

pub(crate) fn run(args: &SynthArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let header = headers::find(&args.header)
        .ok_or_else(|| Failure::Usage(format!("no header is called `{}`", args.header)))?;
    let synth = Synth::new(header, args.scale, args.seed).map_err(Error::from)?;
    let done = {
        let reporter = Reporter::new(console.err, console.bar, args.quiet);
        synth.file().write(&args.out, args.force, &|progress| reporter.tell(progress))?
    };
    let text = match args.output.format {
        OutputFormat::Text => {
            let SynthDone { tensors, file_bytes, .. } = done;
            format!("{}: {tensors} tensors, {}\n", shown(&args.out), Bytes(file_bytes))
        }
        OutputFormat::Json => record(args, done).json(),
        OutputFormat::Csv => {
            let record = record(args, done);
            record.csv_header() + &record.csv()
        }
    };
    Ok(console.out.write_all(text.as_bytes())?)
}

fn record(args: &SynthArgs, done: SynthDone) -> Record {
    Record(vec![
        ("path", args.out.to_string_lossy().as_ref().into()),
        ("header", args.header.as_str().into()),
        ("scale", args.scale.into()),
        ("seed", args.seed.into()),
        ("tensors", (done.tensors as u64).into()),
        ("header_bytes", done.header_bytes.into()),
        ("file_bytes", done.file_bytes.into()),
    ])
}
