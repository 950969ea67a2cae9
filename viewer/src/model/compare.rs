//! Two layouts of one checkpoint, figure by figure.

use wimg_core::ImageRow;

use crate::model::quantity::{grouped, percent};
use crate::model::table::padding_share;

/// One figure of both rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub name: &'static str,
    /// Of the first row.
    pub one: String,
    /// Of the second.
    pub other: String,
    /// How much more the second has, with its sign; empty where they are equal.
    pub difference: String,
}

/// All figures, in the ledger's order.
pub fn figures(one: &ImageRow, other: &ImageRow) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut text = |name, a: &str, b: &str| {
        let difference = if a == b { "" } else { "differs" };
        let (one, other) = (a.to_owned(), b.to_owned());
        figures.push(Figure { name, one, other, difference: difference.to_owned() });
    };
    text("layout", &one.layout, &other.layout);
    text("fits", fits(one), fits(other));
    for (name, a, b) in numbers(one, other) {
        figures.push(Figure {
            name,
            one: grouped(a),
            other: grouped(b),
            difference: difference(a, b),
        });
    }
    let (a, b) = (padding_share(one), padding_share(other));
    figures.push(Figure {
        name: "padding %",
        one: percent(a),
        other: percent(b),
        difference: signed(b - a, |share| format!("{:.2} points", share * 100.0)),
    });
    let tokens = |row: &ImageRow| row.ceiling_tokens_s;
    let shown = |row| tokens(row).map_or_else(|| "\u{2013}".to_owned(), |t| format!("{t:.4}"));
    figures.push(Figure {
        name: "tokens/s at most",
        one: shown(one),
        other: shown(other),
        difference: match (tokens(one), tokens(other)) {
            (Some(a), Some(b)) if a != b => {
                format!(
                    "{} ({})",
                    signed(b - a, |t| format!("{t:.4}")),
                    signed(b / a - 1.0, percent)
                )
            }
            _ => String::new(),
        },
    });
    figures
}

fn fits(row: &ImageRow) -> &'static str {
    if row.fits { "fits" } else { "does not fit" }
}

type Number = (&'static str, i128, i128);

fn numbers(one: &ImageRow, other: &ImageRow) -> Vec<Number> {
    let of = |name, get: fn(&ImageRow) -> u64| (name, get(one).into(), get(other).into());
    let busiest = |row: &ImageRow| i128::from(row.pass_lines.iter().max().copied().unwrap_or(0));
    let fullest = |row: &ImageRow| i128::from(row.channel_lines.iter().max().copied().unwrap_or(0));
    vec![
        of("tensors", |row| row.tensors),
        of("tiles", |row| row.tiles),
        of("row bytes", |row| row.row_bytes),
        of("padding bytes", |row| row.padding_bytes),
        of("check bytes", |row| row.check_bytes),
        of("image bytes", ImageRow::image_bytes),
        ("lines of the fullest channel", fullest(one), fullest(other)),
        ("free lines", one.free_lines.into(), other.free_lines.into()),
        of("skew lines", |row| row.skew_lines),
        of("largest tile lines", |row| row.largest_tile_lines),
        ("lines of a pass, busiest channel", busiest(one), busiest(other)),
    ]
}

fn difference(a: i128, b: i128) -> String {
    match b.cmp(&a) {
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Less => grouped(b - a),
        std::cmp::Ordering::Greater => format!("+{}", grouped(b - a)),
    }
}

/// A difference with its sign; empty where nothing of it would be shown.
fn signed(difference: f64, show: impl Fn(f64) -> String) -> String {
    let shown = show(difference.abs());
    if shown == show(0.0) {
        return String::new();
    }
    let sign = if difference < 0.0 { '\u{2212}' } else { '+' };
    format!("{sign}{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::library::Library;

    #[test]
    fn beat_64_beside_beat_72() {
        let entries = Library::of_headers().entries;
        let lines: Vec<String> = figures(&entries[2].row, &entries[3].row)
            .into_iter()
            .map(|f| format!("{}: {} | {} | {}", f.name, f.one, f.other, f.difference))
            .collect();
        let text = lines.join("\n").replace('\u{202f}', "_");
        expect_test::expect![[r#"
            layout: 4x64/512 | 4x72/512+check | differs
            fits: fits | fits | 
            tensors: 851 | 851 | 
            tiles: 603_523 | 578_359 | −25_164
            row bytes: 18_962_876_416 | 18_962_876_416 | 
            padding bytes: 1_856_256 | 32_555_260 | +30_699_004
            check bytes: 0 | 2_313_436 | +2_313_436
            image bytes: 18_964_732_672 | 18_997_745_112 | +33_012_440
            lines of the fullest channel: 74_081_123 | 65_964_523 | −8_116_600
            free lines: 60_136_605 | 68_253_205 | +8_116_600
            skew lines: 510 | 481 | −29
            largest tile lines: 510 | 491 | −19
            lines of a pass, busiest channel: 71_287_838 | 63_476_310 | −7_811_528
            padding %: 0.01% | 0.17% | +0.16 points
            tokens/s at most: 4.2083 | 4.7262 | +0.5179 (+12.31%)"#]]
        .assert_eq(&text);
    }

    #[test]
    fn a_layout_beside_itself_differs_in_nothing() {
        let row = &Library::of_headers().entries[5].row;
        let figures = figures(row, row);
        assert!(figures.len() > 10);
        assert!(figures.iter().all(|figure| figure.difference.is_empty()));
    }
}
