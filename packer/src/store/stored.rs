//! An image directory that is there: its small files read, and planned again.

use std::fs;
use std::path::{Path, PathBuf};

use wimg_core::gguf::{self, Read};
use wimg_core::manifest::FORMAT_VERSION;
use wimg_core::{Checkpoint, Digest, ImageLayout, Manifest, ManifestError, Plan, Selection};

use super::{IMAGE_JSON, header_name, read_file};
use crate::error::Error;

/// An image directory, opened: what its small files say, and its plan.
#[derive(Debug)]
pub struct StoredImage {
    /// The folder.
    pub dir: PathBuf,
    /// `image.json`.
    pub manifest: Manifest,
    /// `image.json` as it stands.
    pub text: Vec<u8>,
    /// The checkpoint that the headers tell of.
    pub checkpoint: Checkpoint,
    /// The headers.
    pub headers: Vec<Vec<u8>>,
    /// The plan that follows from the headers, the layout and the selection.
    pub plan: Plan,
}

impl StoredImage {
    /// Opens an image: reads `image.json` and the headers and plans again. No
    /// channel is opened.
    ///
    /// # Errors
    /// A folder without `image.json`; a later format; small files that cannot
    /// be read or do not agree; I/O.
    pub fn open(dir: &Path) -> Result<StoredImage, Error> {
        let (manifest, text) = read_manifest(dir)?;
        let (checkpoint, headers) = read_headers(dir, &manifest, true)?;
        let plan = plan(dir, &manifest, Some(&checkpoint))?;
        Ok(StoredImage { dir: dir.to_owned(), manifest, text, checkpoint, headers, plan })
    }

    /// Opens an image for those who look for damage: its headers may be damaged,
    /// and `image.json` too as long as it can be read. What was found so.
    ///
    /// # Errors
    /// As [`StoredImage::open`], but for what it says of damage.
    pub fn open_damaged(dir: &Path) -> Result<(StoredImage, Vec<Error>), Error> {
        let (manifest, text) = read_manifest_anyhow(dir)?;
        let mut damage = Vec::new();
        let whole = Manifest::is_whole(&text);
        if !whole {
            damage.push(not_whole(dir));
        }
        let (checkpoint, headers) = match read_headers(dir, &manifest, whole) {
            Ok(read) => read,
            Err(error @ Error::Damaged { .. }) => {
                damage.push(error);
                (Checkpoint { shards: Vec::new(), tensors: Vec::new() }, Vec::new())
            }
            Err(error) => return Err(error),
        };
        let known = (!headers.is_empty()).then_some(&checkpoint);
        let plan = match plan(dir, &manifest, known) {
            Ok(plan) => plan,
            Err(error) if damage.is_empty() => return Err(error),
            Err(error) => {
                damage.push(error);
                return Err(damage.swap_remove(0));
            }
        };
        let image = StoredImage { dir: dir.to_owned(), manifest, text, checkpoint, headers, plan };
        Ok((image, damage))
    }
}

/// The plan of an image: from its headers, or where those are damaged from what
/// `image.json` says of its tensors.
fn plan(dir: &Path, manifest: &Manifest, checkpoint: Option<&Checkpoint>) -> Result<Plan, Error> {
    let damaged = |why: String| Error::Damaged { path: dir.join(IMAGE_JSON), why };
    let Some(checkpoint) = checkpoint else {
        return manifest.plan().map_err(|error| damaged(error.to_string()));
    };
    let layout: ImageLayout = manifest.layout.parse().map_err(|e| damaged(format!("{e}")))?;
    let selection: Selection = manifest.selection.parse().map_err(|e| damaged(format!("{e}")))?;
    Plan::new(checkpoint, selection, &layout)
        .map_err(|e| damaged(format!("its headers have no such image: {e}")))
}

/// The most bytes of an `image.json`: those of the largest header's tensors.
const MANIFEST_LIMIT: u64 = 1 << 30;

/// Reads `image.json`; its text as it stands.
///
/// # Errors
/// A folder without one; a later format; what is no manifest, or not whole; I/O.
pub fn read_manifest(dir: &Path) -> Result<(Manifest, Vec<u8>), Error> {
    let (manifest, text) = read_manifest_anyhow(dir)?;
    if Manifest::is_whole(&text) { Ok((manifest, text)) } else { Err(not_whole(dir)) }
}

fn not_whole(dir: &Path) -> Error {
    let why = "its last line is not the digest of its other lines".to_owned();
    Error::Damaged { path: dir.join(IMAGE_JSON), why }
}

/// Reads `image.json` even where its last line is not the digest of the others.
fn read_manifest_anyhow(dir: &Path) -> Result<(Manifest, Vec<u8>), Error> {
    let path = dir.join(IMAGE_JSON);
    let not_an_image = || Error::NotAnImage(dir.to_owned());
    match fs::metadata(dir) {
        Ok(meta) if !meta.is_dir() => return Err(not_an_image()),
        Ok(_) => {}
        Err(cause) => return Err(Error::io(dir, "opening it", cause)),
    }
    let text = read_file(&path, MANIFEST_LIMIT)?.ok_or_else(not_an_image)?;
    let damaged = |why: String| Error::Damaged { path: path.clone(), why };
    if text.len() as u64 > MANIFEST_LIMIT {
        return Err(damaged(format!("it has more than {MANIFEST_LIMIT} bytes")));
    }
    let manifest = Manifest::read(&text).map_err(|error| match error {
        // Every version ends in the digest: without it this is no version.
        ManifestError::Version { .. } if Manifest::is_whole(&text) => {
            Error::Later { path: path.clone(), why: error.to_string() }
        }
        _ => damaged(error.to_string()),
    })?;
    if manifest.format != FORMAT_VERSION {
        return Err(damaged(format!("format version {} never was", manifest.format)));
    }
    Ok((manifest, text))
}

/// The headers of an image; held against their digests only if `image.json`,
/// which has those, can be believed.
fn read_headers(
    dir: &Path,
    manifest: &Manifest,
    believed: bool,
) -> Result<(Checkpoint, Vec<Vec<u8>>), Error> {
    let mut shards = Vec::new();
    let mut headers = Vec::new();
    for (number, shard) in manifest.checkpoint.shards.iter().enumerate() {
        let path = dir.join(header_name(number));
        let damaged = |why: String| Error::Damaged { path: path.clone(), why };
        let want = shard.header_length;
        let bytes = read_file(&path, want)?.ok_or_else(|| damaged("it is missing".into()))?;
        let have = bytes.len() as u64;
        if have != want {
            let more = if have > want { "more than " } else { "" };
            let have = have.min(want);
            return Err(damaged(format!("it has {more}{have} bytes, image.json has {want}")));
        }
        let digest = Digest::of(&bytes);
        if believed && digest != shard.header_blake3 {
            let want = shard.header_blake3;
            return Err(damaged(format!("its BLAKE3 is {digest}, image.json has {want}")));
        }
        match gguf::read(&bytes, shard.length) {
            Ok(Read::Header(header)) => shards.push(header),
            Ok(Read::More { .. }) => return Err(damaged("the header goes on past its end".into())),
            Err(error) => return Err(damaged(error.to_string())),
        }
        headers.push(bytes);
    }
    let checkpoint = Checkpoint::new(shards).map_err(|error| Error::Damaged {
        path: dir.join(IMAGE_JSON),
        why: format!("its headers are no checkpoint: {error}"),
    })?;
    Ok((checkpoint, headers))
}
