//! A naive second writing of the weight image, for comparison with the core.
//!
//! It shares nothing with `wimg-core`, not even the formats. It is slow and holds everything in
//! memory on purpose: rows are lists of bytes, the deal pushes one tile after another, and
//! whatever the core computes in closed form is found here by looking at what has been dealt.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the oracle's own failure is a test's")]

pub mod crc32c;
pub mod format;
pub mod gguf;
pub mod step;

use std::fmt;

use crc32c::crc32c;
use format::{Format, format};

/// A tensor of an image, with the bytes that the checkpoint has of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its place in the checkpoint's table.
    pub index: usize,
    /// Its format's id.
    pub format: u32,
    /// Its dims, innermost first.
    pub dims: Vec<u64>,
    /// Its bytes in the checkpoint.
    pub bytes: Vec<u8>,
    /// Whether it is a kernel, which is stored tap-major.
    pub kernel: bool,
    /// Whether a matvec job streams it.
    pub streamed: bool,
    /// Whether a pass reads its tiles.
    pub in_pass: bool,
}

impl fmt::Debug for Tensor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format(self.format).map_or("?", |format| format.name);
        write!(out, "{} {name} {:?} ({} bytes)", self.name, self.dims, self.bytes.len())?;
        let flags = [(self.kernel, "kernel"), (self.streamed, "streamed"), (self.in_pass, "pass")];
        flags.iter().filter(|(on, _)| *on).try_for_each(|(_, word)| write!(out, " {word}"))
    }
}

/// The layout's fields; defaults are the card's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Memory channels.
    pub channels: usize,
    /// Bytes of a line.
    pub line_bytes: usize,
    /// Lines a tile fills before the next channel's turn.
    pub tile_lines: usize,
    /// Lines a channel holds.
    pub channel_lines: usize,
    /// Whether tiles end in a check word.
    pub check: bool,
    /// Row pairs of a striped tile.
    pub stripe: Option<usize>,
    /// Whether striped Q8_0 tensors lie in octets.
    pub octets: bool,
    /// A striped block's bytes are rounded up to a multiple of it.
    pub slot: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            channels: 4,
            line_bytes: 64,
            tile_lines: 512,
            channel_lines: 1 << 27,
            check: false,
            stripe: None,
            octets: false,
            slot: 1,
        }
    }
}

impl Layout {
    /// Bytes of a tile's check word.
    fn check_bytes(&self) -> usize {
        if self.check { 4 } else { 0 }
    }

    fn validate(&self) -> Result<(), String> {
        let bounds = [
            ("channels", self.channels, 256),
            ("line_bytes", self.line_bytes, 1 << 20),
            ("tile_lines", self.tile_lines, 1 << 20),
            ("channel_lines", self.channel_lines, 1 << 40),
            ("stripe", self.stripe.unwrap_or(1), 65536),
            ("slot", self.slot, 1 << 20),
        ];
        for (field, value, most) in bounds {
            if value < 1 || value > most {
                return Err(format!("{field} is {value}"));
            }
        }
        if !self.line_bytes.is_multiple_of(4) {
            return Err(format!("line_bytes is {}", self.line_bytes));
        }
        if self.stripe.is_none() && (self.octets || self.slot != 1) {
            return Err("octets and slot need a stripe".to_owned());
        }
        Ok(())
    }
}

/// How a striped tensor's rows are cut.
#[derive(Clone, Copy)]
struct Block {
    /// Its bytes as the checkpoint has them (an octet: eight blocks').
    bytes: usize,
    /// Its bytes in the image.
    slot_bytes: usize,
}

/// A tile as it was dealt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OracleTile {
    /// Which of the image's tensors.
    pub tensor: usize,
    /// Its first image row.
    pub first_row: usize,
    /// Its image rows.
    pub rows: usize,
    /// The channel that holds it.
    pub channel: usize,
    /// Its first line there.
    pub line: usize,
    /// Its lines.
    pub lines: usize,
    /// CRC-32C of its bytes before the check word.
    pub crc: u32,
    /// Bytes from one row's start in the tile to the next's.
    pub row_step: usize,
}

/// Where a tensor lies, as the deal found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OraclePlacement {
    /// Image rows.
    pub rows: usize,
    /// Pieces of a kernel's tap; 1 for all other tensors.
    pub pieces: usize,
    /// Rows of all its tiles but the last.
    pub tile_rows: usize,
    /// Lines of all its tiles but the last.
    pub tile_lines: usize,
    /// The channels, in the order of their turns.
    pub order: Vec<usize>,
    /// The image's number of its first tile.
    pub first_tile: usize,
    /// Its tiles.
    pub tiles: usize,
}

/// The ledger's sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OracleRow {
    /// Tensors of the image.
    pub tensors: usize,
    /// Tiles of the image.
    pub tiles: usize,
    /// The rows' bytes, as the checkpoint has them.
    pub row_bytes: usize,
    /// Zeros, in slots and at tiles' ends.
    pub padding_bytes: usize,
    /// Check words' bytes.
    pub check_bytes: usize,
    /// Lines that each channel holds.
    pub channel_lines: Vec<usize>,
    /// The least that a channel has left.
    pub free_lines: i64,
    /// Whether every channel holds its lines.
    pub fits: bool,
    /// The furthest that two channels were apart after any tile.
    pub skew_lines: usize,
    /// Lines of the largest tile.
    pub largest_tile_lines: usize,
    /// Lines of each channel that a pass reads.
    pub pass_lines: Vec<usize>,
}

/// A whole image in memory.
#[derive(Clone, Debug)]
pub struct OracleImage {
    /// The layout it was dealt by.
    pub layout: Layout,
    /// Every tile, in the image's order.
    pub tiles: Vec<OracleTile>,
    /// The channel files.
    pub channels: Vec<Vec<u8>>,
    /// One for every tensor.
    pub placements: Vec<OraclePlacement>,
    /// The ledger's sums.
    pub row: OracleRow,
}

/// The image of `tensors`, in their order.
///
/// # Errors
/// The layout is out of bounds, or a tensor cannot lie in it.
pub fn image(tensors: &[Tensor], layout: &Layout) -> Result<OracleImage, String> {
    layout.validate()?;
    let mut image = OracleImage {
        layout: layout.clone(),
        tiles: Vec::new(),
        channels: vec![Vec::new(); layout.channels],
        placements: Vec::new(),
        row: OracleRow { pass_lines: vec![0; layout.channels], ..OracleRow::default() },
    };
    for tensor in tensors {
        image.deal(tensor).map_err(|why| format!("{}: {why}", tensor.name))?;
    }
    let held: Vec<usize> = (0..layout.channels).map(|channel| image.held(channel)).collect();
    let most = held.iter().max().unwrap();
    image.row.free_lines =
        i64::try_from(layout.channel_lines).unwrap() - i64::try_from(*most).unwrap();
    image.row.fits = *most <= layout.channel_lines;
    image.row.channel_lines = held;
    Ok(image)
}

impl OracleImage {
    /// Lines that a channel holds so far.
    fn held(&self, channel: usize) -> usize {
        self.channels[channel].len() / self.layout.line_bytes
    }

    /// Deals one tensor, tile by tile.
    fn deal(&mut self, tensor: &Tensor) -> Result<(), String> {
        let format = shape_of(tensor)?;
        let pieces = if tensor.kernel { pieces(tensor, format, &self.layout)? } else { 1 };
        let block = block_of(tensor, format, &self.layout)?;
        let rows = image_rows(tensor, format, pieces);
        let tile_rows = match (block, self.layout.stripe) {
            (Some(_), Some(pairs)) => 2 * pairs,
            _ => {
                let room = self.layout.tile_lines * self.layout.line_bytes;
                usize::max(1, (room - self.layout.check_bytes()) / rows[0].len())
            }
        };

        let mut order: Vec<usize> = (0..self.layout.channels).collect();
        order.sort_by_key(|&channel| (self.held(channel), channel));

        let first_tile = self.tiles.len();
        let mut first_row = 0;
        while first_row < rows.len() {
            let count = usize::min(tile_rows, rows.len() - first_row);
            let tile = self.tiles.len() - first_tile;
            let channel = order[tile % self.layout.channels];
            let tile = OracleTile {
                tensor: self.placements.len(),
                first_row,
                rows: count,
                channel,
                line: self.held(channel),
                lines: 0,
                crc: 0,
                row_step: block.map_or(rows[0].len(), |block| block.slot_bytes),
            };
            self.push(tile, &rows[first_row..first_row + count], block, tensor.in_pass)?;
            first_row += count;
        }
        self.row.tensors += 1;
        self.placements.push(OraclePlacement {
            rows: rows.len(),
            pieces,
            tile_rows: usize::min(tile_rows, rows.len()),
            tile_lines: self.tiles[first_tile].lines,
            order,
            first_tile,
            tiles: self.tiles.len() - first_tile,
        });
        Ok(())
    }

    /// Writes a tile at the end of its channel and adds it to the ledger.
    fn push(
        &mut self,
        mut tile: OracleTile,
        rows: &[Vec<u8>],
        block: Option<Block>,
        in_pass: bool,
    ) -> Result<(), String> {
        let check = self.layout.check_bytes();
        let row_bytes = rows.len() * rows[0].len();
        let image_bytes = match block {
            None => row_bytes,
            Some(block) => row_bytes / block.bytes * block.slot_bytes,
        };
        tile.lines = (image_bytes + check).div_ceil(self.layout.line_bytes);
        let tile_bytes = tile.lines * self.layout.line_bytes;
        if tile_bytes > 64 << 20 {
            return Err(format!("a tile of {tile_bytes} bytes"));
        }

        let mut bytes = match block {
            None => rows.concat(),
            Some(block) => block_major(rows, block),
        };
        while bytes.len() < tile_bytes - check {
            bytes.push(0);
        }
        tile.crc = crc32c(&bytes);
        if self.layout.check {
            bytes.extend(tile.crc.to_le_bytes());
        }
        self.channels[tile.channel].extend(bytes);

        self.row.tiles += 1;
        self.row.row_bytes += row_bytes;
        self.row.padding_bytes += tile_bytes - row_bytes - check;
        self.row.check_bytes += check;
        self.row.largest_tile_lines = usize::max(self.row.largest_tile_lines, tile.lines);
        if in_pass {
            self.row.pass_lines[tile.channel] += tile.lines;
        }
        let held = (0..self.layout.channels).map(|channel| self.held(channel));
        let skew = held.clone().max().unwrap() - held.min().unwrap();
        self.row.skew_lines = usize::max(self.row.skew_lines, skew);
        self.tiles.push(tile);
        Ok(())
    }

    /// Channel, tile's first line and byte in the tile of an image row (striped: of its block 0).
    pub fn locate(&self, tensor: usize, row: usize) -> Option<(usize, usize, usize)> {
        let holds = |tile: &&OracleTile| {
            tile.tensor == tensor && (tile.first_row..tile.first_row + tile.rows).contains(&row)
        };
        let tile = self.tiles.iter().find(holds)?;
        Some((tile.channel, tile.line, (row - tile.first_row) * tile.row_step))
    }

    /// Tensor and image-wide tile number of what lies at a channel's line.
    pub fn at(&self, channel: usize, line: usize) -> Option<(usize, usize)> {
        let number = self.tiles.iter().position(|tile| {
            tile.channel == channel && (tile.line..tile.line + tile.lines).contains(&line)
        })?;
        Some((self.tiles[number].tensor, number))
    }

    /// All bytes of a tile, its check word with them.
    pub fn tile_bytes(&self, tile: &OracleTile) -> &[u8] {
        let start = tile.line * self.layout.line_bytes;
        &self.channels[tile.channel][start..start + tile.lines * self.layout.line_bytes]
    }
}

/// The tensor's format, when its dims are sound.
fn shape_of(tensor: &Tensor) -> Result<Format, String> {
    let format = format(tensor.format).ok_or(format!("no format {}", tensor.format))?;
    if tensor.dims.is_empty() || tensor.dims.contains(&0) {
        return Err(format!("dims {:?}", tensor.dims));
    }
    let mut elements = 1_u64;
    for &dim in &tensor.dims {
        elements = elements.checked_mul(dim).ok_or("dims past u64")?;
    }
    if !tensor.dims[0].is_multiple_of(format.elems as u64) {
        return Err(format!("a row of {} elements", tensor.dims[0]));
    }
    let blocks = elements / format.elems as u64;
    let bytes = blocks.checked_mul(format.bytes as u64).ok_or("bytes past u64")?;
    assert_eq!(bytes, tensor.bytes.len() as u64, "the test gave {} other bytes", tensor.name);
    Ok(format)
}

/// The least number of pieces in which a kernel's tap fits a tile with its check word.
fn pieces(tensor: &Tensor, format: Format, layout: &Layout) -> Result<usize, String> {
    // Two dims: trailing ones are none.
    let two = tensor.dims.len() >= 2 && tensor.dims[2..].iter().all(|&dim| dim == 1);
    if !two || format.elems != 1 || tensor.streamed {
        return Err("not a kernel".to_owned());
    }
    let channels = usize::try_from(tensor.dims[1]).unwrap();
    let room = layout.tile_lines * layout.line_bytes;
    for p in 1..=channels {
        if channels.is_multiple_of(p) && channels / p * format.bytes + layout.check_bytes() <= room
        {
            return Ok(p);
        }
    }
    Err("not even one element fits a tile".to_owned())
}

/// How the tensor's rows are striped; `None` when they are not.
fn block_of(tensor: &Tensor, format: Format, layout: &Layout) -> Result<Option<Block>, String> {
    if layout.stripe.is_none() || !tensor.streamed {
        return Ok(None);
    }
    let mut bytes = format.bytes;
    if layout.octets && format.name == "Q8_0" {
        if !tensor.dims[0].is_multiple_of(8 * 32) {
            return Err("a row of no whole octets".to_owned());
        }
        bytes = 272;
    }
    Ok(Some(Block { bytes, slot_bytes: bytes.next_multiple_of(layout.slot) }))
}

/// The rows that the image holds of a tensor, in their order.
fn image_rows(tensor: &Tensor, format: Format, pieces: usize) -> Vec<Vec<u8>> {
    let inner = usize::try_from(tensor.dims[0]).unwrap();
    if !tensor.kernel {
        let row_bytes = inner / format.elems * format.bytes;
        return tensor.bytes.chunks(row_bytes).map(<[u8]>::to_vec).collect();
    }
    // The checkpoint has, for each channel, its taps; the image, for each tap, its channels.
    let elements: Vec<&[u8]> = tensor.bytes.chunks(format.bytes).collect();
    let channels = elements.len() / inner;
    let mut rows = Vec::new();
    for tap in 0..inner {
        for piece in 0..pieces {
            let mut row = Vec::new();
            for channel in piece * channels / pieces..(piece + 1) * channels / pieces {
                row.extend(elements[channel * inner + tap]);
            }
            rows.push(row);
        }
    }
    rows
}

/// A striped tile's rows: every row's first block, then every row's second, …
fn block_major(rows: &[Vec<u8>], block: Block) -> Vec<u8> {
    let mut bytes = Vec::new();
    for b in 0..rows[0].len() / block.bytes {
        for row in rows {
            bytes.extend(&row[b * block.bytes..(b + 1) * block.bytes]);
            bytes.extend(vec![0; block.slot_bytes - block.bytes]);
        }
    }
    bytes
}
