//! What is drawn, as plain data: one file applies it to a canvas, tests read it.
//!
//! All places are in pixels of the canvas.

pub mod axis;
pub mod frame;
pub mod lane;
pub mod map;
pub mod palette;
pub mod skew;

/// What a shape is painted with; a [`palette::Palette`] has its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// A class of the legend.
    Class(usize),
    /// Words on a class's colour.
    On(usize),
    /// A channel's lines that hold nothing.
    Free,
    /// Lines past a channel's end.
    Over,
    /// Between two tiles.
    Edge,
    /// Words and figures.
    Ink,
    /// Ticks, and words that matter less.
    Faint,
    /// The pinned tile.
    Pin,
    /// The tile that is pointed at.
    Hover,
    /// Damage.
    Damage,
    /// What words and marks stand on.
    Ground,
    /// A plot's filled part.
    Plot,
}

/// Which end of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The text starts there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// One drawing operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A filled rectangle.
    Rect {
        /// Left.
        x: f64,
        /// Top.
        y: f64,
        /// Width.
        w: f64,
        /// Height.
        h: f64,
        /// Colour.
        paint: Paint,
    },
    /// A rectangle's outline, two pixels wide, inside of it.
    Frame {
        /// Left.
        x: f64,
        /// Top.
        y: f64,
        /// Width.
        w: f64,
        /// Height.
        h: f64,
        /// Colour.
        paint: Paint,
    },
    /// A triangle that points down at a place.
    Mark {
        /// The tip's.
        x: f64,
        /// The tip's.
        y: f64,
        /// Its height.
        size: f64,
        /// Colour.
        paint: Paint,
    },
    /// A line of text, centred on `y`.
    Text {
        /// Where it starts, ends or is centred.
        x: f64,
        /// Its middle.
        y: f64,
        /// The text.
        text: String,
        /// Colour.
        paint: Paint,
        /// What `x` is of it.
        align: Align,
    },
}

impl Op {
    fn rect(x: f64, y: f64, w: f64, h: f64, paint: Paint) -> Op {
        Op::Rect { x, y, w, h, paint }
    }

    fn text(x: f64, y: f64, text: String, paint: Paint, align: Align) -> Op {
        Op::Text { x, y, text, paint, align }
    }
}

/// A picture: its size, and what is drawn, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// What is drawn.
    pub ops: Vec<Op>,
}
