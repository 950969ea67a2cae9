//! The functions that the tests call on wasm32. A new one is a line in
//! [`run`] and a function from bytes to bytes.

use std::fmt::Write as _;

use wimg_core::Format;

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
