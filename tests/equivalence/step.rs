//! Selections: which tensors, in which order, stored and read how.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use wimg_core::{
    Format, Meta, Pass, Plan, Selection, Source, TensorEntry, TensorTable, image_of, machine_of,
    streamed_image_of,
};
use wimg_tests::cases::{for_each, random_bytes};
use wimg_tests::oracle::format::format;
use wimg_tests::oracle::gguf::{Entry, Gguf, Value};
use wimg_tests::oracle::step::{self, select};
use wimg_tests::oracle::{Layout, image};
use wimg_tests::twin::{self, host};

use crate::plan::{draw, same_image};

/// What a checkpoint is drawn from.
#[derive(Clone, Debug)]
struct Knobs {
    blocks: u64,
    drafting: Option<u64>,
    interval: Option<u64>,
    recurrent: Option<Vec<bool>>,
    taps_said: bool,
    tied: bool,
    extras: usize,
    fault: &'static str,
    salt: u64,
}

/// What is done to a sound checkpoint; the first few leave it sound.
const FAULTS: [&str; 22] = [
    "",
    "trailing ones",
    "other architecture's key",
    "other bools",
    "one dim for [E, 1]",
    "kernel of a byte",
    "a tensor missing",
    "a dim one off",
    "a zero dim",
    "no dims",
    "an unknown format",
    "a dim too many",
    "negative",
    "not an integer",
    "interval of zero",
    "more drafting than blocks",
    "another architecture",
    "no architecture",
    "kernels of two sizes",
    "kernels of no taps",
    "other taps",
    "huge block count",
];

fn knobs() -> impl Strategy<Value = Knobs> {
    let metadata = (
        0..=5_u64,
        proptest::option::of(0..=2_u64),
        proptest::option::of(1..=4_u64),
        proptest::option::weighted(0.3, proptest::collection::vec(any::<bool>(), 0..=7)),
        any::<bool>(),
    );
    let fault = prop_oneof![3 => Just(FAULTS[0]), 4 => (0..FAULTS.len()).prop_map(|i| FAULTS[i])];
    (metadata, any::<bool>(), 0..5_usize, fault, any::<u64>()).prop_map(
        |((steps, drafting, interval, recurrent, taps_said), tied, extras, fault, salt)| Knobs {
            blocks: steps + drafting.unwrap_or(0),
            drafting,
            interval,
            recurrent,
            taps_said,
            tied,
            extras,
            fault,
            salt,
        },
    )
}

/// A checkpoint as it is drawn, tensor by tensor.
struct Drawn {
    gguf: Gguf,
    salt: u64,
    draws: u64,
}

impl Drawn {
    fn below(&mut self, most: usize) -> usize {
        self.draws += 1;
        draw(self.salt, self.draws, most)
    }

    fn size(&mut self, sizes: &[u64]) -> u64 {
        sizes[self.below(sizes.len())]
    }

    /// Adds a tensor: in blocks where its rows are whole ones, else in elements.
    fn add(&mut self, name: &str, dims: &[u64], elements: bool) {
        let blocks: &[u32] = match (elements, dims[0] % 256, dims[0] % 32) {
            (false, 0, _) => &[0, 8, 12, 14],
            (false, _, 0) => &[0, 1, 2, 8],
            _ => &[0, 1, 30],
        };
        let format = blocks[self.below(blocks.len())];
        self.gguf.table.push(Entry {
            name: name.to_owned(),
            format,
            dims: dims.to_vec(),
            bytes: Vec::new(),
        });
    }

    fn set(&mut self, key: &str, value: Value) {
        self.gguf.metadata.insert(key.to_owned(), value);
    }

    fn integer(&mut self, key: &str, value: u64) {
        self.set(&format!("qwen35.{key}"), Value::Integer(value.into()));
    }

    fn delta_net(&mut self, blk: &str, e: u64, k: u64) {
        let (c, h, s) =
            (self.size(&[7, 10, 48, 96]), self.size(&[1, 2, 4]), self.size(&[1, 5, 8, 64]));
        self.add(&format!("{blk}.attn_qkv.weight"), &[e, c], false);
        self.add(&format!("{blk}.ssm_conv1d.weight"), &[k, c], true);
        self.add(&format!("{blk}.ssm_alpha.weight"), &[e, h], false);
        self.add(&format!("{blk}.ssm_beta.weight"), &[e, h], false);
        self.add(&format!("{blk}.ssm_dt.bias"), &[h], true);
        self.add(&format!("{blk}.ssm_a"), &[h], true);
        self.add(&format!("{blk}.ssm_norm.weight"), &[s], true);
        self.add(&format!("{blk}.attn_gate.weight"), &[e, h * s], false);
        self.add(&format!("{blk}.ssm_out.weight"), &[h * s, e], false);
    }

    fn attention(&mut self, blk: &str, e: u64) {
        let n = self.size(&[1, 3, 8, 32]);
        let (q, kv) = (n * self.size(&[1, 2, 4]), n * self.size(&[1, 2]));
        self.add(&format!("{blk}.attn_q.weight"), &[e, 2 * q], false);
        self.add(&format!("{blk}.attn_k.weight"), &[e, kv], false);
        self.add(&format!("{blk}.attn_v.weight"), &[e, kv], false);
        self.add(&format!("{blk}.attn_q_norm.weight"), &[n], true);
        self.add(&format!("{blk}.attn_k_norm.weight"), &[n], true);
        self.add(&format!("{blk}.attn_output.weight"), &[q, e], false);
    }

    fn block(&mut self, i: u64, recurrent: bool, e: u64, k: u64) {
        let blk = format!("blk.{i}");
        self.add(&format!("{blk}.attn_norm.weight"), &[e], true);
        if recurrent {
            self.delta_net(&blk, e, k);
        } else {
            self.attention(&blk, e);
        }
        let f = self.size(&[5, 32, 64]);
        self.add(&format!("{blk}.post_attention_norm.weight"), &[e], true);
        self.add(&format!("{blk}.ffn_gate.weight"), &[e, f], false);
        self.add(&format!("{blk}.ffn_up.weight"), &[e, f], false);
        self.add(&format!("{blk}.ffn_down.weight"), &[f, e], false);
    }
}

fn drawn(knobs: &Knobs) -> Gguf {
    let gguf = Gguf { metadata: BTreeMap::new(), table: Vec::new() };
    let mut drawn = Drawn { gguf, salt: knobs.salt, draws: 0 };
    let (e, k) = (drawn.size(&[8, 32, 64, 256]), drawn.size(&[1, 3, 4]));
    let v = drawn.size(&[1, 20, 33]);
    drawn.set("general.architecture", Value::Text("qwen35".to_owned()));
    drawn.integer("block_count", knobs.blocks);
    let said =
        [("nextn_predict_layers", knobs.drafting), ("full_attention_interval", knobs.interval)];
    for (key, value) in said {
        if let Some(value) = value {
            drawn.integer(key, value);
        }
    }
    if knobs.taps_said {
        drawn.integer("ssm.conv_kernel", k);
    }
    if let Some(layers) = &knobs.recurrent {
        drawn.set("qwen35.attention.recurrent_layers", Value::Bools(layers.clone()));
    }
    drawn.add("token_embd.weight", &[e, v], false);
    drawn.add("output_norm.weight", &[e], true);
    if !knobs.tied {
        drawn.add("output.weight", &[e, v], false);
    }
    // Drafting blocks have a block's tensors too, and some of their own.
    for i in 0..knobs.blocks {
        let layer = knobs.recurrent.as_ref().and_then(|layers| layers.get(host(i)));
        let recurrent = match layer {
            Some(&layer) => layer,
            None => (i + 1) % knobs.interval.unwrap_or(4) != 0,
        };
        drawn.block(i, recurrent, e, k);
    }
    let extras = ["v.patch_embd.weight", "mm.0.weight", "output.scale", "blk.0.ffn_up.input_scale"];
    for name in &extras[..knobs.extras] {
        drawn.add(name, &[32, 3], false);
    }
    spoil(&mut drawn, knobs);
    let mut gguf = drawn.gguf;
    let mut salt = knobs.salt;
    for entry in &mut gguf.table {
        salt = salt.wrapping_add(1);
        entry.bytes = random_bytes(salt, length(entry).unwrap_or(0));
    }
    let places = gguf.table.len();
    for i in (1..places).rev() {
        gguf.table.swap(i, draw(knobs.salt, 1 << 32 | i as u64, i + 1));
    }
    gguf
}

/// Bytes of a sound tensor.
fn length(entry: &Entry) -> Option<usize> {
    let format = format(entry.format)?;
    let whole = entry.dims.first()?.is_multiple_of(format.elems as u64);
    whole.then(|| host(entry.dims.iter().product()) / format.elems * format.bytes)
}

fn spoil(drawn: &mut Drawn, knobs: &Knobs) {
    let keys =
        ["block_count", "nextn_predict_layers", "full_attention_interval", "ssm.conv_kernel"];
    let key = format!("qwen35.{}", keys[drawn.below(keys.len())]);
    let victim = drawn.below(drawn.gguf.table.len());
    let entry = &mut drawn.gguf.table[victim];
    match knobs.fault {
        "" => {}
        "trailing ones" => entry.dims.extend([1, 1]),
        "other architecture's key" => drawn.set("llama.block_count", Value::Other),
        "other bools" => drawn.set("qwen35.rope.other", Value::Bools(vec![true])),
        "one dim for [E, 1]" => {
            if entry.dims.len() == 2 && entry.dims[1] == 1 {
                entry.dims.pop();
            }
        }
        "kernel of a byte" => {
            for entry in &mut drawn.gguf.table {
                if entry.name.ends_with("ssm_conv1d.weight") {
                    entry.format = 24;
                }
            }
        }
        "a tensor missing" => drop(drawn.gguf.table.remove(victim)),
        "a dim one off" => {
            let at = victim % entry.dims.len();
            entry.dims[at] += 1;
        }
        "a zero dim" => entry.dims[0] = 0,
        "no dims" => entry.dims.clear(),
        "an unknown format" => entry.format = 4 + 144 * u32::from(knobs.tied),
        "a dim too many" => entry.dims.push(2),
        "negative" => drawn.set(&key, Value::Integer(-1)),
        "not an integer" => drawn.set(&key, Value::Other),
        "interval of zero" => drawn.integer("full_attention_interval", 0),
        "more drafting than blocks" => drawn.integer("nextn_predict_layers", knobs.blocks + 1),
        "another architecture" => drawn.set("general.architecture", Value::Text("llama".into())),
        "no architecture" => drop(drawn.gguf.metadata.remove("general.architecture")),
        "kernels of no taps" => {
            for entry in &mut drawn.gguf.table {
                if entry.name.ends_with("ssm_conv1d.weight") {
                    entry.dims[0] = 0;
                }
            }
            drawn.integer("ssm.conv_kernel", 0);
        }
        "other taps" => drawn.integer("ssm.conv_kernel", 2),
        "kernels of two sizes" => {
            let mut kernels = drawn.gguf.table.iter_mut();
            let last = kernels.rfind(|entry| entry.name.ends_with("ssm_conv1d.weight"));
            if let Some(entry) = last {
                entry.dims[0] += 1;
            }
        }
        "huge block count" => drawn.integer("block_count", u64::MAX),
        fault => panic!("no fault `{fault}`"),
    }
}

/// The same checkpoint's table as the core takes it.
fn table_of(gguf: &Gguf) -> TensorTable {
    let meta = |value: &Value| match value {
        Value::Integer(value) => Meta::Integer(*value),
        Value::Bools(bools) => Meta::Bools(bools.clone()),
        Value::Text(_) | Value::Other => Meta::Other("a string"),
    };
    let architecture = match gguf.metadata.get("general.architecture") {
        Some(Value::Text(name)) => Some(name.clone()),
        _ => None,
    };
    let entry = |entry: &Entry| TensorEntry {
        name: entry.name.clone(),
        format: Format::from_id(entry.format),
        dims: entry.dims.clone(),
        kernel: false,
        streamed: false,
    };
    let qwen35 = gguf.metadata.iter().filter(|(key, _)| key.starts_with("qwen35."));
    TensorTable {
        architecture,
        metadata: qwen35.map(|(key, value)| (key.clone(), meta(value))).collect(),
        tensors: gguf.table.iter().map(entry).collect(),
    }
}

/// Lines of each channel that a pass reads, by the core's placements.
fn pass_lines(plan: &Plan) -> Vec<usize> {
    let lines = |lane| {
        let placements = plan.image().placements().iter().zip(plan.passes());
        let whole = placements.filter(|(_, pass)| **pass != Pass::Row);
        host(whole.map(|(placement, _)| placement.lines_on(lane)).sum())
    };
    (0..plan.image().channel_lines().len()).map(lines).collect()
}

/// One selection by both; whether both accept it.
fn same_selection(
    gguf: &Gguf,
    selection: step::Selection,
    layout: &Layout,
) -> Result<bool, TestCaseError> {
    let table = table_of(gguf);
    let core_selection = twin::selection(selection);
    let core_layout = twin::layout(layout);
    let core = core_selection.of(&table).and_then(|selected| {
        let sources = vec![Source { shard: 0, offset: 0, len: 0 }; selected.tensors.len()];
        Ok((selected.clone(), Plan::of(selected, &core_layout, sources)?))
    });
    let oracle = select(gguf, selection)
        .and_then(|tensors| image(&tensors, layout).map(|image| (tensors, image)));
    let ((selected, plan), (tensors, oracle)) = match (core, oracle) {
        (Ok(core), Ok(oracle)) => (core, oracle),
        (Err(_), Err(_)) => return Ok(false),
        (core, oracle) => {
            let (core, oracle) = (core.map(|_| ()), oracle.map(|_| ()));
            let why = format!("{selection:?}: core {core:?}, oracle {oracle:?}");
            return Err(TestCaseError::fail(why));
        }
    };
    prop_assert_eq!(selected.sources, tensors.iter().map(|t| t.index).collect::<Vec<_>>());
    prop_assert_eq!(&selected.tensors, &tensors.iter().map(twin::entry).collect::<Vec<_>>());
    let rows = selected.passes.iter().map(|pass| *pass == Pass::Row);
    prop_assert_eq!(
        rows.collect::<Vec<_>>(),
        tensors.iter().map(|t| !t.in_pass).collect::<Vec<_>>()
    );
    prop_assert_eq!(selected.step, selection != step::Selection::Table);
    prop_assert_eq!(plan.selection(), core_selection);
    prop_assert_eq!(pass_lines(&plan), &oracle.row.pass_lines[..]);
    same_image(&oracle, plan.image())?;
    same_entry_points(&table, &plan)?;
    Ok(true)
}

/// The other ways to the same image.
fn same_entry_points(table: &TensorTable, plan: &Plan) -> Result<(), TestCaseError> {
    let layout = plan.image().layout();
    match plan.selection() {
        Selection::Machine => {
            let machine = machine_of(table).unwrap();
            prop_assert_eq!(&image_of(&machine, layout).unwrap(), plan.image());
        }
        Selection::Streamed => {
            let machine = machine_of(table).unwrap();
            let (image, indices) = streamed_image_of(&machine, layout).unwrap();
            prop_assert_eq!(&image, plan.image());
            let named: Vec<_> = indices.iter().map(|&i| machine.tensors[i].clone()).collect();
            prop_assert_eq!(named, image.tensors());
            prop_assert!(indices.is_sorted());
        }
        Selection::All => {
            let names: Vec<&str> =
                table.read_order().unwrap().iter().map(|&i| &table.tensors[i].name[..]).collect();
            let wanted: Vec<&str> = plan.image().tensors().iter().map(|t| &t.name[..]).collect();
            prop_assert_eq!(names, wanted);
        }
        Selection::Table => {}
    }
    Ok(())
}

const SELECTIONS: [step::Selection; 4] = [
    step::Selection::Machine,
    step::Selection::Streamed,
    step::Selection::All,
    step::Selection::Table,
];

#[test]
fn selections_agree_with_the_oracle() {
    // By fault: selections that both refused, and that both took.
    let seen = RefCell::new(BTreeMap::<&str, [u32; 2]>::new());
    let layouts = prop_oneof![
        Just(Layout { channels: 3, tile_lines: 2, ..Layout::default() }),
        Just(Layout { line_bytes: 72, tile_lines: 4, check: true, ..Layout::default() }),
        Just(Layout { stripe: Some(2), slot: 16, ..Layout::default() }),
    ];
    for_each(0xE00A, 3000, &(knobs(), layouts), |(knobs, layout)| {
        let gguf = drawn(&knobs);
        for selection in SELECTIONS {
            let taken = same_selection(&gguf, selection, &layout)?;
            seen.borrow_mut().entry(knobs.fault).or_default()[usize::from(taken)] += 1;
        }
        Ok(())
    });
    let seen = seen.into_inner();
    assert_eq!(seen.len(), FAULTS.len(), "{seen:#?}");
    let refused = seen.values().filter(|counts| counts[0] > 20).count();
    let taken = seen.values().filter(|counts| counts[1] > 20).count();
    assert!(refused >= 15 && taken >= 15, "{seen:#?}");
    assert!(seen[""][1] > 2500, "{seen:#?}");
}
