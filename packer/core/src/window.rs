//! A plan cut into windows: runs of whole tiles whose source and channel
//! bytes fit a limit, so that packing and checking need bounded memory.

use std::ops::Range;

use crate::plan::Plan;
use crate::tile::{Tile, tensor_bytes};

/// How much a window may hold. A window holds at least one tile, whatever the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLimit {
    /// Bytes of the checkpoint, and of the channels, each.
    pub bytes: u64,
    /// Tiles: each costs a descriptor.
    pub tiles: u64,
}

impl Default for WindowLimit {
    fn default() -> Self {
        WindowLimit { bytes: 8 << 20, tiles: 1 << 16 }
    }
}

/// A run of a tensor's bytes in the checkpoint, and where it lies among a
/// window's source bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceRange {
    /// The tensor's place in the image.
    pub tensor: usize,
    /// The shard.
    pub shard: u32,
    /// The byte in the shard's file.
    pub offset: u64,
    /// The byte in the tensor.
    pub tensor_offset: u64,
    /// Bytes.
    pub len: u64,
    /// The byte among the window's source bytes.
    pub at: u64,
}

/// A run of lines on one channel, and where it lies among a window's channel bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelRun {
    /// The channel.
    pub channel: u64,
    /// The first line.
    pub line: u64,
    /// Lines; may be 0.
    pub lines: u64,
    /// The byte among the window's channel bytes.
    pub at: u64,
}

/// One tile to be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileTask {
    /// The tile.
    pub tile: Tile,
    /// The byte among the window's source bytes where the tile's first row
    /// starts; of a kernel, where the whole kernel starts.
    pub source: u64,
    /// The byte among the window's channel bytes where the tile starts.
    pub dest: u64,
    /// Bytes of the tile's lines.
    pub len: u64,
}

/// A run of whole tiles, what they are made from and where they go.
///
/// The source bytes are the `sources` end to end, the channel bytes the `runs`
/// end to end. A kernel's source is the whole kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The tiles' numbers through the image.
    pub tiles: Range<u64>,
    /// What to read.
    pub sources: Vec<SourceRange>,
    /// What to write: one run a channel, in channel order.
    pub runs: Vec<ChannelRun>,
    /// The tiles, in order.
    pub tasks: Vec<TileTask>,
    /// Bytes of `sources`.
    pub source_bytes: u64,
    /// Bytes of `runs`.
    pub channel_bytes: u64,
}

/// The windows of a plan, in order.
#[derive(Clone, Debug)]
pub struct Windows<'a> {
    plan: &'a Plan,
    limit: WindowLimit,
    /// The tiles that are still to come.
    tiles: Range<u64>,
    /// By channel: the line that the next window starts on.
    lines: Vec<u64>,
}

impl<'a> Windows<'a> {
    /// Over all tiles.
    pub(crate) fn new(plan: &'a Plan, limit: WindowLimit) -> Self {
        let lines = vec![0; plan.image().channel_lines().len()];
        Windows { plan, limit, tiles: 0..plan.image().tile_count(), lines }
    }

    /// Over one tensor's tiles; over none, if there is no such tensor.
    pub(crate) fn of_tensor(plan: &'a Plan, tensor: usize, limit: WindowLimit) -> Self {
        match plan.image().placements().get(tensor) {
            Some(placement) => {
                let (tiles, lines) = (placement.tiles.clone(), placement.first_line.clone());
                Windows { plan, limit, tiles, lines }
            }
            None => Windows { plan, limit, tiles: 0..0, lines: Vec::new() },
        }
    }
}

/// The window of one tile, for those who look at that tile alone.
pub fn tile_window(plan: &Plan, index: u64) -> Option<Window> {
    let tile = plan.image().tile(index)?;
    let mut growing = Growing::new(plan);
    // The first tile always fits.
    growing.add(tile, WindowLimit::default());
    let mut lines = vec![0; plan.image().channel_lines().len()];
    *lines.get_mut(usize::try_from(tile.channel).ok()?)? = tile.line;
    growing.finish(&mut lines)
}

impl Iterator for Windows<'_> {
    type Item = Window;

    fn next(&mut self) -> Option<Window> {
        let image = self.plan.image();
        let mut growing = Growing::new(self.plan);
        for tile in image.tiles_of(self.tiles.clone()) {
            if !growing.add(tile, self.limit) {
                break;
            }
        }
        let window = growing.finish(&mut self.lines)?;
        self.tiles.start = window.tiles.end;
        Some(window)
    }
}

/// A window as tiles are added.
struct Growing<'a> {
    plan: &'a Plan,
    sources: Vec<SourceRange>,
    tasks: Vec<TileTask>,
    source_bytes: u64,
    channel_bytes: u64,
}

impl<'a> Growing<'a> {
    fn new(plan: &'a Plan) -> Self {
        Growing { plan, sources: Vec::new(), tasks: Vec::new(), source_bytes: 0, channel_bytes: 0 }
    }

    /// Adds a tile if the window may still grow by it.
    fn add(&mut self, tile: Tile, limit: WindowLimit) -> bool {
        let image = self.plan.image();
        let (Some(tensor), Some(placement), Some(source)) = (
            image.tensors().get(tile.tensor),
            image.placements().get(tile.tensor),
            self.plan.sources().get(tile.tensor),
        ) else {
            return false;
        };
        let open = self.sources.last().filter(|range| range.tensor == tile.tensor).copied();
        let (tensor_offset, len) = if tensor.kernel {
            (0, if open.is_some() { 0 } else { tensor_bytes(tensor).unwrap_or(source.len) })
        } else {
            (tile.first_row * placement.cut.row_bytes, tile.rows() * placement.cut.row_bytes)
        };
        let tile_bytes = tile.lines * image.layout().line_bytes;
        let past = self.source_bytes + len > limit.bytes
            || self.channel_bytes + tile_bytes > limit.bytes
            || self.tasks.len() as u64 >= limit.tiles;
        if past && !self.tasks.is_empty() {
            return false;
        }
        let at = match open {
            Some(range) if tensor.kernel => range.at,
            _ => self.source_bytes,
        };
        // `dest` is set when the runs are known.
        self.tasks.push(TileTask { tile, source: at, dest: 0, len: tile_bytes });
        match self.sources.last_mut().filter(|_| open.is_some()) {
            Some(range) => range.len += len,
            None => self.sources.push(SourceRange {
                tensor: tile.tensor,
                shard: source.shard,
                offset: source.offset + tensor_offset,
                tensor_offset,
                len,
                at,
            }),
        }
        self.source_bytes += len;
        self.channel_bytes += tile_bytes;
        true
    }

    /// The window, and on every channel the line after it.
    fn finish(mut self, lines: &mut [u64]) -> Option<Window> {
        let first = self.tasks.first()?.tile.index;
        let end = self.tasks.last()?.tile.index + 1;
        let line_bytes = self.plan.image().layout().line_bytes;
        let mut runs: Vec<ChannelRun> = (0..)
            .zip(lines.iter())
            .map(|(channel, &line)| ChannelRun { channel, line, lines: 0, at: 0 })
            .collect();
        for task in &self.tasks {
            runs.get_mut(usize::try_from(task.tile.channel).ok()?)?.lines += task.tile.lines;
        }
        let mut at = 0;
        for (run, line) in runs.iter_mut().zip(lines) {
            run.at = at;
            at += run.lines * line_bytes;
            *line += run.lines;
        }
        for task in &mut self.tasks {
            let run = runs.get(usize::try_from(task.tile.channel).ok()?)?;
            task.dest = run.at + (task.tile.line - run.line) * line_bytes;
        }
        Some(Window {
            tiles: first..end,
            sources: self.sources,
            runs,
            tasks: self.tasks,
            source_bytes: self.source_bytes,
            channel_bytes: self.channel_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{pack_window, tile_slice};
    use crate::plan::Source;
    use crate::{Format, Selection, TensorEntry, TensorTable};

    #[test]
    fn a_tile_alone_is_the_tile_among_others() {
        let entry = |name: &str, dims: &[u64], kernel| TensorEntry {
            name: name.to_owned(),
            format: Format::F32,
            dims: dims.to_vec(),
            kernel,
            streamed: !kernel,
        };
        let tensors = vec![entry("a", &[6, 50], false), entry("k", &[3, 16], true)];
        let selected = Selection::Table.of(&TensorTable { tensors, ..Default::default() }).unwrap();
        let sources = [(10, 1200), (2000, 192)];
        let sources = sources.map(|(offset, len)| Source { shard: 0, offset, len });
        let layout = "2x16/4+check+stripe2".parse().unwrap();
        let plan = Plan::of(selected, &layout, sources.to_vec()).unwrap();
        let file: Vec<u8> = (0..3000u32).map(|i| (i % 251) as u8).collect();
        let pack = |window: &Window| {
            let mut source = Vec::new();
            for range in &window.sources {
                let [from, len] = [range.offset, range.len].map(|n| usize::try_from(n).unwrap());
                source.extend_from_slice(&file[from..][..len]);
            }
            let mut channels = vec![0xaa; usize::try_from(window.channel_bytes).unwrap()];
            pack_window(plan.image(), window, &source, &mut channels).unwrap();
            channels
        };
        let whole = plan.windows(WindowLimit::default()).next().unwrap();
        let channels = pack(&whole);
        assert_eq!(whole.tasks.len() as u64, plan.image().tile_count());
        assert!(whole.tasks.len() > 15);
        for task in &whole.tasks {
            let window = tile_window(&plan, task.tile.index).unwrap();
            assert_eq!(window.tasks.len(), 1);
            assert_eq!(window.tasks[0].tile, task.tile);
            assert_eq!(pack(&window), tile_slice(task, &channels).unwrap());
        }
        assert_eq!(tile_window(&plan, plan.image().tile_count()), None);
    }
}
