//! What fails, fails alone, and is said with its cause and what to do.

use std::fs;

use crate::night::{Night, assert_same};

/// Each is one checkpoint's trouble; the other's images are made all the same.
#[test]
fn a_bad_checkpoint_fails_its_own_rows_and_its_image_stays() {
    type Spoil = fn(&Night);
    let cases: [(&str, Spoil, &str); 4] = [
        ("malformed", |night| fs::write(night.checkpoint("a"), "GGUF?").unwrap(), "a.gguf"),
        (
            "truncated",
            |night| {
                let bytes = fs::read(night.checkpoint("a")).unwrap();
                fs::write(night.checkpoint("a"), &bytes[..bytes.len() - 100]).unwrap();
            },
            "`100` bytes are missing in all",
        ),
        ("a folder", |night| fs::create_dir(night.checkpoint("c")).unwrap(), ""),
        ("missing", |night| fs::remove_file(night.checkpoint("a")).unwrap(), "No such file"),
    ];
    let mut failed = 0;
    for (what, spoil, cause) in cases {
        let night = Night::new();
        night.configure(
            "checkpoints = [\"checkpoints/a.gguf\", \"checkpoints/b.gguf\"]",
            "generations = 1",
        );
        night.run("").done();
        let before = night.images();
        if what == "a folder" {
            spoil(&night);
            night.configure("checkpoints = [\"checkpoints\", \"checkpoints/c.gguf\"]", "");
            let ran = night.run("");
            assert_eq!(ran.code, 3);
            assert!(ran.out.contains("c.gguf` holds no checkpoint"), "{}", ran.out);
            continue;
        }
        spoil(&night);
        // Something else changes too, and is done.
        night.put("b", "tiny-edge.gguf");
        let ran = night.run("");
        assert_eq!((ran.code, ran.err.as_str()), (3, ""), "{what}");
        assert!(ran.out.contains(cause), "{what}: {}", ran.out);
        assert_eq!(
            night.statuses(),
            ["a plain failed", "a striped failed", "b plain packed", "b striped packed"],
            "{what}"
        );
        let text = night.summary();
        assert!(
            text.starts_with("Something is wrong: of 4 images 2 failed, 2 were packed"),
            "{text}"
        );
        assert!(text.contains("a plain (the image before it stays)"), "{text}");
        assert!(text.contains("do:  "), "{text}");
        assert!(text.contains("a plain: went wrong, and did not before"), "{text}");
        let of_a = |tree: std::collections::BTreeMap<String, Vec<u8>>| {
            tree.into_iter().filter(|(path, _)| path.starts_with("/a")).collect()
        };
        assert_same(&of_a(before), &of_a(night.images()), what);
        // It is bad input: there is no point in trying it again.
        assert_eq!(night.report()["rows"][0]["attempts"], 0, "{what}");
        failed += 1;
        night.put("a", "tiny-mixed.gguf");
        night.run("").done();
        assert!(night.summary().contains("a plain: is well again"), "{}", night.summary());
    }
    assert_eq!(failed, 3);
}

#[test]
fn two_checkpoints_of_one_name_are_not_one() {
    let night = Night::new();
    fs::create_dir(night.path("more")).unwrap();
    fs::copy(night.checkpoint("b"), night.path("more/a.gguf")).unwrap();
    night.configure("checkpoints = [\"checkpoints\", \"more\"]", "");
    let ran = night.run("");
    assert_eq!(ran.code, 3);
    assert!(ran.out.contains("give it a `name`"), "{}", ran.out);
    assert_eq!(night.report()["counts"]["packed"], 4);
    assert_eq!(night.report()["counts"]["failed"], 2);
    let named = "checkpoints = [\"checkpoints\", { path = \"more\", name = \"other\" }]";
    night.configure(named, "");
    night.run("").done();
    assert!(night.current("other", "plain").is_some());
    assert_eq!(night.current("other", "plain"), night.current("b", "plain"));
}

#[test]
fn what_a_retry_mends_is_tried_three_times_and_then_given_up() {
    for (fault, retries, codes) in [
        // One image's first window, then everything works.
        ("write:eio:1", 1, [0, 2]),
        ("read:eio:3-4", 1, [0, 2]),
        ("write:enospc:1-100000", 12, [4, 0]),
    ] {
        let night = Night::new();
        let mut command = night.command("--log json");
        let ran = crate::night::ran({
            command.env("WIMG_FAULT", fault);
            command
        });
        assert_eq!(ran.code, codes[0], "{fault}: {}{}", ran.out, ran.err);
        let retried = ran.err.lines().filter(|line| line.contains("\"event\":\"retry\"")).count();
        assert!(retried >= retries, "{fault}: {retried} retries");
        if ran.code == 0 {
            assert_eq!(night.report()["counts"]["packed"], 4, "{fault}");
        } else {
            assert_eq!(retried, retries, "{fault}");
            assert_eq!(night.report()["counts"]["failed"], 4, "{fault}");
            assert_eq!(night.report()["rows"][0]["attempts"], 4, "{fault}");
            assert!(ran.out.contains("No space left on device"), "{}", ran.out);
            assert!(night.images().values().all(Vec::is_empty), "{fault}: something was left");
        }
        night.run("").done();
        let undisturbed = Night::new();
        undisturbed.run("").done();
        assert_same(&undisturbed.images(), &night.images(), fault);
    }
}

#[test]
fn space_is_asked_for_before_an_image_is_begun() {
    let night = Night::new();
    night.configure("checkpoints = [\"checkpoints\"]", "");
    let text = fs::read_to_string(night.path("nightly.toml")).unwrap();
    let text =
        text.replace("free_margin_bytes = 0", &format!("free_margin_bytes = {}", 1u64 << 50));
    fs::write(night.path("nightly.toml"), text).unwrap();
    let ran = night.run("");
    assert_eq!(ran.code, 4);
    assert!(ran.out.contains("are free"), "{}", ran.out);
    assert!(ran.out.contains("keep fewer `generations`"), "{}", ran.out);
    assert!(night.images().values().all(Vec::is_empty));
}
