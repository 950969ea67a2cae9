//! What comes with the page: in a report, in the page's own text; from a
//! server, in a list of what it serves.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use wimg_core::Checkpoint;
use wimg_core::Manifest;
use wimg_core::gguf::{self, Read};

use crate::model::quantity::whole;
use crate::model::subject::{Origin, notes};
use crate::page::bytes::{Bytes, fetch};
use crate::page::dom::said;
use crate::page::files::{Files, Found, Named, Opened, json, keep};
use crate::page::json::{list, number, parse, string, value};
use crate::page::{App, with};

/// Opens what comes with the page.
pub(crate) fn open(app: &mut App) {
    if let Some(data) = app.document.get_element_by_id("wimg-data") {
        if let Err(why) = embedded(app, &data.text_content().unwrap_or_default()) {
            app.alert(&format!("the report's data: {why}"));
        }
        return;
    }
    let served = app.window.location().protocol().is_ok_and(|name| name.starts_with("http"));
    if served {
        spawn_local(async {
            // A server that is not wimg's lists nothing.
            if let Ok(list) = fetch("data/index.json", None).await
                && let Ok(text) = String::from_utf8(Uint8Array::new(&list).to_vec())
                && let Ok(index) = parse(&text)
            {
                open_served(&index).await;
            }
        });
    }
}

/// Opens what a report has in its element `wimg-data`: nights' reports, ledgers
/// and manifests as text, checkpoints as the headers of their shards in base64.
fn embedded(app: &mut App, text: &str) -> Result<(), String> {
    let data = parse(text)?;
    for texts in ["reports", "ledgers"] {
        for file in list(&data, texts).iter() {
            let path = string(&file, "path");
            put(app, &path, json(&path, string(&file, "text").as_bytes()));
        }
    }
    for image in list(&data, "images").iter() {
        let path = string(&image, "path");
        put(app, &path, json(&path, string(&image, "manifest").as_bytes()));
    }
    for checkpoint in list(&data, "checkpoints").iter() {
        let path = string(&checkpoint, "path");
        let opened = checkpoint_of(app, &path, &list(&checkpoint, "shards"));
        put(app, &path, opened);
    }
    Ok(())
}

fn checkpoint_of(app: &App, path: &str, shards: &Array) -> Result<Opened, String> {
    let headers: Result<Vec<_>, String> = shards.iter().map(|shard| header(app, &shard)).collect();
    let checkpoint = Checkpoint::new(headers?).map_err(|error| error.to_string())?;
    Ok(Opened {
        name: path.to_owned(),
        notes: notes(&checkpoint),
        found: Found::Subject(Origin::Checkpoint(Box::new(checkpoint))),
        files: None,
        bytes_read: 0,
    })
}

/// A shard's header: its bytes in base64, and the length of the whole file.
fn header(app: &App, shard: &JsValue) -> Result<gguf::Header, String> {
    let length = whole(number(shard, "length"));
    let binary = app.window.atob(&string(shard, "header")).map_err(|_| "a header is no base64")?;
    // One character a byte: what base64 gives.
    let bytes: Vec<u8> = binary.chars().filter_map(|c| u8::try_from(u32::from(c)).ok()).collect();
    match gguf::read(&bytes, length).map_err(|error| error.to_string())? {
        Read::Header(header) => Ok(header),
        Read::More { .. } => Err("a header is cut off".to_owned()),
    }
}

fn put(app: &mut App, path: &str, opened: Result<Opened, String>) {
    let kept = opened.and_then(|opened| keep(app, opened, false).map_err(|error| said(&error)));
    if let Err(why) = kept {
        app.alert(&format!("{}: {why}", wimg_core::Escaped::new(path)));
    }
}

/// Opens what a server lists in `data/index.json`.
async fn open_served(index: &JsValue) {
    // The night first: it is what somebody waits for.
    let texts = ["reports", "ledgers"].map(|texts| list(index, texts));
    for path in texts.iter().flat_map(Array::iter).filter_map(|path| path.as_string()) {
        let opened = text(&path).await.and_then(|text| json(&path, &text));
        with(|app| {
            put(app, &path, opened);
            Ok(())
        });
    }
    for listed in list(index, "images").iter() {
        let path = string(&listed, "path");
        let opened = text(&string(&listed, "manifest")).await;
        let opened = opened.and_then(|text| image(&path, &text));
        with(|app| {
            put(app, &path, opened);
            Ok(())
        });
    }
    if value(index, "whole").as_bool() == Some(false) {
        with(|app| {
            app.tell("The folder is very large: not all of it was searched.");
            Ok(())
        });
    }
}

async fn text(path: &str) -> Result<Vec<u8>, String> {
    let buffer = fetch(&address(path), None).await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// An image whose files are served: its `image.json` is read now, the others
/// when they are asked for.
fn image(path: &str, text: &[u8]) -> Result<Opened, String> {
    let name = if path.is_empty() { "image" } else { path };
    let mut opened = json(name, text)?;
    let manifest = Manifest::read(text).map_err(|error| error.to_string())?;
    let line_bytes = manifest.ledger.beat;
    let mut files: Vec<Named> = Vec::new();
    let mut add = |name: String, len: u64| {
        let within = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        files.push((name, Bytes::Served(address(&within), len)));
    };
    add("image.json".to_owned(), text.len() as u64);
    add("tiles.crc".to_owned(), manifest.tiles_crc.length);
    for (number, shard) in manifest.checkpoint.shards.iter().enumerate() {
        add(format!("header-{number}.gguf"), shard.header_length);
    }
    for (number, channel) in manifest.channels.iter().enumerate() {
        add(format!("channel-{number}.bin"), channel.lines.saturating_mul(line_bytes));
    }
    if let Some(rest) = &manifest.rest {
        add("rest.bin".to_owned(), rest.length);
    }
    opened.files = Some(Files::Image(files));
    Ok(opened)
}

/// A served file's address: each part of its path escaped.
fn address(path: &str) -> String {
    let parts = path.split('/').map(|part| String::from(js_sys::encode_uri_component(part)));
    format!("data/{}", parts.collect::<Vec<_>>().join("/"))
}
