//! The details of the pinned tile, and the way to it from a channel's line.

use wasm_bindgen::JsValue;
use web_sys::Element;

use crate::model::details::{Fact, at, locate, parse_place, tensor_facts};
use crate::page::dom::{add, emptied, set_field, set_text};
use crate::page::{App, map};

/// Shows the pinned tile's details.
pub(crate) fn render(app: &App) -> Result<(), JsValue> {
    let details = emptied(&app.document, "details")?;
    let (Some(tile), Some(shown)) = (app.pinned(), app.image()) else {
        let text = match app.state.tile {
            Some(tile) => format!("This image has no tile {tile}."),
            None => "Click a tile, search for a tensor, or type channel:line.".to_owned(),
        };
        set_field(&app.document, "locate-row", "");
        add(&details, "p", "empty", &text)?;
        return Ok(());
    };
    let row = app.row.unwrap_or(tile.first_row);
    set_field(&app.document, "locate-row", &row.to_string());
    set_field(&app.document, "place", &format!("{}:{}", tile.channel, tile.line));
    facts(
        &details,
        "Where the row lies",
        &match locate(&shown.plan, tile.tensor, row) {
            Ok(facts) => facts,
            Err(why) => {
                set_text(&app.document, "place-error", &why);
                Vec::new()
            }
        },
    )?;
    if let Ok((_, back)) = at(shown.plan.image(), tile.channel, tile.line) {
        facts(&details, &format!("What line {}:{} holds", tile.channel, tile.line), &back)?;
    }
    facts(&details, "The tensor", &tensor_facts(&shown.plan, tile.tensor))
}

fn facts(parent: &Element, caption: &str, facts: &[Fact]) -> Result<(), JsValue> {
    if facts.is_empty() {
        return Ok(());
    }
    let table = add(parent, "table", "facts", "")?;
    add(&table, "caption", "", caption)?;
    let body = add(&table, "tbody", "", "")?;
    for Fact { name, value, how } in facts {
        let line = add(&body, "tr", "", "")?;
        add(&line, "th", "", name)?.set_attribute("scope", "row")?;
        add(&line, "td", "", value)?.set_attribute("data-fact", name)?;
        add(&line, "td", "", how)?;
    }
    Ok(())
}

/// Pins what lies on `channel:line`.
pub(crate) fn go(app: &mut App, text: &str) -> Result<(), JsValue> {
    let Some(shown) = app.image() else { return Ok(()) };
    let image = shown.plan.image();
    let found = parse_place(text).and_then(|(channel, line)| {
        let (tile, _) = at(image, channel, line)?;
        let byte = (line - tile.line) * image.layout().line_bytes;
        Ok((tile, image.row_byte(&tile, byte).map(|at| at.row)))
    });
    match found {
        Ok((tile, row)) => {
            set_text(&app.document, "place-error", "");
            map::pin(app, Some(tile))?;
            app.row = row;
            render(app)
        }
        Err(why) => {
            set_text(&app.document, "place-error", &why);
            Ok(())
        }
    }
}

/// Spells out another row of the pinned tensor, and pins its tile.
pub(crate) fn go_row(app: &mut App, text: &str) -> Result<(), JsValue> {
    let (Some(tile), Some(shown)) = (app.pinned(), app.image()) else { return Ok(()) };
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let Ok(row) = digits.parse::<u64>() else {
        set_text(&app.document, "place-error", "type a row's number, from 0");
        return Ok(());
    };
    match shown.plan.image().locate(tile.tensor, row) {
        Some(location) => {
            set_text(&app.document, "place-error", "");
            map::pin(app, Some(location.tile))?;
            app.row = Some(row);
            render(app)
        }
        None => {
            let why = locate(&shown.plan, tile.tensor, row).err().unwrap_or_default();
            set_text(&app.document, "place-error", &why);
            Ok(())
        }
    }
}
