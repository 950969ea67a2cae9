//! A plan from `image.json` alone, without the checkpoint's headers.

use super::{Manifest, ManifestError, ManifestPlacement, ManifestTensor};
use crate::escape::Escaped;
use crate::format::Format;
use crate::ledger::ImageRow;
use crate::plan::{Plan, Source};
use crate::selection::{Pass, Selected, Selection};
use crate::tensor::TensorEntry;
use crate::tile::tensor_bytes;

impl Manifest {
    /// The tensors that the image holds, for a plan under any layout; and where
    /// each one's bytes lie in the checkpoint. Nothing is held against
    /// anything: see [`Manifest::plan`].
    ///
    /// # Errors
    /// A selection that is none and a format that ggml never named.
    pub fn selected(&self) -> Result<(Selected, Vec<Source>), ManifestError> {
        let wrong = ManifestError::Plan;
        let selection: Selection =
            self.selection.parse().map_err(|error| wrong(format!("{error}")))?;
        let tensors: Result<Vec<_>, _> = self.tensors.iter().map(entry).collect();
        let step = selection != Selection::Table;
        let selected = Selected {
            selection,
            tensors: tensors?,
            sources: (0..self.tensors.len()).collect(),
            passes: self.passes(selection),
            step,
        };
        let source =
            |t: &ManifestTensor| Source { shard: t.shard, offset: t.offset, len: t.length };
        Ok((selected, self.tensors.iter().map(source).collect()))
    }

    /// The image's plan, held against the extents, the placements, the channels
    /// and the ledger's row that the file gives.
    ///
    /// # Errors
    /// Tensors that make no image, or another one than the file describes.
    pub fn plan(&self) -> Result<Plan, ManifestError> {
        let wrong = ManifestError::Plan;
        let layout = self.layout.parse().map_err(|error| wrong(format!("{error}")))?;
        let (selected, sources) = self.selected()?;
        let plan =
            Plan::of(selected, &layout, sources).map_err(|error| wrong(error.to_string()))?;
        let image = plan.image();
        let places = image.placements().iter().zip(image.tensors()).zip(&self.tensors);
        for ((placement, tensor), listed) in places {
            let name = Escaped::new(&tensor.name);
            let bytes = tensor_bytes(tensor).map_err(|error| wrong(error.to_string()))?;
            if listed.length != bytes {
                let length = listed.length;
                return Err(wrong(format!(
                    "tensor `{name}` has a length of {length} bytes, its dims give {bytes}"
                )));
            }
            if !self.is_in_its_shard(listed) {
                return Err(wrong(format!("tensor `{name}` does not lie in a shard")));
            }
            if ManifestPlacement::new(tensor.kernel, placement) != listed.placement {
                return Err(wrong(format!(
                    "tensor `{name}` does not lie where the layout puts it"
                )));
            }
        }
        if !self.channels.iter().map(|channel| &channel.lines).eq(image.channel_lines()) {
            return Err(wrong("its channels do not hold the lines of its tensors".to_owned()));
        }
        let row = ImageRow::new(&self.ledger.checkpoint, &plan);
        let row = row.map_err(|error| wrong(error.to_string()))?;
        if row == self.ledger {
            Ok(plan)
        } else {
            Err(wrong("its ledger's row is not what its tensors sum to".to_owned()))
        }
    }

    /// Whether a tensor's bytes are within a shard's data.
    fn is_in_its_shard(&self, tensor: &ManifestTensor) -> bool {
        let shard = usize::try_from(tensor.shard).ok();
        let shard = shard.and_then(|shard| self.checkpoint.shards.get(shard));
        let end = tensor.offset.checked_add(tensor.length);
        shard
            .zip(end)
            .is_some_and(|(shard, end)| tensor.offset >= shard.header_length && end <= shard.length)
    }

    /// How a pass reads each tensor. The step's come first and end with the
    /// output's; it reads an embedding that is not streamed by one row.
    fn passes(&self, selection: Selection) -> Vec<Pass> {
        let of_step =
            |tensor: &ManifestTensor| tensor.streamed || tensor.name == "output_norm.weight";
        let end = match selection {
            Selection::All => self.tensors.iter().rposition(of_step).map_or(0, |last| last + 1),
            _ => self.tensors.len(),
        };
        let pass = |(index, tensor): (usize, &ManifestTensor)| match index < end {
            false => Pass::Never,
            true if tensor.name == "token_embd.weight" && !tensor.streamed => Pass::Row,
            true => Pass::Whole,
        };
        self.tensors.iter().enumerate().map(pass).collect()
    }
}

fn entry(tensor: &ManifestTensor) -> Result<TensorEntry, ManifestError> {
    let format = Format::from_name(&tensor.format).ok_or_else(|| {
        let format = Escaped::new(&tensor.format);
        ManifestError::Plan(format!("format `{format}` is unknown"))
    })?;
    Ok(TensorEntry {
        name: tensor.name.clone(),
        format,
        dims: tensor.dims.clone(),
        kernel: tensor.placement.kernel,
        streamed: tensor.streamed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{
        ManifestChannel, ManifestCheckpoint, ManifestFile, ManifestShard, tensors,
    };
    use crate::{Digest, HEADERS, ImageLayout, TensorTable};

    /// An image.json as packing would write it, but for its digests.
    fn manifest(table: &TensorTable, selection: Selection, layout: &ImageLayout) -> Manifest {
        let selected = selection.of(table).unwrap();
        // All at one place: what lies there is nobody's question here.
        let source = |tensor| Source { shard: 0, offset: 64, len: tensor_bytes(tensor).unwrap() };
        let sources = selected.tensors.iter().map(source).collect();
        let plan = Plan::of(selected, layout, sources).unwrap();
        let none = Digest::of(&[]);
        let shard = ManifestShard { length: 1 << 40, header_length: 64, header_blake3: none };
        let channels = plan.image().channel_lines().iter();
        Manifest {
            format: 1,
            checkpoint: ManifestCheckpoint { name: None, shards: vec![shard] },
            layout: layout.to_string(),
            selection: selection.name().to_owned(),
            ledger: ImageRow::new("x", &plan).unwrap(),
            channels: channels.map(|&lines| ManifestChannel { lines, blake3: none }).collect(),
            tiles_crc: ManifestFile { length: 0, blake3: none },
            rest: None,
            plan: none,
            tensors: tensors(&plan, &vec![0; plan.image().tensors().len()]).collect(),
            digest: none,
        }
    }

    #[test]
    fn the_plan_comes_back_from_the_file_alone() {
        let layouts = ["4x64/512", "4x72/512+check+stripe8+octets+slot16"];
        // With the drafting block, so that `all` has a rest; and a tied one.
        let mut tied = HEADERS[2].table();
        tied.tensors.retain(|tensor| tensor.name != "output.weight");
        for (table, layout) in [HEADERS[2].table(), tied].iter().zip(layouts) {
            let layout = layout.parse().unwrap();
            for selection in Selection::ALL {
                let manifest = manifest(table, selection, &layout);
                let plan = manifest.plan().unwrap();
                let selected = selection.of(table).unwrap();
                assert_eq!(plan.image().tensors(), selected.tensors);
                assert_eq!(plan.passes(), selected.passes, "{selection}");
                assert_eq!(plan.sources().len(), selected.tensors.len());
            }
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let sound = || manifest(&HEADERS[0].table(), Selection::Machine, &ImageLayout::beat64());
        sound().plan().unwrap();
        let refused = |break_it: &dyn Fn(&mut Manifest), why: &str| {
            let mut manifest = sound();
            break_it(&mut manifest);
            let error = manifest.plan().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        let elsewhere = "does not lie where the layout puts it";
        refused(&|m| m.tensors[7].placement.first_line[0] += 1, elsewhere);
        refused(&|m| m.ledger.tiles += 1, "ledger's row");
        refused(&|m| m.tensors[0].format = "Q9_Z".to_owned(), "format `Q9_Z` is unknown");
        refused(&|m| m.tensors[0].length = 1 << 50, "a length of 1125899906842624 bytes, its dims");
        refused(&|m| m.tensors[0].shard = 1, "does not lie in a shard");
        refused(&|m| m.tensors[0].offset = 63, "does not lie in a shard");
        refused(&|m| m.tensors[0].offset = u64::MAX, "does not lie in a shard");
        refused(&|m| m.checkpoint.shards[0].length = 64, "does not lie in a shard");
        refused(&|m| m.channels[2].lines -= 1, "its channels do not hold the lines");
        refused(&|m| m.channels.truncate(3), "its channels do not hold the lines");
    }
}
