//! The functions that the tests call on wasm32. A new one is a line in
//! [`run`] and a function from bytes to bytes.

use std::fmt::Write as _;

use wimg_core::gguf::{Read, read};
use wimg_core::ledger::json;
use wimg_core::{Checkpoint, Format, ImageRow, Plan, WindowLimit, image_ledger, pack_window};

/// Runs the operation that a request names before its first newline, on the
/// bytes after it.
///
/// # Errors
///
/// A message, when there is no such operation or it fails.
pub(crate) fn run(request: &[u8]) -> Result<Vec<u8>, String> {
    let newline = request.iter().position(|&byte| byte == b'\n');
    let (name, input) =
        newline.and_then(|at| request.split_at_checked(at)).unwrap_or((request, &[]));
    let input = input.get(1..).unwrap_or_default();
    match name {
        b"pointer-bits" => Ok(usize::BITS.to_string().into_bytes()),
        b"echo" => Ok(input.to_vec()),
        b"panic" => overflow(input),
        b"format" => format(input),
        b"ledger" => Ok(json::lines(&image_ledger().map_err(said)?).into_bytes()),
        b"image" => image(input),
        _ => Err(format!("no operation `{}`", String::from_utf8_lossy(name))),
    }
}

/// A division by the input's length: a panic, when there is none.
fn overflow(input: &[u8]) -> Result<Vec<u8>, String> {
    Ok((1 / input.len()).to_string().into_bytes())
}

/// A format's id and block, by its name: `ID ELEMENTS BYTES`.
fn format(name: &[u8]) -> Result<Vec<u8>, String> {
    let name = std::str::from_utf8(name).map_err(|why| why.to_string())?;
    let format = Format::from_name(name).ok_or_else(|| format!("no format `{name}`"))?;
    let mut line = format.id().to_string();
    if let Some(block) = format.block() {
        write!(line, " {} {}", block.elems, block.bytes).map_err(|why| why.to_string())?;
    }
    Ok(line.into_bytes())
}

/// Packs an image: of a layout string, a selection and a checkpoint, a line
/// each but the last, the ledger's row and the channels end to end.
fn image(input: &[u8]) -> Result<Vec<u8>, String> {
    let mut lines = input.splitn(3, |&byte| byte == b'\n');
    let mut line = || lines.next().ok_or("a line is missing");
    let layout = str::from_utf8(line()?).map_err(said)?.parse().map_err(said)?;
    let selection = str::from_utf8(line()?).map_err(said)?.parse().map_err(said)?;
    let file = line()?;
    let Read::Header(header) = read(file, file.len() as u64).map_err(said)? else {
        return Err("the header is longer than the file".to_owned());
    };
    let plan = Plan::new(&Checkpoint::new(vec![header]).map_err(said)?, selection, &layout)
        .map_err(said)?;
    let line_bytes = layout.line_bytes;
    let size = |bytes: u64| usize::try_from(bytes).map_err(said);
    let mut starts = vec![0];
    for lines in plan.image().channel_lines() {
        starts.push(starts.last().copied().unwrap_or(0) + size(lines * line_bytes)?);
    }
    let mut channels = vec![0xA5; starts.last().copied().unwrap_or(0)];
    // Windows so small that tensors are split.
    for window in plan.windows(WindowLimit { bytes: 100_000, tiles: 1000 }) {
        let mut source = Vec::new();
        for range in &window.sources {
            let from = file.get(size(range.offset)?..).unwrap_or_default();
            source.extend_from_slice(from.get(..size(range.len)?).unwrap_or_default());
        }
        let mut bytes = vec![0xA5; size(window.channel_bytes)?];
        pack_window(plan.image(), &window, &source, &mut bytes).map_err(said)?;
        for (run, start) in window.runs.iter().zip(&starts) {
            let len = size(run.lines * line_bytes)?;
            let from = bytes.get(size(run.at)?..).and_then(|bytes| bytes.get(..len));
            let to = start + size(run.line * line_bytes)?;
            let to = channels.get_mut(to..).and_then(|bytes| bytes.get_mut(..len));
            to.ok_or("a run is past its channel")?.copy_from_slice(from.unwrap_or_default());
        }
    }
    let row = json::row(&ImageRow::new("", &plan).map_err(said)?);
    Ok([row.as_bytes(), b"\n", &channels].concat())
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
