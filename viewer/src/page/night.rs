//! How a night went: its report, read and shown.

use js_sys::Date;
use wasm_bindgen::JsValue;
use web_sys::Element;
use wimg_core::Escaped;

use crate::model::night::{Change, FORMAT, Night, Problem, Row, Status, seconds};
use crate::model::quantity::{bytes, count, whole};
use crate::model::state::View;
use crate::page::App;
use crate::page::dom::{add, emptied, set_text, show};
use crate::page::json::{list, number, parse, string, value};

/// Names of one trouble that are listed; the table has all.
const NAMES: usize = 40;

/// Reads a report. Keys that it lacks, as an older one may, say nothing; but
/// what makes it a report has to be there.
pub(crate) fn read(path: &str, text: &[u8]) -> Result<Night, String> {
    let text = str::from_utf8(text).map_err(|_| "it is not text".to_owned())?;
    let report = parse(text).map_err(|why| format!("it is no night's report: {why}"))?;
    let format = number(&report, "format");
    if format != FORMAT as f64 {
        return Err(format!("the report's format is {format}, this page knows {FORMAT}"));
    }
    if !js_sys::Array::is_array(&value(&report, "rows")) {
        return Err("it is no night's report: it has no list `rows`".to_owned());
    }
    let rows = list(&report, "rows").into_iter().enumerate().map(|(at, each)| row(at, &each));
    let changes = list(&report, "changes");
    let changes = changes.iter().map(|change| Change {
        title: format!("{} {}", string(&change, "checkpoint"), string(&change, "name")),
        what: string(&change, "what"),
    });
    let mut night = Night {
        path: path.to_owned(),
        host: string(&report, "host"),
        night: string(&report, "night"),
        version: string(&report, "version"),
        collected: value(&report, "collected").as_bool().unwrap_or_default(),
        started: number(&report, "started"),
        seconds: number(&report, "seconds"),
        code: whole(number(&report, "code")),
        counts: [0; 5],
        read_bytes: whole(number(&report, "read_bytes")),
        written_bytes: whole(number(&report, "written_bytes")),
        problem: problem(&report),
        changes: changes.collect(),
        rows: rows.collect::<Result<_, _>>()?,
    };
    let counts = value(&report, "counts");
    night.counts = match counts.is_object() {
        true => Status::COUNTED.map(|status| whole(number(&counts, status.word()))),
        false => night.counted(),
    };
    Ok(night)
}

fn row(at: usize, row: &JsValue) -> Result<Row, String> {
    let text = |key| string(row, key);
    if let Some(key) = ["checkpoint", "name", "status"].into_iter().find(|key| text(key).is_empty())
    {
        return Err(format!("it is no night's report: row {at} has no `{key}`"));
    }
    let ledger = value(row, "ledger");
    let parts = ["row_bytes", "padding_bytes", "check_bytes"];
    Ok(Row {
        checkpoint: text("checkpoint"),
        name: text("name"),
        layout: text("layout"),
        select: text("select"),
        header: text("header"),
        status: text("status"),
        why: text("why"),
        problem: problem(row),
        image: text("image"),
        image_id: text("image_id"),
        verified: text("verified"),
        image_bytes: parts.iter().map(|part| whole(number(&ledger, part))).sum(),
        seconds: number(row, "seconds"),
        gb_per_s: number(row, "gb_per_s"),
        backend: text("backend"),
    })
}

fn problem(of: &JsValue) -> Option<Problem> {
    let problem = value(of, "problem");
    problem.is_object().then(|| Problem {
        code: whole(number(&problem, "code")),
        cause: string(&problem, "cause"),
        advice: string(&problem, "advice"),
    })
}

/// Keeps a night, and shows it if a person opened it, or has not yet gone
/// anywhere.
pub(crate) fn keep(app: &mut App, night: Night, opened: bool) -> Result<(), JsValue> {
    let path = night.path.clone();
    app.nights.retain(|known| known.path != path);
    app.nights.push(night);
    app.night_drawn = None;
    if opened {
        app.state.night = Some(path);
    }
    let fresh = !app.window.location().hash()?.contains("view=");
    if opened || fresh {
        app.state.view = View::Night;
        app.publish(opened)?;
    }
    app.render()
}

/// The night that is shown.
fn shown(app: &App) -> Option<&Night> {
    let wanted = app.state.night.as_ref();
    let wanted = wanted.and_then(|path| app.nights.iter().find(|night| &night.path == path));
    wanted.or(app.nights.first())
}

/// Shows the night. What is there already stays, so that the focus does while
/// images arrive; only the links may lead elsewhere then.
pub(crate) fn render(app: &mut App) -> Result<(), JsValue> {
    let document = &app.document;
    document.set_title("Night \u{b7} wimg");
    let Some(night) = shown(app) else {
        show(document, "night-empty", true)?;
        return show(document, "night-body", false);
    };
    let drawn = Some((night.path.clone(), app.rows_shown, app.nights.len()));
    if drawn != app.night_drawn {
        draw(app, night)?;
    }
    let other = app.state.night.as_ref().filter(|path| **path != night.path);
    let doubt = match other {
        Some(path) => {
            Some(format!("`{}` is not open: this is another report.", Escaped::new(path)))
        }
        None => night.doubt(),
    };
    set_text(document, "night-doubt", &doubt.unwrap_or_default());
    app.night_drawn = drawn;
    link(app)
}

fn draw(app: &App, night: &Night) -> Result<(), JsValue> {
    let document = &app.document;
    show(document, "night-empty", false)?;
    show(document, "night-body", true)?;
    let title = document.get_element_by_id("night-title").ok_or("no title")?;
    title.set_class_name(if night.is_well() { "good" } else { "bad" });
    let worst = night.worst();
    let colon = if worst.is_empty() { "" } else { ": " };
    title.set_text_content(Some(&format!("{}{colon}{worst}", night.verdict())));
    let date = Date::new(&JsValue::from_f64(night.started));
    let when = String::from(date.to_locale_string("default", &JsValue::UNDEFINED));
    let when = if night.started > 0.0 { when } else { String::new() };
    set_text(document, "night-when", &format!("{} \u{b7} {when}", night.host));
    set_text(document, "night-made", &night.made());
    let pick = emptied(document, "night-pick")?;
    show(document, "night-choice", app.nights.len() > 1)?;
    for other in &app.nights {
        let option = add(&pick, "option", "", &Escaped::new(&other.path).to_string())?;
        option.set_attribute("value", &other.path)?;
        if other.path == night.path {
            option.set_attribute("selected", "")?;
        }
    }
    let figures = emptied(document, "night-figures")?;
    for (name, figure, bad) in night.figures() {
        let cell = add(&figures, "div", "", "")?;
        add(&cell, "dt", "", &name.replace('_', " "))?;
        add(&cell, "dd", if bad { "misfit" } else { "" }, &figure)?
            .set_attribute("data-of", name)?;
    }
    troubles(app, night)?;
    let changes = emptied(document, "night-changes")?;
    for Change { title, what } in &night.changes {
        let line = add(&changes, "li", "", "")?;
        add(&line, "b", "", title)?;
        add(&line, "span", "", &format!(": {what}"))?;
    }
    show(document, "night-changed", !night.changes.is_empty())?;
    let rows = emptied(document, "night-rows")?;
    for at in night.order().into_iter().take(app.rows_shown) {
        if let Some(row) = night.rows.get(at) {
            line(&rows, at, row)?;
        }
    }
    show(document, "night-more", night.rows.len() > app.rows_shown)
}

/// What needs somebody's look: the night's own problem, then those of its rows.
fn troubles(app: &App, night: &Night) -> Result<(), JsValue> {
    let list = emptied(&app.document, "night-troubles")?;
    if let Some(problem) = &night.problem {
        let item = add(&list, "li", "", "")?;
        add(&item, "b", "", "The night as a whole")?;
        said(&item, Some(problem))?;
    }
    let troubles = night.troubles();
    show(&app.document, "night-wrong", night.problem.is_some() || !troubles.is_empty())?;
    for (status, problem, rows) in troubles {
        let item = add(&list, "li", "", "")?;
        let word = match status {
            Status::Packed | Status::UpToDate => "mended",
            _ => status.word(),
        };
        let class = if status.is_bad() { "chip bad" } else { "chip" };
        add(&item, "span", class, word)?;
        for &at in rows.iter().take(NAMES) {
            let Some(row) = night.rows.get(at) else { continue };
            let named = add(&item, "span", "named", "")?;
            add(&named, "b", "", &row.title())?;
            if row.image.is_empty() {
                add(&named, "span", "sub", " there is no image")?;
                continue;
            }
            let text = if status.is_bad() { "map of the image before it" } else { "map" };
            add(&named, "span", "", " ")?;
            add(&named, "a", "", text)?.set_attribute("data-row", &at.to_string())?;
        }
        if let Some(more) = rows.len().checked_sub(NAMES).filter(|&more| more > 0) {
            add(&item, "span", "sub", &format!("and {} more", count(more as u64)))?;
        }
        said(&item, problem)?;
    }
    Ok(())
}

fn said(item: &Element, problem: Option<&Problem>) -> Result<(), JsValue> {
    let Some(Problem { code, cause, advice }) = problem else { return Ok(()) };
    add(item, "p", "cause", &format!("{cause} (exit code {code})"))?;
    add(item, "p", "advice", advice)?;
    Ok(())
}

/// A row of the work.
fn line(rows: &Element, at: usize, row: &Row) -> Result<(), JsValue> {
    let line = add(rows, "tr", "", "")?;
    let status = add(&line, "td", "", "")?;
    let class = if row.status().is_bad() { "chip bad" } else { "chip" };
    add(&status, "span", class, &row.status.replace('_', " "))?.set_attribute("title", &row.why)?;
    let name = add(&line, "th", "", "")?;
    name.set_attribute("scope", "row")?;
    if row.image.is_empty() {
        name.set_text_content(Some(&row.checkpoint));
    } else {
        let link = add(&name, "a", "", &row.checkpoint)?;
        link.set_attribute("data-row", &at.to_string())?;
        link.set_attribute("title", "its channel map")?;
    }
    let layout = add(&line, "td", "", &row.name)?;
    layout.set_attribute("title", &format!("{} {}", row.layout, row.select))?;
    let unless = |none: bool, text: String| if none { "\u{2013}".to_owned() } else { text };
    let size = unless(row.image_bytes == 0, bytes(row.image_bytes));
    let size = add(&line, "td", "num", &size)?;
    size.set_attribute("data-value", &row.image_bytes.to_string())?;
    add(&line, "td", "num", &unless(row.seconds == 0.0, seconds(row.seconds)))?;
    add(&line, "td", "num", &unless(row.gb_per_s == 0.0, format!("{:.2}", row.gb_per_s)))?;
    add(&line, "td", "", &unless(row.backend.is_empty(), row.backend.clone()))?;
    add(&line, "td", "", &unless(row.verified.is_empty(), row.verified.clone()))?;
    let short: String = row.image_id.chars().take(12).collect();
    let id = add(&line, "td", "mono", &unless(short.is_empty(), short))?;
    id.set_attribute("title", &row.image_id)
}

/// Leads each link to where its row's image is now.
fn link(app: &App) -> Result<(), JsValue> {
    let Some(night) = shown(app) else { return Ok(()) };
    let links = app.document.query_selector_all("#night-body [data-row]")?;
    for at in 0..links.length() {
        let Some(link) = links.item(at) else { continue };
        let link: &Element = wasm_bindgen::JsCast::unchecked_ref(&link);
        let row = link.get_attribute("data-row").and_then(|at| at.parse::<usize>().ok());
        let map = row.and_then(|at| {
            night.map_of(night.rows.get(at)?, |key| app.library.find(key).is_some())
        });
        if let Some(map) = map {
            link.set_attribute("href", &format!("#{}", map.hash()))?;
        }
    }
    Ok(())
}
