//! Whether an image that is there is what would be made.

use std::path::Path;

use wimg_core::manifest::{manifest_shards, plan_id};
use wimg_core::{Digest, FORMAT_VERSION, ImageRow, Plan};

use crate::error::Error;
use crate::rest;
use crate::run::{RunRecord, sources};
use crate::source::Source;
use crate::stop::Stop;
use crate::store::StoredImage;
use crate::verify::{VerifyOptions, VerifyReport, verify};

/// How closely images that are there are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Care {
    /// Compare the tensors' CRCs, and the bytes outside of headers and tensors,
    /// with the checkpoint's instead of believing its size and time of writing.
    pub checksum: bool,
    /// Verify all of every image, not only a quick look.
    pub verify_full: bool,
}

/// What looking at an image that is there gave.
#[derive(Debug)]
pub(super) enum Found {
    /// It is what would be made.
    Fresh(Box<Fresh>),
    /// Something else would be made, in words.
    Stale(String),
    /// It was what would be made, and is damaged, in words.
    Damaged(String),
}

/// An image that is what would be made.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) id: Digest,
    pub(super) row: ImageRow,
    pub(super) report: VerifyReport,
}

/// Looks at the image in `dir`.
pub(super) fn look(
    dir: &Path,
    source: &Source,
    plan: &Plan,
    care: Care,
    stop: &Stop,
) -> Result<Found, Error> {
    let image = match StoredImage::open(dir) {
        Ok(image) => image,
        Err(error @ (Error::Damaged { .. } | Error::NotAnImage(_))) => {
            return Ok(Found::Damaged(error.to_string()));
        }
        Err(error @ Error::Later { .. }) => return Ok(Found::Stale(error.to_string())),
        Err(error) => return Err(error),
    };
    let layout = plan.image().layout().to_string();
    let shards = manifest_shards(&source.checkpoint, &source.headers);
    let stale = |why: &str| Ok(Found::Stale(why.to_owned()));
    if image.manifest.format != FORMAT_VERSION {
        return stale("its format is an earlier one");
    }
    if image.manifest.checkpoint.shards != shards {
        return stale("the checkpoint's header or size is another");
    }
    if image.manifest.plan != plan_id(&layout, plan.selection().name(), &shards) {
        return stale("the layout or the selection is another");
    }
    if care.checksum {
        if let Some(tensor) = other_tensor(&image, source, stop)? {
            let shown = wimg_core::Escaped::new(&tensor).to_string();
            return stale(&format!("tensor `{shown}` of the checkpoint is another"));
        }
        if rest::scan(source)? != image.manifest.rest {
            return stale("the checkpoint has other bytes outside its headers and tensors");
        }
        source.unchanged()?;
    } else {
        let run =
            RunRecord::read(dir).map_err(|cause| Error::io(dir, "reading its run.json", cause))?;
        let mut before = run.map(|run| run.sources).unwrap_or_default();
        let mut now = sources(source);
        // A checkpoint may move: what it is stays.
        before.iter_mut().chain(&mut now).for_each(|source| source.path.clear());
        if before.is_empty() {
            return stale("its run.json does not say what it was made from");
        }
        if before != now {
            return stale("the checkpoint was written to since");
        }
    }
    let quick = !care.verify_full;
    let options = VerifyOptions { quick, limit: 1, stop: stop.clone(), ..VerifyOptions::default() };
    let report = verify(dir, &options, &|_| {})?;
    match report.damage.first() {
        Some(first) => {
            Ok(Found::Damaged(format!("{} damages, the first: {first}", report.damages)))
        }
        None => {
            let row = image.manifest.ledger;
            Ok(Found::Fresh(Box::new(Fresh { id: report.id, row, report })))
        }
    }
}

/// The first tensor whose bytes in the checkpoint are not those that the image
/// was made from.
fn other_tensor(
    image: &StoredImage,
    source: &Source,
    stop: &Stop,
) -> Result<Option<String>, Error> {
    let mut bytes = Vec::new();
    for tensor in &image.manifest.tensors {
        let (mut crc, mut done) = (0, 0);
        while done < tensor.length {
            stop.check()?;
            let now = (tensor.length - done).min(CHUNK);
            bytes.resize(usize::try_from(now).unwrap_or(usize::MAX), 0);
            source.read_exact_at(tensor.shard, tensor.offset + done, &mut bytes)?;
            crc = wimg_core::crc32c::crc32c_append(crc, &bytes);
            done += now;
        }
        if format!("{crc:08x}") != tensor.crc32c {
            return Ok(Some(tensor.name.clone()));
        }
    }
    Ok(None)
}

/// Bytes that are compared at a time.
const CHUNK: u64 = 8 << 20;
