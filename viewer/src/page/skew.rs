//! The skew plot.

use wasm_bindgen::JsValue;
use web_sys::HtmlCanvasElement;

use crate::canvas::draw;
use crate::model::details;
use crate::model::quantity::count;
use crate::model::skew::{SkewStep, steps};
use crate::page::dom::{add, by_id, emptied, set_text};
use crate::page::{App, map};
use crate::scene::skew::skew;

/// Rows of the table.
const ROWS: usize = 10;

/// Shows the plot.
pub(crate) fn render(app: &App) -> Result<(), JsValue> {
    let (Some(shown), Some(canvas)) =
        (app.image(), by_id::<HtmlCanvasElement>(&app.document, "skew"))
    else {
        return Ok(());
    };
    let image = shown.plan.image();
    let steps = steps(image);
    let scale = app.scale();
    let scene = skew(image, &steps, map::pixels(&canvas, scale), scale);
    draw(&canvas, &scene, scale, app.palette(), &shown.kinds)?;
    let text = format!(
        "The most lines that two channels differ by, tensor by tensor as the image is dealt: at most {}, and never more than the largest tile, {} lines.",
        count(image.skew_lines()),
        count(image.largest_tile_lines())
    );
    set_text(&app.document, "skew-text", &text);
    let rows = emptied(&app.document, "skew-rows")?;
    let mut largest: Vec<SkewStep> = Vec::new();
    for step in steps {
        let place = largest.partition_point(|larger| larger.lines >= step.lines);
        largest.insert(place, step);
        largest.truncate(ROWS);
    }
    for step in &largest {
        let line = add(&rows, "tr", "", "")?;
        let name = image.tensors().get(step.tensor).map(details::name).unwrap_or_default();
        add(&line, "th", "", &name)?.set_attribute("scope", "row")?;
        add(&line, "td", "num", &count(step.from))?;
        add(&line, "td", "num", &count(step.lines))?;
    }
    Ok(())
}

/// Says which tensor a place of the plot is of.
pub(crate) fn glance(app: &App, x: f64, width: f64) {
    let Some(shown) = app.image() else { return };
    let image = shown.plan.image();
    let scale = app.scale();
    let (left, right) = (64.0 * scale, 12.0 * scale);
    let share = ((x - left) / (width - left - right)).clamp(0.0, 1.0);
    let tile = crate::model::quantity::whole(share * image.tile_count() as f64);
    let found = image.tile(tile.min(image.tile_count().saturating_sub(1)));
    let text = found.and_then(|tile| {
        let name = details::name(image.tensors().get(tile.tensor)?);
        let lines = image.tensor_skews().nth(tile.tensor)?;
        Some(format!("{name} \u{b7} tile {} \u{b7} skew {} lines", count(tile.index), count(lines)))
    });
    set_text(&app.document, "skew-at", &text.unwrap_or_default());
}
