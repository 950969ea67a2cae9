//! Which of a checkpoint's tensors an image holds, in which order, and how.

use std::fmt;
use std::str::FromStr;

use crate::error::ImageError;
use crate::image::Image;
use crate::layout::ImageLayout;
use crate::machine::{Machine, Op, machine_of};
use crate::tensor::{TensorEntry, TensorTable};

/// The embedding: unless it is streamed, a pass reads one row of it.
const EMBEDDING: &str = "token_embd.weight";

/// Which tensors an image holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// What the step reads, in its order, kernels tap-major.
    #[default]
    Machine,
    /// What the step's matvec jobs stream, in the same order.
    Streamed,
    /// `Machine`'s, then the rest in the table's order.
    All,
    /// The table's order, any architecture, everything plain.
    Table,
}

/// How a decode pass reads a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// All of it.
    Whole,
    /// One row: the embedding, unless it is streamed.
    Row,
    /// Not at all.
    Never,
}

/// A selection's tensors in image order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The selection.
    pub selection: Selection,
    /// The tensors, as an image stores them.
    pub tensors: Vec<TensorEntry>,
    /// By tensor: its index in the checkpoint's table.
    pub sources: Vec<usize>,
    /// By tensor: how a pass reads it.
    pub passes: Vec<Pass>,
    /// Whether the selection follows from a step.
    pub step: bool,
}

impl Selection {
    /// All selections.
    pub const ALL: [Selection; 4] =
        [Selection::Machine, Selection::Streamed, Selection::All, Selection::Table];

    /// The selection's word, as the command line and files have it.
    pub fn name(self) -> &'static str {
        match self {
            Selection::Machine => "machine",
            Selection::Streamed => "streamed",
            Selection::All => "all",
            Selection::Table => "table",
        }
    }

    /// Whether an image of it gives the whole checkpoint back.
    pub fn is_whole(self) -> bool {
        matches!(self, Selection::All | Selection::Table)
    }

    /// Selects from a checkpoint's table.
    pub fn of(self, table: &TensorTable) -> Result<Selected, ImageError> {
        if self == Selection::Table {
            let pass = |tensor: &TensorEntry| match tensor.name == EMBEDDING {
                true => Pass::Row,
                false => Pass::Whole,
            };
            return Ok(Selected {
                selection: self,
                tensors: table.tensors.clone(),
                sources: (0..table.tensors.len()).collect(),
                passes: table.tensors.iter().map(pass).collect(),
                step: false,
            });
        }
        let machine = machine_of(table)?;
        let mut selected = match self {
            Selection::Streamed => streamed(&machine),
            _ => whole(machine),
        };
        selected.selection = self;
        if self == Selection::All {
            for source in rest(&selected.sources, table) {
                let Some(tensor) = table.tensors.get(source) else { continue };
                selected.tensors.push(tensor.clone());
                selected.sources.push(source);
                selected.passes.push(Pass::Never);
            }
        }
        Ok(selected)
    }
}

/// All of a machine's tensors.
fn whole(machine: Machine) -> Selected {
    let mut passes = vec![Pass::Row; machine.tensors.len()];
    for job in machine.jobs.iter().filter(|job| job.op != Op::Gather) {
        if let Some(pass) = passes.get_mut(job.tensor) {
            *pass = Pass::Whole;
        }
    }
    Selected {
        selection: Selection::Machine,
        tensors: machine.tensors,
        sources: machine.sources,
        passes,
        step: true,
    }
}

/// A machine's streamed tensors.
fn streamed(machine: &Machine) -> Selected {
    let of = streamed_indices(machine);
    let pick = |i: &usize| machine.tensors.get(*i).cloned();
    Selected {
        selection: Selection::Streamed,
        tensors: of.iter().filter_map(pick).collect(),
        sources: of.iter().filter_map(|&i| machine.sources.get(i).copied()).collect(),
        passes: vec![Pass::Whole; of.len()],
        step: true,
    }
}

fn streamed_indices(machine: &Machine) -> Vec<usize> {
    let indices = machine.tensors.iter().enumerate().filter(|(_, tensor)| tensor.streamed);
    indices.map(|(i, _)| i).collect()
}

/// The table's tensors that are not among those that a machine reads, in the
/// table's order.
fn rest(read_already: &[usize], table: &TensorTable) -> Vec<usize> {
    let mut read = vec![false; table.tensors.len()];
    for &source in read_already {
        if let Some(read) = read.get_mut(source) {
            *read = true;
        }
    }
    read.iter().enumerate().filter(|(_, read)| !**read).map(|(i, _)| i).collect()
}

/// The image that the machine runs over: its tensors in its order.
pub fn image_of(machine: &Machine, layout: &ImageLayout) -> Result<Image, ImageError> {
    Image::new(machine.tensors.clone(), *layout)
}

/// The image of the matrices that the machine's matvec jobs stream, and by
/// tensor of the image its index in the machine.
pub fn streamed_image_of(
    machine: &Machine,
    layout: &ImageLayout,
) -> Result<(Image, Vec<usize>), ImageError> {
    let image = Image::new(streamed(machine).tensors, *layout)?;
    Ok((image, streamed_indices(machine)))
}

/// The image of a table's tensors in `order`, each index once.
pub fn weight_image(
    table: &TensorTable,
    order: &[usize],
    layout: &ImageLayout,
) -> Result<Image, ImageError> {
    let tensors = table.tensors.len();
    let refuse = |why, index| ImageError::Order { why, index, tensors };
    let mut seen = vec![false; tensors];
    let mut entries = Vec::with_capacity(tensors);
    for &index in order {
        match (seen.get_mut(index), table.tensors.get(index)) {
            (Some(true), _) => return Err(refuse("a tensor is repeated", index)),
            (Some(seen), Some(tensor)) => {
                *seen = true;
                entries.push(tensor.clone());
            }
            _ => return Err(refuse("a tensor is invented", index)),
        }
    }
    if let Some(index) = seen.iter().position(|seen| !seen) {
        return Err(refuse("a tensor is missed", index));
    }
    Image::new(entries, *layout)
}

impl TensorTable {
    /// The order of selection `all`: what the step reads, in its order, then
    /// the rest in the table's order.
    pub fn read_order(&self) -> Result<Vec<usize>, ImageError> {
        Ok(Selection::All.of(self)?.sources)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Selection {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        let found = Selection::ALL.into_iter().find(|selection| selection.name() == text);
        found.ok_or_else(|| ImageError::SelectionText(text.chars().take(80).collect()))
    }
}
