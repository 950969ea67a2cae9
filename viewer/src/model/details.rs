//! A tile and a row in full, with the arithmetic that finds them, and the way
//! back from a channel's line.

use wimg_core::{Escaped, Image, Placement, Plan, TensorEntry, Tile};

use crate::model::quantity::count;

/// One thing worth knowing, and how it comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// The arithmetic behind it; may be empty.
    pub how: String,
}

fn fact(name: &'static str, value: impl std::fmt::Display, how: impl std::fmt::Display) -> Fact {
    Fact { name, value: value.to_string(), how: how.to_string() }
}

/// A tensor's name, made safe to show.
pub fn name(tensor: &TensorEntry) -> String {
    Escaped::new(&tensor.name).to_string()
}

/// `[5120, 17408]`, innermost first.
pub fn dims(tensor: &TensorEntry) -> String {
    let dims: Vec<String> = tensor.dims.iter().map(u64::to_string).collect();
    format!("[{}]", dims.join(", "))
}

/// One line on a tile, for who points at it.
pub fn glance(image: &Image, tile: &Tile) -> String {
    let name = image.tensors().get(tile.tensor).map(name).unwrap_or_default();
    let Tile { index, first_row, end_row, channel, line, lines, .. } = *tile;
    let rows = match end_row - first_row {
        1 => format!("row {}", count(first_row)),
        _ => format!("rows {}\u{2013}{}", count(first_row), count(end_row - 1)),
    };
    let on = match lines {
        1 => format!("line {}", count(line)),
        _ => format!("lines {}\u{2013}{}", count(line), count(line + lines - 1)),
    };
    let bytes = count(lines * image.layout().line_bytes);
    format!(
        "{name} \u{b7} tile {} \u{b7} {rows} \u{b7} channel {channel}, {on} \u{b7} {bytes} bytes",
        count(index)
    )
}

/// What a tensor is and how it is cut.
pub fn tensor_facts(plan: &Plan, tensor: usize) -> Vec<Fact> {
    let image = plan.image();
    let (Some(entry), Some(placement)) =
        (image.tensors().get(tensor), image.placements().get(tensor))
    else {
        return Vec::new();
    };
    let cut = &placement.cut;
    let stored = match (entry.kernel, cut.striped) {
        (true, _) if cut.pieces > 1 => {
            format!("tap-major, each tap in {} pieces", cut.pieces)
        }
        (true, _) => "tap-major".to_owned(),
        (_, true) => format!(
            "block-major: blocks of {} bytes in slots of {}",
            cut.block_bytes, cut.slot_bytes
        ),
        _ => "row after row".to_owned(),
    };
    let mut facts = vec![
        fact("tensor", name(entry), ""),
        fact("format", entry.format, format!("dims {}", dims(entry))),
        fact("stored", stored, if entry.streamed { "streamed through the array" } else { "" }),
        fact(
            "rows",
            count(cut.rows),
            format!("of {} bytes, {} to a tile", count(cut.row_bytes), count(cut.tile_rows)),
        ),
        fact(
            "tiles",
            count(cut.tiles),
            format!(
                "of {} lines, the last of {}; numbers {} to {}",
                cut.tile_lines,
                cut.last_tile_lines,
                count(placement.tiles.start),
                count(placement.tiles.end - 1)
            ),
        ),
        fact("order", listed(placement.order()), "channels, fewest lines first"),
    ];
    if let Some(source) = plan.sources().get(tensor) {
        facts.push(fact(
            "in the checkpoint",
            format!("shard {}, byte {}", source.shard, count(source.offset)),
            format!("{} bytes", count(source.len)),
        ));
    }
    facts
}

/// Where an image row lies: every address, and how it is found.
///
/// # Errors
/// A row that the tensor does not have.
pub fn locate(plan: &Plan, tensor: usize, row: u64) -> Result<Vec<Fact>, String> {
    let image = plan.image();
    let places = image.tensors().get(tensor).zip(image.placements().get(tensor));
    let (entry, placement) = places.ok_or("the image has no such tensor")?;
    let cut = &placement.cut;
    let at = image.locate(tensor, row).ok_or_else(|| {
        format!("{} has no row {row}: it has {}, from 0", name(entry), count(cut.rows))
    })?;
    let tile = at.tile;
    let nth = tile.index - placement.tiles.start;
    let channels = placement.order().len();
    let line_bytes = image.layout().line_bytes;
    let first = first_line(placement, tile.channel);
    let file_byte = tile.line * line_bytes + at.byte;
    let step = if cut.striped { ("slot", cut.slot_bytes) } else { ("row", cut.row_bytes) };
    let mut facts = vec![
        fact("row", count(row), tap_of(entry, placement, row)),
        fact(
            "tile of the tensor",
            count(nth),
            format!("row {row} / {} rows a tile", cut.tile_rows),
        ),
        fact("tile of the image", count(tile.index), format!("{} + {nth}", placement.tiles.start)),
        fact(
            "channel",
            tile.channel,
            format!("order[{nth} % {channels}] of [{}]", listed(placement.order())),
        ),
        fact(
            "line",
            count(tile.line),
            format!("{first} + ({nth} / {channels}) \u{d7} {} lines", cut.tile_lines),
        ),
        fact(
            "byte in the tile",
            count(at.byte),
            format!("({row} \u{2212} {}) \u{d7} {} bytes a {}", tile.first_row, step.1, step.0),
        ),
        fact(
            "byte in the file",
            count(file_byte),
            format!(
                "channel-{}.bin: {} \u{d7} {line_bytes} + {}",
                tile.channel, tile.line, at.byte
            ),
        ),
    ];
    if let Some(stride) = at.block_stride {
        facts.push(fact(
            "next block",
            format!("{} bytes on", count(stride)),
            format!("{} rows in the tile \u{d7} {} bytes a slot", tile.rows(), cut.slot_bytes),
        ));
    }
    Ok(facts)
}

/// Of a kernel's image row: its tap and piece.
fn tap_of(entry: &TensorEntry, placement: &Placement, row: u64) -> String {
    let pieces = placement.cut.pieces;
    match (entry.kernel, pieces) {
        (false, _) => String::new(),
        (true, 1) => format!("tap {row}"),
        (true, _) => format!("tap {}, piece {}", row / pieces, row % pieces),
    }
}

fn first_line(placement: &Placement, channel: u64) -> u64 {
    let lane = usize::try_from(channel).ok();
    lane.and_then(|lane| placement.first_line.get(lane)).copied().unwrap_or(0)
}

fn listed(channels: &[u16]) -> String {
    const SHOWN: usize = 16;
    let mut text: Vec<String> = channels.iter().take(SHOWN).map(u16::to_string).collect();
    if channels.len() > SHOWN {
        text.push(format!("\u{2026} {} in all", channels.len()));
    }
    text.join(" ")
}

/// A channel and a line from `channel:line`; blanks and digit groups do not matter.
///
/// # Errors
/// What is no such pair.
pub fn parse_place(text: &str) -> Result<(u64, u64), String> {
    let plain: String =
        text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | ',')).collect();
    let pair = plain.split_once(':');
    let pair = pair.and_then(|(channel, line)| Some((channel.parse().ok()?, line.parse().ok()?)));
    pair.ok_or_else(|| "type a channel and a line, as in 2:1024".to_owned())
}

/// What lies on a channel's line: the tile, and what the line starts with.
///
/// # Errors
/// A channel that the image does not have, and a line that it does not hold.
pub fn at(image: &Image, channel: u64, line: u64) -> Result<(Tile, Vec<Fact>), String> {
    let held = usize::try_from(channel).ok().and_then(|lane| image.channel_lines().get(lane));
    let Some(&held) = held else {
        let channels = image.channel_lines().len();
        return Err(format!("there is no channel {channel}: the image has {channels}, from 0"));
    };
    let Some(tile) = image.at(channel, line) else {
        let held = count(held);
        return Err(format!("channel {channel} has no line {line}: it holds {held}, from 0"));
    };
    let line_bytes = image.layout().line_bytes;
    let byte = (line - tile.line) * line_bytes;
    let starts = match image.row_byte(&tile, byte) {
        None => "padding or the check word".to_owned(),
        Some(at) => match at.block {
            None => format!("row {} from its byte {} on", count(at.row), count(at.byte)),
            Some(block) => {
                format!("block {block} of row {} from its byte {} on", count(at.row), at.byte)
            }
        },
    };
    let facts = vec![
        fact("tile of the image", count(tile.index), ""),
        fact(
            "byte in the tile",
            count(byte),
            format!("({line} \u{2212} {}) \u{d7} {line_bytes}", tile.line),
        ),
        fact("the line starts with", starts, ""),
        fact(
            "byte in the file",
            count(line * line_bytes),
            format!("channel-{channel}.bin: {line} \u{d7} {line_bytes}"),
        ),
    ];
    Ok((tile, facts))
}

#[cfg(test)]
mod tests {
    use wimg_core::{HEADERS, Selection};

    use super::*;

    fn plan(layout: &str) -> Plan {
        let selected = Selection::Machine.of(&HEADERS[0].table()).unwrap();
        Plan::of(selected, &layout.parse().unwrap(), Vec::new()).unwrap()
    }

    fn shown(facts: &[Fact]) -> String {
        let lines = facts.iter().map(|fact| {
            let text = format!("{}: {} <- {}\n", fact.name, fact.value, fact.how);
            text.replace('\u{202f}', "_")
        });
        lines.collect()
    }

    #[test]
    fn the_arithmetic_is_spelt_out() {
        let plan = plan("4x72/512+check+stripe8+octets+slot16");
        let tensors = plan.image().tensors();
        let find = |name| tensors.iter().position(|t| t.name == name).unwrap();
        let (up, kernel) = (find("blk.1.ffn_up.weight"), find("blk.0.ssm_conv1d.weight"));
        let text = shown(&tensor_facts(&plan, up))
            + "\n"
            + &shown(&locate(&plan, up, 100).unwrap())
            + "\n"
            + &shown(&locate(&plan, kernel, 5).unwrap());
        expect_test::expect![[r#"
            tensor: blk.1.ffn_up.weight <- 
            format: Q8_0 <- dims [5120, 17408]
            stored: block-major: blocks of 272 bytes in slots of 272 <- streamed through the array
            rows: 17_408 <- of 5_440 bytes, 16 to a tile
            tiles: 1_088 <- of 1209 lines, the last of 1209; numbers 47_697 to 48_784
            order: 2 3 1 0 <- channels, fewest lines first

            row: 100 <- 
            tile of the tensor: 6 <- row 100 / 16 rows a tile
            tile of the image: 47_703 <- 47697 + 6
            channel: 1 <- order[6 % 4] of [2 3 1 0]
            line: 6_870_397 <- 6869188 + (6 / 4) × 1209 lines
            byte in the tile: 1_088 <- (100 − 96) × 272 bytes a slot
            byte in the file: 494_669_672 <- channel-1.bin: 6870397 × 72 + 1088
            next block: 4_352 bytes on <- 16 rows in the tile × 272 bytes a slot

            row: 5 <- tap 2, piece 1
            tile of the tensor: 5 <- row 5 / 1 rows a tile
            tile of the image: 42_033 <- 42028 + 5
            channel: 2 <- order[5 % 4] of [3 2 0 1]
            line: 4_891_112 <- 4890827 + (5 / 4) × 285 lines
            byte in the tile: 0 <- (5 − 5) × 20480 bytes a row
            byte in the file: 352_160_064 <- channel-2.bin: 4891112 × 72 + 0
        "#]]
        .assert_eq(&text);
        assert_eq!(
            locate(&plan, up, 17408).unwrap_err(),
            "blk.1.ffn_up.weight has no row 17408: it has 17\u{202f}408, from 0"
        );
    }

    #[test]
    fn the_way_back() {
        let plan = plan("4x64/512");
        let (tile, facts) = at(plan.image(), 2, 1000).unwrap();
        expect_test::expect![[r#"
            token_embd.weight · tile 6 · rows 36–41 · channel 2, lines 510–1_019 · 32_640 bytes
            tile of the image: 6 <- 
            byte in the tile: 31_360 <- (1000 − 510) × 64
            the line starts with: row 41 from its byte 4_160 on <- 
            byte in the file: 64_000 <- channel-2.bin: 1000 × 64
        "#]]
        .assert_eq(&(glance(plan.image(), &tile).replace('\u{202f}', "_") + "\n" + &shown(&facts)));
        assert!(at(plan.image(), 4, 0).unwrap_err().starts_with("there is no channel 4"));
        let held = plan.image().channel_lines()[1];
        assert!(at(plan.image(), 1, held).unwrap_err().starts_with("channel 1 has no line"));
        assert_eq!(parse_place(" 2 : 1\u{202f}024 "), Ok((2, 1024)));
        for text in ["", "2", "2:", "a:b", "-1:2", "1:2:3"] {
            assert!(parse_place(text).is_err(), "{text}");
        }
    }
}
