//! Checkpoints of several shards, without a disk: what must agree, and what a
//! checkpoint says of itself.

use wimg_core::checkpoint::{Checkpoint, CheckpointError, Gap, SourceTensor};
use wimg_core::gguf::{self, Header, Read};
use wimg_core::tensor::Meta;
use wimg_tests::gguf::{
    ARRAY, BOOL, Gguf, I32, STRING, U16, U32, array, key, split_keys, string, tensor,
};

fn header(gguf: &Gguf) -> Header {
    let file = gguf.bytes();
    match gguf::read(&file, file.len() as u64).unwrap() {
        Read::Header(header) => header,
        Read::More { at_least } => panic!("{at_least}"),
    }
}

/// A shard with one F32 tensor.
fn shard(number: u16, count: u16, tensors: i32, name: &str) -> Gguf {
    let mut gguf = Gguf::sound().with_tensors(vec![tensor(name.as_bytes(), &[4], 0, 0)], 32);
    gguf.keys.extend(split_keys(number, count, tensors));
    gguf
}

fn set(shards: &[Gguf]) -> Result<Checkpoint, CheckpointError> {
    Checkpoint::new(shards.iter().map(header).collect())
}

fn refusal(shards: &[Gguf]) -> String {
    set(shards).unwrap_err().to_string()
}

#[test]
fn a_set_that_agrees_is_one_checkpoint() {
    let checkpoint = set(&[shard(0, 2, 2, "a"), shard(1, 2, 2, "b")]).unwrap();
    let at: Vec<_> = checkpoint.tensors.iter().map(|t| (t.shard, t.name.as_str())).collect();
    assert_eq!(at, [(0, "a"), (1, "b")]);
}

#[test]
fn an_unsplit_file_says_nothing_or_0_or_1() {
    for count in [0, 1] {
        let gguf = Gguf::sound().with_key(b"split.count", U16, &[count, 0]);
        assert_eq!(set(&[gguf]).unwrap().tensors.len(), 1);
    }
    assert_eq!(set(&[Gguf::sound()]).unwrap().tensors.len(), 1);
    assert_eq!(refusal(&[]), "a checkpoint has no shards");
}

#[test]
fn only_the_first_shard_must_count_the_tensors() {
    let mut second = shard(1, 2, 2, "b");
    second.keys.pop();
    assert!(set(&[shard(0, 2, 2, "a"), second]).is_ok());
    let mut first = shard(0, 2, 2, "a");
    first.keys.pop();
    assert_eq!(refusal(&[first, shard(1, 2, 2, "b")]), "shard 1: `split.tensors.count` is missing");
}

#[test]
fn shards_that_disagree_are_refused() {
    let two = |second: Gguf| refusal(&[shard(0, 2, 2, "a"), second]);
    assert_eq!(two(shard(1, 3, 2, "b")), "shard 2: `split.count` is `3`, and there are `2` shards");
    assert_eq!(
        two(shard(0, 2, 2, "b")),
        "shard 2: `split.no` is `0`: in this place it must be `1`"
    );
    assert_eq!(
        two(shard(1, 2, 3, "b")),
        "shard 2: `split.tensors.count` is `3`, and the set has `2` tensors"
    );
    assert_eq!(
        two(shard(1, 2, -1, "b")),
        "shard 2: `split.tensors.count` is `-1`, and the set has `2` tensors"
    );
    assert_eq!(two(shard(1, 2, 2, "a")), "tensor `a` is in shard 1 and again in shard 2");
    assert_eq!(two(Gguf::sound()), "shard 2: `split.count` is missing");
    assert_eq!(
        refusal(&[shard(0, 2, 1, "a")]),
        "shard 1: `split.count` is `2`, and there are `1` shards"
    );
}

#[test]
fn split_keys_have_their_types() {
    let gguf = Gguf::sound().with_key(b"split.count", U32, &2u32.to_le_bytes());
    assert_eq!(refusal(&[gguf]), "shard 1: `split.count` is of type u32: it must be a u16");
    let gguf = Gguf::sound().with_key(b"split.count", U16, &[2, 0]);
    assert_eq!(refusal(std::slice::from_ref(&gguf)), "shard 1: `split.no` is missing");
    let gguf = gguf.with_key(b"split.no", U16, &[0, 0]);
    let gguf = gguf.with_key(b"split.tensors.count", U16, &[1, 0]);
    assert_eq!(
        refusal(&[gguf]),
        "shard 1: `split.tensors.count` is of type u16: it must be an i32"
    );
}

#[test]
fn the_table_holds_the_architectures_metadata() {
    let gguf = Gguf::sound()
        .with_key(b"general.name", STRING, &string(b"tiny \xff"))
        .with_key(b"llama.block_count", I32, &(-1i32).to_le_bytes())
        .with_key(b"llama.layers", ARRAY, &array(BOOL, 2, &[1, 0]))
        .with_key(b"llama.rope", STRING, &string(b"x"))
        .with_key(b"llama.\xff", BOOL, &[1])
        .with_key(b"llamas.count", BOOL, &[1]);
    let checkpoint = set(&[gguf]).unwrap();
    assert_eq!(checkpoint.name(), Some(&b"tiny \xff"[..]));
    let table = checkpoint.table();
    assert_eq!(table.architecture.as_deref(), Some("llama"));
    let metadata: Vec<_> = table.metadata.into_iter().collect();
    assert_eq!(
        metadata,
        [
            ("llama.block_count".to_owned(), Meta::Integer(-1)),
            ("llama.layers".to_owned(), Meta::Bools(vec![true, false])),
            ("llama.rope".to_owned(), Meta::Other("string")),
        ]
    );
    assert_eq!(table.tensors.len(), 1);
}

#[test]
fn no_architecture_or_one_that_is_no_text_is_none() {
    let none = Gguf { keys: vec![], ..Gguf::sound() };
    assert_eq!(set(&[none]).unwrap().table().architecture, None);
    for value in [
        key(b"general.architecture", BOOL, &[1]),
        key(b"general.architecture", STRING, &string(b"\xff")),
    ] {
        let odd = Gguf { keys: vec![value], ..Gguf::sound() };
        assert_eq!(set(&[odd]).unwrap().table().architecture, None);
    }
}

/// Headers, tensors and gaps are every byte of every shard, once.
fn covered_once(checkpoint: &Checkpoint) {
    for (shard, header) in (0u32..).zip(&checkpoint.shards) {
        let tensor = |t: &&SourceTensor| t.shard == shard && t.len.is_some_and(|len| len > 0);
        let tensors = checkpoint.tensors.iter().filter(tensor);
        let mut runs: Vec<(u64, u64)> = vec![(0, header.header_len)];
        runs.extend(tensors.map(|t| (t.offset, t.len.unwrap())));
        let gaps = checkpoint.gaps();
        runs.extend(gaps.iter().filter(|gap| gap.shard == shard).map(|gap| (gap.offset, gap.len)));
        runs.sort_unstable();
        let end = runs.iter().fold(0, |at, &(offset, len)| {
            assert_eq!(offset, at, "{runs:?}");
            offset + len
        });
        assert_eq!(end, header.file_len);
    }
}

#[test]
fn gaps_are_all_that_is_neither_header_nor_tensor() {
    let gguf = Gguf::sound().with_tensors(
        vec![tensor(b"b", &[8], 0, 128), tensor(b"a", &[4], 0, 32), tensor(b"empty", &[0], 0, 64)],
        170,
    );
    let checkpoint = set(&[gguf]).unwrap();
    let start = checkpoint.shards[0].data_start;
    let gap = |from: u64, to: u64| Gap { shard: 0, offset: start + from, len: to - from };
    assert_eq!(checkpoint.gaps(), [gap(0, 32), gap(48, 128), gap(160, 170)]);
    covered_once(&checkpoint);
}

#[test]
fn a_tensor_of_unknown_format_is_part_of_a_gap() {
    let gguf = Gguf::sound().with_tensors(
        vec![
            tensor(b"a", &[8], 0, 0),
            tensor(b"private", &[4], 148, 32),
            tensor(b"b", &[8], 0, 128),
            tensor(b"removed", &[4], 4, 160),
        ],
        200,
    );
    let checkpoint = set(&[gguf]).unwrap();
    let start = checkpoint.shards[0].data_start;
    let gap = |from: u64, to: u64| Gap { shard: 0, offset: start + from, len: to - from };
    assert_eq!(checkpoint.gaps(), [gap(32, 128), gap(160, 200)]);
    covered_once(&checkpoint);
}

#[test]
fn gaps_of_a_set_name_their_shard() {
    let checkpoint = set(&[shard(0, 2, 2, "a"), shard(1, 2, 2, "b")]).unwrap();
    let shards: Vec<_> = checkpoint.gaps().iter().map(|gap| (gap.shard, gap.len)).collect();
    assert_eq!(shards, [(0, 16), (1, 16)]);
    covered_once(&checkpoint);
    let bare = Gguf { tensors: vec![], data: vec![], ..Gguf::sound() }.header();
    let Read::Header(bare) = gguf::read(&bare, bare.len() as u64).unwrap() else { panic!() };
    assert!(bare.data_start > bare.file_len && bare.header_len == bare.file_len);
    assert_eq!(Checkpoint::new(vec![bare]).unwrap().gaps(), []);
}
