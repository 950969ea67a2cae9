//! Errors of laying a checkpoint out.

use wimg_core::{Format, ImageError, ImageLayout};

use crate::packer::entry;
use crate::{Chapter, Entry};

/// What helps where a selection needs what the checkpoint has not.
const TABLE: &str = "Pack with `--select table`, which needs no step.";

pub(crate) fn chapter() -> Chapter {
    let mut entries = layouts();
    entries.extend(tensors());
    entries.extend(tiles());
    entries.extend(steps());
    Chapter { title: "Layouts and selections", entries }
}

fn parsed(text: &str) -> ImageError {
    match text.parse::<ImageLayout>() {
        Err(error) => error,
        Ok(layout) => panic!("`{layout}` is a layout"),
    }
}

fn layouts() -> Vec<Entry> {
    vec![
        entry(
            "ImageError::LayoutBounds",
            parsed("4x66/512"),
            "A field of the layout is out of its bounds.",
            "Choose a value within them.",
        ),
        entry(
            "ImageError::LayoutNeedsStripe",
            parsed("4x64/512+octets"),
            "Octets and slots are of striped tiles.",
            "Add `+stripeN`, or leave them out.",
        ),
        entry(
            "ImageError::LayoutText",
            parsed("4x64+banana"),
            "The string is no layout.",
            "Write it like the example.",
        ),
        entry(
            "ImageError::SelectionText",
            ImageError::SelectionText("most".into()),
            "The word is no selection.",
            "Choose one of the four.",
        ),
        entry(
            "ImageError::Order",
            ImageError::Order { why: "a tensor is repeated", index: 3, tensors: 9 },
            "A caller of the library gave an order that is none.",
            "Give every index once.",
        ),
    ]
}

fn tensors() -> Vec<Entry> {
    let tensor = || "blk.0.ssm_conv1d.weight".to_owned();
    vec![
        entry(
            "ImageError::Dims",
            ImageError::Dims {
                tensor: tensor(),
                dims: vec![4, 0],
                why: "a dim of zero holds nothing",
            },
            "The selection needs a tensor that holds nothing.",
            "Choose a selection without it.",
        ),
        entry(
            "ImageError::Overflow",
            ImageError::Overflow { tensor: tensor(), what: "bytes" },
            "The tensors are larger than 64 bits count.",
            "Fetch the checkpoint again: no real one is.",
        ),
        entry(
            "ImageError::FormatUnknown",
            ImageError::FormatUnknown { tensor: tensor(), format: Format::from_id(148) },
            "A fork's own format, or one that ggml gave up.",
            "Convert the checkpoint to a format of ggml's, or choose a selection without the tensor.",
        ),
        entry(
            "ImageError::RowRagged",
            ImageError::RowRagged { tensor: tensor(), format: Format::Q8_0, row: 33, block: 32 },
            "A row must be whole blocks.",
            "Fetch the checkpoint again.",
        ),
    ]
}

fn tiles() -> Vec<Entry> {
    let tensor = || "blk.0.ssm_conv1d.weight".to_owned();
    let (format, limit) = (Format::F32, 64 << 20);
    vec![
        entry(
            "ImageError::NotAKernel",
            ImageError::NotAKernel {
                tensor: tensor(),
                format,
                dims: vec![4, 5, 6],
                why: "it has two dims",
            },
            "The tensor that the step convolves with is no kernel.",
            TABLE,
        ),
        entry(
            "ImageError::KernelElement",
            ImageError::KernelElement {
                tensor: tensor(),
                elem_bytes: 4,
                check_bytes: 4,
                tile_bytes: 4,
            },
            "The layout's tiles are tiny.",
            "Choose longer lines or more of them a tile.",
        ),
        entry(
            "ImageError::OctetsRagged",
            ImageError::OctetsRagged { tensor: tensor(), blocks: 12 },
            "Octets are eight blocks.",
            "Leave `+octets` out.",
        ),
        entry(
            "ImageError::TileTooLarge",
            ImageError::TileTooLarge { tensor: tensor(), tile_rows: 512, bytes: 1 << 30, limit },
            "A tile bounds the memory of everyone who reads it.",
            "Choose a smaller stripe or slot.",
        ),
        entry(
            "ImageError::KernelTooLarge",
            ImageError::KernelTooLarge { tensor: tensor(), bytes: 1 << 30, limit },
            "A kernel is transposed in memory.",
            TABLE,
        ),
    ]
}

fn steps() -> Vec<Entry> {
    let tensor = || "blk.0.attn_q.weight".to_owned();
    vec![
        entry(
            "ImageError::StepUnknown",
            ImageError::StepUnknown { architecture: "llama".into(), known: "qwen35" },
            "The order in which a step reads is known for few architectures.",
            TABLE,
        ),
        entry(
            "ImageError::StepMetadata",
            ImageError::StepMetadata {
                key: "qwen35.block_count".into(),
                why: "it is missing, and the step needs it".into(),
            },
            "The checkpoint does not say what the step needs.",
            TABLE,
        ),
        entry(
            "ImageError::StepTensorMissing",
            ImageError::StepTensorMissing { tensor: tensor(), architecture: "qwen35" },
            "The checkpoint lacks a tensor of its architecture.",
            "Fetch it again, or pack with `--select table`.",
        ),
        entry(
            "ImageError::StepTensorShape",
            ImageError::StepTensorShape {
                tensor: tensor(),
                dims: vec![256, 9],
                why: "the step needs [E=256, 2·Q]".into(),
            },
            "A tensor does not fit the others.",
            "Fetch the checkpoint again, or pack with `--select table`.",
        ),
    ]
}
