//! A checkpoint laid out on the channels: the deal, and the arithmetic that
//! finds any row, any line and any tile in it.
//!
//! **What the deal guarantees.** Every row lies in one tile and every tile on
//! one channel, at lines that no other tile has; a channel's tiles lie in image
//! order, end to end; after every tile any two channels differ by at most the
//! largest tile so far; and all of it follows from the tensors, their order and
//! the layout alone. **What it does not try:** to balance better than by one
//! tile, to move a tensor for a better fit, or to look ahead.
//!
//! A plan costs O(tensors × channels), whatever the number of tiles.

mod row_byte;
mod run;
mod skew;

use std::ops::Range;

use crate::error::ImageError;
use crate::layout::ImageLayout;
use crate::tensor::TensorEntry;
use crate::tile::{Cut, Tile};
pub use row_byte::RowByte;
pub use run::Run;

/// Where one tensor lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How the tensor is cut into tiles.
    pub cut: Cut,
    /// The order, then by channel its place in it: one allocation for both.
    turns: Box<[u16]>,
    /// By channel: its line that the tensor's first tile there starts on (where
    /// it would start, for a channel that gets none).
    pub first_line: Vec<u64>,
    /// The tensor's tiles, by number through the image.
    pub tiles: Range<u64>,
}

/// A place in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The tile that holds the row.
    pub tile: Tile,
    /// The byte in the tile where the row (of a striped tile: its block 0) starts.
    pub byte: u64,
    /// Bytes from a block of the row to its next one, in a striped tile.
    pub block_stride: Option<u64>,
}

/// A checkpoint laid out on the channels: its tensors in order, and where each lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    layout: ImageLayout,
    tensors: Vec<TensorEntry>,
    placements: Vec<Placement>,
    channel_lines: Vec<u64>,
    skew_lines: u64,
}

impl Image {
    /// Lays the tensors out in this order.
    pub(crate) fn new(tensors: Vec<TensorEntry>, layout: ImageLayout) -> Result<Image, ImageError> {
        layout.validate()?;
        let channels = usize::try_from(layout.channels).unwrap_or(usize::MAX);
        let mut deal = Deal { held: vec![0; channels], tiles: 0, skew: 0, sorted: Vec::new() };
        let mut placements = Vec::with_capacity(tensors.len());
        for tensor in &tensors {
            let cut = Cut::new(tensor, &layout)?;
            let placement = deal.place(cut, layout.line_bytes).ok_or_else(|| {
                ImageError::Overflow { tensor: tensor.name.clone(), what: "channels' lines" }
            })?;
            placements.push(placement);
        }
        let Deal { held: channel_lines, skew: skew_lines, .. } = deal;
        Ok(Image { layout, tensors, placements, channel_lines, skew_lines })
    }

    /// The same tensors under another layout.
    pub(crate) fn relaid(self, layout: ImageLayout) -> Result<Image, ImageError> {
        Image::new(self.tensors, layout)
    }

    /// The layout.
    pub fn layout(&self) -> &ImageLayout {
        &self.layout
    }

    /// The tensors in image order, as the image stores them.
    pub fn tensors(&self) -> &[TensorEntry] {
        &self.tensors
    }

    /// Where each tensor lies, in image order.
    pub fn placements(&self) -> &[Placement] {
        &self.placements
    }

    /// The lines each channel holds.
    pub fn channel_lines(&self) -> &[u64] {
        &self.channel_lines
    }

    /// The most lines that two channels differ by after any tile.
    pub fn skew_lines(&self) -> u64 {
        self.skew_lines
    }

    /// Lines of the largest tile, 0 without tiles.
    pub fn largest_tile_lines(&self) -> u64 {
        // A tile other than the last holds no fewer rows than it.
        self.placements.iter().map(|p| p.cut.tile_lines).max().unwrap_or(0)
    }

    /// Tiles of the image.
    pub fn tile_count(&self) -> u64 {
        self.placements.last().map_or(0, |p| p.tiles.end)
    }

    /// Lines that the fullest channel leaves free; negative where it does not fit.
    pub fn free_lines(&self) -> i128 {
        let most = self.channel_lines.iter().max().copied().unwrap_or(0);
        i128::from(self.layout.channel_lines) - i128::from(most)
    }

    /// Whether every channel holds its lines.
    pub fn fits(&self) -> bool {
        self.free_lines() >= 0
    }

    /// Tile number `index`.
    pub fn tile(&self, index: u64) -> Option<Tile> {
        let tensor = self.placements.partition_point(|p| p.tiles.end <= index);
        let placement = self.placements.get(tensor)?;
        placement.tile(tensor, index - placement.tiles.start)
    }

    /// All tiles in image order.
    pub fn tiles(&self) -> impl Iterator<Item = Tile> + '_ {
        self.tiles_of(0..self.tile_count())
    }

    /// The tiles of a range of numbers, in order.
    pub fn tiles_of(&self, range: Range<u64>) -> impl Iterator<Item = Tile> + '_ {
        let mut tensor = self.placements.partition_point(|p| p.tiles.end <= range.start);
        range.map_while(move |index| {
            while self.placements.get(tensor)?.tiles.end <= index {
                tensor += 1;
            }
            let placement = self.placements.get(tensor)?;
            placement.tile(tensor, index - placement.tiles.start)
        })
    }

    /// Where image row `row` of tensor number `tensor` lies.
    pub fn locate(&self, tensor: usize, row: u64) -> Option<Location> {
        let placement = self.placements.get(tensor)?;
        let cut = &placement.cut;
        if row >= cut.rows {
            return None;
        }
        let tile = placement.tile(tensor, row / cut.tile_rows)?;
        let within = row - tile.first_row;
        Some(if cut.striped {
            let block_stride = Some(tile.rows() * cut.slot_bytes);
            Location { tile, byte: within * cut.slot_bytes, block_stride }
        } else {
            Location { tile, byte: within * cut.row_bytes, block_stride: None }
        })
    }

    /// The tile on a channel's line: the inverse of [`Image::locate`], in O(log tensors).
    pub fn at(&self, channel: u64, line: u64) -> Option<Tile> {
        let lane = usize::try_from(channel).ok()?;
        if line >= *self.channel_lines.get(lane)? {
            return None;
        }
        // Of tensors that start on one line there, all but the last hold nothing there.
        let after = self.placements.partition_point(|p| starts(p, lane) <= line);
        let tensor = after.checked_sub(1)?;
        let placement = self.placements.get(tensor)?;
        let round = (line - starts(placement, lane)) / placement.cut.tile_lines;
        placement.tile(tensor, placement.nth_on(lane, round))
    }

    /// A channel's tiles that have a line in `lines`, in order.
    pub fn channel_tiles(
        &self,
        channel: u64,
        lines: Range<u64>,
    ) -> impl Iterator<Item = Tile> + '_ {
        let mut line = lines.start;
        std::iter::from_fn(move || {
            if line >= lines.end {
                return None;
            }
            let tile = self.at(channel, line)?;
            line = tile.line + tile.lines;
            Some(tile)
        })
    }
}

/// The channel's line where the tensor's first tile there starts.
fn starts(placement: &Placement, lane: usize) -> u64 {
    placement.first_line.get(lane).copied().unwrap_or(u64::MAX)
}

impl Placement {
    /// The channels in the order in which they get the tensor's tiles.
    pub fn order(&self) -> &[u16] {
        self.turns.get(..self.first_line.len()).unwrap_or_default()
    }

    /// A channel's place in the order.
    pub fn turn(&self, lane: usize) -> u64 {
        let turn = self.turns.get(self.first_line.len() + lane);
        u64::from(turn.copied().unwrap_or(u16::MAX))
    }

    /// The tensor's tile number `nth` (from 0), where `tensor` is its place in the image.
    pub fn tile(&self, tensor: usize, nth: u64) -> Option<Tile> {
        let cut = &self.cut;
        if nth >= cut.tiles {
            return None;
        }
        let channels = self.order().len() as u64;
        let lane = *self.order().get(usize::try_from(nth % channels).ok()?)?;
        let line = starts(self, usize::from(lane)) + nth / channels * cut.tile_lines;
        let last = nth + 1 == cut.tiles;
        Some(Tile {
            index: self.tiles.start + nth,
            tensor,
            first_row: nth * cut.tile_rows,
            end_row: if last { cut.rows } else { (nth + 1) * cut.tile_rows },
            channel: u64::from(lane),
            line,
            lines: if last { cut.last_tile_lines } else { cut.tile_lines },
        })
    }

    /// The tensor's tile number of channel `lane`'s tile number `round`.
    fn nth_on(&self, lane: usize, round: u64) -> u64 {
        round.saturating_mul(self.order().len() as u64).saturating_add(self.turn(lane))
    }

    /// The tensor's tiles on channel `lane`.
    pub fn tiles_on(&self, lane: usize) -> u64 {
        let channels = self.order().len() as u64;
        self.cut.tiles / channels + u64::from(self.turn(lane) < self.cut.tiles % channels)
    }

    /// The lines the tensor takes on channel `lane`.
    pub fn lines_on(&self, lane: usize) -> u64 {
        let cut = &self.cut;
        let channels = self.order().len() as u64;
        let short = if self.turn(lane) == (cut.tiles - 1) % channels {
            cut.tile_lines - cut.last_tile_lines
        } else {
            0
        };
        self.tiles_on(lane) * cut.tile_lines - short
    }
}

/// The channels as the deal goes on.
struct Deal {
    /// By channel: the lines it holds.
    held: Vec<u64>,
    /// Tiles dealt.
    tiles: u64,
    /// The most that two channels differed by.
    skew: u64,
    /// What they hold and which they are, fewest lines first: used again for
    /// every tensor.
    sorted: Vec<(u64, u16)>,
}

impl Deal {
    /// Deals a tensor's tiles; `None` when the image's bytes pass u64.
    fn place(&mut self, cut: Cut, line_bytes: u64) -> Option<Placement> {
        let lanes = self.held.len();
        self.sorted.clear();
        self.sorted.extend((0..).zip(&self.held).map(|(lane, &held)| (held, lane)));
        self.sorted.sort_unstable();
        let mut turns = vec![0; 2 * lanes].into_boxed_slice();
        let (order, turn) = turns.split_at_mut_checked(lanes)?;
        for ((place, &(_, lane)), first) in (0..).zip(&self.sorted).zip(order) {
            *first = lane;
            *turn.get_mut(usize::from(lane))? = place;
        }
        let end = self.tiles.checked_add(cut.tiles)?;
        cut.tiles.checked_mul(cut.tile_lines)?;
        let tiles = self.tiles..end;
        let placement = Placement { cut, turns, first_line: self.held.clone(), tiles };
        for (lane, held) in self.held.iter_mut().enumerate() {
            *held = held.checked_add(placement.lines_on(lane))?;
        }
        // So that any sum of lines, in bytes, is a u64 from here on.
        self.held
            .iter()
            .try_fold(0u64, |sum, &lines| sum.checked_add(lines))?
            .checked_mul(line_bytes)?;
        self.tiles = end;
        let after = spread(self.held.iter().copied());
        self.skew = self
            .skew
            .max(first_round_skew(self.sorted.iter().map(|&(held, _)| held), &placement.cut))
            .max(after);
        Some(placement)
    }
}

/// The most that two channels differ by after any tile but the last of a tensor.
///
/// `sorted`: what the channels held before it, fewest first. After a whole
/// round of equal tiles they differ as before it, so one round shows all.
fn first_round_skew(sorted: impl Iterator<Item = u64> + Clone, cut: &Cut) -> u64 {
    let (Some(first), Some(last)) = (sorted.clone().next(), sorted.clone().last()) else {
        return 0;
    };
    let full = usize::try_from(cut.tiles - 1).unwrap_or(usize::MAX);
    // After k tiles the k fewest have one more, and the next is at its turn.
    let after = |(given, next): (u64, u64)| {
        let most = last.max(given + cut.tile_lines);
        let fewest = next.min(first + cut.tile_lines);
        most - fewest
    };
    sorted.clone().zip(sorted.skip(1)).take(full).map(after).max().unwrap_or(0)
}

fn spread(held: impl Iterator<Item = u64> + Clone) -> u64 {
    held.clone().max().unwrap_or(0) - held.min().unwrap_or(0)
}
