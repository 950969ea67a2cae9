//! The shapes of a synthetic checkpoint, at every kind of scale.

use std::collections::BTreeMap;

use wimg::synth::{SCALE_MAX, Synth};
use wimg_core::TensorTable;
use wimg_core::gguf::{Read, Value, read, write};
use wimg_core::headers::{HEADERS, find};

/// The bytes of a tile of 512 lines at either beat; the larger.
const TILE_BYTES: u64 = 512 * 72;
const SCALES: [u64; 16] = [1, 2, 3, 4, 5, 7, 10, 16, 19, 20, 21, 24, 32, 68, 128, SCALE_MAX];

/// What is wrong with a table's shapes, by the rules of the qwen35 step.
fn faults(table: &TensorTable) -> Vec<String> {
    let dims: BTreeMap<&str, &[u64]> =
        table.tensors.iter().map(|t| (t.name.as_str(), t.dims.as_slice())).collect();
    let embed = dims["token_embd.weight"][0];
    let mut faults = Vec::new();
    let mut expect = |name: &str, expected: &[u64]| {
        if dims.get(name) != Some(&expected) {
            faults.push(format!("{name}: {:?}, not {expected:?}", dims.get(name)));
        }
    };
    expect("output.weight", dims["token_embd.weight"]);
    expect("output_norm.weight", &[embed]);
    for block in 0..64 {
        let name = |role: &str| format!("blk.{block}.{role}");
        let dim = |role: &str, axis: usize| dims[name(role).as_str()][axis];
        let mut expect = |role: &str, expected: &[u64]| expect(&name(role), expected);
        let ffn = dim("ffn_gate.weight", 1);
        expect("attn_norm.weight", &[embed]);
        expect("post_attention_norm.weight", &[embed]);
        expect("ffn_gate.weight", &[embed, ffn]);
        expect("ffn_up.weight", &[embed, ffn]);
        expect("ffn_down.weight", &[ffn, embed]);
        if (block + 1) % 4 == 0 {
            let (query, key_value) = (dim("attn_output.weight", 0), dim("attn_k.weight", 1));
            let head = dim("attn_q_norm.weight", 0);
            expect("attn_q.weight", &[embed, 2 * query]);
            expect("attn_output.weight", &[query, embed]);
            expect("attn_k.weight", &[embed, key_value]);
            expect("attn_v.weight", &[embed, key_value]);
            expect("attn_k_norm.weight", &[head]);
            assert_eq!((query % head, key_value % head), (0, 0));
        } else {
            let (channels, heads) = (dim("attn_qkv.weight", 1), dim("ssm_a", 0));
            let inner = heads * dim("ssm_norm.weight", 0);
            expect("attn_qkv.weight", &[embed, channels]);
            expect("ssm_conv1d.weight", &[4, channels]);
            expect("ssm_alpha.weight", &[embed, heads]);
            expect("ssm_beta.weight", &[embed, heads]);
            expect("ssm_dt.bias", &[heads]);
            expect("attn_gate.weight", &[embed, inner]);
            expect("ssm_out.weight", &[inner, embed]);
        }
    }
    for tensor in &table.tensors {
        let block = tensor.format.block().unwrap().elems;
        if tensor.dims[0] % block != 0 {
            faults.push(format!("{}: ragged rows", tensor.name));
        }
    }
    faults
}

#[test]
fn every_scale_keeps_tensors_formats_and_shape_rules() {
    let mut checked = 0;
    for header in HEADERS.iter() {
        let full = header.table();
        let mut last_bytes = u64::MAX;
        for scale in SCALES {
            let table = Synth::new(header, scale, 0).unwrap().table();
            assert_eq!(faults(&table), [""; 0], "{} at {scale}", header.name);
            assert_eq!(table.metadata, full.metadata);
            assert_eq!(table.tensors.len(), full.tensors.len());
            for (narrow, wide) in table.tensors.iter().zip(&full.tensors) {
                assert_eq!((&narrow.name, narrow.format), (&wide.name, wide.format));
                assert!(narrow.dims.iter().zip(&wide.dims).all(|(n, w)| n <= w), "{}", narrow.name);
            }
            let bytes = table.tensors.iter().map(|t| t.dims.iter().product::<u64>()).sum();
            assert!(
                bytes < last_bytes || bytes == last_bytes && scale == SCALE_MAX,
                "{} at {scale}",
                header.name
            );
            last_bytes = bytes;
            checked += 1;
        }
        assert_eq!(Synth::new(header, 1, 0).unwrap().table(), full);
    }
    assert_eq!(checked, 8 * SCALES.len());
}

#[test]
fn a_wrong_shape_is_found() {
    let mut table = Synth::new(&HEADERS[0], 20, 0).unwrap().table();
    let at = table.tensors.iter().position(|t| t.name == "blk.5.ssm_beta.weight").unwrap();
    table.tensors[at].dims = vec![255, 48];
    let faults = faults(&table);
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults.iter().all(|fault| fault.starts_with("blk.5.ssm_beta.weight: ")), "{faults:?}");
}

#[test]
fn a_tap_stays_larger_than_a_tile() {
    for scale in SCALES {
        let table = Synth::new(&HEADERS[0], scale, 0).unwrap().table();
        let taps: Vec<u64> = table
            .tensors
            .iter()
            .filter(|t| t.name.ends_with("ssm_conv1d.weight"))
            .map(|t| t.dims[1] * 4)
            .collect();
        assert_eq!(taps.len(), 48);
        assert!(taps[0] > TILE_BYTES);
        assert_eq!(taps[1..].iter().all(|tap| *tap == taps[0]), scale <= 20, "scale {scale}");
    }
}

#[test]
fn the_metadata_says_what_the_shapes_are() {
    for scale in SCALES {
        let synth = Synth::new(find("qwen3.8-27b-unsloth-q4_k_m").unwrap(), scale, 3).unwrap();
        let file = synth.file();
        let written = write::header(&file.metadata, &file.tensors).unwrap();
        let Read::Header(header) = read(&written.bytes, written.file_bytes).unwrap() else {
            panic!("more")
        };
        let table = synth.table();
        // Block 1, as block 0 may be wider.
        let dim = |name: &str, axis: usize| {
            i128::from(table.tensors.iter().find(|t| t.name == name).unwrap().dims[axis])
        };
        let int = |key: &str| header.get(&format!("qwen35.{key}")).unwrap().integer().unwrap();
        assert_eq!(int("embedding_length"), dim("token_embd.weight", 0));
        assert_eq!(int("feed_forward_length"), dim("blk.1.ffn_gate.weight", 1));
        assert_eq!(int("vocab_size"), dim("output.weight", 1));
        assert_eq!(
            int("attention.head_count") * int("attention.key_length"),
            dim("blk.3.attn_output.weight", 0)
        );
        assert_eq!(
            int("attention.head_count_kv") * int("attention.value_length"),
            dim("blk.3.attn_v.weight", 1)
        );
        assert_eq!(int("attention.head_count") % int("attention.head_count_kv"), 0);
        assert_eq!(int("ssm.conv_kernel"), dim("blk.1.ssm_conv1d.weight", 0));
        assert_eq!(int("ssm.time_step_rank"), dim("blk.1.ssm_a", 0));
        assert_eq!(int("ssm.state_size"), dim("blk.1.ssm_norm.weight", 0));
        assert_eq!(int("ssm.inner_size"), dim("blk.1.ssm_out.weight", 0));
        let keys = 2 * int("ssm.group_count") * int("ssm.state_size");
        assert_eq!(keys + int("ssm.inner_size"), dim("blk.1.attn_qkv.weight", 1));
        assert_eq!(int("ssm.time_step_rank") % int("ssm.group_count"), 0);
        assert_eq!((int("block_count"), int("nextn_predict_layers")), (65, 1));
        let Some(Value::Array(tokens)) = header.get("tokenizer.ggml.tokens") else {
            panic!("no tokens")
        };
        assert_eq!(i128::from(tokens.len), int("vocab_size"));
        assert_eq!(header.get("general.architecture").unwrap().string(), Some(&b"qwen35"[..]));
    }
}

#[test]
fn the_file_type_is_that_of_most_of_the_bytes() {
    // llama.cpp's ids of Q8_0, Q4_K_M, Q6_K, Q5_K_M and Q4_0, in HEADERS' order.
    // The dynamic mix (the seventh) calls itself Q4_K, but most of it is Q5_K.
    let types: Vec<Option<i128>> = HEADERS
        .iter()
        .map(|header| {
            let metadata = Synth::new(header, 20, 0).unwrap().file().metadata;
            metadata.iter().find(|(key, _)| key == "general.file_type")?.1.integer()
        })
        .collect();
    assert_eq!(types, [7, 15, 7, 18, 17, 15, 17, 2].map(Some));
}

#[test]
fn a_scale_out_of_bounds_is_refused() {
    for scale in [0, SCALE_MAX + 1] {
        let error = Synth::new(&HEADERS[0], scale, 0).unwrap_err().to_string();
        assert_eq!(error, format!("scale `{scale}` is not within 1 and 512"));
    }
}
