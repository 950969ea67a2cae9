#![doc = include_str!("../FORMAT.md")]

mod selected;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::error::ImageError;
use crate::escape::Escaped;
use crate::image::Placement;
use crate::ledger::{ImageRow, checkpoint_name};
use crate::plan::Plan;

/// The version of the image directory that this program writes.
pub const FORMAT_VERSION: u64 = 1;

/// Why an `image.json` cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not JSON of the right form.
    #[error("it is not the JSON of an image: {}", Escaped::new(&.0.to_string()))]
    Json(#[from] serde_json::Error),
    /// A later program wrote it.
    #[error(
        "format version {found} is later than {FORMAT_VERSION}, the latest that this program reads"
    )]
    Version {
        /// Its format version.
        found: u64,
    },
    /// What it says of its tensors is no image, or not the one that it describes.
    #[error("{0}")]
    Plan(String),
}

/// A shard of the checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestShard {
    /// Bytes of the file.
    pub length: u64,
    /// Bytes before its data: those of `header-N.gguf`.
    pub header_length: u64,
    /// Their digest.
    pub header_blake3: Digest,
}

/// The checkpoint that an image was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestCheckpoint {
    /// `general.name`, what is not UTF-8 replaced.
    pub name: Option<String>,
    /// Its shards in order.
    pub shards: Vec<ManifestShard>,
}

/// A channel file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestChannel {
    /// The lines it holds.
    pub lines: u64,
    /// Its digest.
    pub blake3: Digest,
}

/// A small file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// Its bytes.
    pub length: u64,
    /// Its digest.
    pub blake3: Digest,
}

/// A run of non-zero bytes of the checkpoint that is in no header and no tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestRange {
    /// The shard.
    pub shard: u32,
    /// The byte in the shard's file.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// `rest.bin`: the ranges end to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestRest {
    /// Where its bytes were in the checkpoint.
    pub ranges: Vec<RestRange>,
    /// Its bytes.
    pub length: u64,
    /// Its digest.
    pub blake3: Digest,
}

/// Where a tensor lies: [`Placement`], as a loader reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestPlacement {
    /// Stored tap-major.
    pub kernel: bool,
    /// Tiles are block-major.
    pub striped: bool,
    /// Image rows.
    pub rows: u64,
    /// Bytes of a row, without slots.
    pub row_bytes: u64,
    /// Pieces of a kernel's tap.
    pub pieces: u64,
    /// Bytes of the unit that a striped tile interleaves.
    pub block_bytes: u64,
    /// Those rounded up to the slot.
    pub slot_bytes: u64,
    /// Rows of every tile but the last.
    pub tile_rows: u64,
    /// Lines of every tile but the last.
    pub tile_lines: u64,
    /// Lines of the last tile.
    pub last_tile_lines: u64,
    /// The first tile's number through the image.
    pub first_tile: u64,
    /// Tiles.
    pub tiles: u64,
    /// The channels in the order in which they get the tiles.
    pub order: Vec<u16>,
    /// By channel: the line that its first tile of the tensor starts on.
    pub first_line: Vec<u64>,
}

/// A tensor of the image: one line of `image.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestTensor {
    /// Its name.
    pub name: String,
    /// Its ggml format.
    pub format: String,
    /// The checkpoint's dims, innermost first.
    pub dims: Vec<u64>,
    /// Whether a matvec job streams it.
    pub streamed: bool,
    /// The shard that it came from.
    pub shard: u32,
    /// Its first byte in the shard's file.
    pub offset: u64,
    /// Its bytes there.
    pub length: u64,
    /// The CRC-32C of those bytes, 8 lower-case hex digits.
    pub crc32c: String,
    /// Where it lies in the image.
    pub placement: ManifestPlacement,
}

/// `image.json`, its fields in the order of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT_VERSION`].
    pub format: u64,
    /// What it was made from.
    pub checkpoint: ManifestCheckpoint,
    /// The layout string.
    pub layout: String,
    /// The selection's word.
    pub selection: String,
    /// The ledger's row.
    pub ledger: ImageRow,
    /// The channel files.
    pub channels: Vec<ManifestChannel>,
    /// `tiles.crc`.
    pub tiles_crc: ManifestFile,
    /// `rest.bin`, where there is one.
    pub rest: Option<ManifestRest>,
    /// What the plan follows from: see [`plan_id`].
    pub plan: Digest,
    /// The tensors in image order.
    pub tensors: Vec<ManifestTensor>,
    /// The digest of all bytes of the file before this line: a change anywhere
    /// in the file shows by itself.
    pub digest: Digest,
}

/// What only packing or checking an image can tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// By channel: the digest of its file.
    pub channels: Vec<Digest>,
    /// `tiles.crc`.
    pub tiles_crc: ManifestFile,
    /// `rest.bin`, where there is one.
    pub rest: Option<ManifestRest>,
    /// By tensor: the CRC-32C of its bytes in the checkpoint.
    pub tensor_crcs: Vec<u32>,
}

/// The digest of everything that a plan follows from: format version, layout,
/// selection, and of each shard its length and its header's digest. Two images
/// with one plan id place every byte alike.
pub fn plan_id(layout: &str, selection: &str, shards: &[ManifestShard]) -> Digest {
    let mut text = format!("wimg plan {FORMAT_VERSION}\n{layout}\n{selection}\n");
    for shard in shards {
        text += &format!("{} {} {}\n", shard.length, shard.header_length, shard.header_blake3);
    }
    Digest::of(text.as_bytes())
}

/// By shard: what a manifest says of it. `headers` are the shards' bytes before
/// their data.
pub fn manifest_shards(checkpoint: &Checkpoint, headers: &[Vec<u8>]) -> Vec<ManifestShard> {
    let shards = checkpoint.shards.iter().zip(headers);
    shards
        .map(|(shard, header)| ManifestShard {
            length: shard.file_len,
            header_length: header.len() as u64,
            header_blake3: Digest::of(header),
        })
        .collect()
}

impl Manifest {
    /// The manifest of a packed image.
    pub fn new(
        checkpoint: &Checkpoint,
        headers: &[Vec<u8>],
        plan: &Plan,
        contents: &Contents,
    ) -> Result<Manifest, ImageError> {
        let mut manifest = Manifest::frame(checkpoint, headers, plan, contents)?;
        manifest.tensors = tensors(plan, &contents.tensor_crcs).collect();
        let mut digest = blake3::Hasher::new();
        manifest.body(manifest.tensors.iter(), &mut |piece| {
            digest.update(piece.as_bytes());
        });
        manifest.digest = Digest::finish(&digest);
        Ok(manifest)
    }

    /// Where the text of a packed image's manifest first is not `text`. Made
    /// piece by piece and not kept: of very many tensors it is long.
    ///
    /// # Errors
    /// A plan that has no ledger's row.
    pub fn difference(
        checkpoint: &Checkpoint,
        headers: &[Vec<u8>],
        plan: &Plan,
        contents: &Contents,
        text: &[u8],
    ) -> Result<Option<usize>, ImageError> {
        let frame = Manifest::frame(checkpoint, headers, plan, contents)?;
        let mut digest = blake3::Hasher::new();
        let (mut at, mut found) = (0, None);
        let mut compare = |piece: &str| {
            let rest = text.get(at..).unwrap_or_default();
            let same = piece.bytes().zip(rest).take_while(|(ours, byte)| ours == *byte).count();
            if same < piece.len() {
                found.get_or_insert(at + same);
            }
            at += piece.len();
        };
        frame.body(tensors(plan, &contents.tensor_crcs), &mut |piece| {
            digest.update(piece.as_bytes());
            compare(piece);
        });
        compare(&digest_line(&Digest::finish(&digest)));
        Ok(found.or((at < text.len()).then_some(at)))
    }

    /// The manifest of a packed image but for its tensors and its digest.
    fn frame(
        checkpoint: &Checkpoint,
        headers: &[Vec<u8>],
        plan: &Plan,
        contents: &Contents,
    ) -> Result<Manifest, ImageError> {
        let image = plan.image();
        let shards = manifest_shards(checkpoint, headers);
        let layout = image.layout().to_string();
        let selection = plan.selection().name().to_owned();
        let name = checkpoint_name(&checkpoint.table(), checkpoint.name());
        let channels = image.channel_lines().iter().zip(&contents.channels);
        Ok(Manifest {
            format: FORMAT_VERSION,
            plan: plan_id(&layout, &selection, &shards),
            checkpoint: ManifestCheckpoint {
                name: checkpoint.name().map(|name| String::from_utf8_lossy(name).into_owned()),
                shards,
            },
            layout,
            selection,
            ledger: ImageRow::new(&name, plan)?,
            channels: channels.map(|(&lines, &blake3)| ManifestChannel { lines, blake3 }).collect(),
            tiles_crc: contents.tiles_crc.clone(),
            rest: contents.rest.clone(),
            tensors: Vec::new(),
            digest: Digest::of(&[]),
        })
    }

    /// The file's text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        self.body(self.tensors.iter(), &mut |piece| text += piece);
        text += &digest_line(&self.digest);
        text
    }

    /// The image's id: the digest of the file.
    pub fn id(&self) -> Digest {
        Digest::of(self.render().as_bytes())
    }

    /// All bytes of the file before the line of the digest, piece by piece, with
    /// these tensors.
    fn body<T: Serialize>(&self, tensors: impl Iterator<Item = T>, put: &mut dyn FnMut(&str)) {
        put("{");
        let mut field = |name: &str, value: String| put(&format!("\"{name}\":{value},\n"));
        field("format", json(&self.format));
        field("checkpoint", json(&self.checkpoint));
        field("layout", json(&self.layout));
        field("selection", json(&self.selection));
        field("ledger", json(&self.ledger));
        field("channels", json(&self.channels));
        field("tiles_crc", json(&self.tiles_crc));
        field("rest", json(&self.rest));
        field("plan", json(&self.plan));
        put("\"tensors\":[");
        let mut before = "";
        for tensor in tensors {
            put(if before.is_empty() { "\n" } else { ",\n" });
            put(&json(&tensor));
            before = "\n";
        }
        put(before);
        put("],\n");
    }

    /// Whether the file's last line is the digest of all lines before it.
    pub fn is_whole(text: &[u8]) -> bool {
        let Some(body) =
            text.len().checked_sub(DIGEST_LINE).and_then(|at| text.split_at_checked(at))
        else {
            return false;
        };
        body.1 == digest_line(&Digest::of(body.0)).as_bytes()
    }

    /// Reads a file's text. A later format is refused by its number, whatever
    /// else it holds.
    pub fn read(text: &[u8]) -> Result<Manifest, ManifestError> {
        #[derive(Deserialize)]
        struct Version {
            format: u64,
        }
        let Version { format } = serde_json::from_slice(text)?;
        if format > FORMAT_VERSION {
            return Err(ManifestError::Version { found: format });
        }
        Ok(serde_json::from_slice(text)?)
    }
}

/// Bytes of the last line.
const DIGEST_LINE: usize = r#""digest":"""#.len() + 64 + "}\n".len();

fn digest_line(digest: &Digest) -> String {
    format!("\"digest\":\"{digest}\"}}\n")
}

/// Strings, integers and finite numbers: these always serialise.
fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn tensors(plan: &Plan, crcs: &[u32]) -> impl Iterator<Item = ManifestTensor> {
    let image = plan.image();
    let places = image.placements().iter().zip(plan.sources());
    let each = image.tensors().iter().zip(places).zip(crcs);
    each.map(|((tensor, (placement, source)), crc)| ManifestTensor {
        name: tensor.name.clone(),
        format: tensor.format.to_string(),
        dims: tensor.dims.clone(),
        streamed: tensor.streamed,
        shard: source.shard,
        offset: source.offset,
        length: source.len,
        crc32c: format!("{crc:08x}"),
        placement: ManifestPlacement::new(tensor.kernel, placement),
    })
}

impl ManifestPlacement {
    fn new(kernel: bool, placement: &Placement) -> ManifestPlacement {
        let cut = &placement.cut;
        ManifestPlacement {
            kernel,
            striped: cut.striped,
            rows: cut.rows,
            row_bytes: cut.row_bytes,
            pieces: cut.pieces,
            block_bytes: cut.block_bytes,
            slot_bytes: cut.slot_bytes,
            tile_rows: cut.tile_rows,
            tile_lines: cut.tile_lines,
            last_tile_lines: cut.last_tile_lines,
            first_tile: placement.tiles.start,
            tiles: cut.tiles,
            order: placement.order().to_vec(),
            first_line: placement.first_line.clone(),
        }
    }
}
