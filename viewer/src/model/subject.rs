//! What can be looked at: a checkpoint whose tensors are known, an image that
//! was packed, or no more than a ledger's row.

use wimg_core::ledger::checkpoint_name;
use wimg_core::{
    Checkpoint, HEADERS, HeaderFile, ImageLayout, ImageRow, Manifest, Plan, Selected, Selection,
    TensorTable,
};

/// Where a subject comes from, and so what can be asked of it.
#[derive(Clone, Debug)]
pub enum Origin {
    /// One of the public checkpoints that the page knows.
    Header(&'static HeaderFile),
    /// A checkpoint that was opened: headers only.
    Checkpoint(Box<Checkpoint>),
    /// An image that was opened, and its checkpoint where its headers came
    /// with it.
    Image(Box<Manifest>, Option<Box<Checkpoint>>),
    /// A ledger's row: sums only.
    Row(Box<ImageRow>),
}

/// What can be looked at.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What links call it: unique on the page.
    pub key: String,
    /// Where it comes from.
    pub origin: Origin,
    /// What is worth saying of it, such as bytes after a checkpoint's last tensor.
    pub notes: Vec<String>,
}

impl Subject {
    /// What the ledger calls its checkpoint.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::Header(header) => header.name.to_owned(),
            Origin::Checkpoint(checkpoint) => {
                checkpoint_name(&checkpoint.table(), checkpoint.name())
            }
            Origin::Image(manifest, _) => manifest.ledger.checkpoint.clone(),
            Origin::Row(row) => row.checkpoint.clone(),
        }
    }

    /// What the subject is, in words.
    pub fn kind(&self) -> &'static str {
        match &self.origin {
            Origin::Header(_) => "public checkpoint",
            Origin::Checkpoint(_) => "opened checkpoint",
            Origin::Image(_, Some(_)) => "opened image",
            Origin::Image(_, None) => "image.json alone",
            Origin::Row(_) => "row of an opened ledger",
        }
    }

    /// Its rows of the ledger, as `wimg ledger` has them.
    ///
    /// # Errors
    /// A checkpoint that has no image, not even in its table's order.
    pub fn rows(&self) -> Result<Vec<ImageRow>, String> {
        match &self.origin {
            Origin::Image(manifest, _) => Ok(vec![manifest.ledger.clone()]),
            Origin::Row(row) => Ok(vec![(**row).clone()]),
            Origin::Header(_) | Origin::Checkpoint(_) => {
                // Selected once: that is most of the work.
                let selected = self.selected(self.selection())?;
                let layouts = [ImageLayout::beat64(), ImageLayout::beat72()];
                let row = |layout| {
                    let plan = Plan::of(selected.clone(), layout, Vec::new());
                    plan.and_then(|plan| ImageRow::new(&self.name(), &plan))
                };
                layouts.iter().map(|layout| row(layout).map_err(|e| e.to_string())).collect()
            }
        }
    }

    /// The tensors that a selection of its checkpoint has.
    fn selected(&self, selection: Selection) -> Result<Selected, String> {
        let table = match &self.origin {
            Origin::Header(header) => header.table(),
            Origin::Checkpoint(checkpoint) => checkpoint.table(),
            Origin::Image(..) | Origin::Row(_) => TensorTable::default(),
        };
        selection.of(&table).map_err(|error| error.to_string())
    }

    /// The selection to show first: `machine`, or `table` where the checkpoint
    /// has no step or not all that it reads.
    pub fn selection(&self) -> Selection {
        match &self.origin {
            Origin::Header(_) => Selection::Machine,
            Origin::Checkpoint(checkpoint) => match Selection::Machine.of(&checkpoint.table()) {
                Ok(_) => Selection::Machine,
                Err(_) => Selection::Table,
            },
            Origin::Image(manifest, _) => manifest.selection.parse().unwrap_or_default(),
            Origin::Row(row) => row.selection.parse().unwrap_or_default(),
        }
    }

    /// Its image under a layout.
    ///
    /// # Errors
    /// A checkpoint without such an image; a selection that an `image.json`
    /// alone does not hold; a row of which nothing but sums is known.
    pub fn plan(&self, selection: Selection, layout: &ImageLayout) -> Result<Plan, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        match &self.origin {
            Origin::Header(header) => plan_header(header, selection, layout),
            Origin::Checkpoint(checkpoint) | Origin::Image(_, Some(checkpoint)) => {
                Plan::new(checkpoint, selection, layout).map_err(|error| said(&error))
            }
            Origin::Image(manifest, None) => {
                if selection.name() != manifest.selection {
                    return Err(format!(
                        "image.json lists the tensors of selection `{}` only; open the image's folder or its checkpoint to see `{selection}`",
                        manifest.selection
                    ));
                }
                if layout.to_string() == manifest.layout {
                    return manifest.plan().map_err(|error| said(&error));
                }
                let (selected, sources) = manifest.selected().map_err(|error| said(&error))?;
                Plan::of(selected, layout, sources).map_err(|error| said(&error))
            }
            Origin::Row(row) => {
                match HEADERS.iter().find(|header| header.name == row.checkpoint) {
                    Some(header) => plan_header(header, selection, layout),
                    None => Err("a ledger's row has sums only; open its checkpoint or its image.json to see where everything lies".to_owned()),
                }
            }
        }
    }

    /// The checkpoint, where it is open.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        match &self.origin {
            Origin::Checkpoint(checkpoint) | Origin::Image(_, Some(checkpoint)) => Some(checkpoint),
            _ => None,
        }
    }
}

fn plan_header(
    header: &HeaderFile,
    selection: Selection,
    layout: &ImageLayout,
) -> Result<Plan, String> {
    let selected = selection.of(&header.table()).map_err(|error| error.to_string())?;
    Plan::of(selected, layout, Vec::new()).map_err(|error| error.to_string())
}

/// What is worth saying of a checkpoint that is sound.
pub fn notes(checkpoint: &Checkpoint) -> Vec<String> {
    let mut notes = Vec::new();
    for (number, shard) in checkpoint.shards.iter().enumerate() {
        if shard.trailing > 0 {
            let at = shard.file_len - shard.trailing;
            notes.push(format!(
                "shard {number}: {} bytes after its tensors, from byte {at} on",
                shard.trailing
            ));
        }
    }
    if let Err(error) = Selection::Machine.of(&checkpoint.table()) {
        notes.push(format!("shown in its table's order: {error}"));
    }
    notes
}
