//! The bytes of a synthetic checkpoint, and how they get to the disk.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use wimg::Error;
use wimg::progress::Stage;
use wimg::synth::{SCALE_MAX, Synth};
use wimg_core::headers::{HEADERS, find};
use wimg_tests::program::command;

use super::{file, header_of, tensor};

fn names(directory: &Path) -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    all.sort();
    all
}

/// Tensors of several chunks, of a block that does not divide a chunk, and of
/// less than an alignment.
fn mixed(seed: u64) -> wimg::synth::SynthFile {
    let tensors = vec![
        tensor("a", "Q6_K", &[256, 13_000]),
        tensor("b", "F32", &[3]),
        tensor("c", "Q8_0", &[32, 31_000]),
    ];
    file(tensors, seed)
}

#[test]
fn the_bytes_depend_on_the_seed_and_on_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = |name: &str, seed, threads| {
        let path = directory.path().join(name);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| mixed(seed).write(&path, false, &|_| {})).unwrap();
        fs::read(path).unwrap()
    };
    let one = bytes("one", 1, 1);
    assert!(one == bytes("five", 1, 5), "threads change the bytes");
    assert!(one != bytes("seed", 2, 1), "seeds give the same bytes");
    // Pinned: a seed names the same checkpoint in every version.
    let digest: String = Sha256::digest(&one).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "752184215634c46a9a14ee67a35760882f49bef386368c84259eb382b3eb53ec");
}

#[test]
fn a_checkpoint_is_what_its_table_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.gguf");
    let synth = Synth::new(find("qwen3.8-27b-unsloth-q4_0").unwrap(), SCALE_MAX, 0).unwrap();
    let done = synth.write(&path, false).unwrap();
    let header = header_of(&path);
    assert_eq!(done.file_bytes, header.file_len);
    assert_eq!(done.header_bytes, header.data_start);
    assert_eq!(header.trailing, 0);
    let table = synth.table();
    assert_eq!((done.tensors, table.tensors.len()), (866, 866));
    for (info, entry) in header.tensors.iter().zip(&table.tensors) {
        assert_eq!((&info.name, info.format, &info.dims), (&entry.name, entry.format, &entry.dims));
    }
    assert_eq!(names(directory.path()), ["a.gguf"]);
}

#[test]
fn a_sparse_checkpoint_has_the_full_size_and_takes_no_space() {
    let directory = tempfile::tempdir().unwrap();
    let mut written = 0;
    for header in HEADERS.iter() {
        let path = directory.path().join(header.name);
        let done = Synth::new(header, 1, 0).unwrap().write_sparse(&path, false).unwrap();
        let metadata = path.metadata().unwrap();
        assert_eq!(metadata.len(), done.file_bytes);
        assert!(metadata.blocks() * 512 < done.header_bytes + (1 << 20), "{}", header.name);
        // The published file's data, after a header of our own.
        assert_eq!(done.file_bytes - done.header_bytes, header.file_bytes - header.data_start);
        assert_eq!(header_of(&path).tensors.len(), header.tensors);
        written += 1;
    }
    assert_eq!(written, 8);
}

#[test]
fn what_exists_is_left_alone_without_force() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("taken\n.gguf");
    fs::write(&path, "mine").unwrap();
    let error = mixed(0).write(&path, false, &|_| {}).unwrap_err();
    assert!(matches!(error, Error::Exists(_)));
    let text = "taken\\n.gguf` exists and is left as it is (replace it with --force)";
    assert!(error.to_string().ends_with(text), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    mixed(0).write(&path, true, &|_| {}).unwrap();
    assert!(fs::read(&path).unwrap().starts_with(b"GGUF"));
    assert_eq!(names(directory.path()), ["taken\n.gguf"]);
}

#[test]
fn what_does_not_fit_is_refused_before_a_byte_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vast.gguf");
    let vast = file(vec![tensor("vast", "F32", &[1 << 52])], 0);
    let error = vast.write(&path, false, &|_| {}).unwrap_err();
    assert!(matches!(error, Error::Space { needed, free, .. } if needed > 1 << 54 && free > 0));
    assert_eq!(error.exit_code(), 4);
    let text = error.to_string();
    assert!(text.contains("`: 18014398509482") && text.ends_with(" free"), "{text}");
    let nowhere = directory.path().join("missing/a.gguf");
    let error = mixed(0).write(&nowhere, false, &|_| {}).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let text = error.to_string();
    assert!(
        text.ends_with("/missing`: asking its space: No such file or directory (os error 2)"),
        "{text}"
    );
    assert!(names(directory.path()).is_empty());
}

#[test]
fn what_a_killed_one_was_writing_is_cleared() {
    let directory = tempfile::tempdir().unwrap();
    let mut synth = command(directory.path());
    synth.args("synth qwen3.8-27b-unsloth-q4_0 --scale 512 --out a.gguf".split(' '));
    let killed = synth.env("WIMG_FAULT", "sync:kill").status().unwrap();
    assert_eq!(killed.code(), None);
    let left = names(directory.path());
    assert!(left.len() == 1 && left[0].starts_with(".a.gguf.partial-"), "{left:?}");
    // A name like that on what nobody here wrote.
    let mine = directory.path().join(".a.gguf.partial-host-2-0-0");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("thesis.txt"), "mine").unwrap();
    mixed(0).write(&directory.path().join("a.gguf"), false, &|_| {}).unwrap();
    assert_eq!(names(directory.path()), [".a.gguf.partial-host-2-0-0", "a.gguf"]);
    assert_eq!(names(&mine), ["thesis.txt"]);
}

#[test]
fn progress_rises_to_the_tensors_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let told = Mutex::new(Vec::new());
    let path = directory.path().join("a.gguf");
    let done = mixed(0).write(&path, false, &|progress| told.lock().unwrap().push(progress));
    let done = done.unwrap();
    let told = told.into_inner().unwrap();
    // Chunks of a MiB: three of `a`, one each of the others and their rests.
    assert!(told.len() > 4 && told.is_sorted_by_key(|progress| progress.done), "{told:?}");
    let last = told.last().unwrap();
    let padding = 32 * 3;
    assert!(told.iter().all(|progress| progress.stage == Stage::Synth));
    assert_eq!(last.done, last.total);
    assert!((0..padding).contains(&(done.file_bytes - done.header_bytes - last.total)));
}
