//! The ledger's table.

use wasm_bindgen::JsCast;
use wasm_bindgen::JsValue;
use web_sys::{Element, HtmlElement};
use wimg_core::{ImageLayout, ImageLedger, ImageRow};

use crate::model::library::Entry;
use crate::model::quantity::{count, grouped};
use crate::model::state::{Sort, State, View};
use crate::model::table::{self, Column};
use crate::page::App;
use crate::page::dom::{add, by_id, element, emptied, set_field, set_text, show};

/// Rows that are shown at once; more come when asked for.
pub(crate) const ROWS: usize = 400;

/// Makes the header, once.
pub(crate) fn head(app: &App) -> Result<(), JsValue> {
    let head = emptied(&app.document, "ledger-head")?;
    for column in Column::ALL {
        let cell = add(&head, "th", if column.is_number() { "num" } else { "" }, "")?;
        cell.set_attribute("scope", "col")?;
        cell.set_attribute("data-column", column.name())?;
        cell.set_attribute("title", column.hint())?;
        let button = add(&cell, "button", "", column.title())?;
        button.set_attribute("type", "button")?;
        button.set_attribute("data-do", "sort")?;
        button.set_attribute("data-arg", column.name())?;
    }
    Ok(())
}

/// The rows that the filter keeps, in the order asked for.
pub(crate) fn kept(app: &App) -> ImageLedger {
    let shown = table::shown(&app.library.entries, &app.state.filter, app.state.sort);
    let rows = shown.iter().filter_map(|&at| app.library.entries.get(at));
    ImageLedger { rows: rows.map(|entry| entry.row.clone()).collect() }
}

/// Shows the rows.
pub(crate) fn render(app: &App) -> Result<(), JsValue> {
    let document = &app.document;
    let entries = &app.library.entries;
    let shown = table::shown(entries, &app.state.filter, app.state.sort);
    set_field(document, "filter", &app.state.filter);
    let all = entries.len();
    let text = match shown.len() {
        some if some == all => format!("{} images", count(all as u64)),
        some => format!("{} of {} images", count(some as u64), count(all as u64)),
    };
    set_text(document, "ledger-count", &text);
    sorted(app)?;
    let body = emptied(document, "ledger-rows")?;
    let mut last = None;
    for entry in shown.iter().take(app.rows_shown).filter_map(|&at| entries.get(at)) {
        let row = row(app, entry)?;
        if last.is_some_and(|last| last != &entry.subject) {
            row.set_class_name("pair");
        }
        last = Some(&entry.subject);
        body.append_child(&row)?;
    }
    show(document, "ledger-empty", shown.is_empty())?;
    show(document, "more-rows", shown.len() > app.rows_shown)
}

fn sorted(app: &App) -> Result<(), JsValue> {
    let heads = app.document.query_selector_all("#ledger-head th")?;
    for at in 0..heads.length() {
        let Some(cell) = heads.item(at).and_then(|node| node.dyn_into::<Element>().ok()) else {
            continue;
        };
        let own = cell.get_attribute("data-column");
        match app.state.sort.filter(|sort| own.as_deref() == Some(sort.column.name())) {
            Some(Sort { down: true, .. }) => cell.set_attribute("aria-sort", "descending")?,
            Some(_) => cell.set_attribute("aria-sort", "ascending")?,
            None => cell.remove_attribute("aria-sort")?,
        }
    }
    Ok(())
}

fn row(app: &App, entry: &Entry) -> Result<Element, JsValue> {
    let Entry { subject, row } = entry;
    let line = element(&app.document, "tr", "", "")?;
    line.set_attribute("data-subject", subject)?;
    for column in Column::ALL {
        let text = table::text(row, column);
        let cell = match column {
            Column::Checkpoint => {
                let cell = add(&line, "th", "", "")?;
                cell.set_attribute("scope", "row")?;
                let link = add(&cell, "a", "", &text)?;
                link.set_attribute("href", &format!("#{}", link_to(app, entry).hash()))?;
                if subject != &row.checkpoint {
                    link.set_attribute("title", &wimg_core::Escaped::new(subject).to_string())?;
                }
                cell
            }
            Column::ChannelLines => {
                let cell = add(&line, "td", "", "")?;
                fill(&cell, row)?;
                cell
            }
            Column::FreeLines if !row.fits => add(&line, "td", "num misfit", &text)?,
            _ => add(&line, "td", if column.is_number() { "num" } else { "" }, &text)?,
        };
        cell.set_attribute("data-column", column.name())?;
        let value = table::value(row, column);
        if matches!(column, Column::RowBytes | Column::PaddingBytes | Column::CheckBytes) {
            let bytes = value.parse().map_or_else(|_| value.clone(), grouped);
            cell.set_attribute("title", &format!("{bytes} bytes"))?;
        }
        cell.set_attribute("data-value", &value)?;
    }
    Ok(line)
}

/// A bar a channel: how full it is, by length and by number.
fn fill(cell: &Element, row: &ImageRow) -> Result<(), JsValue> {
    let parts = table::fill(row);
    let bars = add(cell, "div", if parts.len() > 8 { "fill many" } else { "fill" }, "")?;
    for (channel, (part, lines)) in parts.iter().zip(&row.channel_lines).enumerate() {
        let bar = add(&bars, "span", if *part > 1.0 { "over" } else { "" }, "")?;
        add(&bar, "b", "", &format!("{:.1}%", part * 100.0))?;
        bar.set_attribute("title", &format!("channel {channel}: {} lines", count(*lines)))?;
        let bar: HtmlElement = bar.unchecked_into();
        bar.style().set_property("--part", &format!("{:.2}%", (part * 100.0).min(100.0)))?;
    }
    Ok(())
}

/// The state that shows a row's map.
fn link_to(app: &App, entry: &Entry) -> State {
    let layout: ImageLayout = entry.row.layout.parse().unwrap_or_default();
    State {
        view: View::Map,
        subject: Some(entry.subject.clone()),
        layout,
        selection: entry.row.selection.parse().unwrap_or_default(),
        span: None,
        tile: None,
        find: String::new(),
        other: None,
        ..app.state.clone()
    }
}

/// Sorts by a column; the same again the other way, and then not at all.
pub(crate) fn sort_by(state: &mut State, column: Column) {
    let first = column.is_number();
    state.sort = match state.sort.filter(|sort| sort.column == column) {
        None => Some(Sort { column, down: first }),
        Some(sort) if sort.down == first => Some(Sort { column, down: !first }),
        Some(_) => None,
    };
}

/// Moves the focus to the row before or after, of the ledger or the night.
pub(crate) fn step(app: &App, back: bool) -> Result<(), JsValue> {
    let links = app.document.query_selector_all("main > :not([hidden]) tbody th a")?;
    let active = app.document.active_element();
    let at = (0..links.length()).find(|&at| {
        links
            .item(at)
            .zip(active.as_ref())
            .is_some_and(|(link, active)| link.is_same_node(Some(active)))
    });
    let next = match (at, back) {
        (None, _) => 0,
        (Some(at), true) => at.saturating_sub(1),
        (Some(at), false) => (at + 1).min(links.length().saturating_sub(1)),
    };
    if let Some(link) = links.item(next).and_then(|node| node.dyn_into::<HtmlElement>().ok()) {
        link.focus()?;
    }
    Ok(())
}

/// Puts the cursor into the filter.
pub(crate) fn focus_filter(app: &App) -> Result<(), JsValue> {
    by_id::<HtmlElement>(&app.document, "filter").map_or(Ok(()), |field| field.focus())
}
