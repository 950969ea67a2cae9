//! Listeners: what a person does, and what of the page that is.

use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    Document, Element, Event, EventTarget, HtmlCanvasElement, HtmlDialogElement, HtmlElement,
    HtmlInputElement, HtmlSelectElement, KeyboardEvent, PointerEvent, WheelEvent, Window,
};

use crate::model::kind::ColourBy;
use crate::model::state::{State, View};
use crate::model::table::Column;
use crate::page::dom::{by_id, show};
use crate::page::{
    App, details, files, ledger, map, save, skew, tile_bytes, verify, what_if, with,
};

/// Listens, for as long as the page is there.
pub(crate) fn listen(window: &Window, document: &Document) -> Result<(), JsValue> {
    on(window, "hashchange", |_| with(App::follow))?;
    on(window, "popstate", |_| with(App::follow))?;
    on(window, "resize", |_| with(resized))?;
    on(document, "click", |event| {
        if let Some((verb, arg)) = verb(event) {
            with(|app| act(app, &verb, &arg));
        }
    })?;
    on(document, "input", |event| typed(event, false))?;
    on(document, "change", |event| typed(event, true))?;
    on(document, "keydown", |event| key(event.unchecked_ref()))?;
    if let Some(query) = window.match_media("(prefers-color-scheme: dark)")? {
        on(&query, "change", |_| with(App::render))?;
    }
    if let Some(details) = document.get_element_by_id("map-table-box") {
        on(&details, "toggle", |_| with(map::settle))?;
    }
    drops(document)?;
    canvas(document)
}

fn on(target: &EventTarget, name: &str, act: impl FnMut(&Event) + 'static) -> Result<(), JsValue> {
    let mut act = act;
    let listener = Closure::<dyn FnMut(Event)>::new(move |event: Event| act(&event));
    let function = listener.as_ref().unchecked_ref();
    // A wheel over the map zooms it and must not move the page.
    let options = web_sys::AddEventListenerOptions::new();
    options.set_passive(false);
    target.add_event_listener_with_callback_and_add_event_listener_options(
        name, function, &options,
    )?;
    listener.forget();
    Ok(())
}

/// Draws what depends on the window's size; the rest is the style's.
fn resized(app: &mut App) -> Result<(), JsValue> {
    match app.state.view {
        View::Map => map::paint_soon(app),
        View::WhatIf => what_if::render(app),
        View::Skew => skew::render(app),
        View::Ledger | View::Verify | View::Night => Ok(()),
    }
}

/// What the element that was clicked does, if anything.
fn verb(event: &Event) -> Option<(String, String)> {
    let target: Element = event.target()?.dyn_into().ok()?;
    let element = target.closest("[data-do]").ok()??;
    if element.tag_name() == "A" {
        event.prevent_default();
    }
    Some((element.get_attribute("data-do")?, element.get_attribute("data-arg").unwrap_or_default()))
}

fn act(app: &mut App, verb: &str, arg: &str) -> Result<(), JsValue> {
    match verb {
        "skip" => app.focus("main"),
        "theme" => app.switch_theme(),
        "help" => help(app),
        "dismiss" => dismiss(app),
        "sort" => {
            if let Some(column) = Column::from_name(arg) {
                ledger::sort_by(&mut app.state, column);
            }
            app.publish(false)?;
            app.render()
        }
        "clear-filter" => {
            app.state.filter.clear();
            app.publish(false)?;
            app.render()?;
            ledger::focus_filter(app)
        }
        "more-rows" => {
            app.rows_shown += ledger::ROWS;
            app.render()
        }
        "copy-ledger" | "save-csv" | "save-json" => export(app, verb),
        "copy-layout" => copy(app, &app.state.layout.to_string()),
        "copy-other" => copy(app, &what_if::other_text(app)),
        "save-png" => png(app),
        "swap" => what_if::swap(app),
        "verify" => verify::start(app),
        "cancel" => verify::cancel(app),
        "bytes-back" => tile_bytes::turn(app, true),
        "bytes-next" => tile_bytes::turn(app, false),
        "bytes-difference" => tile_bytes::to_difference(app),
        _ => on_map(app, verb),
    }
}

fn on_map(app: &mut App, verb: &str) -> Result<(), JsValue> {
    match verb {
        "zoom-in" => map::zoom(app, None, 0.5)?,
        "zoom-out" => map::zoom(app, None, 2.0)?,
        "pan-left" => map::pan(app, -0.2)?,
        "pan-right" => map::pan(app, 0.2)?,
        "page-left" => map::pan(app, -1.0)?,
        "page-right" => map::pan(app, 1.0)?,
        "fit" => {
            if let Some(all) = app.image().map(super::shown::Shown::all_lines) {
                map::look(app, 0..all)?;
            }
        }
        "fit-tile" => return map::fit_tile(app),
        "find-next" => return map::find(app, false),
        "find-back" => return map::find(app, true),
        "tile-next" => return map::step_tile(app, false),
        "tile-back" => return map::step_tile(app, true),
        "channel-next" => return map::step_channel(app, false),
        "channel-back" => return map::step_channel(app, true),
        "pin-middle" => return map::pin_middle(app),
        "unpin" => return map::pin(app, None),
        _ => return Ok(()),
    }
    map::settle(app)
}

/// Asks a person for files, or for a folder.
fn choose(app: &App, id: &str) -> Result<(), JsValue> {
    let Some(field) = by_id::<HtmlElement>(&app.document, id) else { return Ok(()) };
    field.focus()?;
    field.click();
    Ok(())
}

fn help(app: &App) -> Result<(), JsValue> {
    by_id::<HtmlDialogElement>(&app.document, "help").map_or(Ok(()), |dialog| dialog.show_modal())
}

/// Takes away the alert that has the focus, or the last one.
fn dismiss(app: &App) -> Result<(), JsValue> {
    let own =
        app.document.active_element().and_then(|element| element.closest("#alerts p").ok()?);
    if let Some(alert) = own.or(app.document.query_selector("#alerts p:last-child")?) {
        alert.remove();
    }
    Ok(())
}

fn export(app: &App, verb: &str) -> Result<(), JsValue> {
    let rows = ledger::kept(app);
    match verb {
        "save-csv" => {
            let text = wimg_core::ledger::csv::table(&rows);
            save::text(&app.document, "ledger.csv", "text/csv", &text)
        }
        "save-json" => {
            let text = wimg_core::ledger::json::lines(&rows);
            save::text(&app.document, "ledger.jsonl", "application/jsonl", &text)
        }
        _ => {
            copy(app, &wimg_core::ledger::text::table(&rows))?;
            app.tell(&format!("Copied {} rows.", rows.rows.len()));
            Ok(())
        }
    }
}

fn copy(app: &App, text: &str) -> Result<(), JsValue> {
    save::copy(&app.window, &app.document, text)?;
    if !text.contains('\n') {
        app.tell(&format!("Copied {text}."));
    }
    Ok(())
}

fn png(app: &App) -> Result<(), JsValue> {
    let id = if app.state.view == View::Skew { "skew" } else { "map" };
    let Some(canvas) = by_id::<HtmlCanvasElement>(&app.document, id) else { return Ok(()) };
    let (document, name) = (app.document.clone(), format!("{id}.png"));
    let done = Closure::once_into_js(move |blob: Option<web_sys::Blob>| {
        if let Some(blob) = blob {
            with(|_| save::blob(&document, &name, &blob));
        }
    });
    canvas.to_blob(done.unchecked_ref())
}

/// What was typed or chosen; `done` when the field is left or a choice made.
fn typed(event: &Event, done: bool) {
    let Some(target) = event.target() else { return };
    if let Some(input) = target.dyn_ref::<HtmlInputElement>() {
        match input.id().as_str() {
            "open-files" | "open-folder" | "open-image" if done => {
                if let Some(list) = input.files().filter(|list| list.length() > 0) {
                    files::open_chosen(&list);
                }
                // So that the same file can be chosen again.
                input.set_value("");
                return;
            }
            _ => {}
        }
        with(|app| field(app, input, done));
    } else if let Some(select) = target.dyn_ref::<HtmlSelectElement>()
        && done
    {
        with(|app| choice(app, select));
    }
}

fn field(app: &mut App, input: &HtmlInputElement, done: bool) -> Result<(), JsValue> {
    match (input.id().as_str(), done) {
        ("filter", false) => {
            app.state.filter = input.value();
            app.rows_shown = ledger::ROWS;
            app.publish(false)?;
            app.render()
        }
        ("find", false) => {
            app.state.find = input.value();
            app.publish(false)?;
            map::render(app)
        }
        ("layout-text", true) => what_if::typed_layout(app, input),
        ("place", true) => details::go(app, &input.value()),
        ("locate-row", true) => details::go_row(app, &input.value()),
        ("filter" | "find" | "layout-text" | "place" | "locate-row", _) => Ok(()),
        // Switches say so twice: once is enough.
        _ if input.type_() == "checkbox" && !done => Ok(()),
        _ => what_if::typed(app, input).map(|_| ()),
    }
}

fn choice(app: &mut App, select: &HtmlSelectElement) -> Result<(), JsValue> {
    match select.id().as_str() {
        "selection" => {
            app.state.selection = select.value().parse().unwrap_or_default();
            (app.state.span, app.state.tile, app.hover) = (None, None, None);
        }
        "night-pick" => app.state.night = Some(select.value()),
        "colour" => app.state.colour = ColourBy::from_word(&select.value()).unwrap_or_default(),
        _ => return Ok(()),
    }
    app.publish(false)?;
    app.render()
}

fn key(event: &KeyboardEvent) {
    let target = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    let name = target.as_ref().map(|target| target.tag_name()).unwrap_or_default();
    let typing = target.as_ref().is_some_and(|target| {
        let kind = target.get_attribute("type").unwrap_or_default();
        name == "SELECT" || (name == "INPUT" && kind != "checkbox" && kind != "file")
    });
    let pressed = event.key();
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return;
    }
    if typing {
        typing_key(event, target.as_ref(), &pressed);
        return;
    }
    let in_dialog = target.as_ref().is_some_and(|t| t.closest("dialog").ok().flatten().is_some());
    if in_dialog {
        return;
    }
    // Enter on a link or a button is that one's.
    let own = matches!(name.as_str(), "A" | "BUTTON" | "SUMMARY") && pressed == "Enter";
    // A region that scrolls keeps its arrows.
    let scrolls =
        target.as_ref().is_some_and(|t| t.get_attribute("role").as_deref() == Some("region"));
    if own || (scrolls && pressed.starts_with("Arrow")) {
        return;
    }
    let shift = event.shift_key();
    let mut took = false;
    with(|app| {
        took = press(app, &pressed, shift)?;
        Ok(())
    });
    if took {
        event.prevent_default();
    }
}

/// In a field only leaving it, and going on to the next match, is a key of the page.
fn typing_key(event: &KeyboardEvent, target: Option<&HtmlElement>, pressed: &str) {
    let id = target.map(|target| target.id()).unwrap_or_default();
    match pressed {
        "Escape" => {
            if let Some(target) = target {
                let _ = target.blur();
            }
        }
        "Enter" if id == "find" => {
            let back = event.shift_key();
            with(|app| map::find(app, back));
        }
        _ => {}
    }
}

/// Does what a key is for; whether it is for anything.
fn press(app: &mut App, key: &str, shift: bool) -> Result<bool, JsValue> {
    if let Some(view) = key.parse::<usize>().ok().and_then(|n| View::ALL.get(n.wrapping_sub(1))) {
        app.go(*view)?;
        return Ok(true);
    }
    let verb = match (key, app.state.view) {
        ("?", _) => "help",
        ("t", _) => "theme",
        ("o" | "O", _) => {
            let id = if key == "o" { "open-files" } else { "open-folder" };
            return choose(app, id).map(|()| true);
        }
        ("/", View::Ledger) => return ledger::focus_filter(app).map(|()| true),
        ("j" | "k", View::Ledger | View::Night) => {
            return ledger::step(app, key == "k").map(|()| true);
        }
        (_, view) if view != View::Map => return Ok(false),
        ("/", _) => return app.focus("find").map(|()| true),
        ("c", _) => {
            let at = ColourBy::ALL.iter().position(|&colour| colour == app.state.colour);
            let next = ColourBy::ALL.get((at.unwrap_or(0) + 1) % ColourBy::ALL.len());
            app.state = State { colour: next.copied().unwrap_or_default(), ..app.state.clone() };
            app.publish(false)?;
            app.render()?;
            return Ok(true);
        }
        ("ArrowLeft", _) if shift => "page-left",
        ("ArrowRight", _) if shift => "page-right",
        ("ArrowLeft", _) => "pan-left",
        ("ArrowRight", _) => "pan-right",
        ("+" | "=", _) => "zoom-in",
        ("-" | "_", _) => "zoom-out",
        ("0", _) => "fit",
        ("f", _) => "fit-tile",
        ("n", _) => "find-next",
        ("N", _) => "find-back",
        ("]", _) => "tile-next",
        ("[", _) => "tile-back",
        ("Escape", _) => "unpin",
        ("Enter" | "ArrowUp" | "ArrowDown", _) => {
            let on_canvas = app.document.active_element().is_some_and(|e| e.id() == "map");
            match key {
                _ if !on_canvas => return Ok(false),
                "Enter" => "pin-middle",
                "ArrowUp" => "channel-back",
                _ => "channel-next",
            }
        }
        _ => return Ok(false),
    };
    act(app, verb, "")?;
    Ok(true)
}

fn drops(document: &Document) -> Result<(), JsValue> {
    on(document, "dragover", |event| {
        event.prevent_default();
        with(|app| show(&app.document, "drop", true));
    })?;
    on(document, "dragleave", |event| {
        // Leaving the window, and not an element for another.
        let event: &web_sys::MouseEvent = event.unchecked_ref();
        if event.related_target().is_none() {
            with(|app| show(&app.document, "drop", false));
        }
    })?;
    on(document, "drop", |event| {
        event.prevent_default();
        with(|app| show(&app.document, "drop", false));
        let dropped = dropped(event);
        spawn_local(async move {
            match JsFuture::from(dropped).await {
                Ok(list) => files::open_dropped(&list),
                Err(error) => with(|_| Err(error)),
            }
        });
    })
}

#[wasm_bindgen::prelude::wasm_bindgen]
extern "C" {
    /// `web/main.js`: the files that were dropped, folders walked.
    #[wasm_bindgen(js_name = wimg_dropped)]
    fn dropped(event: &Event) -> js_sys::Promise;
}

/// What is done to the canvases.
fn canvas(document: &Document) -> Result<(), JsValue> {
    if let Some(canvas) = document.get_element_by_id("skew") {
        on(&canvas, "pointermove", |event| {
            let event: &PointerEvent = event.unchecked_ref();
            with(|app| {
                let (x, _) = place(app, event);
                let wide = by_id::<HtmlElement>(&app.document, "skew");
                let wide = wide.map_or(0.0, |canvas| f64::from(canvas.client_width()));
                skew::glance(app, x, wide * app.scale());
                Ok(())
            });
        })?;
    }
    let Some(canvas) = document.get_element_by_id("map") else { return Ok(()) };
    on(&canvas, "wheel", |event| {
        event.prevent_default();
        wheel(event.unchecked_ref());
    })?;
    on(&canvas, "pointerdown", |event| {
        let event: &PointerEvent = event.unchecked_ref();
        if event.button() == 0 {
            with(|app| {
                app.drag = map::grip(app).map(|span| (place(app, event).0, span, false));
                if let Some(canvas) = by_id::<Element>(&app.document, "map") {
                    canvas.set_pointer_capture(event.pointer_id())?;
                }
                Ok(())
            });
        }
    })?;
    on(&canvas, "pointermove", |event| with(|app| moved(app, event.unchecked_ref())))?;
    on(&canvas, "pointerup", |event| with(|app| released(app, event.unchecked_ref())))?;
    on(&canvas, "pointercancel", |_| {
        with(|app| {
            app.drag = None;
            Ok(())
        });
    })?;
    on(&canvas, "pointerleave", |_| {
        with(|app| {
            app.hover = None;
            map::paint_soon(app)
        });
    })
}

/// Where on its canvas, in the canvas' pixels.
fn place(app: &App, event: &web_sys::MouseEvent) -> (f64, f64) {
    let scale = app.scale();
    (f64::from(event.offset_x()) * scale, f64::from(event.offset_y()) * scale)
}

/// Up and down zooms about the place; sideways, or with Shift, moves.
fn wheel(event: &WheelEvent) {
    let (x, y) = (event.delta_x(), event.delta_y());
    with(|app| {
        let sideways = event.shift_key() || x.abs() > y.abs();
        if sideways {
            let by = if x.abs() > y.abs() { x } else { y };
            map::pan(app, by / 1000.0)?;
        } else {
            let at = place(app, event).0;
            let about = app.frame.as_ref().and_then(|frame| frame.line_at(at));
            map::zoom(app, about, (y / 400.0).clamp(-1.0, 1.0).exp2())?;
        }
        map::settle(app)
    });
}

fn moved(app: &mut App, event: &PointerEvent) -> Result<(), JsValue> {
    let (x, y) = place(app, event);
    if let Some((start, span, dragging)) = app.drag.clone() {
        // A hand that shakes while it clicks does not drag.
        if dragging || (x - start).abs() > 4.0 * app.scale() {
            app.drag = Some((start, span.clone(), true));
            if let Some(canvas) = by_id::<Element>(&app.document, "map") {
                canvas.set_class_name("dragging");
            }
            return map::drag(app, &span, x - start);
        }
    }
    let under = map::under(app, x, y);
    if under != app.hover {
        app.hover = under;
        map::paint_soon(app)?;
    }
    Ok(())
}

fn released(app: &mut App, event: &PointerEvent) -> Result<(), JsValue> {
    if let Some(canvas) = by_id::<Element>(&app.document, "map") {
        canvas.set_class_name("");
    }
    match app.drag.take() {
        Some((_, _, true)) => map::settle(app),
        Some(_) => {
            let (x, y) = place(app, event);
            match map::under(app, x, y) {
                Some(tile) => map::pin(app, Some(tile)),
                None => Ok(()),
            }
        }
        None => Ok(()),
    }
}
