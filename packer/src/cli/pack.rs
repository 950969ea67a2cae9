//! `wimg pack`: a checkpoint into an image directory.

use wimg_core::Escaped;

use super::Console;
use super::args::{OutputFormat, PackArgs};
use super::failure::Failure;
use super::progress::Reporter;
use super::quantity::Bytes;
use super::record::Record;
use super::row::RowWith;
use super::subject::refuse_image;
use crate::backend::BackendReport;
use crate::pack::{PackDone, PackOptions, pack};
use crate::pipeline::stages::Stages;

pub(crate) fn run(args: &PackArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    refuse_image(&args.checkpoint)?;
    let options = PackOptions {
        selection: args.image.select,
        layout: args.image.layout()?,
        out: args.out.clone(),
        force: args.force,
        verify: !args.no_verify,
        backend: args.backend.options(),
    };
    let done = {
        let reporter = Reporter::new(console.err, console.bar, args.quiet);
        pack(&args.checkpoint, &options, &|progress| reporter.tell(progress))?
    };
    let row = || RowWith { row: &done.row, more: record(&done) };
    let text = match args.output.format {
        OutputFormat::Text => text(&done),
        OutputFormat::Json => row().json(),
        OutputFormat::Csv => row().csv(),
    };
    Ok(console.out.write_all(text.as_bytes())?)
}

fn record(done: &PackDone) -> Record {
    Record(vec![
        ("id", done.id.to_string().into()),
        ("read_bytes", done.read_bytes.into()),
        ("written_bytes", done.written_bytes.into()),
        ("seconds", done.seconds.into()),
        ("backend", done.backend.backend.into()),
        ("adapter", done.backend.adapter.clone().into()),
        ("driver", done.backend.driver.clone().into()),
        ("cpu_bytes", done.backend.cpu_bytes.into()),
        ("gpu_bytes", done.backend.gpu_bytes.into()),
        ("trial_cpu_gb_s", done.backend.trial_cpu_gb_s.into()),
        ("trial_gpu_gb_s", done.backend.trial_gpu_gb_s.into()),
        ("gpu_upload_seconds", done.backend.upload_seconds.into()),
        ("gpu_wait_seconds", done.backend.wait_seconds.into()),
        ("gpu_read_back_seconds", done.backend.read_back_seconds.into()),
        ("gpu_kernel_seconds", done.backend.device.map(|device| device.kernels()).into()),
        ("read_stage_seconds", done.backend.stages.read_seconds.into()),
        ("pack_stage_seconds", done.backend.stages.pack_seconds.into()),
        ("write_stage_seconds", done.backend.stages.write_seconds.into()),
        ("overlap", done.backend.stages.overlap().into()),
        ("note", done.backend.note.clone().into()),
        ("verified", done.verified.is_some().into()),
        ("verify_seconds", done.verified.as_ref().map(|report| report.seconds).into()),
    ])
}

fn text(done: &PackDone) -> String {
    let row = &done.row;
    let speed = done.read_bytes as f64 / done.seconds.max(f64::MIN_POSITIVE) / 1e9;
    let verified = match &done.verified {
        Some(report) => format!("{} tiles in {:.3} s", report.tiles, report.seconds),
        None => "no, as asked".to_owned(),
    };
    let lines = [
        ("checkpoint", Escaped::new(&row.checkpoint).to_string()),
        ("layout", row.layout.clone()),
        ("selection", row.selection.clone()),
        ("id", done.id.to_string()),
        ("read", Bytes(done.read_bytes).to_string()),
        ("written", Bytes(done.written_bytes).to_string()),
        ("time", format!("{:.3} s, {speed:.2} GB/s read", done.seconds)),
        ("packed by", packed_by(&done.backend)),
        ("stages", stages(&done.backend.stages)),
        ("verified", verified),
    ];
    lines.iter().map(|(name, value)| format!("{name:<10}  {value}\n")).collect()
}

/// What packed, in words.
fn packed_by(report: &BackendReport) -> String {
    let mut text = match &report.adapter {
        Some(adapter) if report.gpu_bytes > 0 => {
            format!("{} ({})", report.backend, Escaped::new(adapter))
        }
        _ => report.backend.to_owned(),
    };
    if let (Some(cpu), Some(gpu)) = (report.trial_cpu_gb_s, report.trial_gpu_gb_s) {
        text += &format!("; tried: cpu {cpu:.2} GB/s, gpu {gpu:.2} GB/s");
    }
    if let Some(note) = &report.note {
        text += &format!("; {}", Escaped::new(note));
    }
    text
}

/// How the stages overlapped, in words.
fn stages(stages: &Stages) -> String {
    let Stages { read_seconds, pack_seconds, write_seconds, wall_seconds } = stages;
    format!(
        "read {read_seconds:.2} s, packed {pack_seconds:.2} s, wrote {write_seconds:.2} s, \
         all in {wall_seconds:.2} s: {:.2} of their sum",
        stages.overlap()
    )
}
