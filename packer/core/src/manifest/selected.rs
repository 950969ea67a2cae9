//! A plan from `image.json` alone, without the checkpoint's headers.

use super::{Manifest, ManifestError, ManifestPlacement, ManifestTensor};
use crate::format::Format;
use crate::ledger::ImageRow;
use crate::plan::{Plan, Source};
use crate::selection::{Pass, Selected, Selection};
use crate::tensor::TensorEntry;

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

    /// The image's plan, held against the placements and the ledger's row that
    /// the file gives.
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
            if ManifestPlacement::new(tensor.kernel, placement) != listed.placement {
                let name = crate::escape::Escaped::new(&tensor.name);
                return Err(wrong(format!(
                    "tensor `{name}` does not lie where the layout puts it"
                )));
            }
        }
        let row = ImageRow::new(&self.ledger.checkpoint, &plan);
        let row = row.map_err(|error| wrong(error.to_string()))?;
        if row == self.ledger {
            Ok(plan)
        } else {
            Err(wrong("its ledger's row is not what its tensors sum to".to_owned()))
        }
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
        let format = crate::escape::Escaped::new(&tensor.format);
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
    use crate::manifest::{Contents, ManifestCheckpoint, ManifestFile, tensors};
    use crate::{Digest, HEADERS, ImageLayout, TensorTable};

    /// An image.json as packing would write it, but for its digests.
    fn manifest(table: &TensorTable, selection: Selection, layout: &ImageLayout) -> Manifest {
        let selected = selection.of(table).unwrap();
        let sources = vec![Source { shard: 0, offset: 64, len: 32 }; selected.tensors.len()];
        let plan = Plan::of(selected, layout, sources).unwrap();
        let none = Digest::of(&[]);
        let contents = Contents {
            channels: Vec::new(),
            tiles_crc: ManifestFile { length: 0, blake3: none },
            rest: None,
            tensor_crcs: vec![0; plan.image().tensors().len()],
        };
        Manifest {
            format: 1,
            checkpoint: ManifestCheckpoint { name: None, shards: Vec::new() },
            layout: layout.to_string(),
            selection: selection.name().to_owned(),
            ledger: ImageRow::new("x", &plan).unwrap(),
            channels: Vec::new(),
            tiles_crc: contents.tiles_crc,
            rest: None,
            plan: none,
            tensors: tensors(&plan, &contents.tensor_crcs).collect(),
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
        let mut moved = manifest(&HEADERS[0].table(), Selection::Machine, &ImageLayout::beat64());
        moved.tensors[7].placement.first_line[0] += 1;
        let error = moved.plan().unwrap_err().to_string();
        assert!(error.contains("does not lie where the layout puts it"), "{error}");
        let mut summed = manifest(&HEADERS[0].table(), Selection::Machine, &ImageLayout::beat64());
        summed.ledger.tiles += 1;
        assert!(summed.plan().unwrap_err().to_string().contains("ledger's row"));
        let mut format = manifest(&HEADERS[0].table(), Selection::Machine, &ImageLayout::beat64());
        format.tensors[0].format = "Q9_Z".to_owned();
        assert!(format.plan().unwrap_err().to_string().contains("format `Q9_Z` is unknown"));
    }
}
