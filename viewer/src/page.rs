//! The page: what is open, what is shown, and what a person does to it.
//!
//! One listener an event, on the document; elements say in `data-do` what they
//! do. The state is in the address; everything is drawn from it again.

mod beside;
mod bytes;
mod details;
mod dom;
mod events;
mod files;
mod heading;
mod json;
mod ledger;
mod map;
mod night;
mod shown;
mod skew;
mod tile_bytes;
mod verify;
mod what_if;
pub(crate) mod worker;

mod save;

use std::cell::RefCell;
use std::ops::Range;

use wasm_bindgen::JsValue;
use web_sys::{Document, HtmlElement, Window};
use wimg_core::Tile;

use crate::model::library::Library;
use crate::model::night::Night;
use crate::model::state::{State, View};
use crate::page::dom::{add, add_button, by_id, emptied, said, set_text, show};
use crate::page::files::Files;
use crate::page::shown::Shown;
use crate::page::tile_bytes::TileBytes;
use crate::page::verify::{Job, Report};
use crate::scene::frame::Frame;
use crate::scene::palette::Palette;

/// The page.
pub(crate) struct App {
    window: Window,
    document: Document,
    library: Library,
    /// The nights' reports, in the order in which they came.
    nights: Vec<Night>,
    /// What is drawn of them: which, rows of it, and among how many.
    night_drawn: Option<(String, usize, usize)>,
    /// By subject: the files that it was opened from.
    files: Vec<(String, Files)>,
    state: State,
    /// The image that is shown, or why there is none.
    shown: Option<Result<Shown, String>>,
    /// The one beside it.
    beside: Option<Result<Shown, String>>,
    /// Where the map's lanes are.
    frame: Option<Frame>,
    hover: Option<Tile>,
    /// Where dragging started, and what showed then.
    drag: Option<(f64, Range<u64>, bool)>,
    /// Whether the map will be drawn before the next frame.
    drawing: bool,
    /// Rows of the ledger that are shown.
    rows_shown: usize,
    /// The row that is spelt out; none: the pinned tile's first.
    row: Option<u64>,
    tile_bytes: TileBytes,
    /// By subject: what verifying it found.
    reports: Vec<(String, Report)>,
    job: Option<Job>,
    /// Bytes of files that were read to open them.
    bytes_read: u64,
}

thread_local! {
    static APP: RefCell<Option<App>> = const { RefCell::new(None) };
}

/// Does something to the page; what goes wrong is shown. Nothing happens while
/// something else is being done.
pub(crate) fn with(act: impl FnOnce(&mut App) -> Result<(), JsValue>) {
    APP.with(|app| {
        if let Ok(mut app) = app.try_borrow_mut()
            && let Some(app) = app.as_mut()
            && let Err(error) = act(app)
        {
            app.alert(&said(&error));
        }
    });
}

/// Starts the page.
pub(crate) fn start() -> Result<(), JsValue> {
    let window = web_sys::window().ok_or("there is no window")?;
    let document = window.document().ok_or("there is no document")?;
    let clock = window.performance();
    let before = clock.as_ref().map_or(0.0, web_sys::Performance::now);
    let library = Library::of_headers();
    let took = clock.map_or(0.0, |clock| clock.now()) - before;
    let state = State::read(&window.location().hash()?);
    let mut app = App {
        window,
        document,
        library,
        nights: Vec::new(),
        night_drawn: None,
        files: Vec::new(),
        state,
        shown: None,
        beside: None,
        frame: None,
        hover: None,
        drag: None,
        drawing: false,
        rows_shown: ledger::ROWS,
        row: None,
        tile_bytes: TileBytes::default(),
        reports: Vec::new(),
        job: None,
        bytes_read: 0,
    };
    app.measure("ledgerMs", took)?;
    show(&app.document, "starting", false)?;
    app.prepare()?;
    app.render()?;
    let document = app.document.clone();
    let window = app.window.clone();
    APP.with(|place| place.replace(Some(app)));
    events::listen(&window, &document)?;
    with(|app| {
        beside::open(app);
        Ok(())
    });
    Ok(())
}

impl App {
    /// What is made once.
    fn prepare(&mut self) -> Result<(), JsValue> {
        ledger::head(self)?;
        what_if::prepare(self)?;
        heading::prepare(self)?;
        self.apply_theme(self.stored_theme().as_deref())
    }

    /// Shows the state.
    fn render(&mut self) -> Result<(), JsValue> {
        self.tabs()?;
        let view = self.state.view;
        show(&self.document, "ledger-view", view == View::Ledger)?;
        show(&self.document, "night-view", view == View::Night)?;
        show(&self.document, "image-view", !matches!(view, View::Ledger | View::Night))?;
        match view {
            View::Ledger => {
                self.document.set_title("wimg ledger");
                return ledger::render(self);
            }
            View::Night => return night::render(self),
            _ => {}
        }
        shown::refresh(self);
        heading::render(self)?;
        for (view, id) in [
            (View::Map, "map-view"),
            (View::WhatIf, "what-if-view"),
            (View::Skew, "skew-view"),
            (View::Verify, "verify-view"),
        ] {
            let there = matches!(self.shown, Some(Ok(_)));
            show(&self.document, id, there && view == self.state.view)?;
        }
        if !matches!(self.shown, Some(Ok(_))) {
            return Ok(());
        }
        match self.state.view {
            View::Map => map::render(self),
            View::WhatIf => what_if::render(self),
            View::Skew => skew::render(self),
            View::Verify => verify::render(self),
            View::Ledger | View::Night => Ok(()),
        }
    }

    /// The tabs: links, so that they are also addresses.
    fn tabs(&self) -> Result<(), JsValue> {
        let focused =
            self.document.active_element().and_then(|element| element.get_attribute("data-view"));
        let tabs = emptied(&self.document, "tabs")?;
        for view in View::ALL {
            if view == View::Night && self.nights.is_empty() && self.state.view != view {
                continue;
            }
            let text = match view {
                View::Ledger => "Ledger",
                View::Map => "Map",
                View::WhatIf => "What if",
                View::Skew => "Skew",
                View::Verify => "Verify",
                View::Night => "Night",
            };
            let link = add(&tabs, "a", "", text)?;
            let state = State { view, ..self.with_some_subject() };
            link.set_attribute("href", &format!("#{}", state.hash()))?;
            link.set_attribute("data-view", view.word())?;
            if view == self.state.view {
                link.set_attribute("aria-current", "page")?;
            }
            if focused.as_deref() == Some(view.word()) {
                let link: &HtmlElement = wasm_bindgen::JsCast::unchecked_ref(&link);
                link.focus()?;
            }
        }
        Ok(())
    }

    /// The state, with the ledger's first row where none is chosen.
    fn with_some_subject(&self) -> State {
        let mut state = self.state.clone();
        if state.subject.is_none()
            && let Some(entry) = self.library.entries.first()
        {
            state.subject = Some(entry.subject.clone());
            state.layout = entry.row.layout.parse().unwrap_or_default();
            state.selection = entry.row.selection.parse().unwrap_or_default();
        }
        state
    }

    /// Goes to a view, as its tab does.
    fn go(&mut self, view: View) -> Result<(), JsValue> {
        self.state = State { view, ..self.with_some_subject() };
        self.publish(true)?;
        self.render()
    }

    /// Puts the state into the address: as a place to come back to, or over
    /// the present one.
    fn publish(&self, place: bool) -> Result<(), JsValue> {
        let hash = self.state.hash();
        let url = format!("#{hash}");
        if self.window.location().hash()?.trim_start_matches('#') == hash {
            return Ok(());
        }
        let history = self.window.history()?;
        match place {
            true => history.push_state_with_url(&JsValue::NULL, "", Some(&url)),
            false => history.replace_state_with_url(&JsValue::NULL, "", Some(&url)),
        }
    }

    /// Takes the state from the address.
    fn follow(&mut self) -> Result<(), JsValue> {
        let state = State::read(&self.window.location().hash()?);
        if state != self.state {
            if state.tile != self.state.tile {
                self.row = None;
            }
            self.state = state;
            self.hover = None;
            self.render()?;
        }
        Ok(())
    }

    /// The files that a subject was opened from.
    fn files_of(&self, key: &str) -> Option<&Files> {
        self.files.iter().find(|(of, _)| of == key).map(|(_, files)| files)
    }

    fn set_files(&mut self, key: &str, files: Files) {
        self.files.retain(|(of, _)| of != key);
        self.files.push((key.to_owned(), files));
    }

    /// What verifying a subject found.
    fn report_of(&self, key: &str) -> Option<&Report> {
        self.reports.iter().find(|(of, _)| of == key).map(|(_, report)| report)
    }

    fn report_mut(&mut self, key: &str) -> Option<&mut Report> {
        self.reports.iter_mut().find(|(of, _)| of == key).map(|(_, report)| report)
    }

    fn set_report(&mut self, key: &str, report: Report) {
        self.reports.retain(|(of, _)| of != key);
        self.reports.push((key.to_owned(), report));
    }

    /// Says that something went wrong, until a person has seen it.
    fn alert(&self, text: &str) {
        let shown = || -> Result<(), JsValue> {
            let alerts = self.document.get_element_by_id("alerts").ok_or("no alerts")?;
            let line = add(&alerts, "p", "", "")?;
            add(&line, "span", "", text)?;
            add_button(&line, "dismiss", "Dismiss")?;
            Ok(())
        };
        // Nothing is left to say it with.
        let _ = shown();
    }

    /// Says what happened, at the foot of the page.
    fn tell(&self, text: &str) {
        set_text(&self.document, "foot", text);
    }

    /// Leaves a measure on the root element, for who tests the page.
    fn measure(&self, name: &str, value: f64) -> Result<(), JsValue> {
        let root = self.document.document_element().ok_or("no root element")?;
        let name: String = name
            .chars()
            .flat_map(|c| {
                let dash = c.is_ascii_uppercase().then_some('-');
                dash.into_iter().chain(std::iter::once(c.to_ascii_lowercase()))
            })
            .collect();
        root.set_attribute(&format!("data-{name}"), &format!("{value}"))
    }

    fn stored_theme(&self) -> Option<String> {
        self.window.local_storage().ok()??.get_item("wimg-theme").ok()?
    }

    fn is_dark(&self) -> bool {
        let chosen =
            self.document.document_element().and_then(|root| root.get_attribute("data-theme"));
        match chosen.as_deref() {
            Some(theme) => theme == "dark",
            None => {
                let query = self.window.match_media("(prefers-color-scheme: dark)");
                query.ok().flatten().is_some_and(|query| query.matches())
            }
        }
    }

    fn palette(&self) -> Palette {
        Palette { dark: self.is_dark() }
    }

    fn apply_theme(&self, theme: Option<&str>) -> Result<(), JsValue> {
        let root = self.document.document_element().ok_or("no root element")?;
        match theme {
            Some(theme @ ("dark" | "light")) => root.set_attribute("data-theme", theme),
            _ => root.remove_attribute("data-theme"),
        }
    }

    fn switch_theme(&mut self) -> Result<(), JsValue> {
        let theme = if self.is_dark() { "light" } else { "dark" };
        self.apply_theme(Some(theme))?;
        if let Ok(Some(storage)) = self.window.local_storage() {
            // A browser that keeps nothing still shows it.
            let _ = storage.set_item("wimg-theme", theme);
        }
        self.render()
    }

    /// Pixels of a canvas to one of the page.
    fn scale(&self) -> f64 {
        self.window.device_pixel_ratio().clamp(1.0, 4.0)
    }

    fn focus(&self, id: &str) -> Result<(), JsValue> {
        by_id::<HtmlElement>(&self.document, id).map_or(Ok(()), |element| element.focus())
    }
}
