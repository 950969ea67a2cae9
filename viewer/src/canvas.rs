//! Applies a scene to a canvas.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::model::kind::Kinds;
use crate::model::quantity::whole;
use crate::scene::palette::Palette;
use crate::scene::{Align, Op, Paint, Scene};

/// Draws a scene on a canvas of which `scale` pixels are one of the page.
pub(crate) fn draw(
    canvas: &HtmlCanvasElement,
    scene: &Scene,
    scale: f64,
    palette: Palette,
    kinds: &Kinds,
) -> Result<(), JsValue> {
    resize(canvas, scene, scale)?;
    let Some(context) = canvas.get_context("2d")? else { return Ok(()) };
    let context: CanvasRenderingContext2d = context.unchecked_into();
    // Not clear: a picture that is saved stands by itself.
    context.set_fill_style_str(&palette.paint(kinds, Paint::Ground));
    context.fill_rect(0.0, 0.0, f64::from(canvas.width()), f64::from(canvas.height()));
    let size = 11.5 * scale;
    context.set_font(&format!("{size}px system-ui, \"Liberation Sans\", sans-serif"));
    context.set_text_baseline("middle");
    let mut last: Option<Paint> = None;
    for op in &scene.ops {
        let paint = match op {
            Op::Rect { paint, .. }
            | Op::Frame { paint, .. }
            | Op::Mark { paint, .. }
            | Op::Text { paint, .. } => *paint,
        };
        // A colour is text to a canvas: said only when it changes.
        if last != Some(paint) {
            context.set_fill_style_str(&palette.paint(kinds, paint));
            last = Some(paint);
        }
        match op {
            Op::Rect { x, y, w, h, .. } => context.fill_rect(*x, *y, *w, *h),
            Op::Frame { x, y, w, h, paint } => {
                let wide = (2.0 * scale).round();
                context.set_stroke_style_str(&palette.paint(kinds, *paint));
                context.set_line_width(wide);
                context.stroke_rect(x + wide / 2.0, y + wide / 2.0, w - wide, h - wide);
            }
            Op::Mark { x, y, size, .. } => {
                context.begin_path();
                context.move_to(*x, *y);
                context.line_to(x - size / 1.6, y - size);
                context.line_to(x + size / 1.6, y - size);
                context.fill();
            }
            Op::Text { x, y, text, align, .. } => {
                context.set_text_align(match align {
                    Align::Start => "left",
                    Align::Middle => "center",
                    Align::End => "right",
                });
                context.fill_text(text, *x, *y)?;
            }
        }
    }
    Ok(())
}

/// Gives the canvas the scene's size: setting it clears, so only where it differs.
fn resize(canvas: &HtmlCanvasElement, scene: &Scene, scale: f64) -> Result<(), JsValue> {
    let pixels = |length: f64| u32::try_from(whole(length.ceil())).unwrap_or(u32::MAX);
    let (width, height) = (pixels(scene.width), pixels(scene.height));
    if canvas.width() != width {
        canvas.set_width(width);
    }
    if canvas.height() != height {
        canvas.set_height(height);
        let tall = format!("{}px", f64::from(height) / scale);
        canvas.style().set_property("height", &tall)?;
    }
    Ok(())
}
