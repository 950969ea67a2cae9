use super::*;
use crate::Format;

/// A checkpoint of `blocks` blocks of tiny true shapes.
fn table(blocks: u64) -> TensorTable {
    let mut table = TensorTable { architecture: Some("qwen35".into()), ..TensorTable::default() };
    table.metadata.insert("qwen35.block_count".into(), Meta::Integer(blocks.into()));
    let mut add = |name: String, dims: &[u64]| {
        table.tensors.push(TensorEntry {
            name,
            format: Format::F32,
            dims: dims.to_vec(),
            kernel: false,
            streamed: false,
        });
    };
    add("output.weight".into(), &[8, 20]);
    add("token_embd.weight".into(), &[8, 20, 1, 1]);
    add("output_norm.weight".into(), &[8]);
    for i in 0..blocks {
        let b = |name: &str| format!("blk.{i}.{name}");
        add(b("attn_norm.weight"), &[8]);
        if (i + 1) % 4 == 0 {
            add(b("attn_q.weight"), &[8, 24]);
            add(b("attn_k.weight"), &[8, 6]);
            add(b("attn_v.weight"), &[8, 6]);
            add(b("attn_q_norm.weight"), &[3]);
            add(b("attn_k_norm.weight"), &[3]);
            add(b("attn_output.weight"), &[12, 8]);
        } else {
            add(b("attn_qkv.weight"), &[8, 10]);
            add(b("ssm_conv1d.weight"), &[4, 10]);
            add(b("ssm_alpha.weight"), &[8, 2]);
            add(b("ssm_beta.weight"), &[8, 2]);
            add(b("ssm_dt.bias"), &[2]);
            add(b("ssm_a"), &[2]);
            add(b("ssm_norm.weight"), &[5]);
            add(b("attn_gate.weight"), &[8, 10]);
            add(b("ssm_out.weight"), &[10, 8]);
        }
        add(b("post_attention_norm.weight"), &[8]);
        add(b("ffn_gate.weight"), &[8, 7]);
        add(b("ffn_up.weight"), &[8, 7]);
        add(b("ffn_down.weight"), &[7, 8]);
    }
    add("blk.99.nextn.eh_proj.weight".into(), &[16, 8]);
    table
}

fn set(table: &mut TensorTable, key: &str, value: Meta) {
    table.metadata.insert(format!("qwen35.{key}"), value);
}

fn refusal(change: impl FnOnce(&mut TensorTable)) -> String {
    let mut table = table(4);
    change(&mut table);
    machine_of(&table).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
}

fn reshape(table: &mut TensorTable, name: &str, dims: &[u64]) {
    let tensor = table.tensors.iter_mut().find(|t| t.name == name).expect(name);
    tensor.dims = dims.to_vec();
}

#[test]
fn the_step_reads_in_the_graphs_order() {
    let machine = machine_of(&table(4)).unwrap();
    let names: Vec<String> = machine
        .tensors
        .iter()
        .map(|t| {
            let mark = match (t.kernel, t.streamed) {
                (true, _) => " kernel",
                (_, true) => " *",
                _ => "",
            };
            format!("{}{mark}", t.name)
        })
        .collect();
    expect_test::expect_file!["order.txt"].assert_eq(&(names.join("\n") + "\n"));
    assert_eq!(machine.jobs.len(), machine.tensors.len());
    for (i, &source) in machine.sources.iter().enumerate() {
        assert_eq!(table(4).tensors[source].name, machine.tensors[i].name);
    }
}

#[test]
fn a_tied_checkpoint_streams_its_embedding_in_its_first_place() {
    let mut tied = table(4);
    tied.tensors.remove(0);
    let machine = machine_of(&tied).unwrap();
    assert_eq!(machine.tensors[0].name, "token_embd.weight");
    assert!(machine.tensors[0].streamed);
    assert_eq!(machine.jobs.last().map(|j| (j.op, j.tensor)), Some((Op::Matvec, 0)));
    assert!(!machine_of(&table(4)).unwrap().tensors[0].streamed);
}

#[test]
fn drafting_blocks_and_the_layers_array_decide_the_blocks() {
    let mut drafting = table(5);
    set(&mut drafting, "nextn_predict_layers", Meta::Integer(1));
    assert_eq!(
        machine_of(&drafting).unwrap().tensors.len(),
        machine_of(&table(4)).unwrap().tensors.len()
    );
    let mut layers = table(4);
    set(&mut layers, "full_attention_interval", Meta::Integer(1));
    let array = vec![true, true, true, false, true];
    set(&mut layers, "attention.recurrent_layers", Meta::Bools(array));
    assert_eq!(machine_of(&layers), machine_of(&table(4)));
    set(&mut layers, "attention.recurrent_layers", Meta::Bools(vec![true; 3]));
    assert!(machine_of(&layers).is_err());
}

#[test]
fn sizes_may_differ_between_blocks_but_not_within_one() {
    let mut wide = table(4);
    for (name, dims) in [("gate", [8, 70]), ("up", [8, 70]), ("down", [70, 8])] {
        reshape(&mut wide, &format!("blk.2.ffn_{name}.weight"), &dims);
    }
    assert!(machine_of(&wide).is_ok());
    reshape(&mut wide, "blk.2.ffn_up.weight", &[8, 71]);
    assert!(machine_of(&wide).is_err());
}

#[test]
fn what_a_step_cannot_run_is_refused_with_its_reason() {
    let integer =
        |key: &'static str, value: i128| refusal(move |t| set(t, key, Meta::Integer(value)));
    let shape = |name: &'static str, dims: &'static [u64]| refusal(move |t| reshape(t, name, dims));
    let messages = [
        refusal(|t| t.architecture = None),
        refusal(|t| t.architecture = Some("llama\u{1b}[2J".into())),
        refusal(|t| t.metadata.clear()),
        integer("block_count", -1),
        integer("block_count", i128::from(u64::MAX)),
        integer("nextn_predict_layers", 5),
        integer("full_attention_interval", 0),
        integer("ssm.conv_kernel", 5),
        refusal(|t| set(t, "block_count", Meta::Other("a string"))),
        refusal(|t| set(t, "attention.recurrent_layers", Meta::Integer(1))),
        refusal(|t| drop(t.tensors.remove(2))),
        shape("token_embd.weight", &[]),
        shape("token_embd.weight", &[8, 20, 2]),
        shape("blk.3.attn_q.weight", &[8, 25]),
        shape("blk.3.attn_q_norm.weight", &[5]),
        shape("blk.3.attn_k_norm.weight", &[1]),
        shape("blk.0.ssm_norm.weight", &[0]),
        shape("blk.0.attn_gate.weight", &[8, 11]),
        shape("output.weight", &[8, 21]),
    ];
    expect_test::expect_file!["refusals.txt"].assert_eq(&(messages.join("\n") + "\n"));
}
