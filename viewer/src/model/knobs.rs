//! The knobs of a layout: one form field each.

use wimg_core::ImageLayout;

/// A field of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// Memory channels.
    Channels,
    /// Bytes of a line.
    LineBytes,
    /// Lines a tile fills.
    TileLines,
    /// Lines a channel holds.
    ChannelLines,
    /// Check words.
    Check,
    /// Row pairs of a stripe; 0 for none.
    Stripe,
    /// Octets.
    Octets,
    /// Slot bytes.
    Slot,
}

impl Knob {
    /// All knobs, in the order of the form.
    pub const ALL: [Knob; 8] = [
        Knob::Channels,
        Knob::LineBytes,
        Knob::TileLines,
        Knob::ChannelLines,
        Knob::Check,
        Knob::Stripe,
        Knob::Octets,
        Knob::Slot,
    ];

    /// The field's name, the one of the specification.
    pub fn name(self) -> &'static str {
        match self {
            Knob::Channels => "channels",
            Knob::LineBytes => "line_bytes",
            Knob::TileLines => "tile_lines",
            Knob::ChannelLines => "channel_lines",
            Knob::Check => "check",
            Knob::Stripe => "stripe",
            Knob::Octets => "octets",
            Knob::Slot => "slot",
        }
    }

    /// The knob of a name.
    pub fn from_name(name: &str) -> Option<Knob> {
        Knob::ALL.into_iter().find(|knob| knob.name() == name)
    }

    /// Its words on the form.
    pub fn title(self) -> &'static str {
        match self {
            Knob::Channels => "channels",
            Knob::LineBytes => "line bytes",
            Knob::TileLines => "tile lines",
            Knob::ChannelLines => "channel lines",
            Knob::Check => "check words",
            Knob::Stripe => "stripe (row pairs, 0 for none)",
            Knob::Octets => "octets",
            Knob::Slot => "slot bytes",
        }
    }

    /// Whether it is on or off, and no number.
    pub fn is_switch(self) -> bool {
        matches!(self, Knob::Check | Knob::Octets)
    }

    /// The field's text: digits, or `on` and `off`.
    pub fn get(self, layout: &ImageLayout) -> String {
        let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
        match self {
            Knob::Channels => layout.channels.to_string(),
            Knob::LineBytes => layout.line_bytes.to_string(),
            Knob::TileLines => layout.tile_lines.to_string(),
            Knob::ChannelLines => layout.channel_lines.to_string(),
            Knob::Check => switch(layout.check),
            Knob::Stripe => layout.stripe.unwrap_or(0).to_string(),
            Knob::Octets => switch(layout.octets),
            Knob::Slot => layout.slot.to_string(),
        }
    }

    /// The layout with the knob turned. Without a stripe, octets go off and
    /// the slot back to 1: they mean nothing then.
    ///
    /// # Errors
    /// What is no number, and a layout out of its bounds.
    pub fn set(self, layout: &ImageLayout, text: &str) -> Result<ImageLayout, String> {
        let number = || {
            let digits = text.trim();
            digits.parse::<u64>().map_err(|_| format!("{}: `{digits}` is no number", self.title()))
        };
        let mut layout = *layout;
        match self {
            Knob::Channels => layout.channels = number()?,
            Knob::LineBytes => layout.line_bytes = number()?,
            Knob::TileLines => layout.tile_lines = number()?,
            Knob::ChannelLines => layout.channel_lines = number()?,
            Knob::Check => layout.check = text == "on",
            Knob::Stripe => {
                layout.stripe = Some(number()?).filter(|&pairs| pairs > 0);
                if layout.stripe.is_none() {
                    (layout.octets, layout.slot) = (false, 1);
                }
            }
            Knob::Octets => layout.octets = text == "on",
            Knob::Slot => layout.slot = number()?,
        }
        layout.validate().map_err(|error| error.to_string())?;
        Ok(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_turns_and_turns_back() {
        let all: ImageLayout = "4x72/512@9+check+stripe8+octets+slot16".parse().unwrap();
        for knob in Knob::ALL {
            assert_eq!(knob.set(&all, &knob.get(&all)), Ok(all), "{knob:?}");
            assert_eq!(Knob::from_name(knob.name()), Some(knob));
        }
        let plain = Knob::Stripe.set(&all, "0").unwrap();
        assert_eq!(plain.to_string(), "4x72/512@9+check");
        let error = Knob::Octets.set(&plain, "on").unwrap_err();
        assert_eq!(error, "layout: `octets` needs a stripe, and the layout has none");
        assert_eq!(Knob::Channels.set(&all, "-1").unwrap_err(), "channels: `-1` is no number");
        assert!(Knob::LineBytes.set(&all, "66").unwrap_err().contains("line_bytes"));
    }
}
