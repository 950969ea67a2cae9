//! The tensor table of a header, and where its tensors lie in the file.

use std::collections::BTreeSet;

use crate::bytes::Bytes;
use crate::escape::Escaped;
use crate::format::Format;
use crate::gguf::error::{GgufError, Stop};

/// The longest tensor name, in bytes.
pub const NAME_LIMIT: u64 = 64;
/// The most dims of a tensor.
pub const DIMS_LIMIT: u32 = 4;
/// The fewest bytes that a tensor takes in the table: name length, one byte,
/// dim count, one dim, format, offset.
pub(crate) const TENSOR_LEAST: u64 = 8 + 1 + 4 + 8 + 4 + 8;

/// A tensor of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, 1 to 64 bytes.
    pub name: String,
    /// The ggml format, known or not.
    pub format: Format,
    /// 1 to 4 dims in elements, innermost first. A dim may be zero.
    pub dims: Vec<u64>,
    /// Where its bytes start in the file.
    pub offset: u64,
    /// Its bytes; `None` where the format is unknown.
    pub len: Option<u64>,
}

impl TensorInfo {
    /// The fewest bytes that it takes in the file: of a tensor of unknown
    /// format one, if it has any elements.
    fn least_len(&self) -> u64 {
        self.len.unwrap_or_else(|| u64::from(!self.dims.contains(&0)))
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(self.least_len())
    }
}

/// Reads the table. Offsets are still the file's own, from the data's start.
pub(crate) fn table(bytes: &mut Bytes<'_>, count: u64) -> Result<Vec<TensorInfo>, Stop> {
    let mut tensors = Vec::new();
    let mut seen = BTreeSet::new();
    for index in 0..count {
        let name =
            name(bytes).map_err(|stop| stop.at(|cause| GgufError::InName { index, cause }))?;
        let tensor = match seen.insert(name) {
            true => tensor(bytes, name),
            false => Err(GgufError::DuplicateTensor.into()),
        };
        let place = |cause| GgufError::InTensor { index, name: escaped(name), cause };
        tensors.push(tensor.map_err(|stop| stop.at(place))?);
    }
    Ok(tensors)
}

fn escaped(name: &str) -> String {
    Escaped::new(name).to_string()
}

fn name<'a>(bytes: &mut Bytes<'a>) -> Result<&'a str, Stop> {
    let len = bytes.u64("a tensor name's length")?;
    if !(1..=NAME_LIMIT).contains(&len) {
        return Err(GgufError::NameLength { len, limit: NAME_LIMIT }.into());
    }
    let name = bytes.take("a tensor's name", len)?;
    std::str::from_utf8(name)
        .map_err(|_| GgufError::NameEncoding { name: Escaped::new(name).to_string() }.into())
}

fn tensor(bytes: &mut Bytes<'_>, name: &str) -> Result<TensorInfo, Stop> {
    let count = bytes.u32("a tensor's dim count")?;
    if !(1..=DIMS_LIMIT).contains(&count) {
        return Err(GgufError::DimCount { count, limit: DIMS_LIMIT }.into());
    }
    let mut dims = Vec::new();
    for _ in 0..count {
        dims.push(bytes.u64("a tensor's dims")?);
    }
    let format = Format::from_id(bytes.u32("a tensor's format")?);
    let offset = bytes.u64("a tensor's offset")?;
    let len = tensor_bytes(&dims, format)?;
    Ok(TensorInfo { name: name.to_owned(), format, dims, offset, len })
}

/// Bytes of a tensor: its rows, whole blocks each.
fn tensor_bytes(dims: &[u64], format: Format) -> Result<Option<u64>, GgufError> {
    // A zero dim makes an empty tensor, however large the others are.
    let elements = match dims.contains(&0) {
        true => Some(0),
        false => dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim)),
    };
    let elements = elements.ok_or_else(|| GgufError::Elements { dims: dims.to_vec() })?;
    let Some(block) = format.block() else { return Ok(None) };
    let row = dims.first().copied().unwrap_or_default();
    if row % block.elems != 0 {
        return Err(GgufError::Ragged { row, format, block: block.elems });
    }
    match (elements / block.elems).checked_mul(block.bytes) {
        Some(len) => Ok(Some(len)),
        None => Err(GgufError::TensorBytes { dims: dims.to_vec(), format }),
    }
}

/// Makes the offsets absolute and checks the extents: aligned, apart, inside
/// the file. Gives the tensors and where the last one's padding ends.
pub(crate) fn place(
    mut tensors: Vec<TensorInfo>,
    data_start: u64,
    alignment: u64,
    file_len: u64,
) -> Result<(Vec<TensorInfo>, u64), GgufError> {
    for (index, tensor) in (0u64..).zip(&mut tensors) {
        let (offset, len) = (tensor.offset, tensor.least_len());
        let absolute = data_start.checked_add(offset);
        let fault = match absolute.filter(|start| start.checked_add(len).is_some()) {
            _ if offset % alignment != 0 => GgufError::Misaligned { offset, alignment },
            Some(start) => {
                tensor.offset = start;
                continue;
            }
            None => GgufError::Extent { offset, len, data_start },
        };
        let (name, cause) = (escaped(&tensor.name), Box::new(fault));
        return Err(GgufError::InTensor { index, name, cause });
    }
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().collect();
    by_offset.sort_by_key(|tensor| (tensor.offset, tensor.end()));
    overlap(&by_offset)?;
    short(&by_offset, file_len)?;
    // Nothing trails a last tensor that may reach to the file's end.
    let end = match by_offset.iter().max_by_key(|tensor| tensor.end()) {
        None => data_start,
        Some(last) if last.len.is_none() && last.least_len() > 0 => file_len,
        Some(last) => last.end().checked_next_multiple_of(alignment).unwrap_or(u64::MAX),
    };
    Ok((tensors, end))
}

/// No two tensors may share a byte; empty ones have none.
fn overlap(by_offset: &[&TensorInfo]) -> Result<(), GgufError> {
    let mut last: Option<&TensorInfo> = None;
    for tensor in by_offset.iter().filter(|tensor| tensor.least_len() > 0) {
        if let Some(other) = last.filter(|other| tensor.offset < other.end()) {
            return Err(GgufError::Overlap {
                name: escaped(&tensor.name),
                offset: tensor.offset,
                other: escaped(&other.name),
                end: other.end(),
            });
        }
        last = Some(tensor);
    }
    Ok(())
}

/// All tensors must be there to their last byte.
fn short(by_offset: &[&TensorInfo], file_len: u64) -> Result<(), GgufError> {
    let Some(cut) = by_offset.iter().find(|tensor| tensor.end() > file_len) else { return Ok(()) };
    let end = by_offset.iter().map(|tensor| tensor.end()).max().unwrap_or(file_len);
    Err(GgufError::Short {
        name: escaped(&cut.name),
        offset: cut.offset,
        len: cut.least_len(),
        file_len,
        missing: end.saturating_sub(file_len),
    })
}
