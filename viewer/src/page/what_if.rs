//! What if: the knobs of two layouts, and what differs.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::HtmlInputElement;
use wimg_core::ImageLayout;

use crate::model::compare::figures;
use crate::model::knobs::Knob;
use crate::page::dom::{add, by_id, emptied, set_field, set_text};
use crate::page::shown::{Shown, beside};
use crate::page::{App, map};

/// The two layouts, as the fields' ids name them.
const SIDES: [&str; 2] = ["this", "other"];

/// Makes the form, once.
pub(crate) fn prepare(app: &App) -> Result<(), JsValue> {
    let rows = emptied(&app.document, "knob-rows")?;
    for knob in Knob::ALL {
        let line = add(&rows, "tr", "", "")?;
        add(&line, "th", "", knob.title())?.set_attribute("scope", "row")?;
        for side in SIDES {
            let cell = add(&line, "td", "", "")?;
            let field = add(&cell, "input", "", "")?;
            field.set_attribute("id", &format!("{side}-{}", knob.name()))?;
            let whose = if side == "this" { "this layout" } else { "the layout beside it" };
            field.set_attribute("aria-label", &format!("{} of {whose}", knob.title()))?;
            if knob.is_switch() {
                field.set_attribute("type", "checkbox")?;
            } else {
                field.set_attribute("type", "text")?;
                field.set_attribute("inputmode", "numeric")?;
                field.set_attribute("autocomplete", "off")?;
            }
        }
    }
    Ok(())
}

/// The layout beside the one at hand.
fn other(app: &App) -> ImageLayout {
    app.state.other.unwrap_or_else(|| beside(&app.state.layout))
}

/// Shows the form and the differences.
pub(crate) fn render(app: &App) -> Result<(), JsValue> {
    let other = other(app);
    for (side, layout) in SIDES.into_iter().zip([app.state.layout, other]) {
        for knob in Knob::ALL {
            let id = format!("{side}-{}", knob.name());
            let value = knob.get(&layout);
            match by_id::<HtmlInputElement>(&app.document, &id) {
                Some(field) if knob.is_switch() => field.set_checked(value == "on"),
                _ => set_field(&app.document, &id, &value),
            }
        }
    }
    set_text(&app.document, "other-text", &other.to_string());
    let rows = emptied(&app.document, "compare-rows")?;
    let Some(one) = app.image() else { return Ok(()) };
    let two = match &app.beside {
        Some(Ok(two)) => two,
        Some(Err(why)) => {
            let line = add(&rows, "tr", "", "")?;
            let cell = add(&line, "td", "error", why)?;
            return cell.set_attribute("colspan", "4");
        }
        None => return Ok(()),
    };
    for figure in figures(&one.row, &two.row) {
        let class = if figure.difference.is_empty() { "" } else { "differs" };
        let line = add(&rows, "tr", class, "")?;
        add(&line, "th", "", figure.name)?.set_attribute("scope", "row")?;
        for text in [&figure.one, &figure.other, &figure.difference] {
            add(&line, "td", "num", text)?;
        }
    }
    // On one scale: what is shorter is smaller, in bytes a channel.
    let bytes = |shown: &Shown| shown.all_lines() * shown.plan.image().layout().line_bytes;
    let most = bytes(one).max(bytes(two));
    for (shown, id, name) in [(one, "this-map", "this-layout"), (two, "other-map", "other-layout")]
    {
        let layout = shown.plan.image().layout();
        set_text(&app.document, name, &layout.to_string());
        map::paint_whole(app, shown, id, most.div_ceil(layout.line_bytes))?;
    }
    Ok(())
}

/// Takes what was typed into a field of the form; tells whether it was one.
pub(crate) fn typed(app: &mut App, field: &HtmlInputElement) -> Result<bool, JsValue> {
    let id = field.id();
    let Some((side, knob)) = id.split_once('-').and_then(|(side, name)| {
        Some((SIDES.into_iter().find(|&known| known == side)?, Knob::from_name(name)?))
    }) else {
        return Ok(false);
    };
    let text = match knob.is_switch() {
        true if field.checked() => "on".to_owned(),
        true => "off".to_owned(),
        false => field.value(),
    };
    let layout = if side == "this" { app.state.layout } else { other(app) };
    match knob.set(&layout, &text) {
        Ok(layout) => {
            // What stood beside it stays.
            app.state.other = Some(other(app));
            match side {
                "this" => set_layout(app, layout),
                _ => app.state.other = Some(layout),
            }
            set_text(&app.document, "knob-error", "");
            field.remove_attribute("aria-invalid")?;
            app.publish(false)?;
            app.render()?;
        }
        Err(why) => {
            set_text(&app.document, "knob-error", &why);
            field.set_attribute("aria-invalid", "true")?;
            if knob.is_switch() {
                field.set_checked(!field.checked());
            }
        }
    }
    Ok(true)
}

/// Another layout for the image: what was pinned and shown was of the old one.
pub(crate) fn set_layout(app: &mut App, layout: ImageLayout) {
    if app.state.layout != layout {
        app.state.layout = layout;
        app.state.span = None;
        app.state.tile = None;
        app.hover = None;
    }
}

/// The layout beside it becomes the one at hand, and the other way round.
pub(crate) fn swap(app: &mut App) -> Result<(), JsValue> {
    let (this, that) = (app.state.layout, other(app));
    set_layout(app, that);
    app.state.other = Some(this);
    app.publish(false)?;
    app.render()
}

/// The layout beside it, as text.
pub(crate) fn other_text(app: &App) -> String {
    other(app).to_string()
}

/// Takes a layout that was typed as text.
pub(crate) fn typed_layout(app: &mut App, field: &JsValue) -> Result<(), JsValue> {
    let field: &HtmlInputElement = field.unchecked_ref();
    match field.value().trim().parse::<ImageLayout>() {
        Ok(layout) => {
            set_text(&app.document, "layout-error", "");
            field.remove_attribute("aria-invalid")?;
            set_layout(app, layout);
            app.publish(false)?;
            app.render()
        }
        Err(error) => {
            set_text(&app.document, "layout-error", &error.to_string());
            field.set_attribute("aria-invalid", "true")
        }
    }
}
