//! The step of `qwen35`, written down once more, and what each selection takes of it.

use std::collections::BTreeMap;

use super::Tensor;
use super::gguf::{Gguf, Value};

/// Which tensors an image holds, in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// What the step reads, in its order.
    Machine,
    /// What its matvec jobs stream, in the same order.
    Streamed,
    /// The machine's, then the rest in the table's order.
    All,
    /// The table as it is.
    Table,
}

/// How the step reads a tensor.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    Plain,
    Kernel,
    Streamed,
}
use Reading::{Kernel, Plain, Streamed};

/// The shapes' letters (E, V, F, …) with the sizes they have taken.
type Sizes = BTreeMap<&'static str, u64>;

struct Step<'a> {
    gguf: &'a Gguf,
    /// Index in the table, and how it is read, in the step's order.
    reads: Vec<(usize, Reading)>,
}

impl Step<'_> {
    fn index(&self, name: &str) -> Option<usize> {
        self.gguf.table.iter().position(|entry| entry.name == name)
    }

    /// The step's next tensor: it must be there and have this shape.
    fn read(
        &mut self,
        name: &str,
        shape: &[&'static str],
        sizes: &mut Sizes,
        reading: Reading,
    ) -> Result<(), String> {
        let index = self.index(name).ok_or(format!("{name} is missing"))?;
        let entry = &self.gguf.table[index];
        // Its format is not looked at here: an image that needs the tensor does.
        if entry.dims.is_empty() || entry.dims.contains(&0) {
            return Err(format!("{name} has no size"));
        }
        // Trailing dims of 1 are ignored: [E] is [E, 1].
        if entry.dims.iter().skip(shape.len()).any(|&dim| dim != 1) {
            return Err(format!("{name} has too many dims"));
        }
        for (i, &letter) in shape.iter().enumerate() {
            let dim = entry.dims.get(i).copied().unwrap_or(1);
            fit(letter, dim, sizes).map_err(|why| format!("{name}: {why}"))?;
        }
        self.reads.push((index, reading));
        Ok(())
    }

    fn integer(&self, key: &str) -> Result<Option<u64>, String> {
        match self.gguf.metadata.get(&format!("qwen35.{key}")) {
            None => Ok(None),
            Some(&Value::Integer(value)) => {
                u64::try_from(value).map(Some).map_err(|_| format!("{key} is {value}"))
            }
            Some(_) => Err(format!("{key} is not an integer")),
        }
    }

    fn delta_net(&mut self, blk: &str, sizes: &mut Sizes) -> Result<(), String> {
        self.read(&format!("{blk}.attn_qkv.weight"), &["E", "C"], sizes, Streamed)?;
        self.read(&format!("{blk}.ssm_conv1d.weight"), &["K", "C"], sizes, Kernel)?;
        self.read(&format!("{blk}.ssm_alpha.weight"), &["E", "H"], sizes, Streamed)?;
        self.read(&format!("{blk}.ssm_dt.bias"), &["H"], sizes, Plain)?;
        self.read(&format!("{blk}.ssm_a"), &["H"], sizes, Plain)?;
        self.read(&format!("{blk}.ssm_beta.weight"), &["E", "H"], sizes, Streamed)?;
        self.read(&format!("{blk}.ssm_norm.weight"), &["S"], sizes, Plain)?;
        self.read(&format!("{blk}.attn_gate.weight"), &["E", "H*S"], sizes, Streamed)?;
        self.read(&format!("{blk}.ssm_out.weight"), &["H*S", "E"], sizes, Streamed)
    }

    fn attention(&mut self, blk: &str, sizes: &mut Sizes) -> Result<(), String> {
        self.read(&format!("{blk}.attn_q.weight"), &["E", "2Q"], sizes, Streamed)?;
        self.read(&format!("{blk}.attn_q_norm.weight"), &["N"], sizes, Plain)?;
        self.read(&format!("{blk}.attn_v.weight"), &["E", "KV"], sizes, Streamed)?;
        self.read(&format!("{blk}.attn_k.weight"), &["E", "KV"], sizes, Streamed)?;
        self.read(&format!("{blk}.attn_k_norm.weight"), &["N"], sizes, Plain)?;
        self.read(&format!("{blk}.attn_output.weight"), &["Q", "E"], sizes, Streamed)?;
        if !sizes["Q"].is_multiple_of(sizes["N"]) || !sizes["KV"].is_multiple_of(sizes["N"]) {
            return Err(format!("{blk}: N divides Q and KV"));
        }
        Ok(())
    }

    fn block(&mut self, i: u64, recurrent: bool, sizes: &mut Sizes) -> Result<(), String> {
        let blk = format!("blk.{i}");
        self.read(&format!("{blk}.attn_norm.weight"), &["E"], sizes, Plain)?;
        if recurrent {
            self.delta_net(&blk, sizes)?;
        } else {
            self.attention(&blk, sizes)?;
        }
        self.read(&format!("{blk}.post_attention_norm.weight"), &["E"], sizes, Plain)?;
        self.read(&format!("{blk}.ffn_gate.weight"), &["E", "F"], sizes, Streamed)?;
        self.read(&format!("{blk}.ffn_up.weight"), &["E", "F"], sizes, Streamed)?;
        self.read(&format!("{blk}.ffn_down.weight"), &["F", "E"], sizes, Streamed)
    }
}

/// A dim against its letter: the first use gives the letter its size, later ones must agree.
fn fit(letter: &'static str, dim: u64, sizes: &mut Sizes) -> Result<(), String> {
    let wanted = match letter {
        "2Q" if dim.is_multiple_of(2) => return fit("Q", dim / 2, sizes),
        "2Q" => return Err(format!("{dim} is not even")),
        "H*S" => sizes["H"].checked_mul(sizes["S"]).ok_or("H*S is past u64")?,
        _ => *sizes.entry(letter).or_insert(dim),
    };
    if wanted == dim { Ok(()) } else { Err(format!("{letter} is {wanted}, not {dim}")) }
}

/// What the step reads, in its order.
fn step(gguf: &Gguf) -> Result<Vec<(usize, Reading)>, String> {
    if gguf.metadata.get("general.architecture") != Some(&Value::Text("qwen35".to_owned())) {
        return Err("the architecture has no step".to_owned());
    }
    let mut step = Step { gguf, reads: Vec::new() };
    let block_count = step.integer("block_count")?.ok_or("block_count is missing")?;
    let drafting = step.integer("nextn_predict_layers")?.unwrap_or(0);
    let blocks = block_count.checked_sub(drafting).ok_or("more drafting blocks than blocks")?;
    let interval = step.integer("full_attention_interval")?.unwrap_or(4);
    if interval == 0 {
        return Err("the interval is 0".to_owned());
    }
    let recurrent = match gguf.metadata.get("qwen35.attention.recurrent_layers") {
        None => None,
        Some(Value::Bools(layers)) if layers.len() as u64 >= blocks => Some(layers),
        Some(_) => return Err("recurrent_layers is no array of a bool a block".to_owned()),
    };

    let tied = step.index("output.weight").is_none();
    let mut sizes = Sizes::new();
    if let Some(taps) = step.integer("ssm.conv_kernel")? {
        sizes.insert("K", taps);
    }
    let embedding = if tied { Streamed } else { Plain };
    step.read("token_embd.weight", &["E", "V"], &mut sizes, embedding)?;
    for i in 0..blocks {
        let is_recurrent = match recurrent {
            Some(layers) => layers[usize::try_from(i).unwrap()],
            None => !(i + 1).is_multiple_of(interval),
        };
        step.block(i, is_recurrent, &mut sizes)?;
        // F, C, H, S, Q, KV and N may differ between blocks; E, V and K may not.
        sizes.retain(|letter, _| ["E", "V", "K"].contains(letter));
    }
    step.read("output_norm.weight", &["E"], &mut sizes, Plain)?;
    if !tied {
        step.read("output.weight", &["E", "V"], &mut sizes, Streamed)?;
    }
    Ok(step.reads)
}

fn tensor(gguf: &Gguf, index: usize, reading: Reading) -> Tensor {
    let entry = &gguf.table[index];
    Tensor {
        name: entry.name.clone(),
        index,
        format: entry.format,
        dims: entry.dims.clone(),
        bytes: entry.bytes.clone(),
        kernel: reading == Kernel,
        streamed: reading == Streamed,
        // Of an unstreamed token_embd a pass reads one row, which is not counted.
        in_pass: !(entry.name == "token_embd.weight" && reading != Streamed),
    }
}

/// The tensors of an image of `gguf`, in the image's order.
///
/// # Errors
/// The architecture has no step, or the step's metadata or tensors are not as it needs them.
pub fn select(gguf: &Gguf, selection: Selection) -> Result<Vec<Tensor>, String> {
    if selection == Selection::Table {
        let indices = 0..gguf.table.len();
        return Ok(indices.map(|index| tensor(gguf, index, Plain)).collect());
    }
    let reads = step(gguf)?;
    let mut tensors = Vec::new();
    for &(index, reading) in &reads {
        if selection != Selection::Streamed || reading == Streamed {
            tensors.push(tensor(gguf, index, reading));
        }
    }
    if selection == Selection::All {
        for index in 0..gguf.table.len() {
            if !reads.iter().any(|&(read, _)| read == index) {
                tensors.push(tensor(gguf, index, Plain));
            }
        }
    }
    Ok(tensors)
}
