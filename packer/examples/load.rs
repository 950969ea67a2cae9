//! A card's loader, from FORMAT.md alone, against a simulated card: four
//! memories of lines behind a bus of 64-byte words that now and then flips a
//! bit. `load IMAGE [FLIPS]`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to a person")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wimg::core::{Digest, crc32c};

/// Bytes of a word of the bus.
const WORD: u64 = 64;
/// Lines of a chunk: a multiple of 512.
const CHUNK_LINES: u64 = 4 * 512;
/// How often a tile is sent again before the loader gives up.
const TRIES: u32 = 3;

/// What a loader has to say in the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// Tiles that were read back and found right.
    pub(crate) tiles: u64,
    /// Tiles that were sent again.
    pub(crate) again: u64,
}

/// A card that is not there: its memories are bytes of this process.
pub(crate) struct Card {
    /// Bytes of a line: the memory controllers' mode.
    pub(crate) line_bytes: u64,
    /// Lines of a memory.
    pub(crate) memory_lines: u64,
    /// The memories, a channel each.
    pub(crate) memories: Vec<Vec<u8>>,
    /// Bits that the bus has yet to flip: of that word, counted over all
    /// transfers, that bit.
    pub(crate) flips: Vec<(u64, u64)>,
    /// Words that were moved.
    pub(crate) words: u64,
}

impl Card {
    /// A card whose memories hold zeros.
    pub(crate) fn new(channels: usize, line_bytes: u64, memory_lines: u64) -> Card {
        let bytes = usize::try_from(memory_lines * line_bytes).unwrap_or(usize::MAX);
        let memories = vec![vec![0; bytes]; channels];
        Card { line_bytes, memory_lines, memories, flips: Vec::new(), words: 0 }
    }

    /// Moves whole words of the bus to a channel, from a line on.
    fn write(&mut self, channel: usize, line: u64, words: &[u8]) -> Result<(), String> {
        let start = usize::try_from(line * self.line_bytes).map_err(|e| e.to_string())?;
        let memory = self.memories.get_mut(channel).and_then(|memory| memory.get_mut(start..));
        let memory = memory.and_then(|memory| memory.get_mut(..words.len()));
        let memory = memory.ok_or(format!("channel {channel} ends before line {line}'s words"))?;
        memory.copy_from_slice(words);
        for word in memory.chunks_mut(64) {
            let here = self.words;
            for (_, bit) in self.flips.extract_if(.., |(word, _)| *word == here) {
                let byte = usize::try_from(bit / 8).map_err(|e| e.to_string())?;
                word.get_mut(byte).map(|byte| *byte ^= 1 << (bit % 8)).ok_or("no such bit")?;
            }
            self.words += 1;
        }
        Ok(())
    }

    /// What a channel's lines hold.
    fn read(&self, channel: usize, line: u64, lines: u64) -> Option<&[u8]> {
        let start = usize::try_from(line * self.line_bytes).ok()?;
        let len = usize::try_from(lines * self.line_bytes).ok()?;
        self.memories.get(channel)?.get(start..)?.get(..len)
    }
}

/// An image as its loader needs it.
struct Image {
    dir: PathBuf,
    manifest: Value,
    channels: usize,
    line_bytes: u64,
    check: bool,
    tiles_crc: Vec<u8>,
}

/// A tile, as the placement of its tensor gives it.
struct Tile {
    index: u64,
    channel: usize,
    line: u64,
    lines: u64,
}

fn number(value: &Value, key: &str) -> Result<u64, String> {
    value.get(key).and_then(Value::as_u64).ok_or(format!("image.json has no number `{key}`"))
}

fn element(value: &Value, key: &str, at: usize) -> Result<u64, String> {
    let element = value.get(key).and_then(|list| list.get(at)).and_then(Value::as_u64);
    element.ok_or(format!("image.json has no `{key}` of {at}"))
}

impl Image {
    fn open(dir: &Path) -> Result<Image, String> {
        let read = |name: &str| fs::read(dir.join(name)).map_err(|why| format!("{name}: {why}"));
        let text = read("image.json")?;
        // The last line is the digest of all others.
        let lines = text.strip_suffix(b"\n").unwrap_or(&text);
        let end = lines.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let (body, last) = text.split_at(end);
        if last != format!("\"digest\":\"{}\"}}\n", Digest::of(body)).as_bytes() {
            return Err("image.json is damaged".to_owned());
        }
        let manifest: Value = serde_json::from_slice(&text).map_err(|why| why.to_string())?;
        if number(&manifest, "format")? != 1 {
            return Err("image.json is of a later format".to_owned());
        }
        // CHANNELSxLINE_BYTES/TILE_LINES, then options
        let layout = manifest.get("layout").and_then(Value::as_str).ok_or("no layout")?;
        let (channels, rest) = layout.split_once('x').ok_or("no channels in the layout")?;
        let (line_bytes, _) = rest.split_once('/').ok_or("no line bytes in the layout")?;
        let check = layout.split('+').any(|option| option == "check");
        let whole = |digits: &str| digits.parse::<u64>().map_err(|why| why.to_string());
        Ok(Image {
            dir: dir.to_owned(),
            channels: usize::try_from(whole(channels)?).map_err(|why| why.to_string())?,
            line_bytes: whole(line_bytes)?,
            check,
            tiles_crc: read("tiles.crc")?,
            manifest,
        })
    }

    /// The lines that a channel holds.
    fn lines(&self, channel: usize) -> Result<u64, String> {
        let channels = self.manifest.get("channels").ok_or("image.json has no channels")?;
        number(channels.get(channel).unwrap_or(&Value::Null), "lines")
    }

    /// Lines of a channel from its file, zeros after its end.
    fn read(&self, channel: usize, line: u64, lines: u64) -> Result<Vec<u8>, String> {
        let name = format!("channel-{channel}.bin");
        let file = File::open(self.dir.join(&name)).map_err(|why| format!("{name}: {why}"))?;
        let there = lines.min(self.lines(channel)?.saturating_sub(line));
        let bytes = |lines: u64| usize::try_from(lines * self.line_bytes).unwrap_or(usize::MAX);
        let mut read = vec![0; bytes(there)];
        file.read_exact_at(&mut read, line * self.line_bytes)
            .map_err(|why| format!("{name}: {why}"))?;
        read.resize(bytes(lines), 0);
        Ok(read)
    }

    /// Every tile in image order.
    fn tiles(&self) -> Result<Vec<Tile>, String> {
        let mut tiles = Vec::new();
        for tensor in self.manifest.get("tensors").and_then(Value::as_array).into_iter().flatten() {
            let placement = tensor.get("placement").ok_or("a tensor has no placement")?;
            let (first, count) = (number(placement, "first_tile")?, number(placement, "tiles")?);
            for i in 0..count {
                let turn = usize::try_from(i).map_err(|e| e.to_string())? % self.channels;
                let channel = usize::try_from(element(placement, "order", turn)?);
                let channel = channel.map_err(|why| why.to_string())?;
                let round = i / self.channels as u64;
                let last = i + 1 == count;
                let key = if last { "last_tile_lines" } else { "tile_lines" };
                tiles.push(Tile {
                    index: first + i,
                    channel,
                    line: element(placement, "first_line", channel)?
                        + round * number(placement, "tile_lines")?,
                    lines: number(placement, key)?,
                });
            }
        }
        Ok(tiles)
    }

    /// Whether a tile read back from the card is what the image has.
    fn holds(&self, tile: &Tile, bytes: &[u8]) -> bool {
        let word = |bytes: &[u8]| bytes.first_chunk().map(|word| u32::from_le_bytes(*word));
        let at = usize::try_from(tile.index * 4).unwrap_or(usize::MAX);
        let listed = self.tiles_crc.get(at..).and_then(word);
        if !self.check {
            return listed == Some(crc32c(bytes));
        }
        let (body, check) = bytes.split_at(bytes.len().saturating_sub(4));
        let crc = Some(crc32c(body));
        crc == listed && crc == word(check)
    }
}

/// Loads the image in `dir` onto `card`, line 0 at line `base`.
///
/// # Errors
/// An image that the card cannot hold, and a tile that does not become right.
pub(crate) fn load(dir: &Path, card: &mut Card, base: u64) -> Result<Loaded, String> {
    let image = Image::open(dir)?;
    if image.line_bytes != card.line_bytes {
        let (ours, theirs) = (image.line_bytes, card.line_bytes);
        return Err(format!("the image has lines of {ours} bytes, the card of {theirs}"));
    }
    if image.channels != card.memories.len() {
        let (ours, theirs) = (image.channels, card.memories.len());
        return Err(format!("the image has {ours} channels, the card {theirs}"));
    }
    // Lines that are a whole number of words: 8 at 72 bytes a line.
    let group = (1..=WORD).find(|n| (n * image.line_bytes).is_multiple_of(WORD)).unwrap_or(WORD);
    let mut longest = 0;
    for channel in 0..image.channels {
        let lines = image.lines(channel)?;
        if base + lines.next_multiple_of(group) > card.memory_lines {
            return Err(format!("channel {channel} is full before the image ends"));
        }
        longest = longest.max(lines);
    }
    for line in (0..longest).step_by(usize::try_from(CHUNK_LINES).unwrap_or(usize::MAX)) {
        for channel in 0..image.channels {
            let lines = CHUNK_LINES.min(image.lines(channel)?.saturating_sub(line));
            let words = image.read(channel, line, lines.next_multiple_of(group))?;
            card.write(channel, base + line, &words)?;
        }
    }
    let mut loaded = Loaded { tiles: 0, again: 0 };
    for tile in image.tiles()? {
        let holds = |card: &Card| {
            let bytes = card.read(tile.channel, base + tile.line, tile.lines);
            bytes.is_some_and(|bytes| image.holds(&tile, bytes))
        };
        let mut tries = 0;
        while !holds(card) {
            if tries == TRIES {
                let Tile { index, channel, line, .. } = tile;
                return Err(format!("tile {index} on channel {channel}, line {line} stays wrong"));
            }
            let start = tile.line / group * group;
            let lines = (tile.line + tile.lines - start).next_multiple_of(group);
            card.write(tile.channel, base + start, &image.read(tile.channel, start, lines)?)?;
            tries += 1;
        }
        loaded.again += u64::from(tries > 0);
        loaded.tiles += 1;
    }
    Ok(loaded)
}

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(dir) = args.next().map(PathBuf::from) else {
        eprintln!("usage: load IMAGE [FLIPS]");
        std::process::exit(2);
    };
    let flips: u64 = args.next().and_then(|flips| flips.parse().ok()).unwrap_or(3);
    let loaded = Image::open(&dir).and_then(|image| {
        let mut lines = 0;
        for channel in 0..image.channels {
            lines = lines.max(image.lines(channel)?);
        }
        let mut card = Card::new(image.channels, image.line_bytes, lines + WORD);
        card.flips = (0..flips).map(|n| (n * 41 + 5, n * 97 % 512)).collect();
        load(&dir, &mut card, 0)
    });
    match loaded {
        Ok(Loaded { tiles, again }) => println!("{tiles} tiles loaded, {again} sent again"),
        Err(why) => {
            eprintln!("load: {why}");
            std::process::exit(1);
        }
    }
}
