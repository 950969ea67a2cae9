//! A tile's bytes: packed from the checkpoint, read from the image, or both.

use wasm_bindgen::JsValue;
use web_sys::Element;
use wimg_core::pack::pack_window;
use wimg_core::window::tile_window;
use wimg_core::{Plan, Window};

use crate::model::folder::{Finding, Folder};
use crate::model::hex::{self, PER_LINE, differences};
use crate::model::quantity::count;
use crate::page::App;
use crate::page::bytes::Bytes;
use crate::page::dom::{add, emptied, show};
use crate::page::files::{Files, Named};

/// Lines of hex on a page of them.
const LINES: usize = 128;

/// A tile as an image has it, and what is wrong with it.
type ReadTile = (Vec<u8>, Vec<Finding>);

/// The bytes that are shown.
#[derive(Default)]
pub(crate) struct TileBytes {
    /// Which tile of which image they are of: what they were asked for by.
    of: Option<(String, String, String, u64)>,
    packed: Option<Result<Vec<u8>, String>>,
    read: Option<Result<ReadTile, String>>,
    /// The page's first line of hex.
    from: usize,
}

/// Asks for the pinned tile's bytes, unless they are there, and shows them.
pub(crate) fn refresh(app: &mut App) -> Result<(), JsValue> {
    let of = app.pinned().zip(app.image()).map(|(tile, shown)| {
        let layout = shown.plan.image().layout().to_string();
        let selection = shown.plan.selection().name().to_owned();
        (shown.subject.clone(), layout, selection, tile.index)
    });
    if app.tile_bytes.of == of {
        return render(app);
    }
    app.tile_bytes = TileBytes { of: of.clone(), ..TileBytes::default() };
    if let (Some(of), Some(shown)) = (of, app.image()) {
        if let Some((window, shards)) = packable(app, &shown.plan, of.3) {
            let (plan, asked) = (shown.plan.clone(), of.clone());
            wasm_bindgen_futures::spawn_local(async move {
                let packed = pack(&plan, &window, &shards).await;
                keep(&asked, |bytes| bytes.packed = Some(packed));
            });
        }
        if let Some(files) = image_files(app) {
            let (plan, asked) = (shown.plan.clone(), of);
            wasm_bindgen_futures::spawn_local(async move {
                let read = read(&plan, &files, asked.3).await;
                keep(&asked, |bytes| bytes.read = Some(read));
            });
        }
    }
    render(app)
}

/// Keeps what came, if it is still what is asked for, and shows it.
fn keep(asked: &(String, String, String, u64), put: impl FnOnce(&mut TileBytes)) {
    super::with(|app| {
        if app.tile_bytes.of.as_ref() == Some(asked) {
            put(&mut app.tile_bytes);
            render(app)?;
        }
        Ok(())
    });
}

/// What it takes to pack a tile: an open checkpoint, this one or one with the
/// same headers.
fn packable(app: &App, plan: &Plan, tile: u64) -> Option<(Window, Vec<Bytes>)> {
    let own = app.state.subject.as_ref()?;
    let subject = app.library.find(own)?;
    let twin = app.files.iter().find(|(key, files)| {
        let Files::Checkpoint(_) = files else { return false };
        let checkpoint = app.library.find(key).and_then(|other| other.checkpoint());
        key == own || (checkpoint.is_some() && checkpoint == subject.checkpoint())
    });
    match twin {
        Some((_, Files::Checkpoint(shards))) => Some((tile_window(plan, tile)?, shards.clone())),
        _ => None,
    }
}

/// The image's files, if the image that is shown is the one that was packed.
fn image_files(app: &App) -> Option<Vec<Named>> {
    let shown = app.image()?;
    let layout = shown.plan.image().layout();
    app.files.iter().find_map(|(key, files)| {
        let Files::Image(files) = files else { return None };
        let manifest = app.library.find(key)?;
        let crate::model::subject::Origin::Image(manifest, checkpoint) = &manifest.origin else {
            return None;
        };
        let own = key == &shown.subject;
        let twin = checkpoint.as_deref().is_some_and(|checkpoint| {
            app.library.find(&shown.subject).and_then(|s| s.checkpoint()) == Some(checkpoint)
        });
        let same = manifest.layout == layout.to_string()
            && manifest.selection == shown.plan.selection().name();
        ((own || twin) && same).then(|| files.clone())
    })
}

async fn pack(plan: &Plan, window: &Window, shards: &[Bytes]) -> Result<Vec<u8>, String> {
    let mut source = Vec::new();
    for range in &window.sources {
        let shard = usize::try_from(range.shard).ok().and_then(|shard| shards.get(shard));
        let shard = shard.ok_or("the checkpoint's shard is not open")?;
        source.extend(shard.read(range.offset, range.len).await?);
    }
    let len = usize::try_from(window.channel_bytes).map_err(|error| error.to_string())?;
    let mut tile = vec![0; len];
    pack_window(plan.image(), window, &source, &mut tile).map_err(|error| error.to_string())?;
    Ok(tile)
}

async fn read(plan: &Plan, files: &[Named], index: u64) -> Result<ReadTile, String> {
    // The folder asks twice, for the tile and for its word: both are read first.
    let lengths: Vec<(String, u64)> =
        files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect();
    let mut there: Vec<((String, u64, u64), Vec<u8>)> = Vec::new();
    for _ in 0..3 {
        let mut missed = None;
        let mut serve = |name: &str, from: u64, len: u64| {
            let asked = (name.to_owned(), from, len);
            match there.iter().find(|(have, _)| *have == asked) {
                Some((_, bytes)) => Ok(bytes.clone()),
                None => {
                    missed = Some(asked);
                    Err("not read yet".to_owned())
                }
            }
        };
        let tile = Folder { files: lengths.clone(), read: &mut serve }.tile(plan, index);
        let Some(asked) = missed else { return tile };
        let bytes = files.iter().find(|(name, _)| *name == asked.0);
        let (_, bytes) = bytes.ok_or_else(|| format!("{} is missing", asked.0))?;
        let bytes =
            bytes.read(asked.1, asked.2).await.map_err(|why| format!("{}: {why}", asked.0))?;
        there.push((asked, bytes));
    }
    Err("the tile could not be read".to_owned())
}

/// Turns the page of hex.
pub(crate) fn turn(app: &mut App, back: bool) -> Result<(), JsValue> {
    let longest = longest(&app.tile_bytes).div_ceil(PER_LINE);
    let from = app.tile_bytes.from;
    app.tile_bytes.from = match back {
        true => from.saturating_sub(LINES),
        false if from + LINES < longest => from + LINES,
        false => from,
    };
    render(app)
}

/// Shows the page with the first difference.
pub(crate) fn to_difference(app: &mut App) -> Result<(), JsValue> {
    if let (Some(Ok(packed)), Some(Ok((read, _)))) = (&app.tile_bytes.packed, &app.tile_bytes.read)
        && let (_, Some(first)) = differences(packed, read)
    {
        let line = usize::try_from(first).unwrap_or(0) / PER_LINE;
        app.tile_bytes.from = line / LINES * LINES;
    }
    render(app)
}

fn longest(bytes: &TileBytes) -> usize {
    let packed = bytes.packed.iter().flatten().map(Vec::len);
    let read = bytes.read.iter().flatten().map(|(bytes, _)| bytes.len());
    packed.chain(read).max().unwrap_or(0)
}

fn render(app: &App) -> Result<(), JsValue> {
    let place = emptied(&app.document, "bytes")?;
    let TileBytes { of, packed, read, .. } = &app.tile_bytes;
    show(&app.document, "bytes-difference", false)?;
    if of.is_none() {
        add(&place, "p", "empty", "Pin a tile to see its bytes.")?;
        return Ok(());
    }
    if packed.is_none() && read.is_none() {
        let text = match app.files.is_empty() {
            true => {
                "Open the checkpoint to see the tile packed here and now, or the image's folder to see it as it was packed."
            }
            false => {
                "The files that are open do not have this tile; it is on its way, or the layout is not theirs."
            }
        };
        add(&place, "p", "empty", text)?;
        return Ok(());
    }
    if let (Some(Ok(packed)), Some(Ok((read, _)))) = (packed, read) {
        let text = match differences(packed, read) {
            (0, _) => "The image's tile is what packing the checkpoint gives.".to_owned(),
            (bytes, first) => {
                show(&app.document, "bytes-difference", true)?;
                let first = first.unwrap_or(0);
                match bytes {
                    1 => format!("One byte differs, byte {first}."),
                    _ => format!("{} bytes differ, the first is byte {first}.", count(bytes)),
                }
            }
        };
        let class = if packed == read { "good" } else { "error" };
        add(&place, "p", class, &text)?.set_attribute("id", "bytes-verdict")?;
    }
    let twin = add(&place, "div", "twin", "")?;
    let other =
        read.as_ref().and_then(|read| read.as_ref().ok()).map(|(bytes, _)| bytes.as_slice());
    if let Some(packed) = packed {
        let column = column(&twin, "Packed here, from the checkpoint")?;
        match packed {
            Ok(bytes) => dump(&column, bytes, other, app.tile_bytes.from)?,
            Err(why) => drop(add(&column, "p", "error", why)?),
        }
    }
    if let Some(read) = read {
        let column = column(&twin, "As the image has it")?;
        match read {
            Ok((bytes, findings)) => {
                if findings.is_empty() {
                    add(&column, "p", "good", "Its bytes, its check word and tiles.crc agree.")?;
                }
                for finding in findings {
                    add(&column, "p", "error", &finding.text)?;
                }
                let other = packed.as_ref().and_then(|packed| packed.as_deref().ok());
                dump(&column, bytes, other, app.tile_bytes.from)?;
            }
            Err(why) => drop(add(&column, "p", "error", why)?),
        }
    }
    Ok(())
}

fn column(parent: &Element, title: &str) -> Result<Element, JsValue> {
    let column = add(parent, "div", "", "")?;
    add(&column, "p", "sub", title)?;
    Ok(column)
}

fn dump(parent: &Element, bytes: &[u8], other: Option<&[u8]>, from: usize) -> Result<(), JsValue> {
    let lines = hex::lines(bytes, other, from, LINES);
    let last = (from + lines.len()) * PER_LINE;
    let range = format!(
        "bytes {}\u{2013}{} of {}",
        count((from * PER_LINE) as u64),
        count(last.min(bytes.len()).saturating_sub(1) as u64),
        count(bytes.len() as u64)
    );
    add(parent, "p", "sub", &range)?;
    let scroll = add(parent, "div", "hex", "")?;
    scroll.set_attribute("tabindex", "0")?;
    scroll.set_attribute("role", "region")?;
    scroll.set_attribute("aria-label", "Hex")?;
    let text = add(&scroll, "pre", "", "")?;
    for line in lines {
        add(&text, "span", "place", &format!("{:06x}  ", line.offset))?;
        for (piece, differs) in line.pieces {
            add(&text, if differs { "mark" } else { "span" }, "", &piece)?;
        }
        add(&text, "span", "ascii", &format!("  {}\n", line.ascii))?;
    }
    Ok(())
}
