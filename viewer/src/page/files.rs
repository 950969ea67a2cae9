//! Opening files: those of a person, and those that are served or written
//! beside the page.

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, File, FileList};
use wimg_core::gguf::{self, Header, Read};
use wimg_core::{Checkpoint, Escaped, ImageRow, Manifest};

use crate::model::folder::Folder;
use crate::model::night::{Night, is_report};
use crate::model::subject::{Origin, notes};
use crate::model::upload::{Group, IMAGE_JSON, groups, split};
use crate::page::App;
use crate::page::bytes::Bytes;
use crate::page::night;

/// What a subject was opened from.
#[derive(Clone, Debug)]
pub(crate) enum Files {
    /// A checkpoint's shards in order.
    Checkpoint(Vec<Bytes>),
    /// An image's files, by their names in its folder.
    Image(Vec<Named>),
}

/// A file's path or name, and its bytes.
pub(crate) type Named = (String, Bytes);

/// JSON larger than this is no ledger and no `image.json`.
const JSON_LIMIT: u64 = 256 << 20;

/// Opens what a person chose.
pub(crate) fn open_chosen(list: &FileList) {
    let file = |at| {
        let file = list.item(at)?;
        let path = js_sys::Reflect::get(&file, &JsValue::from_str("webkitRelativePath"));
        let path = path.ok().and_then(|path| path.as_string()).filter(|path| !path.is_empty());
        Some((path.unwrap_or_else(|| file.name()), Bytes::Opened(Blob::from(file))))
    };
    open((0..list.length()).filter_map(file).collect());
}

/// Opens what was dropped: pairs of a path and a file.
pub(crate) fn open_dropped(list: &JsValue) {
    let pairs = Array::from(list);
    let file = |pair: JsValue| {
        let pair: Array = pair.dyn_into().ok()?;
        let file: File = pair.get(1).dyn_into().ok()?;
        Some((pair.get(0).as_string()?, Bytes::Opened(Blob::from(file))))
    };
    open(pairs.iter().filter_map(file).collect());
}

/// Opens files together, one group after another.
fn open(files: Vec<Named>) {
    let paths: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let (groups, missing) = groups(&paths);
    super::with(|app| {
        missing.iter().for_each(|text| app.alert(text));
        if groups.is_empty() && missing.is_empty() {
            app.alert("There is no checkpoint, image, ledger or report among these files.");
        }
        Ok(())
    });
    spawn_local(async move {
        for group in groups {
            let name = first_of(&group).and_then(|at| files.get(at)).map(|(path, _)| path.clone());
            let name = name.unwrap_or_default();
            let opened = match group {
                Group::Checkpoint(shards) => open_checkpoint(&files, &shards).await,
                Group::Image(json, members) => open_image(&files, json, &members).await,
                Group::Json(at) => open_json(&files, at).await,
            };
            super::with(|app| match opened {
                Ok(opened) => keep(app, opened, true),
                Err(why) => {
                    app.alert(&format!("{}: {why}", Escaped::new(&name)));
                    Ok(())
                }
            });
        }
    });
}

fn first_of(group: &Group) -> Option<usize> {
    match group {
        Group::Checkpoint(shards) => shards.first().copied(),
        Group::Image(at, _) | Group::Json(at) => Some(*at),
    }
}

/// A subject, rows of a ledger, or a night.
pub(crate) enum Found {
    Subject(Origin),
    Rows(Vec<ImageRow>),
    Night(Box<Night>),
}

/// What was opened: under which name, from where, from which files.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) found: Found,
    pub(crate) notes: Vec<String>,
    pub(crate) files: Option<Files>,
    pub(crate) bytes_read: u64,
}

/// Puts what was opened into the library, and shows it if a person opened it.
pub(crate) fn keep(app: &mut App, opened: Opened, show: bool) -> Result<(), JsValue> {
    let Opened { name, found, notes, files, bytes_read } = opened;
    app.bytes_read += bytes_read;
    app.measure("bytesRead", app.bytes_read as f64)?;
    let is_ledger = matches!(found, Found::Rows(_));
    let key = match found {
        Found::Subject(origin) => app.library.add(&name, origin, notes).map(Some),
        Found::Rows(rows) => Ok(app.library.add_rows(&name, rows)),
        Found::Night(night) => return night::keep(app, *night, show),
    };
    let key = match key {
        Ok(Some(key)) => key,
        Ok(None) => return Ok(()),
        Err(why) => {
            app.alert(&format!("{}: {why}", Escaped::new(&name)));
            return Ok(());
        }
    };
    // What was planned and verified under this name was another's.
    app.reports.retain(|(of, _)| of != &key);
    app.shown = None;
    app.beside = None;
    if show {
        app.tell(&format!("Opened {}.", Escaped::new(&name)));
    }
    if let Some(files) = files {
        app.set_files(&key, files);
        app.tile_bytes = super::TileBytes::default();
    }
    // A ledger is looked at as a whole; a link may wait for this very subject.
    let awaited = app.state.subject.as_deref() == Some(&key);
    if show && !is_ledger && !awaited {
        let entry = app.library.entries.iter().find(|entry| entry.subject == key);
        if let Some(entry) = entry {
            app.state.layout = entry.row.layout.parse().unwrap_or_default();
            app.state.selection = entry.row.selection.parse().unwrap_or_default();
            (app.state.span, app.state.tile, app.state.other) = (None, None, None);
            app.hover = None;
            app.state.subject = Some(key);
            app.publish(false)?;
        }
    }
    app.render()
}

/// Reads a header: a prefix that grows until it is all there.
async fn header(bytes: &Bytes, read_in_all: &mut u64) -> Result<Header, String> {
    let len = bytes.len();
    let mut prefix: Vec<u8> = Vec::new();
    loop {
        match gguf::read(&prefix, len).map_err(|error| error.to_string())? {
            Read::Header(header) => return Ok(header),
            Read::More { at_least } => {
                let have = prefix.len() as u64;
                let more = bytes.read(have, at_least.saturating_sub(have)).await?;
                *read_in_all += more.len() as u64;
                if more.is_empty() {
                    return Err("its header has no end".to_owned());
                }
                prefix.extend(more);
            }
        }
    }
}

async fn open_checkpoint(files: &[Named], shards: &[usize]) -> Result<Opened, String> {
    let shards: Vec<&Named> = shards.iter().filter_map(|&at| files.get(at)).collect();
    let mut headers = Vec::new();
    let mut bytes_read = 0;
    for (path, bytes) in &shards {
        let header = header(bytes, &mut bytes_read).await;
        headers.push(header.map_err(|why| match shards.len() {
            1 => why,
            _ => format!("{}: {why}", Escaped::new(split(path).1)),
        })?);
    }
    let checkpoint = Checkpoint::new(headers).map_err(|error| error.to_string())?;
    let name = shards.first().map(|(path, _)| split(path).1.to_owned()).unwrap_or_default();
    Ok(Opened {
        name,
        notes: notes(&checkpoint),
        found: Found::Subject(Origin::Checkpoint(Box::new(checkpoint))),
        files: Some(Files::Checkpoint(
            shards.into_iter().map(|(_, bytes)| bytes.clone()).collect(),
        )),
        bytes_read,
    })
}

async fn open_image(files: &[Named], json: usize, members: &[usize]) -> Result<Opened, String> {
    let path = files.get(json).map(|(path, _)| path.as_str()).unwrap_or_default();
    let folder = split(path).0;
    let name = split(folder).1;
    let members = members.iter().filter_map(|&at| files.get(at));
    let members = members.map(|(path, bytes)| (split(path).1.to_owned(), bytes.clone()));
    image(if name.is_empty() { IMAGE_JSON } else { name }, members.collect()).await
}

/// An image of which all files are there.
async fn image(name: &str, files: Vec<Named>) -> Result<Opened, String> {
    let mut small: Vec<(String, Vec<u8>)> = Vec::new();
    let mut bytes_read = 0;
    for (name, bytes) in &files {
        let limit = if name.starts_with("header-") {
            gguf::HEADER_LIMIT + gguf::ALIGNMENT_LIMIT
        } else {
            JSON_LIMIT
        };
        if (name == IMAGE_JSON || name.starts_with("header-")) && bytes.len() <= limit {
            small.push((name.clone(), bytes.read(0, bytes.len()).await?));
            bytes_read += bytes.len();
        }
    }
    let lengths = files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect();
    let mut read = |name: &str, _: u64, _: u64| {
        let found = small.iter().find(|(file, _)| file == name);
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| format!("{name} is too large"))
    };
    let opened = Folder { files: lengths, read: &mut read }.open()?;
    let (manifest, checkpoint) = (Box::new(opened.manifest), Box::new(opened.checkpoint));
    Ok(Opened {
        name: name.to_owned(),
        found: Found::Subject(Origin::Image(manifest, Some(checkpoint))),
        notes: Vec::new(),
        files: Some(Files::Image(files)),
        bytes_read,
    })
}

/// JSON: an `image.json`, a ledger, or a night's report.
async fn open_json(files: &[Named], at: usize) -> Result<Opened, String> {
    let (path, bytes) = files.get(at).ok_or("no such file")?;
    if bytes.len() > JSON_LIMIT {
        return Err(format!("it has {} bytes, the limit is {JSON_LIMIT}", bytes.len()));
    }
    let text = bytes.read(0, bytes.len()).await?;
    let folder = split(split(path).0).1;
    // A report's path leads to its images.
    let name = if folder.is_empty() || is_report(&text) { path } else { folder };
    json(name, &text)
}

/// The text of an `image.json`, of a ledger or of a night's report.
pub(crate) fn json(name: &str, text: &[u8]) -> Result<Opened, String> {
    let opened = |found| Opened {
        name: name.to_owned(),
        found,
        notes: Vec::new(),
        files: None,
        bytes_read: text.len() as u64,
    };
    if is_report(text) {
        return Ok(opened(Found::Night(Box::new(night::read(name, text)?))));
    }
    match Manifest::read(text) {
        Ok(manifest) => {
            manifest.plan().map_err(|error| error.to_string())?;
            Ok(opened(Found::Subject(Origin::Image(Box::new(manifest), None))))
        }
        Err(as_manifest) => {
            let text = str::from_utf8(text).map_err(|_| "it is not text".to_owned())?;
            let ledger = wimg_core::ledger::json::read(text).map_err(|as_ledger| {
                match text.trim_start().starts_with("{\"format\"") {
                    true => as_manifest.to_string(),
                    false => format!("it is no ledger of JSON Lines: {as_ledger}"),
                }
            })?;
            if ledger.rows.is_empty() {
                return Err("a ledger without rows".to_owned());
            }
            Ok(opened(Found::Rows(ledger.rows)))
        }
    }
}
