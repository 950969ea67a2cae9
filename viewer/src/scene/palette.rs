//! Colours: for classes such as people with any colour vision tell apart.

use crate::model::kind::Kinds;
use crate::scene::Paint;

/// Paul Tol's "bright" scheme and, for more classes, colours of his "muted" one.
const CLASSES: [&str; 12] = [
    "#4477aa", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#ee6677", "#332288",
    "#44aa99", "#999933", "#882255", "#ddcc77",
];

/// Stops of "cividis", which grows lighter as it goes on.
const RAMP: [(f64, f64, f64); 6] = [
    (0.0, 34.0, 78.0),
    (53.0, 69.0, 108.0),
    (102.0, 105.0, 112.0),
    (148.0, 142.0, 119.0),
    (200.0, 184.0, 102.0),
    (254.0, 232.0, 56.0),
];

/// The colours of a page's theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// For a dark page.
    pub dark: bool,
}

impl Palette {
    /// A class's colour, as CSS has it.
    pub fn class(self, kinds: &Kinds, class: usize) -> String {
        match kinds.ramp {
            Some(last) => ramp(class as f64 / last.max(1) as f64),
            // Six of them, so that what tells neighbours apart is easily told.
            None if kinds.cycle => at(class % 6),
            None => at(class),
        }
    }

    /// A paint's colour, as CSS has it.
    pub fn paint(self, kinds: &Kinds, paint: Paint) -> String {
        let (light, dark) = match paint {
            Paint::Class(class) => return self.class(kinds, class),
            Paint::On(class) => return on(&self.class(kinds, class)).to_owned(),
            Paint::Free => ("#e7e9ee", "#262b36"),
            Paint::Over => ("#b00020", "#ff6b6b"),
            Paint::Edge => ("rgba(255,255,255,0.55)", "rgba(0,0,0,0.5)"),
            Paint::Ink => ("#1d2330", "#e6e9f0"),
            Paint::Faint => ("#646d7f", "#97a1b5"),
            Paint::Pin => ("#000000", "#ffffff"),
            Paint::Hover => ("rgba(0,0,0,0.55)", "rgba(255,255,255,0.65)"),
            Paint::Damage => ("#d00000", "#ff4d4d"),
            Paint::Ground => ("#ffffff", "#171b24"),
            Paint::Plot => ("#4477aa", "#6f9fd0"),
        };
        if self.dark { dark } else { light }.to_owned()
    }
}

fn at(class: usize) -> String {
    CLASSES.get(class % CLASSES.len()).copied().unwrap_or_default().to_owned()
}

/// Black or white, whichever stands out from a colour.
fn on(colour: &str) -> &'static str {
    let channel = |at: usize| u8::from_str_radix(colour.get(at..at + 2)?, 16).ok();
    let hex = channel(1).zip(channel(3)).zip(channel(5)).map(|((r, g), b)| [r, g, b]);
    let parts = hex.or_else(|| {
        let inside = colour.strip_prefix("rgb(")?.strip_suffix(')')?;
        // Whole numbers: reading fractions takes tables of ten kilobytes.
        let mut parts = inside.split(',').map(|part| part.parse::<u8>().ok());
        Some([parts.next()??, parts.next()??, parts.next()??])
    });
    let [r, g, b] = parts.unwrap_or_default().map(f64::from);
    // Rec. 709's weights, near enough of gamma to choose between two.
    if 0.2126 * r + 0.7152 * g + 0.0722 * b > 130.0 { "#000000" } else { "#ffffff" }
}

/// The ramp's colour at a share of its way.
fn ramp(share: f64) -> String {
    let along = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let pairs = RAMP.iter().zip(RAMP.iter().skip(1)).zip(0u32..);
    let inside = pairs.filter(|(_, at)| f64::from(*at) <= along).last();
    let Some(((from, to), at)) = inside else { return at(0) };
    let part = along - f64::from(at);
    let mix = |a: f64, b: f64| (a + (b - a) * part).round();
    format!("rgb({},{},{})", mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_colours_of_their_own() {
        let palette = Palette::default();
        let listed = Kinds::default();
        let mut colours: Vec<String> = (0..12).map(|c| palette.class(&listed, c)).collect();
        colours.sort();
        colours.dedup();
        assert_eq!(colours.len(), 12);
        let ramp = Kinds { ramp: Some(63), ..Kinds::default() };
        assert_eq!(palette.class(&ramp, 0), "rgb(0,34,78)");
        assert_eq!(palette.class(&ramp, 63), "rgb(254,232,56)");
        assert_eq!(palette.class(&ramp, 99), "rgb(254,232,56)");
        let cycle = Kinds { cycle: true, ..Kinds::default() };
        assert_ne!(palette.class(&cycle, 5), palette.class(&cycle, 6));
    }

    #[test]
    fn words_on_a_class_stand_out() {
        let listed = Kinds::default();
        let inks: Vec<String> =
            (0..6).map(|class| Palette::default().paint(&listed, Paint::On(class))).collect();
        let (black, white) = ("#000000", "#ffffff");
        assert_eq!(inks, [white, white, black, black, white, black]);
        let ramp = Kinds { ramp: Some(63), ..Kinds::default() };
        assert_eq!(Palette::default().paint(&ramp, Paint::On(0)), white);
        assert_eq!(Palette::default().paint(&ramp, Paint::On(63)), black);
    }

    #[test]
    fn words_stand_out_from_the_page() {
        let kinds = Kinds::default();
        for dark in [false, true] {
            let palette = Palette { dark };
            assert_ne!(palette.paint(&kinds, Paint::Ink), palette.paint(&kinds, Paint::Ground));
        }
    }
}
