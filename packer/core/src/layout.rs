//! How an image lays its tiles, and the string that says so.

use std::fmt;
use std::str::FromStr;

use crate::error::ImageError;

/// Lines a tile fills before the next channel's turn, unless a layout says otherwise.
pub const TILE_LINES: u64 = 512;
/// Bytes of a tile's check word.
pub const CHECK_BYTES: u64 = 4;
/// Lines of a channel of the D5005 (27-bit line address), the default.
pub const CHANNEL_LINES: u64 = 1 << 27;

/// How an image lays its tiles. Bounds: [`ImageLayout::validate`].
///
/// Its string, the same everywhere: `4x72/512+check+stripe8+octets+slot16`,
/// with `@LINES` after the tile lines when `channel_lines` is not 2^27.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLayout {
    /// Memory channels, 1 to 256.
    pub channels: u64,
    /// Bytes of a line, 4 to 2^20, a multiple of 4.
    pub line_bytes: u64,
    /// Lines a tile fills before the next channel's turn, 1 to 2^20.
    pub tile_lines: u64,
    /// Lines a channel holds, 1 to 2^40.
    pub channel_lines: u64,
    /// Every tile ends in a check word of [`CHECK_BYTES`].
    pub check: bool,
    /// Row pairs of a streamed tensor's tile, 1 to 65536: such tiles are block-major.
    pub stripe: Option<u64>,
    /// Striped Q8_0 tensors lie in octets. Only with a stripe.
    pub octets: bool,
    /// A striped block's bytes are rounded up to a multiple of this, 1 to 2^20.
    /// Only with a stripe when not 1.
    pub slot: u64,
}

impl Default for ImageLayout {
    fn default() -> Self {
        ImageLayout {
            channels: 4,
            line_bytes: 64,
            tile_lines: TILE_LINES,
            channel_lines: CHANNEL_LINES,
            check: false,
            stripe: None,
            octets: false,
            slot: 1,
        }
    }
}

impl ImageLayout {
    /// The D5005 at beat 64: ECC in the controller, 64 data bytes a line.
    pub fn beat64() -> Self {
        ImageLayout::default()
    }

    /// The D5005 at beat 72: all 72 bits carry data, tiles end in a check word.
    pub fn beat72() -> Self {
        ImageLayout { line_bytes: 72, check: true, ..ImageLayout::default() }
    }

    /// Bytes of a tile's check word under this layout: 4 or 0.
    pub fn check_bytes(&self) -> u64 {
        if self.check { CHECK_BYTES } else { 0 }
    }

    /// Bytes that a tile aims to fill, `tile_lines * line_bytes`: at most 2^40.
    pub fn tile_bytes(&self) -> u64 {
        self.tile_lines * self.line_bytes
    }

    /// Checks every field against its bounds.
    pub fn validate(&self) -> Result<(), ImageError> {
        let bounds = |field, value, max| {
            if (1..=max).contains(&value) {
                Ok(())
            } else {
                Err(ImageError::LayoutBounds { field, value, min: 1, max, also: "" })
            }
        };
        bounds("channels", self.channels, 256)?;
        if !(4..=1 << 20).contains(&self.line_bytes) || !self.line_bytes.is_multiple_of(4) {
            return Err(ImageError::LayoutBounds {
                field: "line_bytes",
                value: self.line_bytes,
                min: 4,
                max: 1 << 20,
                also: " and a multiple of 4",
            });
        }
        bounds("tile_lines", self.tile_lines, 1 << 20)?;
        bounds("channel_lines", self.channel_lines, 1 << 40)?;
        bounds("slot", self.slot, 1 << 20)?;
        match self.stripe {
            Some(pairs) => bounds("stripe", pairs, 65536),
            None if self.octets => Err(ImageError::LayoutNeedsStripe { field: "octets" }),
            None if self.slot != 1 => Err(ImageError::LayoutNeedsStripe { field: "slot" }),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ImageLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}/{}", self.channels, self.line_bytes, self.tile_lines)?;
        if self.channel_lines != CHANNEL_LINES {
            write!(f, "@{}", self.channel_lines)?;
        }
        if self.check {
            f.write_str("+check")?;
        }
        if let Some(pairs) = self.stripe {
            write!(f, "+stripe{pairs}")?;
        }
        if self.octets {
            f.write_str("+octets")?;
        }
        if self.slot != 1 {
            write!(f, "+slot{}", self.slot)?;
        }
        Ok(())
    }
}

/// Reads a layout string; what it leaves out has its default. Options may
/// stand in any order, each once.
impl FromStr for ImageLayout {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        let refuse = |why: String| ImageError::LayoutText { text: clipped(text), why };
        let mut layout = ImageLayout::default();
        let mut options = text.split('+');
        let shape = options.next().unwrap_or_default();
        let (shape, channel_lines) = match shape.split_once('@') {
            Some((shape, lines)) => (shape, Some(lines)),
            None => (shape, None),
        };
        let (lanes, tile_lines) = match shape.split_once('/') {
            Some((lanes, lines)) => (lanes, Some(lines)),
            None => (shape, None),
        };
        let Some((channels, line_bytes)) = lanes.split_once('x') else {
            return Err(refuse("it does not start with CHANNELSxLINE_BYTES".into()));
        };
        let read = |what, digits| number(what, digits).map_err(refuse);
        layout.channels = read("channels", channels)?;
        layout.line_bytes = read("line bytes", line_bytes)?;
        if let Some(lines) = tile_lines {
            layout.tile_lines = read("tile lines", lines)?;
        }
        if let Some(lines) = channel_lines {
            layout.channel_lines = read("channel lines", lines)?;
        }
        let mut seen = Vec::new();
        for option in options {
            let name = option.trim_end_matches(|c: char| c.is_ascii_digit());
            if seen.contains(&name) {
                return Err(refuse(format!("`+{}` stands twice", clipped(name))));
            }
            seen.push(name);
            let digits = option.get(name.len()..).unwrap_or_default();
            match (name, digits) {
                ("check", "") => layout.check = true,
                ("octets", "") => layout.octets = true,
                ("stripe", _) => layout.stripe = Some(read("stripe", digits)?),
                ("slot", _) => layout.slot = read("slot", digits)?,
                _ => return Err(refuse(format!("`+{}` is no option", clipped(option)))),
            }
        }
        layout.validate()?;
        Ok(layout)
    }
}

/// The text, or as much of it as an error should repeat.
fn clipped(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Decimal digits only: no sign, no leading zero, so that a layout has one string.
fn number(what: &str, digits: &str) -> Result<u64, String> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !plain || (digits.len() > 1 && digits.starts_with('0')) {
        return Err(format!("{what} `{}` is no number", clipped(digits).escape_debug()));
    }
    digits.parse().map_err(|_| format!("{what} `{}` is past 2^64 - 1", clipped(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(layout: &str) -> String {
        match layout.parse::<ImageLayout>() {
            Ok(layout) => layout.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn strings_round_trip() {
        for layout in [
            "4x64/512",
            "4x72/512+check",
            "4x72/512+check+stripe8+octets+slot16",
            "1x4/1@1+stripe65536",
            "256x1048576/1048576@1099511627776+check",
        ] {
            assert_eq!(text(layout), layout);
        }
        assert_eq!(
            text("4x72+slot16+octets+check+stripe8"),
            "4x72/512+check+stripe8+octets+slot16"
        );
        assert_eq!("4x64/512".parse(), Ok(ImageLayout::beat64()));
        assert_eq!("4x72/512+check".parse(), Ok(ImageLayout::beat72()));
    }

    #[test]
    fn what_is_no_layout_is_refused_with_its_reason() {
        let mut messages = String::new();
        for layout in [
            "",
            "4",
            "4x",
            "x64",
            "+4x64",
            "4x64/",
            "4x64/512@",
            "4x064",
            "4x-4",
            "4x64/512+",
            "4x64+check+check",
            "4x64+check4",
            "4x64+stripe",
            "4x64+stripe2+stripe3",
            "4x64+octets",
            "4x64+slot2",
            "4x64+banana",
            "0x64",
            "257x64",
            "4x66",
            "4x0",
            "4x1048580",
            "4x64/0",
            "4x64/1048577",
            "4x64/512@0",
            "4x64/512@1099511627777",
            "4x64+stripe0",
            "4x64+stripe65537",
            "4x64+stripe1+slot0",
            "4x64+stripe1+slot1048577",
            "99999999999999999999x64",
            "4\u{1b}[31mx64",
            "4x64/512@1@2",
            "4x64/5/6",
        ] {
            assert!(layout.parse::<ImageLayout>().is_err(), "{layout}");
            messages += &format!("{}\n", text(layout));
        }
        expect_test::expect_file!["layout.errors.txt"].assert_eq(&messages);
    }
}
