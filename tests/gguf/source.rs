//! Checkpoints on disk.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use wimg::source::{Source, SourceError};
use wimg_tests::gguf::{Gguf, STRING, split_keys, string, tensor};

fn write(folder: &Path, name: &str, gguf: &Gguf) {
    fs::write(folder.join(name), gguf.bytes()).unwrap();
}

/// A set of `count` shards under the prefix `m`, one tensor each.
fn write_set(folder: &Path, count: u16) {
    for number in 0..count {
        let name = format!("t{number}");
        let mut gguf = Gguf::sound().with_tensors(vec![tensor(name.as_bytes(), &[4], 0, 0)], 32);
        gguf.keys.extend(split_keys(number, count, i32::from(count)));
        write(folder, &format!("m-{:05}-of-{count:05}.gguf", number + 1), &gguf);
    }
}

/// The words of a refusal, the folder left out, and whether it is I/O.
fn refusal(folder: &Path, name: &str) -> (String, bool) {
    let path = if name.is_empty() { folder.to_owned() } else { folder.join(name) };
    let error = Source::open(&path).unwrap_err();
    (error.to_string().replace(&folder.display().to_string(), "DIR"), error.is_io())
}

#[test]
fn a_file_is_read_where_its_tensors_lie() {
    let dir = tempfile::tempdir().unwrap();
    let mut gguf = Gguf::sound();
    gguf.data = (0..32).collect();
    write(dir.path(), "a.gguf", &gguf);
    let source = Source::open(&dir.path().join("a.gguf")).unwrap();
    let tensor = &source.checkpoint.tensors[0];
    let mut bytes = vec![0; 16];
    source.read_exact_at(tensor.shard, tensor.offset, &mut bytes).unwrap();
    assert_eq!(bytes, (0..16).collect::<Vec<u8>>());
    let header = &source.checkpoint.shards[0];
    assert_eq!(source.headers[0], gguf.bytes()[..header.header_len as usize]);
    assert_eq!(source.files[0].len, gguf.bytes().len() as u64);
    source.unchanged().unwrap();
    let error = source.read_exact_at(0, header.file_len - 1, &mut [0; 2]).unwrap_err();
    assert!(matches!(error, SourceError::Changed { .. }));
    assert!(matches!(source.read_exact_at(1, 0, &mut [0]), Err(SourceError::NoShard { .. })));
}

#[test]
fn headers_longer_than_one_read_are_kept_whole() {
    let dir = tempfile::tempdir().unwrap();
    let gguf = Gguf::sound().with_key(b"long", STRING, &string(&vec![b'x'; 3 << 20]));
    write(dir.path(), "a.gguf", &gguf);
    let source = Source::open(dir.path()).unwrap();
    let len = source.checkpoint.shards[0].header_len;
    assert_eq!(source.headers[0].len() as u64, len);
    assert!(source.headers[0] == gguf.bytes()[..len as usize]);
}

#[test]
fn any_shard_or_the_folder_names_the_set() {
    let dir = tempfile::tempdir().unwrap();
    write_set(dir.path(), 3);
    fs::write(dir.path().join("README.md"), "not a checkpoint").unwrap();
    fs::create_dir(dir.path().join("old.gguf")).unwrap();
    for name in ["", "m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"] {
        let source = Source::open(&dir.path().join(name)).unwrap();
        let names: Vec<_> = source.checkpoint.tensors.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["t0", "t1", "t2"], "{name}");
    }
    assert_eq!(
        refusal(dir.path(), "old.gguf"),
        ("folder `DIR/old.gguf` holds no checkpoint: no file there ends in `.gguf`".into(), false)
    );
}

#[test]
fn a_symlinked_shard_has_its_siblings_beside_the_link() {
    let dir = tempfile::tempdir().unwrap();
    let (blobs, snapshot) = (dir.path().join("blobs"), dir.path().join("snapshot"));
    fs::create_dir(&blobs).unwrap();
    fs::create_dir(&snapshot).unwrap();
    write_set(&blobs, 2);
    for (shard, blob) in [("m-00001-of-00002.gguf", "b1"), ("m-00002-of-00002.gguf", "b2")] {
        fs::rename(blobs.join(shard), blobs.join(blob)).unwrap();
        symlink(blobs.join(blob), snapshot.join(shard)).unwrap();
    }
    let source = Source::open(&snapshot.join("m-00002-of-00002.gguf")).unwrap();
    assert_eq!(source.files.len(), 2);
    source.unchanged().unwrap();
}

#[test]
fn a_set_that_is_not_whole_or_not_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write_set(dir.path(), 3);
    fs::remove_file(dir.path().join("m-00002-of-00003.gguf")).unwrap();
    let missing = "shard 2 of 3 is missing: there is no `DIR/m-00002-of-00003.gguf`";
    assert_eq!(refusal(dir.path(), ""), (missing.into(), false));
    assert_eq!(refusal(dir.path(), "m-00003-of-00003.gguf"), (missing.into(), false));
    fs::rename(dir.path().join("m-00003-of-00003.gguf"), dir.path().join("x.gguf")).unwrap();
    assert_eq!(
        refusal(dir.path(), "x.gguf").0,
        "`DIR/x.gguf` is shard 3 of 3 by its metadata: its name must end in \
         `-00003-of-00003.gguf`"
    );
    fs::copy(dir.path().join("m-00001-of-00003.gguf"), dir.path().join("m-00002-of-00003.gguf"))
        .unwrap();
    fs::rename(dir.path().join("x.gguf"), dir.path().join("m-00003-of-00003.gguf")).unwrap();
    assert_eq!(
        refusal(dir.path(), "").0,
        "`DIR/m-00002-of-00003.gguf`: shard 2: `split.no` is `0`: in this place it must be `1`"
    );
}

#[test]
fn a_folder_must_hold_one_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        refusal(dir.path(), "").0,
        "folder `DIR` holds no checkpoint: no file there ends in `.gguf`"
    );
    write_set(dir.path(), 2);
    fs::write(dir.path().join(".hidden.gguf"), "").unwrap();
    assert!(Source::open(dir.path()).is_ok());
    write(dir.path(), "mm\n.gguf", &Gguf::sound());
    assert_eq!(
        refusal(dir.path(), "").0,
        "folder `DIR` holds `2` checkpoints, name one: `m-00001-of-00002.gguf`, `mm\\n.gguf`"
    );
}

#[test]
fn names_like_a_sets_make_no_set() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"] {
        write(dir.path(), name, &Gguf::sound());
    }
    assert!(Source::open(&dir.path().join("m-00002-of-00002.gguf")).is_ok());
    assert_eq!(
        refusal(dir.path(), "").0,
        "folder `DIR` holds `2` checkpoints, name one: `m-00001-of-00002.gguf`, \
         `m-00002-of-00002.gguf`"
    );
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.gguf");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    assert_eq!(
        refusal(dir.path(), "pipe.gguf"),
        ("`DIR/pipe.gguf` is a pipe, not a file".into(), false)
    );
    assert_eq!(refusal(dir.path(), "").0, "`DIR/pipe.gguf` is a pipe, not a file");
    let error = Source::open(Path::new("/dev/zero")).unwrap_err();
    assert_eq!(error.to_string(), "`/dev/zero` is a device, not a file");
    let (words, io) = refusal(dir.path(), "absent.gguf");
    assert!(io && words.contains("No such file"), "{words}");
}

#[test]
fn a_pipe_or_folder_in_a_set_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write_set(dir.path(), 2);
    let second = dir.path().join("m-00002-of-00002.gguf");
    fs::remove_file(&second).unwrap();
    fs::create_dir(&second).unwrap();
    assert_eq!(
        refusal(dir.path(), "m-00001-of-00002.gguf").0,
        "`DIR/m-00002-of-00002.gguf` is a folder, not a file"
    );
}

#[test]
fn a_change_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gguf");
    let file = Gguf::sound().bytes();
    let noticed = |change: &dyn Fn(&Path)| {
        let _ = fs::remove_file(&path);
        fs::write(&path, &file).unwrap();
        let source = Source::open(&path).unwrap();
        source.unchanged().unwrap();
        change(&path);
        let error = source.unchanged().unwrap_err();
        assert!(error.is_io());
        error.to_string().split(": ").last().unwrap().to_owned()
    };
    let later = SystemTime::now() + Duration::from_nanos(1_000_001);
    let touch = |path: &Path| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_times(FileTimes::new().set_modified(later)).unwrap();
    };
    assert_eq!(noticed(&touch), "it was written to");
    assert_eq!(noticed(&|path| fs::write(path, "").unwrap()), "its size is another");
    assert_eq!(noticed(&|path| fs::remove_file(path).unwrap()), "it was removed or renamed");
    let replace = |path: &Path| {
        let other = path.with_extension("new");
        fs::write(&other, &file).unwrap();
        fs::rename(other, path).unwrap();
    };
    assert_eq!(noticed(&replace), "another file has its name");
}
