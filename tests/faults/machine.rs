//! A machine that is full, closed, shared or changing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use wimg::backend::{Backend, BackendOptions};
use wimg::core::Selection;
use wimg::pack::{PackOptions, pack};
use wimg::unpack::{UnpackOptions, unpack};
use wimg::verify::{VerifyOptions, verify};
use wimg::{Error, store::StoredImage};
use wimg_tests::program::command;

use crate::lab::{checkpoint, tree};

/// Nobody's user and group.
const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn pack_words(layout: &str) -> Vec<&str> {
    vec!["pack", "--select", "table", "--backend", "cpu", "--quiet", "--layout", layout]
}

/// Runs a shell script with a small file system of its own at `FOLDER/disk`:
/// nobody else sees it, and it goes away with the script.
fn on_a_disk(folder: &Path, script: &str) -> String {
    let disk = folder.join("disk");
    fs::create_dir_all(&disk).unwrap();
    let wimg = command(folder);
    let mut shell = Command::new("unshare");
    // Others than root need a namespace in which they are.
    shell.args(if is_root() { &["-m"][..] } else { &["-r", "-m"][..] });
    shell.args(["sh", "-euc", script]).current_dir(folder);
    let output = shell.env("WIMG", wimg.get_program()).output().unwrap();
    assert!(
        output.status.success(),
        "a tmpfs in a mount namespace is needed (unshare -m, mount): {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Packs on small disks of growing size, each too small but the last: what is
/// said, that nothing is left, and that the image is whole once it fits.
fn on_growing_disks(mount: &str, sizes: &[u64]) -> Vec<(u64, i32, String)> {
    let folder = tempfile::tempdir().unwrap();
    checkpoint(folder.path(), 50);
    let reference = folder.path().join("reference");
    let words = pack_words("2x32/2+check");
    let done = command(folder.path()).args(&words).arg("set").arg("--out").arg(&reference).output();
    assert!(done.unwrap().status.success());
    let words = words.join(" ");
    let mut results = Vec::new();
    for size in sizes {
        let mount = mount.replace("SIZE", &size.to_string());
        let script = format!(
            "mount -t tmpfs -o {mount} none disk
             code=0; \"$WIMG\" {words} set --out disk/image 2>said >/dev/null || code=$?
             echo $code; ls -A disk | tr '\\n' ' '; echo; cat said
             if [ $code = 0 ]; then \"$WIMG\" diff disk/image reference >/dev/null; fi
             mount -o remount,size=64m,nr_inodes=1000 disk
             if [ $code != 0 ]; then \"$WIMG\" {words} set --out disk/image >/dev/null; fi
             \"$WIMG\" verify --quiet disk/image >/dev/null
             \"$WIMG\" diff disk/image reference >/dev/null
             [ \"$(ls -A disk)\" = image ]"
        );
        let said = on_a_disk(folder.path(), &script);
        let mut lines = said.lines();
        let code: i32 = lines.next().unwrap().parse().unwrap();
        let left = lines.next().unwrap();
        assert_eq!(left, if code == 0 { "image " } else { "" }, "{size}: {said}");
        results.push((*size, code, lines.collect()));
    }
    results
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing() {
    // The image takes 17 pages and as many again for its files' ends.
    let sizes: Vec<u64> = (0..14).map(|n| (4 + 4 * n) * 1024).collect();
    let results = on_growing_disks("size=SIZE,nr_inodes=1000", &sizes);
    let mut seen = [false; 3];
    for (size, code, said) in &results {
        match (code, said) {
            (0, _) => seen[0] = true,
            (4, said) if said.contains("bytes are needed") => seen[1] = true,
            (4, said) if said.ends_with("No space left on device (os error 28)") => seen[2] = true,
            _ => panic!("{size}: {code} {said}"),
        }
    }
    assert_eq!(seen, [true; 3], "{results:#?}");
}

#[test]
fn a_full_inode_table_is_said_and_leaves_nothing() {
    let results = on_growing_disks("size=64m,nr_inodes=SIZE", &(2..14).collect::<Vec<_>>());
    let full = results.iter().filter(|(_, code, said)| {
        assert!(*code == 0 || said.ends_with("No space left on device (os error 28)"), "{said}");
        *code == 4
    });
    let full = full.count();
    assert!(full > 5 && full < results.len(), "{results:#?}");
}

#[test]
fn an_image_may_go_to_another_file_system() {
    let folder = tempfile::tempdir().unwrap();
    checkpoint(folder.path(), 50);
    let words = pack_words("4x64/512").join(" ");
    let script = format!(
        "mount -t tmpfs -o size=16m none disk
         \"$WIMG\" {words} set --out disk/image >/dev/null
         \"$WIMG\" verify --quiet --source set disk/image >/dev/null
         \"$WIMG\" unpack --quiet disk/image --out back >/dev/null
         cmp back/back-00001-of-00002.gguf set/m-00001-of-00002.gguf
         ls -A disk"
    );
    assert_eq!(on_a_disk(folder.path(), &script), "image\n");
}

/// Runs the program as nobody, from a copy that nobody may run.
fn as_nobody(folder: &Path, words: &[&str]) -> Output {
    let program = folder.join("wimg");
    if !program.exists() {
        fs::copy(command(folder).get_program(), &program).unwrap();
    }
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).stdin(Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().unwrap()
}

#[test]
fn what_may_not_be_read_or_written_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    mode(path, 0o755).unwrap();
    checkpoint(path, 50);
    let open = path.join("open");
    fs::create_dir(&open).unwrap();
    mode(&open, 0o777).unwrap();
    let closed = path.join("closed");
    fs::create_dir(&closed).unwrap();
    mode(&closed, 0o555).unwrap();
    let words = pack_words("2x32/2");
    let pack = |out: &'static str| [&words[..], &["set", "--out", out]].concat();
    let refused = |words: &[&str], about: &str| {
        let output = as_nobody(path, words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.ends_with("Permission denied (os error 13)\n"), "{said}");
        assert!(said.contains(about), "{said}");
    };
    refused(&pack("closed/image"), "`closed/.image.partial-");
    assert!(as_nobody(path, &pack("open/image")).status.success());
    let channel = open.join("image/channel-1.bin");
    mode(&channel, 0).unwrap();
    refused(&["verify", "open/image", "--quiet"], "channel-1.bin`");
    refused(&["unpack", "open/image", "--quiet", "--out", "open/back"], "channel-1.bin`");
    let shard = path.join("set/m-00002-of-00002.gguf");
    mode(&shard, 0).unwrap();
    refused(&pack("open/other"), "m-00002-of-00002.gguf`");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&closed).unwrap().count(), 0);
}

fn start(folder: &Path, layout: &str, force: bool) -> Child {
    let mut command = command(folder);
    command.args(pack_words(layout)).args(["set", "--out", "image"]);
    if force {
        command.arg("--force");
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn two_packs_into_one_target_leave_one_whole_image() {
    let mut both = 0;
    for round in 0..24 {
        let folder = tempfile::tempdir().unwrap();
        checkpoint(folder.path(), 50);
        let force = round % 2 == 1;
        let children = ["2x32/2+check", "3x8/4"].map(|layout| start(folder.path(), layout, force));
        let outputs = children.map(|child| child.wait_with_output().unwrap());
        let codes = outputs.each_ref().map(|output| output.status.code().unwrap());
        let said = outputs.each_ref().map(|output| String::from_utf8_lossy(&output.stderr));
        for (code, said) in codes.iter().zip(&said) {
            let exists = said.contains("exists and is left as it is");
            assert!(*code == 0 || *code == 3 && exists && !force, "{code} {said}");
        }
        assert!(codes.contains(&0), "{said:?}");
        both += usize::from(codes == [0, 0]);
        let report = verify(&folder.path().join("image"), &VerifyOptions::default(), &|_| {});
        assert_eq!(report.unwrap().damages, 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{said:?}");
    }
    assert!(both >= 12, "{both} rounds in which both were done: those with force are 12");
}

fn options(out: &Path) -> PackOptions {
    PackOptions {
        selection: Selection::Table,
        layout: "2x32/2+check".parse().unwrap(),
        out: out.to_owned(),
        force: false,
        verify: true,
        backend: BackendOptions { backend: Backend::Cpu, ..BackendOptions::default() },
    }
}

#[test]
fn a_checkpoint_that_changes_while_it_is_read_gives_no_image() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("cut short", |file| {
            fs::File::options().write(true).open(file).unwrap().set_len(100).unwrap();
        }),
        ("grown", |file| {
            let len = fs::metadata(file).unwrap().len();
            fs::File::options().write(true).open(file).unwrap().set_len(len + 1).unwrap();
        }),
        ("removed", |file| fs::remove_file(file).unwrap()),
        ("replaced", |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file.with_extension("new"), bytes).unwrap();
            fs::rename(file.with_extension("new"), file).unwrap();
        }),
        ("written to", |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, bytes).unwrap();
        }),
    ];
    for (name, change) in changes {
        let folder = tempfile::tempdir().unwrap();
        let set = checkpoint(folder.path(), 50);
        let out = folder.path().join("image");
        let once = std::sync::Once::new();
        let shard = set.join("m-00002-of-00002.gguf");
        let tell = |_| once.call_once(|| change(&shard));
        let error = pack(&set, &options(&out), &tell).unwrap_err();
        assert!(error.to_string().contains("changed while it was read"), "{name}: {error}");
        assert_eq!(error.exit_code(), 4, "{name}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn an_image_that_is_cut_short_while_it_is_read_is_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let file = wimg_tests::vectors::path("tiny-q8.gguf");
    let image = folder.path().join("image");
    pack(&file, &options(&image), &|_| {}).unwrap();
    assert!(StoredImage::open(&image).unwrap().plan.image().channel_lines()[1] > 300_000 / 32);
    let channel = image.join("channel-1.bin");
    let whole = fs::metadata(&channel).unwrap().len();
    let once = std::sync::Once::new();
    let cut = |len| fs::File::options().write(true).open(&channel).unwrap().set_len(len).unwrap();
    let tell = |_| once.call_once(|| cut(whole / 2));
    let to = UnpackOptions { out: folder.path().join("back"), force: false };
    // What was read ahead by then decides which of the two is seen.
    match unpack(&image, &to, &tell) {
        Err(error @ Error::Io { .. }) => assert_eq!(error.exit_code(), 4),
        Err(error) => panic!("{error}"),
        Ok(_) => assert!(whole < 64 << 20, "all of it was read ahead"),
    }
    cut(whole / 2);
    let _ = fs::remove_file(folder.path().join("back"));
    assert_eq!(unpack(&image, &to, &|_| {}).unwrap_err().exit_code(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn links_are_followed_to_checkpoints_and_folders_but_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let set = checkpoint(path, 50);
    fs::create_dir(path.join("real")).unwrap();
    symlink("real", path.join("linked")).unwrap();
    symlink(&set, path.join("checkpoint")).unwrap();
    pack(&path.join("checkpoint"), &options(&path.join("linked/image")), &|_| {}).unwrap();
    let image = path.join("real/image");
    assert_eq!(verify(&image, &VerifyOptions::default(), &|_| {}).unwrap().damages, 0);
    let before = tree(&image);
    symlink("real/image", path.join("link")).unwrap();
    symlink("nowhere", path.join("dangling")).unwrap();
    for link in ["link", "dangling"] {
        let forced = PackOptions { force: true, ..options(&path.join(link)) };
        let error = pack(&set, &forced, &|_| {}).unwrap_err();
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
        let to = UnpackOptions { out: path.join(link), force: true };
        let error = unpack(&image, &to, &|_| {}).unwrap_err();
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
    }
    assert!(tree(&image) == before && !path.join("nowhere").exists());
}
