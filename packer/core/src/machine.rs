//! The machine: what one decode step reads of a checkpoint, in its order.

mod step;

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::error::ImageError;
use crate::tensor::{Meta, TensorEntry, TensorTable};
pub use step::Op;
use step::{Dim, Size, Step, StepTensor};

/// One operation of a step and the tensor it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// What is done.
    pub op: Op,
    /// The block it belongs to; none before and after the blocks.
    pub block: Option<u64>,
    /// The tensor's index in [`Machine::tensors`].
    pub tensor: usize,
}

/// What a step reads, as the machine stores it, and the jobs that read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The tensors in the order in which the step first reads them: kernels
    /// tap-major, those of matvec jobs streamed.
    pub tensors: Vec<TensorEntry>,
    /// By tensor: its index in the checkpoint's table.
    pub sources: Vec<usize>,
    /// The jobs in order.
    pub jobs: Vec<Job>,
}

/// The machine of a checkpoint: one sequence of one position.
///
/// # Errors
/// An architecture without a step, metadata that the step cannot use, and a
/// tensor that is missing or has the wrong shape.
pub fn machine_of(table: &TensorTable) -> Result<Machine, ImageError> {
    let architecture = table.architecture.as_deref().unwrap_or("(none)");
    let Some(step) = step::step(architecture) else {
        let architecture = architecture.to_owned();
        return Err(ImageError::StepUnknown { architecture, known: step::KNOWN });
    };
    let blocks = Blocks::new(step, table)?;
    let mut reading = Reading::new(step, table);
    if let Some(taps) = metadata(step, table, "ssm.conv_kernel")? {
        reading.sizes.bind(Size::K, taps);
    }
    for tensor in step.first {
        reading.read(tensor, None)?;
    }
    for block in 0..blocks.count {
        let mixer = if blocks.is_recurrent(block) { step.recurrent } else { step.attention };
        reading.sizes.forget_block();
        for tensor in step.head.iter().chain(mixer).chain(step.tail) {
            reading.read(tensor, Some(block))?;
        }
    }
    for tensor in step.last {
        reading.read(tensor, None)?;
    }
    if reading.by_name.contains_key(step.output.name) {
        reading.read(&step.output, None)?;
    } else {
        reading.stream_tied();
    }
    Ok(reading.machine)
}

/// Which blocks a step runs, and which of them are recurrent.
struct Blocks<'a> {
    count: u64,
    interval: u64,
    recurrent: Option<&'a [bool]>,
}

impl<'a> Blocks<'a> {
    fn new(step: &Step, table: &'a TensorTable) -> Result<Self, ImageError> {
        let refuse = |key: &str, why| {
            Err(ImageError::StepMetadata { key: format!("{}.{key}", step.architecture), why })
        };
        let Some(all) = metadata(step, table, "block_count")? else {
            return refuse("block_count", "it is missing, and the step needs it".to_owned());
        };
        let drafting = metadata(step, table, "nextn_predict_layers")?.unwrap_or(0);
        let Some(count) = all.checked_sub(drafting) else {
            let why = format!("{drafting} drafting blocks are more than the {all} of block_count");
            return refuse("nextn_predict_layers", why);
        };
        let interval = metadata(step, table, "full_attention_interval")?
            .unwrap_or(step.full_attention_interval);
        if interval == 0 {
            return refuse(
                "full_attention_interval",
                "0 is no interval, it must be 1 or more".into(),
            );
        }
        const RECURRENT: &str = "attention.recurrent_layers";
        let recurrent = match table.metadata.get(&format!("{}.{RECURRENT}", step.architecture)) {
            None => None,
            Some(Meta::Bools(layers)) if layers.len() as u64 >= count => Some(layers.as_slice()),
            Some(Meta::Bools(layers)) => {
                let why =
                    format!("{} values are fewer than the step's {count} blocks", layers.len());
                return refuse(RECURRENT, why);
            }
            Some(other) => {
                return refuse(RECURRENT, format!("it is {}, not an array of bool", kind(other)));
            }
        };
        Ok(Blocks { count, interval, recurrent })
    }

    fn is_recurrent(&self, block: u64) -> bool {
        match self.recurrent {
            Some(layers) => usize::try_from(block).ok().and_then(|b| layers.get(b)) == Some(&true),
            None => !(block + 1).is_multiple_of(self.interval),
        }
    }
}

/// A count in the metadata under the architecture's prefix.
fn metadata(step: &Step, table: &TensorTable, key: &str) -> Result<Option<u64>, ImageError> {
    let key = format!("{}.{key}", step.architecture);
    let why = match table.metadata.get(&key) {
        None => return Ok(None),
        Some(Meta::Integer(value)) => match u64::try_from(*value) {
            Ok(value) => return Ok(Some(value)),
            Err(_) => format!("{value} is out of range, it must be 0 to 2^64 - 1"),
        },
        Some(other) => format!("it is {}, not an integer", kind(other)),
    };
    Err(ImageError::StepMetadata { key, why })
}

fn kind(value: &Meta) -> &'static str {
    match value {
        Meta::Integer(_) => "an integer",
        Meta::Bools(_) => "an array of bool",
        Meta::Other(name) => name,
    }
}

/// A machine as it grows.
struct Reading<'a> {
    step: &'static Step,
    table: &'a TensorTable,
    by_name: BTreeMap<&'a str, usize>,
    /// The name that is looked for: one buffer for all of them.
    name: String,
    sizes: Sizes,
    machine: Machine,
}

impl<'a> Reading<'a> {
    fn new(step: &'static Step, table: &'a TensorTable) -> Self {
        let by_name = table.tensors.iter().enumerate().map(|(i, t)| (t.name.as_str(), i)).collect();
        let machine = Machine { tensors: Vec::new(), sources: Vec::new(), jobs: Vec::new() };
        Reading { step, table, by_name, name: String::new(), sizes: Sizes::default(), machine }
    }

    fn read(&mut self, wanted: &StepTensor, block: Option<u64>) -> Result<(), ImageError> {
        self.name.clear();
        // Writing to a string does not fail.
        let _ = match block {
            Some(block) => write!(self.name, "blk.{block}.{}", wanted.name),
            None => self.name.write_str(wanted.name),
        };
        let found = self.by_name.get(self.name.as_str());
        let found = found.and_then(|&i| Some((i, self.table.tensors.get(i)?)));
        let Some((source, tensor)) = found else {
            let (tensor, architecture) = (self.name.clone(), self.step.architecture);
            return Err(ImageError::StepTensorMissing { tensor, architecture });
        };
        self.sizes
            .hold(wanted.dims, &tensor.dims)
            .and_then(|()| self.sizes.divide(self.step.divides))
            .map_err(|why| ImageError::StepTensorShape {
                tensor: self.name.clone(),
                dims: tensor.dims.clone(),
                why,
            })?;
        self.machine.jobs.push(Job { op: wanted.op, block, tensor: self.machine.tensors.len() });
        self.machine.sources.push(source);
        self.machine.tensors.push(TensorEntry {
            kernel: wanted.op == Op::Convolution,
            streamed: wanted.op == Op::Matvec,
            ..tensor.clone()
        });
        Ok(())
    }

    /// The output job of a tied checkpoint streams the first tensor.
    fn stream_tied(&mut self) {
        self.machine.jobs.push(Job { op: Op::Matvec, block: None, tensor: 0 });
        if let Some(first) = self.machine.tensors.first_mut() {
            first.streamed = true;
        }
    }
}

/// The sizes known so far.
#[derive(Default)]
struct Sizes {
    known: [Option<u64>; Size::COUNT],
}

impl Sizes {
    fn get(&self, size: Size) -> Option<u64> {
        self.known.get(size as usize).copied().flatten()
    }

    fn bind(&mut self, size: Size, value: u64) {
        if let Some(known) = self.known.get_mut(size as usize) {
            *known = Some(value);
        }
    }

    fn forget_block(&mut self) {
        for size in [Size::F, Size::C, Size::H, Size::S, Size::Q, Size::Kv, Size::N] {
            debug_assert!(!size.is_global());
            if let Some(known) = self.known.get_mut(size as usize) {
                *known = None;
            }
        }
    }

    /// Holds a tensor's dims against the wanted ones; what is not known yet is
    /// learnt. Trailing dims of 1 do not count.
    fn hold(&mut self, wanted: &[Dim], dims: &[u64]) -> Result<(), String> {
        let extra = dims.get(wanted.len()..).unwrap_or_default();
        if dims.is_empty() || extra.iter().any(|&dim| dim != 1) {
            return Err(format!("the step needs {}", self.describe(wanted)));
        }
        let dims = dims.iter().copied().chain(std::iter::repeat(1));
        for (want, dim) in wanted.iter().zip(dims) {
            if !self.hold_dim(want, dim) {
                return Err(format!("the step needs {}", self.describe(wanted)));
            }
        }
        Ok(())
    }

    fn hold_dim(&mut self, Dim(factor, sizes): &Dim, dim: u64) -> bool {
        let mut known = Some(*factor);
        let mut unknown = None;
        for &size in *sizes {
            match self.get(size) {
                Some(value) => known = known.and_then(|k| k.checked_mul(value)),
                None => unknown = Some(size),
            }
        }
        match (known, unknown) {
            (Some(known), None) => known == dim && dim > 0,
            (Some(known), Some(size)) if known > 0 && dim.is_multiple_of(known) && dim > 0 => {
                self.bind(size, dim / known);
                true
            }
            _ => false,
        }
    }

    fn divide(&self, pairs: &[(Size, Size)]) -> Result<(), String> {
        for &(part, whole) in pairs {
            if let (Some(n), Some(all)) = (self.get(part), self.get(whole))
                && (n == 0 || !all.is_multiple_of(n))
            {
                return Err(format!("{part:?} = {n} does not divide {whole:?} = {all}"));
            }
        }
        Ok(())
    }

    /// The wanted dims in words: `[E = 5120, 2·Q]`.
    fn describe(&self, wanted: &[Dim]) -> String {
        let dims: Vec<String> = wanted
            .iter()
            .map(|Dim(factor, sizes)| {
                let factor = (*factor != 1).then(|| factor.to_string());
                let sizes = sizes.iter().map(|&size| match self.get(size) {
                    Some(value) => format!("{size:?}={value}"),
                    None => format!("{size:?}"),
                });
                factor.into_iter().chain(sizes).collect::<Vec<_>>().join("·")
            })
            .collect();
        format!("[{}]", dims.join(", "))
    }
}

#[cfg(test)]
mod tests;
