//! Images made in memory: a plan, and the bytes of its tensors.

use wimg::core::tensor::TensorEntry;
use wimg::core::window::{Window, WindowLimit};
use wimg::core::{Format, ImageLayout, Plan, Selected, Selection, Source};
use wimg_tests::cases::random_bytes;
use wimg_tests::oracle::format::format;
use wimg_tests::oracle::{Layout, Tensor};

/// A plan, and by tensor its bytes.
pub(crate) struct Made {
    pub(crate) plan: Plan,
    pub(crate) bytes: Vec<Vec<u8>>,
}

/// A window and its source bytes.
pub(crate) struct Filled {
    pub(crate) window: Window,
    pub(crate) source: Vec<u8>,
}

fn core_layout(layout: &Layout) -> ImageLayout {
    ImageLayout {
        channels: layout.channels as u64,
        line_bytes: layout.line_bytes as u64,
        tile_lines: layout.tile_lines as u64,
        channel_lines: layout.channel_lines as u64,
        check: layout.check,
        stripe: layout.stripe.map(|pairs| pairs as u64),
        octets: layout.octets,
        slot: layout.slot as u64,
    }
}

impl Made {
    /// The image of these tensors in their order; `None` where they cannot lie in the layout.
    pub(crate) fn new(tensors: &[Tensor], layout: &Layout) -> Option<Made> {
        let entries = tensors.iter().map(|tensor| TensorEntry {
            name: tensor.name.clone(),
            format: Format::from_id(tensor.format),
            dims: tensor.dims.clone(),
            kernel: tensor.kernel,
            streamed: tensor.streamed,
        });
        let selected = Selected {
            selection: Selection::Table,
            tensors: entries.collect(),
            sources: (0..tensors.len()).collect(),
            passes: Vec::new(),
            step: false,
        };
        let sources = tensors.iter().map(|tensor| Source {
            shard: 0,
            offset: 0,
            len: tensor.bytes.len() as u64,
        });
        let plan = Plan::of(selected, &core_layout(layout), sources.collect()).ok()?;
        Some(Made { plan, bytes: tensors.iter().map(|tensor| tensor.bytes.clone()).collect() })
    }

    /// The windows within a limit, with what a reader would have read.
    pub(crate) fn windows(&self, limit: WindowLimit) -> Vec<Filled> {
        self.plan
            .windows(limit)
            .map(|window| {
                let mut source = Vec::new();
                for range in &window.sources {
                    let start = usize::try_from(range.tensor_offset).unwrap();
                    let len = usize::try_from(range.len).unwrap();
                    source.extend(&self.bytes[range.tensor][start..start + len]);
                }
                Filled { window, source }
            })
            .collect()
    }
}

/// A tensor of random bytes.
pub(crate) fn tensor(name: &str, dims: &[u64], kernel: bool, streamed: bool, seed: u64) -> Tensor {
    let of = wimg_tests::oracle::format::FORMATS
        .into_iter()
        .find(|format| format.name == name)
        .unwrap_or_else(|| panic!("no format `{name}`"));
    assert_eq!(format(of.id).map(|format| format.name), Some(of.name));
    let elements: u64 = dims.iter().product();
    let count = usize::try_from(elements).unwrap() / of.elems * of.bytes;
    Tensor {
        name: format!("{name}.{seed}"),
        index: 0,
        format: of.id,
        dims: dims.to_vec(),
        bytes: random_bytes(seed, count),
        kernel,
        streamed,
        in_pass: true,
    }
}
