//! How two images differ: by what they say of themselves, and tile by tile
//! where they place everything alike.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use wimg_core::manifest::{ManifestPlacement, ManifestTensor};
use wimg_core::verify::{TilePlace, place};
use wimg_core::{Digest, Escaped, Image, Manifest};

use crate::error::Error;
use crate::store::{IMAGE_JSON, StoredImage, TILES_CRC, read_manifest};

/// One way in which two images, A and B, differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Something of the whole image.
    Image {
        /// What: `layout`, `selection`, `checkpoint`, …
        what: String,
        /// A's.
        a: String,
        /// B's.
        b: String,
    },
    /// A tensor that only one of them has.
    Only {
        /// Its name.
        tensor: String,
        /// Whether A has it.
        in_a: bool,
    },
    /// A tensor of another format, shape or content.
    Changed {
        /// Its name.
        tensor: String,
        /// What: `format`, `dims` or `crc32c`.
        what: &'static str,
        /// A's.
        a: String,
        /// B's.
        b: String,
    },
    /// A tensor that lies elsewhere, or is cut or stored in another way.
    Moved {
        /// Its name.
        tensor: String,
        /// What of its placement, the first thing that differs.
        what: &'static str,
        /// A's.
        a: String,
        /// B's.
        b: String,
    },
    /// A tile of other bytes, in the same place.
    Tile {
        /// Where it lies.
        place: TilePlace,
        /// The CRC-32C that A's `tiles.crc` lists.
        a: u32,
        /// B's.
        b: u32,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Image { what, a, b } => {
                write!(f, "{what}: {} and {}", Escaped::new(a), Escaped::new(b))
            }
            Difference::Only { tensor, in_a } => {
                let which = if *in_a { "first" } else { "second" };
                write!(f, "tensor `{}`: only in the {which}", Escaped::new(tensor))
            }
            Difference::Changed { tensor, what, a, b } => {
                // As the files have them: a format or a CRC may be any text.
                let (tensor, a, b) = (Escaped::new(tensor), Escaped::new(a), Escaped::new(b));
                write!(f, "tensor `{tensor}`: changed, {what} {a} and {b}")
            }
            Difference::Moved { tensor, what, a, b } => {
                write!(f, "tensor `{}`: moved, {what} {a} and {b}", Escaped::new(tensor))
            }
            Difference::Tile { place, a, b } => write!(f, "{place}: changed, {a:08x} and {b:08x}"),
        }
    }
}

/// How two images differ.
#[derive(Clone, Debug)]
pub struct DiffReport {
    /// A's id.
    pub a: Digest,
    /// B's id.
    pub b: Digest,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// Tensors that only one has, or of another format, shape or content.
    pub changed: u64,
    /// Tensors that lie elsewhere.
    pub moved: u64,
    /// Tiles that were compared, one by one: 0 when the plans differ or no
    /// channel does.
    pub tiles: u64,
    /// Tiles that differ.
    pub changed_tiles: u64,
    /// All differences.
    pub count: u64,
}

/// Compares the images in `a` and `b` by what they say of themselves: whether
/// their files hold to it is `verify`'s to tell. Reads the manifests and, where
/// they place everything alike and channels differ, the lists of the tiles'
/// CRCs; no channel. `limit`: differences to keep, 0 for all.
///
/// # Errors
/// A folder that is no image or of a later format; small files that cannot be
/// believed; I/O.
pub fn diff(a: &Path, b: &Path, limit: usize) -> Result<DiffReport, Error> {
    let (a_dir, b_dir) = (a, b);
    let ((a, a_id), (b, b_id)) = (whole_manifest(a)?, whole_manifest(b)?);
    let mut report = Report { limit, ..Report::new(a_id, b_id) };
    if a_id == b_id {
        return Ok(report.done);
    }
    images(&a, &b, &mut report);
    tensors(&a, &b, &mut report);
    if a.plan == b.plan && a.channels != b.channels {
        tiles(&StoredImage::open(a_dir)?, &StoredImage::open(b_dir)?, &mut report)?;
    }
    // What is not told apart above: digests that follow from it, or do not.
    if report.done.count == 0 {
        report.image("image.json", &a_id, &b_id);
    }
    Ok(report.done)
}

/// A manifest whose last line is the digest of the others, and the image's id.
fn whole_manifest(dir: &Path) -> Result<(Manifest, Digest), Error> {
    let (manifest, text) = read_manifest(dir)?;
    if Manifest::is_whole(&text) {
        return Ok((manifest, Digest::of(&text)));
    }
    let why = "its last line is not the digest of its other lines".to_owned();
    Err(Error::Damaged { path: dir.join(IMAGE_JSON), why })
}

/// A report as it grows.
struct Report {
    done: DiffReport,
    limit: usize,
}

impl Report {
    fn new(a: Digest, b: Digest) -> Report {
        let done = DiffReport {
            a,
            b,
            differences: Vec::new(),
            changed: 0,
            moved: 0,
            tiles: 0,
            changed_tiles: 0,
            count: 0,
        };
        Report { done, limit: 0 }
    }

    fn add(&mut self, difference: Difference) {
        self.done.count += 1;
        if self.limit == 0 || self.done.differences.len() < self.limit {
            self.done.differences.push(difference);
        }
    }

    /// Something of the whole image, if it differs.
    fn image<T: fmt::Display + PartialEq>(&mut self, what: &str, a: &T, b: &T) {
        if a != b {
            let (what, a, b) = (what.to_owned(), a.to_string(), b.to_string());
            self.add(Difference::Image { what, a, b });
        }
    }
}

/// What the images are and what they were made from.
fn images(a: &Manifest, b: &Manifest, report: &mut Report) {
    let name = |manifest: &Manifest| manifest.checkpoint.name.clone().unwrap_or_default();
    report.image("checkpoint", &name(a), &name(b));
    let (ours, theirs) = (&a.checkpoint.shards, &b.checkpoint.shards);
    report.image("shards", &ours.len(), &theirs.len());
    for (number, (a, b)) in ours.iter().zip(theirs).enumerate() {
        report.image(&format!("bytes of shard {number}"), &a.length, &b.length);
        let header = format!("header of shard {number}");
        report.image(&header, &a.header_blake3, &b.header_blake3);
    }
    report.image("layout", &a.layout, &b.layout);
    report.image("selection", &a.selection, &b.selection);
    let rest = |manifest: &Manifest| match &manifest.rest {
        Some(rest) => rest.blake3.to_string(),
        None => "nothing".to_owned(),
    };
    report.image("bytes outside of headers and tensors", &rest(a), &rest(b));
}

/// Tensor by tensor, in A's order, then what only B has.
fn tensors(a: &Manifest, b: &Manifest, report: &mut Report) {
    let by_name = |manifest: &Manifest| -> BTreeMap<String, usize> {
        manifest.tensors.iter().enumerate().map(|(i, t)| (t.name.clone(), i)).collect()
    };
    let (in_a, in_b) = (by_name(a), by_name(b));
    for ours in &a.tensors {
        match in_b.get(&ours.name).and_then(|&i| b.tensors.get(i)) {
            Some(theirs) => tensor(ours, theirs, report),
            None => {
                report.done.changed += 1;
                report.add(Difference::Only { tensor: ours.name.clone(), in_a: true });
            }
        }
    }
    for theirs in b.tensors.iter().filter(|tensor| !in_a.contains_key(&tensor.name)) {
        report.done.changed += 1;
        report.add(Difference::Only { tensor: theirs.name.clone(), in_a: false });
    }
}

fn tensor(a: &ManifestTensor, b: &ManifestTensor, report: &mut Report) {
    let dims = |tensor: &ManifestTensor| format!("{:?}", tensor.dims);
    let changes = [
        ("format", a.format.clone(), b.format.clone()),
        ("dims", dims(a), dims(b)),
        ("crc32c", a.crc32c.clone(), b.crc32c.clone()),
    ];
    if let Some((what, a_is, b_is)) = changes.into_iter().find(|(_, a, b)| a != b) {
        report.done.changed += 1;
        let tensor = a.name.clone();
        report.add(Difference::Changed { tensor, what, a: a_is, b: b_is });
    }
    let (ours, theirs) = (placed(&a.placement), placed(&b.placement));
    let mut pairs = ours.into_iter().zip(theirs);
    if let Some(((what, a_is), (_, b_is))) = pairs.find(|((_, a), (_, b))| a != b) {
        report.done.moved += 1;
        report.add(Difference::Moved { tensor: a.name.clone(), what, a: a_is, b: b_is });
    }
}

/// A placement as named values, in the order of what explains most.
fn placed(placement: &ManifestPlacement) -> [(&'static str, String); 9] {
    [
        ("kernel", placement.kernel.to_string()),
        ("striped", placement.striped.to_string()),
        ("pieces", placement.pieces.to_string()),
        ("block_bytes", placement.block_bytes.to_string()),
        ("slot_bytes", placement.slot_bytes.to_string()),
        ("tile_rows", placement.tile_rows.to_string()),
        ("tile_lines", placement.tile_lines.to_string()),
        ("order", format!("{:?}", placement.order)),
        ("first_line", format!("{:?}", placement.first_line)),
    ]
}

/// Tile by tile, by the lists of their CRCs.
fn tiles(a: &StoredImage, b: &StoredImage, report: &mut Report) -> Result<(), Error> {
    let image = a.plan.image();
    let (mut ours, mut theirs) = (TileCrcs::open(a)?, TileCrcs::open(b)?);
    let mut changed = vec![false; image.channel_lines().len()];
    for index in 0..image.tile_count() {
        let (one, other) = (ours.next()?, theirs.next()?);
        report.done.tiles += 1;
        if one != other {
            tile(image, index, (one, other), &mut changed, report);
        }
    }
    // A channel that differs and none of whose tiles does by its CRC.
    let channels = a.manifest.channels.iter().zip(&b.manifest.channels).zip(changed).enumerate();
    for (channel, ((a, b), changed)) in channels {
        if !changed {
            report.image(&format!("BLAKE3 of channel {channel}"), &a.blake3, &b.blake3);
        }
    }
    Ok(())
}

fn tile(image: &Image, index: u64, crcs: (u32, u32), changed: &mut [bool], report: &mut Report) {
    let Some(tile) = image.tile(index) else { return };
    let channel = usize::try_from(tile.channel).ok();
    if let Some(changed) = channel.and_then(|channel| changed.get_mut(channel)) {
        *changed = true;
    }
    report.done.changed_tiles += 1;
    report.add(Difference::Tile { place: place(image, &tile), a: crcs.0, b: crcs.1 });
}

/// `tiles.crc`, read in order.
struct TileCrcs<'a> {
    image: &'a StoredImage,
    file: BufReader<File>,
}

impl<'a> TileCrcs<'a> {
    fn open(image: &'a StoredImage) -> Result<TileCrcs<'a>, Error> {
        let path = image.dir.join(TILES_CRC);
        let file = File::open(&path).map_err(|cause| Error::io(&path, "opening it", cause))?;
        let meta = file.metadata().map_err(|cause| Error::io(&path, "looking at it", cause))?;
        let (have, want) = (meta.len(), image.plan.image().tile_count() * 4);
        if have != want {
            let why = format!("it has {have} bytes, it must have {want}");
            return Err(Error::Damaged { path, why });
        }
        Ok(TileCrcs { image, file: BufReader::with_capacity(1 << 18, file) })
    }

    fn next(&mut self) -> Result<u32, Error> {
        let mut word = [0; 4];
        self.file
            .read_exact(&mut word)
            .map_err(|cause| Error::io(&self.image.dir.join(TILES_CRC), "reading it", cause))?;
        Ok(u32::from_le_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_say_of_a_tensor_steers_no_terminal() {
        let (a, b) = ("00000000".to_owned(), "\u{1b}[2J\n".to_owned());
        let changed = Difference::Changed { tensor: "a\u{9b}".to_owned(), what: "crc32c", a, b };
        let shown = "tensor `a\\u{9b}`: changed, crc32c 00000000 and \\u{1b}[2J\\n";
        assert_eq!(changed.to_string(), shown);
    }
}
