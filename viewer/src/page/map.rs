//! The map: drawing it, moving over it, and what shows as a table.

use std::ops::Range;

use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlCanvasElement, HtmlElement};
use wimg_core::{ImageLayout, Tile};

use crate::canvas::draw;
use crate::model::details::{self, glance};
use crate::model::kind::{ColourBy, Kinds};
use crate::model::quantity::{count, whole};
use crate::model::search;
use crate::page::dom::{add, by_id, emptied, set_field, set_text};
use crate::page::shown::Shown;
use crate::page::{App, details as details_page, tile_bytes};
use crate::scene::frame::{self, Frame};
use crate::scene::map::{Marks, map};

/// Rows of the table of what shows.
const TABLE_ROWS: usize = 200;

/// Shows the map and everything that belongs to it.
pub(crate) fn render(app: &mut App) -> Result<(), JsValue> {
    set_field(&app.document, "find", &app.state.find);
    paint(app)?;
    legend(app)?;
    found(app);
    table(app)?;
    details_page::render(app)?;
    tile_bytes::refresh(app)
}

/// Draws the map, and notes how long that took.
pub(crate) fn paint(app: &mut App) -> Result<(), JsValue> {
    let Some(canvas) = by_id::<HtmlCanvasElement>(&app.document, "map") else { return Ok(()) };
    let clock = app.window.performance();
    let before = clock.as_ref().map_or(0.0, web_sys::Performance::now);
    let (scale, palette) = (app.scale(), app.palette());
    let Some(shown) = app.image() else { return Ok(()) };
    let image = shown.plan.image();
    let frame =
        Frame::new(pixels(&canvas, scale), scale, image.layout().channels, span(app, shown));
    let damage = app.report_of(&shown.subject).filter(|report| report.is_of(shown));
    let damage = damage.map(|report| report.tiles(image)).unwrap_or_default();
    let marks = Marks { pin: app.pinned(), hover: app.hover, damage };
    let scene = map(image, &shown.kinds, &frame, &marks);
    draw(&canvas, &scene, scale, palette, &shown.kinds)?;
    canvas.set_attribute("aria-label", &label(shown, &frame))?;
    app.frame = Some(frame);
    let took = clock.map_or(0.0, |clock| clock.now()) - before;
    app.measure("drawMs", took)?;
    app.measure("drawOps", scene.ops.len() as f64)?;
    glance_at(app);
    Ok(())
}

/// Draws a whole image, small, with nothing marked.
pub(crate) fn paint_whole(app: &App, shown: &Shown, id: &str, lines: u64) -> Result<(), JsValue> {
    let Some(canvas) = by_id::<HtmlCanvasElement>(&app.document, id) else { return Ok(()) };
    let scale = app.scale();
    let image = shown.plan.image();
    let frame = Frame::new(pixels(&canvas, scale), scale, image.layout().channels, 0..lines);
    let scene = map(image, &shown.kinds, &frame, &Marks::default());
    draw(&canvas, &scene, scale, app.palette(), &shown.kinds)
}

/// Pixels that the canvas has from side to side.
pub(crate) fn pixels(canvas: &Element, scale: f64) -> u32 {
    let wide = f64::from(canvas.client_width()) * scale;
    u32::try_from(whole(wide)).unwrap_or(0).clamp(64, 16_384)
}

fn label(shown: &Shown, frame: &Frame) -> String {
    let channels = shown.plan.image().layout().channels;
    let (from, to) = (frame.span.start, frame.span.end - 1);
    format!("Channel map: {channels} channels, lines {from} to {to} of {}", shown.all_lines())
}

/// The lines that show.
fn span(app: &App, shown: &Shown) -> Range<u64> {
    let all = shown.all_lines();
    let span = app.state.span.clone().unwrap_or(0..all);
    // A link may be to another image's lines.
    frame::moved(&span, all, 0)
}

/// Draws the map before the next frame, once, however often it is asked to.
pub(crate) fn paint_soon(app: &mut App) -> Result<(), JsValue> {
    if app.drawing {
        return Ok(());
    }
    app.drawing = true;
    let callback = Closure::once_into_js(|| {
        super::with(|app| {
            app.drawing = false;
            paint(app)
        });
    });
    app.window.request_animation_frame(callback.unchecked_ref()).map(|_| ())
}

/// Shows other lines.
pub(crate) fn look(app: &mut App, span: Range<u64>) -> Result<(), JsValue> {
    let Some(all) = app.image().map(Shown::all_lines) else { return Ok(()) };
    app.state.span = Some(span).filter(|span| span.start > 0 || span.end < all);
    paint_soon(app)
}

/// After moving: the address and the table.
pub(crate) fn settle(app: &mut App) -> Result<(), JsValue> {
    app.publish(false)?;
    table(app)
}

/// Zooms about a line, or about the middle.
pub(crate) fn zoom(app: &mut App, about: Option<u64>, factor: f64) -> Result<(), JsValue> {
    let Some(shown) = app.image() else { return Ok(()) };
    let span = span(app, shown);
    let about = about.unwrap_or(span.start + (span.end - span.start) / 2);
    let next = frame::zoomed(&span, shown.all_lines(), about, factor);
    look(app, next)
}

/// Moves by a share of what shows.
pub(crate) fn pan(app: &mut App, share: f64) -> Result<(), JsValue> {
    let Some(shown) = app.image() else { return Ok(()) };
    let next = frame::panned(&span(app, shown), shown.all_lines(), share);
    look(app, next)
}

/// What shows, for who starts to drag it.
pub(crate) fn grip(app: &App) -> Option<Range<u64>> {
    Some(span(app, app.image()?))
}

/// Drags: shows what showed at the start, moved by pixels of the canvas.
pub(crate) fn drag(app: &mut App, start: &Range<u64>, pixels: f64) -> Result<(), JsValue> {
    let (Some(shown), Some(frame)) = (app.image(), &app.frame) else { return Ok(()) };
    let lines = start.end - start.start;
    let by = whole((pixels.abs() * lines as f64 / f64::from(frame.width)).round());
    let by = if pixels > 0.0 { -i128::from(by) } else { i128::from(by) };
    let next = frame::moved(start, shown.all_lines(), by);
    look(app, next)
}

/// The tile under a place of the canvas.
pub(crate) fn under(app: &App, x: f64, y: f64) -> Option<Tile> {
    let frame = app.frame.as_ref()?;
    app.image()?.plan.image().at(frame.channel_at(y)?, frame.line_at(x)?)
}

/// Pins a tile and shows its details; moves the map only where it must.
pub(crate) fn pin(app: &mut App, tile: Option<Tile>) -> Result<(), JsValue> {
    app.state.tile = tile.map(|tile| tile.index);
    app.row = None;
    let (Some(tile), Some(shown)) = (tile, app.image()) else {
        app.publish(false)?;
        return render(app);
    };
    let span = span(app, shown);
    if !span.contains(&tile.line) {
        let lines = span.end - span.start;
        let start = i128::from(tile.line) - i128::from(lines / 2) - i128::from(span.start);
        app.state.span = Some(frame::moved(&span, shown.all_lines(), start));
    }
    app.publish(false)?;
    render(app)
}

/// Shows the pinned tile as large as it gets.
pub(crate) fn fit_tile(app: &mut App) -> Result<(), JsValue> {
    let (Some(tile), Some(shown)) = (app.pinned(), app.image()) else { return Ok(()) };
    let lines = tile.line..tile.line + tile.lines;
    let next = frame::fitted(&lines, shown.all_lines());
    look(app, next)?;
    settle(app)
}

/// Pins the tile before or after the pinned one on its channel.
pub(crate) fn step_tile(app: &mut App, back: bool) -> Result<(), JsValue> {
    let (Some(tile), Some(shown)) = (app.pinned(), app.image()) else { return pin_middle(app) };
    let line = if back { tile.line.checked_sub(1) } else { Some(tile.line + tile.lines) };
    match line.and_then(|line| shown.plan.image().at(tile.channel, line)) {
        Some(next) => pin(app, Some(next)),
        None => Ok(()),
    }
}

/// Pins the tile on the next channel, or the one before.
pub(crate) fn step_channel(app: &mut App, back: bool) -> Result<(), JsValue> {
    let (Some(tile), Some(shown)) = (app.pinned(), app.image()) else { return pin_middle(app) };
    let channel = if back { tile.channel.checked_sub(1) } else { Some(tile.channel + 1) };
    match channel.and_then(|channel| shown.plan.image().at(channel, tile.line)) {
        Some(next) => pin(app, Some(next)),
        None => Ok(()),
    }
}

/// Pins the tile in the middle of what shows, on the first channel.
pub(crate) fn pin_middle(app: &mut App) -> Result<(), JsValue> {
    let Some(shown) = app.image() else { return Ok(()) };
    let span = span(app, shown);
    let tile = shown.plan.image().at(0, span.start + (span.end - span.start) / 2);
    pin(app, tile)
}

/// Goes to the next tensor whose name has what is searched for.
pub(crate) fn find(app: &mut App, back: bool) -> Result<(), JsValue> {
    let Some(shown) = app.image() else { return Ok(()) };
    let image = shown.plan.image();
    let matches = search::matches(image.tensors(), &app.state.find);
    let at = app.pinned().map(|tile| tile.tensor);
    let Some(tensor) = search::next(&matches, at, back) else { return Ok(()) };
    let tile = image.placements().get(tensor).and_then(|p| image.tile(p.tiles.start));
    // The whole tensor, as its lines on the first tile's channel are.
    if let Some(tile) = tile {
        let run = image.runs(tile.channel, tile.line..tile.line + 1).next();
        if let Some(run) = run {
            app.state.span = Some(frame::fitted(&run.lines, shown.all_lines()));
        }
    }
    pin(app, tile)
}

/// How many tensors are found, and which of them is pinned.
fn found(app: &App) {
    let Some(shown) = app.image() else { return };
    let matches = search::matches(shown.plan.image().tensors(), &app.state.find);
    let at = app.pinned().and_then(|tile| matches.iter().position(|&found| found == tile.tensor));
    let text = match (app.state.find.trim().is_empty(), matches.len(), at) {
        (true, ..) => String::new(),
        (_, 0, _) => "none".to_owned(),
        (_, all, Some(at)) => format!("{} of {all}", at + 1),
        (_, all, None) => format!("{all} found"),
    };
    set_text(&app.document, "find-count", &text);
}

/// Says what is pointed at, or how much shows.
pub(crate) fn glance_at(app: &App) {
    let Some(shown) = app.image() else { return };
    let image = shown.plan.image();
    let text = match app.hover {
        Some(tile) => glance(image, &tile),
        None => {
            let span = span(app, shown);
            let lines = span.end - span.start;
            let bytes = lines.saturating_mul(image.layout().line_bytes);
            format!(
                "lines {}\u{2013}{} \u{b7} {} lines, {} of each channel",
                count(span.start),
                count(span.end - 1),
                count(lines),
                crate::model::quantity::bytes(bytes)
            )
        }
    };
    set_text(&app.document, "map-at", &text);
}

fn legend(app: &App) -> Result<(), JsValue> {
    let legend = emptied(&app.document, "legend")?;
    let Some(shown) = app.image() else { return Ok(()) };
    let swatch = |parent: &Element, class: usize| -> Result<(), JsValue> {
        let colour = app.palette().class(&shown.kinds, class);
        let swatch: HtmlElement = add(parent, "i", "", "")?.unchecked_into();
        swatch.style().set_property("--colour", &colour)
    };
    let Kinds { legend: words, ramp, .. } = &shown.kinds;
    if let Some(last) = *ramp {
        let box_ = add(&legend, "span", "ramp", "")?;
        add(&box_, "b", "", "block 0")?;
        for part in 0..24 {
            swatch(&box_, last * part / 23)?;
        }
        add(&box_, "b", "", &last.to_string())?;
    } else if app.state.colour == ColourBy::Tensor {
        add(&legend, "span", "", "Neighbouring tensors differ; point at one for its name.")?;
    }
    for (class, word) in words {
        let item = add(&legend, "span", "", "")?;
        swatch(&item, *class)?;
        add(&item, "span", "", word)?;
    }
    Ok(())
}

/// What shows, tensor by tensor: the canvas in words.
fn table(app: &App) -> Result<(), JsValue> {
    let open = app.document.get_element_by_id("map-table-box");
    if !open.is_some_and(|details| details.has_attribute("open")) {
        return Ok(());
    }
    let body = emptied(&app.document, "map-rows")?;
    let Some(shown) = app.image() else { return Ok(()) };
    let image = shown.plan.image();
    let ImageLayout { channels, .. } = *image.layout();
    let span = span(app, shown);
    let runs = (0..channels)
        .flat_map(|channel| image.runs(channel, span.clone()).map(move |run| (channel, run)));
    let mut rows = 0;
    for (channel, run) in runs.take(TABLE_ROWS + 1) {
        rows += 1;
        let (Some(tensor), true) = (image.tensors().get(run.tensor), rows <= TABLE_ROWS) else {
            continue;
        };
        let line = add(&body, "tr", "", "")?;
        add(&line, "th", "", &channel.to_string())?.set_attribute("scope", "row")?;
        add(&line, "td", "", &details::name(tensor))?;
        add(&line, "td", "", &tensor.format.to_string())?;
        add(&line, "td", "num", &count(run.lines.start))?;
        add(&line, "td", "num", &count(run.lines.end - run.lines.start))?;
        add(&line, "td", "num", &count(run.tiles))?;
    }
    let more = if rows > TABLE_ROWS { "The first 200 rows; zoom in for the others." } else { "" };
    set_text(&app.document, "map-rows-more", more);
    Ok(())
}
