//! The heading of an image: its name, its layout and its figures.

use wasm_bindgen::JsValue;
use wimg_core::{Escaped, ImageRow, Selection};

use crate::model::kind::ColourBy;
use crate::model::quantity::{bytes, count, percent};
use crate::model::table::{self, Column, padding_share};
use crate::page::App;
use crate::page::dom::{add, emptied, set_field, set_text, show};

/// Fills the lists of choices, once.
pub(crate) fn prepare(app: &App) -> Result<(), JsValue> {
    let selections = emptied(&app.document, "selection")?;
    for selection in Selection::ALL {
        add(&selections, "option", "", selection.name())?;
    }
    let colours = emptied(&app.document, "colour")?;
    for colour in ColourBy::ALL {
        add(&colours, "option", "", colour.word())?;
    }
    Ok(())
}

/// Shows the heading.
pub(crate) fn render(app: &App) -> Result<(), JsValue> {
    let document = &app.document;
    let subject = app.state.subject.as_ref().and_then(|key| app.library.find(key));
    let (name, kind) = match subject {
        Some(subject) => (subject.name(), subject.kind()),
        None => (app.state.subject.clone().unwrap_or_default(), ""),
    };
    let name = Escaped::new(&name).to_string();
    let named = if name.is_empty() { "(no name)" } else { &name };
    set_text(document, "image-title", named);
    document.set_title(&format!("{named} \u{b7} wimg"));
    let kind = match subject {
        Some(subject) if subject.key != subject.name() => {
            format!("{kind} \u{b7} {}", Escaped::new(&subject.key))
        }
        _ => kind.to_owned(),
    };
    set_text(document, "image-kind", &kind);
    set_field(document, "layout-text", &app.state.layout.to_string());
    set_field(document, "selection", app.state.selection.name());
    set_field(document, "colour", app.state.colour.word());
    let notes = emptied(document, "notes")?;
    for note in subject.map(|subject| subject.notes.as_slice()).unwrap_or_default() {
        add(&notes, "li", "", note)?;
    }
    let problem = match &app.shown {
        Some(Err(why)) => Some(why.as_str()),
        None => Some("Choose a row of the ledger first."),
        Some(Ok(_)) => None,
    };
    show(document, "image-empty", problem.is_some())?;
    set_text(document, "image-empty", problem.unwrap_or_default());
    let figures = emptied(document, "figures")?;
    show(document, "figures", problem.is_none())?;
    if let Some(shown) = app.image() {
        for (name, value, small) in figures_of(&shown.row) {
            let figure = add(&figures, "div", "", "")?;
            add(&figure, "dt", "", name)?;
            let class = if name == "free lines" && !shown.row.fits { "misfit" } else { "" };
            let value = add(&figure, "dd", class, &value)?;
            add(&value, "small", "", &small)?;
        }
    }
    Ok(())
}

fn figures_of(row: &ImageRow) -> [(&'static str, String, String); 8] {
    let text = |column| table::text(row, column);
    let fill = table::fill(row).into_iter().fold(0.0, f64::max);
    let per_token = row.pass_lines.iter().max().copied().unwrap_or(0);
    [
        (
            "tokens/s at most",
            text(Column::CeilingTokens),
            format!("{} lines a pass and channel", count(per_token)),
        ),
        ("image", bytes(row.image_bytes()), format!("{} bytes", count(row.image_bytes()))),
        ("rows", bytes(row.row_bytes), format!("{} bytes", count(row.row_bytes))),
        ("padding", percent(padding_share(row)), format!("{} bytes", count(row.padding_bytes))),
        ("check words", bytes(row.check_bytes), format!("{} bytes", count(row.check_bytes))),
        ("free lines", text(Column::FreeLines), format!("fullest channel {}", percent(fill))),
        (
            "skew",
            format!("{} lines", count(row.skew_lines)),
            format!("largest tile {}", count(row.largest_tile_lines)),
        ),
        ("tiles", count(row.tiles), format!("of {} tensors", count(row.tensors))),
    ]
}
