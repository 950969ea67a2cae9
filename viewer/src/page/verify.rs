//! Verifying an image: the worker's job, as the page sees it.

use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{MessageEvent, Worker};
use wimg_core::{Image, Tile};

use crate::model::folder::{Finding, LISTED, Progress};
use crate::model::quantity::{bytes, count, share};
use crate::model::state::{State, View};
use crate::model::subject::Origin;
use crate::page::dom::{add, emptied, said, set_text, show};
use crate::page::files::Files;
use crate::page::shown::Shown;
use crate::page::{App, map, worker};

/// What verifying a subject's image found so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    progress: Progress,
    findings: Vec<Finding>,
    /// The layout and selection that its tiles are of.
    of: (String, String),
    /// What kept it from going on.
    stopped: Option<String>,
    seconds: f64,
}

/// A worker at work.
pub(crate) struct Job {
    subject: String,
    worker: Option<Worker>,
    started: f64,
}

impl Report {
    /// Whether the image that is shown is the one that was verified.
    pub(crate) fn is_of(&self, shown: &Shown) -> bool {
        let image = shown.plan.image();
        self.of == (image.layout().to_string(), shown.plan.selection().name().to_owned())
    }

    /// The damaged tiles that are listed.
    pub(crate) fn tiles(&self, image: &Image) -> Vec<Tile> {
        self.findings.iter().filter_map(|found| image.tile(found.tile?)).collect()
    }
}

/// Shows what can be verified, or how it went.
pub(crate) fn render(app: &App) -> Result<(), JsValue> {
    let document = &app.document;
    let subject = app.state.subject.clone().unwrap_or_default();
    let files = matches!(app.files_of(&subject), Some(Files::Image(_)));
    let busy = app.job.as_ref().is_some_and(|job| job.subject == subject);
    let text = match files {
        true => {
            "Every tile against its check word and tiles.crc, every tensor put back against its CRC, every file against its digest, image.json against the headers."
        }
        false => {
            "Open an image's folder to verify it here: the folder with image.json, tiles.crc and the channels. Nothing is sent anywhere."
        }
    };
    set_text(document, "verify-text", text);
    show(document, "verify-start", files && !busy)?;
    show(document, "verify-open", !files)?;
    show(document, "verify-cancel", busy)?;
    let report = app.report_of(&subject);
    show(document, "verify-bar", busy)?;
    set_text(document, "verify-at", &report.map(sentence).unwrap_or_default());
    if let Some(bar) = document.get_element_by_id("verify-bar") {
        let done = report.map_or(0.0, |r| share(r.progress.done, r.progress.total));
        bar.set_attribute("value", &done.to_string())?;
    }
    if let Some(at) = document.get_element_by_id("verify-at") {
        let state = match report {
            Some(r) if r.stopped.is_some() || r.progress.damages > 0 => "bad",
            Some(r) if r.progress.finished => "sound",
            Some(_) => "busy",
            None => "none",
        };
        at.set_attribute("data-state", state)?;
        at.set_class_name(match state {
            "bad" => "error",
            "sound" => "good",
            _ => "",
        });
    }
    list(app, report)
}

fn sentence(report: &Report) -> String {
    let Report { progress, stopped, seconds, .. } = report;
    if let Some(why) = stopped {
        return why.clone();
    }
    let speed = if *seconds > 0.0 { progress.done as f64 / 1e9 / seconds } else { 0.0 };
    let read = format!(
        "{} of {} in {seconds:.1} s, {speed:.2} GB/s, {} tiles",
        bytes(progress.done),
        bytes(progress.total),
        count(progress.tiles)
    );
    match (progress.finished, progress.damages) {
        (true, 0) => format!("Sound. {read}."),
        (true, damages) => format!("Damaged: {} found. {read}.", count(damages)),
        (false, 0) => format!("{read}; no damage so far."),
        (false, damages) => format!("{read}; {} damages so far.", count(damages)),
    }
}

/// Which state the list that is there was made for.
fn list_of(app: &App) -> Option<String> {
    app.document.get_element_by_id("damage")?.get_attribute("data-of")
}

fn list(app: &App, report: Option<&Report>) -> Result<(), JsValue> {
    let lines = report
        .map_or(0, |report| report.findings.len() + usize::from(report.progress.damages > LISTED));
    // The same list, most of the time: it only grows.
    let shown = app.document.get_element_by_id("damage").map_or(0, |l| l.child_element_count());
    let whose = app.state.hash();
    if usize::try_from(shown) == Ok(lines) && list_of(app).as_ref() == Some(&whose) {
        return Ok(());
    }
    let list = emptied(&app.document, "damage")?;
    list.set_attribute("data-of", &whose)?;
    let Some(report) = report else { return Ok(()) };
    for finding in &report.findings {
        let item = add(&list, "li", "", "")?;
        match finding.tile {
            Some(tile) => {
                let link = add(&item, "a", "", &finding.text)?;
                let state = State { view: View::Map, tile: Some(tile), ..app.state.clone() };
                link.set_attribute("href", &format!("#{}", state.hash()))?;
                link.set_attribute("data-tile", &tile.to_string())?;
            }
            None => item.set_text_content(Some(&finding.text)),
        }
    }
    if report.progress.damages > LISTED {
        let more = report.progress.damages - LISTED;
        add(&list, "li", "sub", &format!("and {} more", count(more)))?;
    }
    Ok(())
}

#[wasm_bindgen::prelude::wasm_bindgen]
extern "C" {
    /// `web/main.js`: a worker that has the module already.
    #[wasm_bindgen(js_name = wimg_worker)]
    fn new_worker() -> js_sys::Promise;
}

/// Starts verifying the subject's image.
pub(crate) fn start(app: &mut App) -> Result<(), JsValue> {
    cancel(app)?;
    let subject = app.state.subject.clone().unwrap_or_default();
    let Some(Files::Image(files)) = app.files_of(&subject) else { return Ok(()) };
    let of = match app.library.find(&subject).map(|subject| &subject.origin) {
        Some(Origin::Image(manifest, _)) => (manifest.layout.clone(), manifest.selection.clone()),
        _ => return Ok(()),
    };
    let message = worker::message(files);
    let started = app.window.performance().map_or(0.0, |clock| clock.now());
    app.set_report(&subject, Report { of, ..Report::default() });
    app.job = Some(Job { subject: subject.clone(), worker: None, started });
    spawn_local(async move {
        let worker = JsFuture::from(new_worker()).await.map(JsCast::unchecked_into::<Worker>);
        super::with(|app| {
            let Some(job) = app.job.as_mut().filter(|job| job.subject == subject) else {
                // Cancelled before it was there.
                if let Ok(worker) = worker {
                    worker.terminate();
                }
                return Ok(());
            };
            let worker = worker?;
            listen(&worker, subject);
            worker.post_message(&message)?;
            job.worker = Some(worker);
            Ok(())
        });
    });
    render(app)
}

fn listen(worker: &Worker, subject: String) {
    let whose = subject.clone();
    let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let text = event.data().as_string().unwrap_or_default();
        super::with(|app| take(app, &whose, &text));
    });
    worker.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    heard.forget();
    let failed = Closure::<dyn FnMut(JsValue)>::new(move |error: JsValue| {
        let why = format!("the worker stopped: {}", said(&error));
        super::with(|app| take(app, &subject, &why));
    });
    worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
    failed.forget();
}

/// Takes a worker's word: progress, or what keeps it from going on.
fn take(app: &mut App, subject: &str, text: &str) -> Result<(), JsValue> {
    let Some(job) = app.job.as_ref().filter(|job| job.subject == subject) else {
        return Ok(());
    };
    let seconds = (app.window.performance().map_or(0.0, |clock| clock.now()) - job.started) / 1e3;
    let Some(report) = app.report_mut(subject) else { return Ok(()) };
    report.seconds = seconds;
    match Progress::read(text) {
        Some(mut progress) => {
            report.findings.append(&mut progress.found);
            report.progress = progress;
        }
        None => report.stopped = Some(text.to_owned()),
    }
    let (done, stopped) = (report.progress.finished, report.stopped.is_some());
    let speed = report.progress.done as f64 / 1e9 / seconds;
    if done || stopped {
        if done {
            app.measure("verifyGbS", speed)?;
        }
        stop(app);
    }
    match app.state.view {
        _ if app.state.subject.as_deref() != Some(subject) => Ok(()),
        View::Map => map::paint_soon(app),
        View::Verify => render(app),
        _ => Ok(()),
    }
}

/// Stops verifying.
pub(crate) fn cancel(app: &mut App) -> Result<(), JsValue> {
    if let Some(job) = &app.job {
        let subject = job.subject.clone();
        if let Some(report) = app.report_mut(&subject) {
            report.stopped = Some(format!("Cancelled. {}", sentence(report)));
        }
        stop(app);
        app.render()?;
    }
    Ok(())
}

fn stop(app: &mut App) {
    if let Some(worker) = app.job.take().and_then(|job| job.worker) {
        worker.terminate();
    }
}
