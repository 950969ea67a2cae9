//! What an input makes a reader allocate is bounded by the input's own length,
//! whatever it claims.
//!
//! One test: the count is the whole process's.
#![expect(clippy::unwrap_used, reason = "an input that is not read fails the test")]

mod counting;

use std::fs;
use std::path::Path;

use counting::Counting;
use wimg_core::gguf::{Header, Read, read};
use wimg_core::{Checkpoint, Manifest};
use wimg_fuzz::seeds::targets;
use wimg_tests::gguf::{ARRAY, BOOL, Gguf, STRING, U64, array, key, split_keys, tensor};

#[global_allocator]
static MEMORY: Counting = Counting::new();

/// Bytes that are allocated whatever the input: an error's message.
const FIXED: usize = 4096;

/// An input may cost so many times its length. A tensor of 33 bytes becomes an
/// entry of a name, dims and extents, and stands in two indices while it is
/// read; a key of 14 bytes likewise.
const TIMES: usize = 16;

fn bounded<T>(what: &str, len: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = MEMORY.peak(work);
    assert!(peak <= TIMES * len + FIXED, "{what}: {peak} bytes for an input of {len}");
    result
}

/// Reads a file that claims to be much longer than it is, and as what it is.
fn header(what: &str, file: &[u8]) -> Option<Header> {
    let _ = bounded(what, file.len(), || read(file, 1 << 50));
    match bounded(what, file.len(), || read(file, file.len() as u64)) {
        Ok(Read::Header(header)) => Some(header),
        _ => None,
    }
}

/// Files of one kind of claim or content each, where the most is made of least.
fn greedy() -> Vec<(&'static str, Vec<u8>)> {
    let many = 20_000u32;
    let name = |i: u32| format!("{i:05}").into_bytes();
    let tensors = (0..many).map(|i| tensor(&name(i), &[1, 1, 1, 0], 0, 0)).collect();
    let claim = |tensor_count, key_count| Gguf { tensor_count, key_count, ..Gguf::sound() };
    let mut keys = Gguf::sound();
    keys.keys = (0..many).map(|i| key(&name(i), BOOL, &[1])).collect();
    let mut nested = array(BOOL, 1 << 60, &[]);
    for _ in 0..6 {
        nested = array(ARRAY, 1 << 60, &nested);
    }
    vec![
        ("tensors", Gguf::sound().with_tensors(tensors, 0).bytes()),
        ("keys", keys.bytes()),
        ("a tensor count", claim(Some(1 << 44), None).bytes()),
        ("a key count", claim(None, Some(1 << 45)).bytes()),
        ("a string", Gguf::sound().with_key(b"s", STRING, &(1u64 << 49).to_le_bytes()).bytes()),
        ("an array", Gguf::sound().with_key(b"a", ARRAY, &array(U64, 1 << 46, &[])).bytes()),
        (
            "an array of strings",
            Gguf::sound().with_key(b"a", ARRAY, &array(STRING, 1 << 46, &[])).bytes(),
        ),
        ("nested arrays", Gguf::sound().with_key(b"a", ARRAY, &nested).bytes()),
    ]
}

#[test]
fn what_is_allocated_is_bounded_by_the_inputs_length() {
    let (bytes, peak) = MEMORY.peak(|| vec![1u8; 1 << 20]);
    assert!(peak >= bytes.len(), "the count counts");
    drop(bytes);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/malformed");
    let targets = targets(&data).unwrap();
    let mut headers = 0;
    for (number, seed) in
        targets.iter().find(|t| t.name == "gguf").unwrap().seeds.iter().enumerate()
    {
        headers += usize::from(header(&format!("seed {number}"), seed).is_some());
    }
    assert!(headers > 20, "{headers}");
    for (what, file) in greedy() {
        if let Some(header) = header(what, &file) {
            let checkpoint = bounded(what, file.len(), || Checkpoint::new(vec![header])).unwrap();
            bounded(what, file.len(), || checkpoint.gaps());
            bounded(what, file.len(), || checkpoint.table());
        }
    }
    let shard = |number| {
        let mut gguf = Gguf::sound();
        gguf.keys.extend(split_keys(number, 65535, i32::MAX));
        header("a shard", &gguf.bytes()).unwrap()
    };
    let shards = vec![shard(0), shard(1)];
    assert!(bounded("a set of 65535", 1024, || Checkpoint::new(shards)).is_err());
    manifests();
}

fn manifests() {
    let sound = wimg_fuzz::image_json::seed();
    assert!(bounded("a manifest", sound.len(), || Manifest::read(&sound)).is_ok());
    let text = String::from_utf8(sound).unwrap();
    let claims = [
        ("shards", text.replace("\"shards\":[", &format!("\"shards\":[{}", "{},".repeat(5000)))),
        ("nesting", text.replace("\"shards\":[", &format!("\"shards\":{}", "[".repeat(9000)))),
        ("lengths", text.replace("\"length\":", "\"length\":9007199254740991")),
        ("dims", text.replace("\"dims\":[", &format!("\"dims\":[{}", "1,".repeat(9000)))),
    ];
    for (what, text) in claims {
        let read = bounded(what, text.len(), || Manifest::read(text.as_bytes()).map(drop));
        assert!(read.is_err() || ["dims", "lengths"].contains(&what), "{what}");
    }
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("images/image.json.txt");
    let large = fs::read(out).unwrap();
    assert!(bounded("a large manifest", large.len(), || Manifest::read(&large)).is_ok());
}
