//! The oracle's cases as the core takes them, and the core's image of them, packed.
#![expect(clippy::unwrap_used, reason = "a twin that cannot be made fails a test")]

use wimg_core::{
    Format, Image, ImageError, ImageLayout, Pass, Plan, Selected, Selection, Source, TensorEntry,
    Tile, Window, WindowLimit,
};

use crate::cases::random_bytes;
use crate::oracle::{Layout, OracleImage, Tensor, step};

/// What output buffers hold before they are written.
pub const SENTINEL: u8 = 0xA5;

/// The core's layout.
pub fn layout(layout: &Layout) -> ImageLayout {
    ImageLayout {
        channels: layout.channels as u64,
        line_bytes: layout.line_bytes as u64,
        tile_lines: layout.tile_lines as u64,
        channel_lines: layout.channel_lines as u64,
        check: layout.check,
        stripe: layout.stripe.map(|pairs| pairs as u64),
        octets: layout.octets,
        slot: layout.slot as u64,
    }
}

/// The core's selection.
pub fn selection(selection: step::Selection) -> Selection {
    match selection {
        step::Selection::Machine => Selection::Machine,
        step::Selection::Streamed => Selection::Streamed,
        step::Selection::All => Selection::All,
        step::Selection::Table => Selection::Table,
    }
}

/// The core's tensor, as an image stores it.
pub fn entry(tensor: &Tensor) -> TensorEntry {
    TensorEntry {
        name: tensor.name.clone(),
        format: Format::from_id(tensor.format),
        dims: tensor.dims.clone(),
        kernel: tensor.kernel,
        streamed: tensor.streamed,
    }
}

/// An oracle's tile as the core says it.
pub fn tile(oracle: &OracleImage, number: usize) -> Tile {
    let tile = &oracle.tiles[number];
    Tile {
        index: number as u64,
        tensor: tile.tensor,
        first_row: tile.first_row as u64,
        end_row: (tile.first_row + tile.rows) as u64,
        channel: tile.channel as u64,
        line: tile.line as u64,
        lines: tile.lines as u64,
    }
}

/// A checkpoint's files in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shards(pub Vec<Vec<u8>>);

impl Shards {
    /// A window's source bytes.
    pub fn gather(&self, window: &Window) -> Vec<u8> {
        let mut bytes = Vec::new();
        for range in &window.sources {
            bytes
                .extend(&self.0[host(range.shard.into())][host(range.offset)..][..host(range.len)]);
        }
        bytes
    }

    /// Puts a window's source bytes back.
    pub fn scatter(&mut self, window: &Window, bytes: &[u8]) {
        let mut rest = bytes;
        for range in &window.sources {
            let (part, after) = rest.split_at(host(range.len));
            self.0[host(range.shard.into())][host(range.offset)..][..part.len()]
                .copy_from_slice(part);
            rest = after;
        }
    }
}

/// A number of the core's, all of which are small here.
pub fn host(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// Tensors laid into two shards with gaps between them, and where they lie.
pub fn shards(tensors: &[Tensor]) -> (Shards, Vec<Source>) {
    let mut shards = Shards(vec![random_bytes(1, 5), random_bytes(2, 3)]);
    let mut sources = Vec::new();
    for tensor in tensors {
        let shard = tensor.index % 2;
        let file = &mut shards.0[shard];
        file.extend(random_bytes(tensor.index as u64, tensor.index % 7));
        sources.push(Source {
            shard: u32::from(shard == 1),
            offset: file.len() as u64,
            len: tensor.bytes.len() as u64,
        });
        file.extend(&tensor.bytes);
    }
    (shards, sources)
}

/// The core's plan of tensors in their order.
///
/// # Errors
/// The core's.
pub fn plan(
    tensors: &[Tensor],
    oracle_layout: &Layout,
    sources: Vec<Source>,
) -> Result<Plan, ImageError> {
    let pass = |tensor: &Tensor| if tensor.in_pass { Pass::Whole } else { Pass::Row };
    let selected = Selected {
        selection: Selection::Table,
        tensors: tensors.iter().map(entry).collect(),
        sources: tensors.iter().map(|tensor| tensor.index).collect(),
        passes: tensors.iter().map(pass).collect(),
        step: false,
    };
    Plan::of(selected, &layout(oracle_layout), sources)
}

/// An image as a packer left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The channels' bytes; [`SENTINEL`] where nobody wrote.
    pub channels: Vec<Vec<u8>>,
    /// By tile, the CRC-32C that the packer gave.
    pub crcs: Vec<u32>,
}

/// Packs a plan window by window, with whatever packs a window: it is given
/// the image, the window, its source bytes, and its channel bytes to write.
pub fn pack(
    plan: &Plan,
    limit: WindowLimit,
    shards: &Shards,
    mut packer: impl FnMut(&Image, &Window, &[u8], &mut [u8]) -> Vec<u32>,
) -> Packed {
    let image = plan.image();
    let line_bytes = host(image.layout().line_bytes);
    let empty = |&lines: &u64| vec![SENTINEL; host(lines) * line_bytes];
    let mut packed =
        Packed { channels: image.channel_lines().iter().map(empty).collect(), crcs: Vec::new() };
    for window in plan.windows(limit) {
        let source = shards.gather(&window);
        let mut bytes = vec![SENTINEL; host(window.channel_bytes)];
        packed.crcs.extend(packer(image, &window, &source, &mut bytes));
        for run in &window.runs {
            let len = host(run.lines) * line_bytes;
            packed.channels[host(run.channel)][host(run.line) * line_bytes..][..len]
                .copy_from_slice(&bytes[host(run.at)..][..len]);
        }
    }
    packed
}
