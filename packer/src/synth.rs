//! Synthetic checkpoints: the structure of a public one, random weights.
//!
//! A checkpoint of [`HEADERS`] has 16 to 29 GB and a licence. A synthetic one
//! has the same tensors in the same order and formats, the metadata that a
//! loader asks for, and seeded random blocks with finite scales, at any width.
//!
//! # What a scale does
//!
//! `scale` divides the widths. Blocks, tensors, formats and order stay; the
//! size falls with the square of the scale, at first:
//!
//! - The embedding and the feed-forward layer are divided by the scale and
//!   rounded up to a multiple of 256 elements, so every row is whole blocks of
//!   any format. The vocabulary is divided, to no less than 512 tokens.
//! - Attention keeps heads of 256 elements, and has fewer of them.
//! - The delta nets keep their 10240 channels up to scale 20, so one set of
//!   hyperparameters describes all blocks and a kernel's tap (40960 bytes) is
//!   larger than a tile of 512 lines. Past 20 only block 0's delta net keeps its
//!   width and the hyperparameters are those of the others: a packer takes such
//!   a checkpoint, an engine that wants all blocks alike does not.
//!
//! [`HEADERS`]: wimg_core::headers::HEADERS

mod blocks;
mod file;
mod vocab;
mod widths;

use std::collections::BTreeMap;
use std::path::Path;

use wimg_core::gguf::{Array, Value};
use wimg_core::{Format, HeaderFile, Meta, TensorEntry, TensorTable};

use crate::error::Error;
pub use file::{SynthDone, SynthError, SynthFile};
use widths::Widths;

/// The greatest scale: past it nothing gets smaller.
pub const SCALE_MAX: u64 = 512;

/// What qwen35 checkpoints say besides the widths.
const CONTEXT_LENGTH: u32 = 262_144;
const RMS_EPSILON: f32 = 1e-6;
const ROPE_FREQ_BASE: f32 = 1e7;
/// Dimensions of a head that are rotated, and their sections (time, height,
/// width, none): heads of 256 elements, at any scale.
const ROPE_DIMENSIONS: u32 = 64;
const ROPE_SECTIONS: [i32; 4] = [11, 11, 10, 0];

/// A synthetic checkpoint: a header's structure at a scale, and a seed.
#[derive(Clone, Debug)]
pub struct Synth {
    header: &'static HeaderFile,
    scale: u64,
    seed: u64,
    tensors: Vec<TensorEntry>,
    widths: Widths,
}

impl Synth {
    /// A checkpoint with this header's structure; `scale` 1 is the full size.
    ///
    /// # Errors
    /// A scale of 0 or more than [`SCALE_MAX`], or a header whose tensors are
    /// not those of qwen35.
    pub fn new(header: &'static HeaderFile, scale: u64, seed: u64) -> Result<Synth, SynthError> {
        if !(1..=SCALE_MAX).contains(&scale) {
            return Err(SynthError::Scale { scale });
        }
        let mut tensors = header.table().tensors;
        let full =
            Widths::of(&header.table()).ok_or(SynthError::Structure { header: header.name })?;
        let (first, widths) = (full.narrow(scale, true), full.narrow(scale, false));
        for tensor in &mut tensors {
            let of_block = if widths::block(&tensor.name) == Some(0) { first } else { widths };
            tensor.dims =
                of_block.dims(&tensor.name).ok_or(SynthError::Structure { header: header.name })?;
        }
        Ok(Synth { header, scale, seed, tensors, widths })
    }

    /// The checkpoint's tensor table.
    pub fn table(&self) -> TensorTable {
        TensorTable { tensors: self.tensors.clone(), ..self.header.table() }
    }

    /// The file: its metadata and tensors.
    pub fn file(&self) -> SynthFile {
        SynthFile { metadata: self.metadata(), tensors: self.tensors.clone(), seed: self.seed }
    }

    /// Writes the checkpoint to `out`, whole or not at all.
    ///
    /// # Errors
    /// See [`SynthFile::write`].
    pub fn write(&self, out: &Path, force: bool) -> Result<SynthDone, Error> {
        self.file().write(out, force, &|_| {})
    }

    /// Writes the header at `out` and leaves the tensors' data a hole: a file
    /// of the full size that takes no space, all zeros where it is read.
    ///
    /// # Errors
    /// See [`SynthFile::write`].
    pub fn write_sparse(&self, out: &Path, force: bool) -> Result<SynthDone, Error> {
        self.file().write_sparse(out, force)
    }

    fn metadata(&self) -> Vec<(String, Value)> {
        let table = self.header.table();
        let architecture = table.architecture.clone().unwrap_or_default();
        let text = |text: &str| Value::String(text.as_bytes().to_vec());
        let name =
            format!("{} synthetic, scale {}, seed {}", self.header.name, self.scale, self.seed);
        let mut all = vec![
            ("general.architecture".to_owned(), text(&architecture)),
            ("general.type".to_owned(), text("model")),
            ("general.name".to_owned(), text(&name)),
            ("general.quantization_version".to_owned(), Value::U32(2)),
        ];
        if let Some(file_type) = self.file_type() {
            all.push(("general.file_type".to_owned(), Value::U32(file_type)));
        }
        // What the step reads, as the header has it.
        for (key, value) in table.metadata {
            if let Meta::Integer(value) = value {
                all.push((key, u32_value(value)));
            }
        }
        let of_shapes = self.hyperparameters();
        all.extend(
            of_shapes.into_iter().map(|(key, value)| (format!("{architecture}.{key}"), value)),
        );
        all.extend(vocab::metadata(self.widths.vocab));
        all
    }

    /// What else a qwen35 loader asks for, by the names that llama.cpp has for
    /// it: what follows from the shapes, and the model's constants.
    fn hyperparameters(&self) -> Vec<(&'static str, Value)> {
        let w = &self.widths;
        let integer = |value: u64| u32_value(value.into());
        vec![
            ("context_length", Value::U32(CONTEXT_LENGTH)),
            ("embedding_length", integer(w.embed)),
            ("feed_forward_length", integer(w.ffn)),
            ("vocab_size", integer(w.vocab)),
            ("attention.head_count", integer(w.query_heads)),
            ("attention.head_count_kv", integer(w.kv_heads)),
            ("attention.key_length", integer(w.head)),
            ("attention.value_length", integer(w.head)),
            ("attention.layer_norm_rms_epsilon", Value::F32(RMS_EPSILON)),
            ("rope.dimension_count", Value::U32(ROPE_DIMENSIONS)),
            ("rope.dimension_sections", Value::Array(Array::i32s(&ROPE_SECTIONS))),
            ("rope.freq_base", Value::F32(ROPE_FREQ_BASE)),
            ("ssm.state_size", integer(w.state)),
            ("ssm.group_count", integer(w.groups)),
            ("ssm.time_step_rank", integer(w.heads)),
            ("ssm.inner_size", integer(w.inner())),
        ]
    }

    /// llama.cpp's id for a file whose bytes are mostly in one format, as those
    /// of the published file are.
    fn file_type(&self) -> Option<u32> {
        let mut bytes: BTreeMap<Format, u64> = BTreeMap::new();
        for tensor in &self.header.table().tensors {
            let block = tensor.format.block()?;
            *bytes.entry(tensor.format).or_default() +=
                tensor.dims.iter().product::<u64>() / block.elems * block.bytes;
        }
        let (most, _) = bytes.into_iter().max_by_key(|(_, bytes)| *bytes)?;
        FILE_TYPES.iter().find(|(name, _)| Format::from_name(name) == Some(most)).map(|(_, id)| *id)
    }
}

/// llama.cpp's `LLAMA_FTYPE_MOSTLY_*` of the formats that HEADERS are mostly in
/// (of the K formats the medium mix).
const FILE_TYPES: &[(&str, u32)] = &[
    ("Q4_0", 2),
    ("Q8_0", 7),
    ("Q3_K", 12),
    ("Q4_K", 15),
    ("Q5_K", 17),
    ("Q6_K", 18),
    ("IQ4_NL", 25),
    ("IQ4_XS", 30),
];

/// An integer as a u32: every width and count of a qwen35 checkpoint is one.
fn u32_value(value: i128) -> Value {
    Value::U32(u32::try_from(value).unwrap_or(u32::MAX))
}
