//! Names from files, wherever they are shown.

use std::path::Path;

use wimg_tests::gguf::{Gguf, STRING, string, tensor};
use wimg_tests::program::{Ran, wimg, words};

/// A checkpoint whose names steer a terminal, end lines and start formulas.
fn hostile(folder: &Path) {
    let file = Gguf::sound()
        .with_key(b"general.name", STRING, &string(b"=evil\x1b[2J,\"\r\n\xe2\x80\xaename"))
        .with_tensors(
            vec![tensor(b"a\x1b[31m\n,\"b", &[64], 0, 0), tensor(b"\x07", &[64], 0, 256)],
            512,
        );
    std::fs::write(folder.join("evil.gguf"), file.bytes()).unwrap();
}

/// Whether nothing that was said steers a terminal, or ends a line that it must not.
fn is_tame(ran: &Ran) -> bool {
    let tame = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
    ran.out.chars().chain(ran.err.chars()).all(tame)
}

#[test]
fn names_are_escaped_wherever_they_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    hostile(folder.path());
    wimg(folder.path(), "pack evil.gguf --select table --out image --quiet").done();
    let mut channel = std::fs::read(folder.path().join("image/channel-0.bin")).unwrap();
    channel[3] ^= 1;
    std::fs::write(folder.path().join("image/channel-0.bin"), channel).unwrap();
    let mut shown = 0;
    for command in [
        "plan evil.gguf --select table",
        "plan evil.gguf --select table --tensors",
        "plan evil.gguf --select table --tiles",
        "plan evil.gguf --select table --stripe 1 --octets",
        "plan evil.gguf",
        "ledger image evil.gguf --select table",
        "pack evil.gguf --select table --out image --quiet",
        "pack evil.gguf --select table --out again --force --quiet",
        "verify image",
        "locate image --at 0:0",
        "locate image banana",
    ] {
        for format in ["text", "json", "csv"] {
            let ran = wimg(folder.path(), &format!("{command} --format {format}"));
            assert!(is_tame(&ran), "{command} {format}: {ran:?}");
            let text = ran.out + &ran.err;
            shown += usize::from(text.contains("u{1b}") || text.contains("\\u001b"));
        }
    }
    assert!(shown >= 7 * 3, "{shown}");
}

#[test]
fn a_name_is_found_as_it_is_and_as_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    hostile(folder.path());
    let locate =
        |name: &str| words(folder.path(), &["locate", "evil.gguf", name, "--select", "table"]);
    let text = locate("a\u{1b}[31m\n,\"b").done();
    assert!(text.starts_with("row       a\\u{1b}[31m\\n,\"b, image row 0\n"), "{text}");
    assert_eq!(locate("a\\u{1b}[31m\\n,\"b").done(), text);
    let ran = locate("c\u{1b}[31m");
    assert_eq!(ran.code, 2);
    assert!(is_tame(&ran) && ran.err.contains("`c\\u{1b}[31m`"), "{}", ran.err);
}

#[test]
fn paths_are_escaped_too() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["plan", "ledger", "verify"] {
        let ran = words(folder.path(), &[command, "no\u{1b}[2J\nsuch"]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(is_tame(&ran) && ran.err.contains("no\\u{1b}[2J\\nsuch"), "{ran:?}");
        assert_eq!(ran.err.lines().count(), 1);
    }
}
