//! What is shown, in the form that a link keeps: the address's hash.

use std::ops::Range;

use wimg_core::{ImageLayout, Selection};

use crate::model::kind::ColourBy;
use crate::model::table::Column;

/// A part of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// All rows.
    #[default]
    Ledger,
    /// Where everything lies.
    Map,
    /// Another layout beside the one at hand.
    WhatIf,
    /// How far the channels are apart.
    Skew,
    /// Whether an image is sound.
    Verify,
    /// How a night went.
    Night,
}

impl View {
    /// All of them, in the order of their tabs.
    pub const ALL: [View; 6] =
        [View::Ledger, View::Map, View::WhatIf, View::Skew, View::Verify, View::Night];

    /// The word in a link.
    pub fn word(self) -> &'static str {
        match self {
            View::Ledger => "ledger",
            View::Map => "map",
            View::WhatIf => "what-if",
            View::Skew => "skew",
            View::Verify => "verify",
            View::Night => "night",
        }
    }

    /// The view of a word.
    pub fn from_word(word: &str) -> Option<View> {
        View::ALL.into_iter().find(|view| view.word() == word)
    }
}

/// The column that the ledger is sorted by, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The column.
    pub column: Column,
    /// Largest first.
    pub down: bool,
}

/// Everything that a link keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The part of the page.
    pub view: View,
    /// The key of the subject whose image is shown.
    pub subject: Option<String>,
    /// How that image is laid out.
    pub layout: ImageLayout,
    /// Which tensors it holds.
    pub selection: Selection,
    /// The layout beside it.
    pub other: Option<ImageLayout>,
    /// What the map's colours mean.
    pub colour: ColourBy,
    /// The lines that the map shows; none: all.
    pub span: Option<Range<u64>>,
    /// The tile that is pinned.
    pub tile: Option<u64>,
    /// What is searched for among the tensors.
    pub find: String,
    /// How the ledger is sorted; none: as it came.
    pub sort: Option<Sort>,
    /// What the ledger's rows must hold.
    pub filter: String,
    /// The path of the night's report; none: the one that came first.
    pub night: Option<String>,
}

impl State {
    /// The hash, without `#`. What has its default is left out, but for the view:
    /// which one is first without a word depends on what is open.
    pub fn hash(&self) -> String {
        let plain = State::default();
        let mut words: Vec<String> = Vec::new();
        let mut put = |key: &str, value: String, differs: bool| {
            if differs {
                words.push(format!("{key}={}", escape(&value)));
            }
        };
        put("view", self.view.word().to_owned(), true);
        if let Some(subject) = &self.subject {
            put("row", subject.clone(), true);
            put("layout", self.layout.to_string(), true);
            let selection = self.selection.name().to_owned();
            put("select", selection, self.selection != plain.selection);
        }
        if let Some(other) = self.other {
            put("other", other.to_string(), true);
        }
        put("colour", self.colour.word().to_owned(), self.colour != plain.colour);
        if let Some(span) = &self.span {
            put("lines", format!("{}-{}", span.start, span.end), true);
        }
        if let Some(tile) = self.tile {
            put("tile", tile.to_string(), true);
        }
        put("find", self.find.clone(), !self.find.is_empty());
        if let Some(sort) = self.sort {
            let way = if sort.down { "down" } else { "up" };
            put("sort", format!("{}:{way}", sort.column.name()), true);
        }
        put("filter", self.filter.clone(), !self.filter.is_empty());
        if let Some(night) = &self.night {
            put("night", night.clone(), true);
        }
        words.join("&")
    }

    /// Reads a hash, with or without its `#`. What it says badly is left as if
    /// it were not said: a link from elsewhere is never an error.
    pub fn read(hash: &str) -> State {
        let mut state = State::default();
        for word in hash.trim_start_matches('#').split('&') {
            let Some((key, value)) = word.split_once('=') else { continue };
            state.take(key, &unescape(value));
        }
        state
    }

    fn take(&mut self, key: &str, value: &str) {
        match key {
            "view" => self.view = View::from_word(value).unwrap_or_default(),
            "row" => self.subject = Some(value.to_owned()).filter(|key| !key.is_empty()),
            "layout" => self.layout = value.parse().unwrap_or_default(),
            "select" => self.selection = value.parse().unwrap_or_default(),
            "other" => self.other = value.parse().ok(),
            "colour" => self.colour = ColourBy::from_word(value).unwrap_or_default(),
            "lines" => {
                let span = value.split_once('-').and_then(|(from, to)| {
                    Some(from.parse::<u64>().ok()?..to.parse::<u64>().ok()?)
                });
                self.span = span.filter(|span| !span.is_empty());
            }
            "tile" => self.tile = value.parse().ok(),
            "find" => self.find = value.to_owned(),
            "sort" => {
                let (name, way) = value.split_once(':').unwrap_or((value, "up"));
                let column = Column::from_name(name);
                self.sort = column.map(|column| Sort { column, down: way == "down" });
            }
            "filter" => self.filter = value.to_owned(),
            "night" => self.night = Some(value.to_owned()).filter(|path| !path.is_empty()),
            _ => {}
        }
    }
}

/// Percent escapes for all but what a hash may hold and this one has no use for.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~/+:@,".contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

/// Undoes [`escape`]; bytes that are not UTF-8 are replaced.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_keeps_what_was_seen() {
        assert_eq!(State::default().hash(), "view=ledger");
        let layout: ImageLayout = "4x72/512+check+stripe8+octets+slot16".parse().unwrap();
        let state = State {
            view: View::Map,
            subject: Some("file: a&b=<é>%".to_owned()),
            layout,
            selection: Selection::All,
            other: Some(ImageLayout::beat64()),
            colour: ColourBy::Block,
            span: Some(7..1 << 40),
            tile: Some(123),
            find: "ffn up".to_owned(),
            sort: Some(Sort { column: Column::SkewLines, down: true }),
            filter: "q8 & 72".to_owned(),
            night: Some("images/report.json".to_owned()),
        };
        let hash = state.hash();
        assert!(hash.contains("layout=4x72/512+check+stripe8+octets+slot16&"), "{hash}");
        assert!(hash.bytes().all(|byte| byte.is_ascii_graphic()), "{hash}");
        assert_eq!(State::read(&hash), state);
        assert_eq!(State::read(&format!("#{hash}")), state);
    }

    #[test]
    fn a_bad_link_says_nothing() {
        for hash in [
            "",
            "#",
            "&&=&",
            "view=none",
            "layout=4x65",
            "lines=9-3",
            "lines=-",
            "tile=-1",
            "sort=banana:up",
            "select=some",
            "other=",
            "row=",
            "colour=puce",
            "night=",
            "unknown=1",
        ] {
            assert_eq!(State::read(hash), State::default(), "{hash}");
        }
        assert_eq!(State::read("filter=%").filter, "%");
        assert_eq!(State::read("filter=%zz%4").filter, "%zz%4");
        assert_eq!(State::read("filter=%ff").filter, "\u{fffd}");
    }
}
