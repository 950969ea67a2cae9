//! A folder in which the program runs under faults, and what must hold after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;
use wimg_tests::cases::random_bytes;
use wimg_tests::gguf::{Gguf, split_keys, tensor};
use wimg_tests::program::command;

/// The shim, compiled once.
static SHIM: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let shim = folder.path().join("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/shim.c");
    let flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"];
    let built = Command::new("gcc").args(flags).arg(&shim).arg(source).arg("-ldl").output();
    let built = built.unwrap_or_else(|why| panic!("gcc compiles the fault shim: {why}"));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    (folder, shim)
});

/// Every file below a folder, by its path there.
pub(crate) type Tree = BTreeMap<String, Vec<u8>>;

/// What lies below a folder, but for what may differ from run to run.
pub(crate) fn tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap() != "run.json" {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                tree.insert(name, fs::read(path).unwrap());
            }
        }
    }
    tree
}

/// A split set of two shards with gaps that are not zero.
pub(crate) fn checkpoint(folder: &Path, seed: u64) -> PathBuf {
    let dir = folder.join("set");
    fs::create_dir_all(&dir).unwrap();
    for shard in 0..2u16 {
        let name = |i: u16| format!("t{shard}{i}").into_bytes();
        let table =
            vec![tensor(&name(0), &[24, 40], 0, 0), tensor(&name(1), &[16, 3], 0, 3840 + 64)];
        let mut gguf = Gguf::sound().with_tensors(table, 0);
        gguf.keys.extend(split_keys(shard, 2, 4));
        gguf.data = random_bytes(seed + u64::from(shard), 3840 + 64 + 192 + 31);
        let name = format!("m-{:05}-of-00002.gguf", shard + 1);
        fs::write(dir.join(name), gguf.bytes()).unwrap();
    }
    dir
}

/// The fault of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fault {
    /// What is done: see `shim.c`.
    pub(crate) what: &'static str,
    /// At which call, from 1; 0 for none.
    pub(crate) at: u64,
    /// The name of the calls that count, all if empty.
    pub(crate) only: &'static str,
    /// Or after how many bytes were written.
    pub(crate) bytes: Option<u64>,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The exit code; none of a run that was killed.
    pub(crate) code: Option<i32>,
    /// What it said.
    pub(crate) err: String,
    /// The call that the fault hit, if it hit one.
    pub(crate) hit: Option<String>,
}

/// Runs the program on absolute paths in `folder`, with a fault.
pub(crate) fn run(folder: &Path, words: &[String], fault: Fault) -> Outcome {
    let mut wimg = command(folder);
    wimg.args(words);
    disturb(folder, wimg, fault)
}

/// Runs any program with a fault.
pub(crate) fn disturb(folder: &Path, mut command: Command, fault: Fault) -> Outcome {
    let log = folder.join("hit.log");
    let _ = fs::remove_file(&log);
    command.env("LD_PRELOAD", &SHIM.1);
    command.env("WIMG_FAULT_UNDER", folder).env("WIMG_FAULT_LOG", &log);
    command.env("WIMG_FAULT_AT", fault.at.to_string()).env("WIMG_FAULT_DO", fault.what);
    command.env("WIMG_FAULT_ONLY", fault.only);
    if let Some(bytes) = fault.bytes {
        command.env("WIMG_FAULT_BYTES", bytes.to_string());
    }
    let output = command.output().unwrap();
    let hit = fs::read_to_string(&log).ok();
    let _ = fs::remove_file(&log);
    let killed = output.status.signal();
    assert!(killed.is_none() || killed == Some(9), "{command:?} {fault:?}: signal {killed:?}");
    Outcome { code: output.status.code(), err: String::from_utf8(output.stderr).unwrap(), hit }
}

/// The words of a command line in which `FOLDER` stands for a folder.
pub(crate) fn words(line: &str, folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    line.split(' ').map(|word| word.replace("FOLDER", &folder)).collect()
}
