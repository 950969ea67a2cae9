//! The small files of an image: there, whole, and what the plan makes of them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;

use wimg_core::manifest::{ManifestFile, ManifestRest};
use wimg_core::{Damage, Digest, verify};

use super::Found;
use crate::error::Error;
use crate::store::{
    IMAGE_JSON, REST_BIN, RUN_JSON, StoredImage, TILES_CRC, channel_name, header_name,
    is_image_file, open_file, read_file,
};

/// Damage of a whole file as its report; anything else is none.
pub(super) fn file_damage(error: Error) -> Option<Damage> {
    let Error::Damaged { path, why } = error else { return None };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Some(Damage::File { name, why, offset: None })
}

/// What opening or reading a file gave; damage is reported and gives nothing.
pub(super) fn or_damage<T>(
    result: Result<Option<T>, Error>,
    name: &str,
    found: &mut Found,
) -> Result<Option<T>, Error> {
    match result {
        Ok(Some(opened)) => Ok(Some(opened)),
        Ok(None) => {
            found.add([missing(name)]);
            Ok(None)
        }
        Err(error @ Error::Damaged { .. }) => {
            found.add(file_damage(error));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads `tiles.crc` and `rest.bin` and holds them against the manifest; gives
/// the listed CRCs. What is missing is damage.
pub(crate) fn check_small_files(image: &StoredImage, found: &mut Found) -> Result<Vec<u32>, Error> {
    let manifest = &image.manifest;
    let listed = ManifestFile {
        length: image.plan.image().tile_count() * 4,
        blake3: manifest.tiles_crc.blake3,
    };
    let crcs = small_file(image, TILES_CRC, &listed, found)?;
    if let Some(rest) = &manifest.rest {
        rest_file(image, rest, found)?;
    }
    found.add(extra_files(image)?);
    let (words, _) = crcs.as_chunks::<4>();
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// A small file's bytes, held against its length and digest.
fn small_file(
    image: &StoredImage,
    name: &str,
    expected: &ManifestFile,
    found: &mut Found,
) -> Result<Vec<u8>, Error> {
    let read = read_file(&image.dir.join(name), expected.length);
    let Some(bytes) = or_damage(read, name, found)? else { return Ok(Vec::new()) };
    let length = Damage::length(name, expected.length, bytes.len() as u64);
    found.add(length.or_else(|| Damage::digest(name, expected.blake3, Digest::of(&bytes))));
    Ok(bytes)
}

/// `rest.bin` held against its length and digest, a part at a time: it may be
/// as large as the checkpoint.
fn rest_file(image: &StoredImage, rest: &ManifestRest, found: &mut Found) -> Result<(), Error> {
    let path = image.dir.join(REST_BIN);
    let Some(mut file) = or_damage(open_file(&path), REST_BIN, found)? else { return Ok(()) };
    let meta = file.metadata().map_err(|cause| Error::io(&path, "looking at it", cause))?;
    if meta.len() != rest.length {
        // Not read: what is in its place may have no end.
        found.add(Damage::length(REST_BIN, rest.length, meta.len()));
        return Ok(());
    }
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; 1 << 20];
    let mut read = 0;
    loop {
        let len = file.read(&mut chunk).map_err(|cause| Error::io(&path, "reading it", cause))?;
        if len == 0 {
            break;
        }
        hasher.update(chunk.get(..len).unwrap_or_default());
        read += len as u64;
    }
    let length = Damage::length(REST_BIN, rest.length, read);
    let digest = || Damage::digest(REST_BIN, rest.blake3, Digest::finish(&hasher));
    found.add(length.or_else(digest));
    Ok(())
}

fn missing(name: &str) -> Damage {
    Damage::File { name: name.to_owned(), why: "it is missing".to_owned(), offset: None }
}

/// Files that are named like an image's and are none of this one's.
fn extra_files(image: &StoredImage) -> Result<Vec<Damage>, Error> {
    let listing = |cause| Error::io(&image.dir, "listing it", cause);
    let channels = 0..image.plan.image().channel_lines().len();
    let headers = 0..image.manifest.checkpoint.shards.len();
    let mut known: BTreeSet<String> = channels.map(channel_name).collect();
    known.extend(headers.map(header_name));
    known.extend([IMAGE_JSON, TILES_CRC, RUN_JSON].map(str::to_owned));
    known.extend(image.manifest.rest.as_ref().map(|_| REST_BIN.to_owned()));
    let mut extra = BTreeSet::new();
    for entry in fs::read_dir(&image.dir).map_err(listing)? {
        let name = entry.map_err(listing)?.file_name();
        let shown = name.to_string_lossy().into_owned();
        if is_image_file(&name) && !known.contains(&shown) {
            extra.insert(shown);
        }
    }
    let why = "image.json has no such file".to_owned();
    Ok(extra
        .into_iter()
        .map(|name| Damage::File { name, why: why.clone(), offset: None })
        .collect())
}

/// Holds `image.json` against what it follows from.
pub(crate) fn check_manifest(image: &StoredImage, found: &mut Found) -> Result<(), Error> {
    if image.headers.is_empty() {
        // Damaged, as was said: then image.json stands by its own digest.
        return Ok(());
    }
    let StoredImage { manifest, text, checkpoint, headers, plan, .. } = image;
    found.add(verify::check_manifest(manifest, text, checkpoint, headers, plan)?);
    Ok(())
}
