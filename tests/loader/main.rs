//! What FORMAT.md says is enough: a loader, a C program and a numpy script,
//! each written from it, get right what they read from an image.
#![expect(clippy::unwrap_used, reason = "what does not load fails the test")]

#[expect(dead_code, reason = "an example, of which the test takes the loader")]
#[path = "../../packer/examples/load.rs"]
mod load;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use load::{Card, Loaded, load};
use wimg::backend::{Backend, BackendOptions};
use wimg::core::Selection;
use wimg::pack::{PackOptions, pack};
use wimg::store::StoredImage;
use wimg_tests::python::python;
use wimg_tests::vectors::path;

fn packed(file: &str, selection: Selection, layout: &str, out: &Path) -> StoredImage {
    let layout = layout.parse().unwrap();
    let backend = BackendOptions { backend: Backend::Cpu, ..BackendOptions::default() };
    let out_dir = out.to_owned();
    let options =
        PackOptions { selection, layout, out: out_dir, force: false, verify: false, backend };
    pack(&path(file), &options, &|_| {}).unwrap();
    StoredImage::open(out).unwrap()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packer/examples").join(name)
}

/// What a command prints.
fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A card that holds the image from line `base` on.
fn card(image: &StoredImage, base: u64) -> Card {
    let layout = image.plan.image().layout();
    let lines = image.plan.image().channel_lines().iter().max().unwrap();
    Card::new(image.manifest.channels.len(), layout.line_bytes, base + lines.next_multiple_of(8))
}

/// Whether the card's memories hold the channel files from line `base` on.
fn holds(card: &Card, dir: &Path, base: u64) -> bool {
    let start = usize::try_from(base * card.line_bytes).unwrap();
    card.memories.iter().enumerate().all(|(channel, memory)| {
        let file = fs::read(dir.join(format!("channel-{channel}.bin"))).unwrap();
        memory[start..start + file.len()] == file && memory[..start].iter().all(|&byte| byte == 0)
    })
}

#[test]
fn a_loader_sends_damaged_tiles_again() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (layout, base)) in
        [("4x64/512", 0), ("4x72/512+check", 4096), ("4x72/16+check+stripe2+slot4", 8)]
            .into_iter()
            .enumerate()
    {
        let dir = folder.path().join(number.to_string());
        let image = packed("tiny-edge.gguf", Selection::All, layout, &dir);
        let tiles = image.plan.image().tile_count();
        let mut sound = card(&image, base);
        assert_eq!(load(&dir, &mut sound, base), Ok(Loaded { tiles, again: 0 }));
        assert!(holds(&sound, &dir, base), "{layout}");
        let words = sound.words;
        let mut shaky = card(&image, base);
        shaky.flips = (0..40).map(|n| (n * words / 40, n * 37 % 512)).collect();
        let loaded = load(&dir, &mut shaky, base).unwrap();
        // One tile may take several flips; one word may lie past the image.
        assert!((5..=40).contains(&loaded.again), "{layout}: {loaded:?}");
        assert_eq!(loaded.tiles, tiles);
        assert!(shaky.flips.is_empty() && holds(&shaky, &dir, base), "{layout}");
    }
}

#[test]
fn a_loader_gives_up_on_a_memory_that_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("image");
    let image = packed("tiny-mixed.gguf", Selection::Table, "4x72/512+check", &dir);
    let mut broken = card(&image, 0);
    // Every word has its bit 3 flipped.
    broken.flips = (0..1 << 18).map(|word| (word, 3)).collect();
    let error = load(&dir, &mut broken, 0).unwrap_err();
    assert_eq!(error, "tile 0 on channel 0, line 0 stays wrong");
}

#[test]
fn a_loader_refuses_what_the_card_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("image");
    let image = packed("tiny-mixed.gguf", Selection::Table, "4x72/512+check", &dir);
    let lines = image.plan.image().channel_lines().iter().max().copied().unwrap();
    for (mut card, base, refusal) in [
        (Card::new(4, 64, 1 << 16), 0, "the image has lines of 72 bytes, the card of 64"),
        (Card::new(2, 72, 1 << 12), 0, "the image has 4 channels, the card 2"),
        (Card::new(4, 72, lines + 8), 16, "channel 2 is full before the image ends"),
    ] {
        assert_eq!(load(&dir, &mut card, base), Err(refusal.to_owned()));
        assert_eq!(card.words, 0);
    }
    let edited = fs::read_to_string(dir.join("image.json")).unwrap().replacen(
        "\"lines\":",
        "\"lines\":1",
        1,
    );
    fs::write(dir.join("image.json"), edited).unwrap();
    let refused = load(&dir, &mut Card::new(4, 72, lines + 64), 0);
    assert_eq!(refused, Err("image.json is damaged".to_owned()));
}

/// Memory that was never written never passes for a tile.
#[test]
fn zeros_fail_their_check() {
    let zeros = vec![0; 1 << 16];
    let mut lengths = 0;
    for len in 1..zeros.len() {
        assert_ne!(wimg::core::crc32c(&zeros[..len]), 0, "{len}");
        lengths += 1;
    }
    assert_eq!(lengths, 65535);
}

#[test]
fn c_and_numpy_fetch_what_gguf_py_reads() {
    let folder = tempfile::tempdir().unwrap();
    let fetch = folder.path().join("fetch");
    let flags =
        ["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O1", "-Wall", "-Wextra", "-Werror", "-o"];
    output(Command::new("gcc").args(flags).arg(&fetch).arg(example("fetch.c")));
    let read = Path::new(env!("CARGO_MANIFEST_DIR")).join("loader/tensor.py");
    let (mut by_c, mut by_numpy) = (0, 0);
    for (file, selection, layout) in [
        ("tiny-edge.gguf", Selection::Machine, "4x72/16+check+stripe2+slot4"),
        ("tiny-q8.gguf", Selection::Streamed, "3x64/512+stripe8+octets"),
        ("tiny-mixed.gguf", Selection::Table, "4x64/512"),
    ] {
        let dir = folder.path().join(file);
        let image = packed(file, selection, layout, &dir);
        let tensors = image.plan.image().tensors();
        // A kernel, the largest, and one of every few others.
        let chosen = tensors.iter().enumerate().filter(|(i, t)| t.kernel && *i < 20 || i % 9 == 2);
        for (_, tensor) in chosen {
            let of =
                |command: &mut Command, from: &Path| output(command.arg(from).arg(&tensor.name));
            let expected = of(Command::new(python()).arg(&read), &path(file));
            assert!(!expected.is_empty());
            let numpy = of(Command::new(python()).arg(example("fetch.py")), &dir);
            assert!(numpy == expected, "numpy: {file} {}", tensor.name);
            by_numpy += 1;
            if !tensor.kernel {
                assert!(
                    of(&mut Command::new(&fetch), &dir) == expected,
                    "C: {file} {}",
                    tensor.name
                );
                by_c += 1;
            }
        }
    }
    assert!(by_c > 6 && by_numpy > by_c, "{by_c} by C, {by_numpy} by numpy");
}
