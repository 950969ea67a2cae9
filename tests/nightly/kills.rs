//! A night that is killed, or asked to stop, and started again.

use std::collections::BTreeMap;
use std::fs;
use std::process::Child;
use std::time::Duration;

use rustix::process::Signal;
use wimg_tests::program::{signal, wait_until_paused};

use crate::night::{Night, assert_same};

/// The state before: images of other checkpoints, so that there are old ones
/// to be replaced and to go.
fn prepared() -> Night {
    let night = Night::new();
    night.configure("checkpoints = [\"checkpoints\"]", "generations = 1");
    night.run("").done();
    night.put("a", "tiny-q8.gguf");
    night.put("b", "tiny-mixed.gguf");
    night
}

fn undisturbed() -> BTreeMap<String, Vec<u8>> {
    let night = prepared();
    night.run("").done();
    night.images()
}

/// At every moment the link leads to a whole image, old or new.
fn check_links(night: &Night, fault: &str) {
    for checkpoint in ["a", "b"] {
        for layout in ["plain", "striped"] {
            let id = night.current(checkpoint, layout);
            let dir = night.path(&format!("images/{checkpoint}/{layout}/{}", id.unwrap()));
            let report = wimg::verify::verify(&dir, &Default::default(), &|_| {}).unwrap();
            assert_eq!(report.damages, 0, "{fault}: {checkpoint} {layout}");
        }
    }
}

#[test]
fn killed_anywhere_it_goes_on_and_ends_with_the_same_bytes() {
    let expected = undisturbed();
    let written: u64 = {
        let night = prepared();
        night.run("").done();
        let report = night.report();
        let rows = report["rows"].as_array().unwrap();
        rows.iter().map(|row| row["ledger"]["row_bytes"].as_u64().unwrap()).sum()
    };
    // Ten at random bytes, ten at the joints.
    let mut seed = 5u64;
    let mut faults: Vec<String> = (0..10)
        .map(|_| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            format!("bytes:kill:{}", (seed >> 33) % written)
        })
        .collect();
    println!("seed 5: {faults:?}");
    faults.extend(
        [
            "sync:1",
            "sync:7",
            "sync:15",
            "publish:1",
            "published:2",
            "swap:1",
            "swapped:2",
            "prune:1",
        ]
        .map(|at| at.replace(':', ":kill:")),
    );
    faults.extend(["remove:kill:4", "report:kill:1", "history:kill:1"].map(str::to_owned));
    let mut killed = 0;
    for fault in &faults {
        let night = prepared();
        assert_eq!(night.run_with(fault, ""), None, "{fault} killed nobody");
        killed += 1;
        check_links(&night, fault);
        night.run("").done();
        assert_same(&expected, &night.images(), fault);
        // What the killed run had packed is in the report as packed, but for an
        // image of which it could not say so any more.
        let counts = night.report()["counts"].clone();
        let count = |status: &str| counts[status].as_u64().unwrap();
        assert!(count("packed") >= 3, "{fault}: {counts}");
        assert_eq!(count("packed") + count("up_to_date"), 4, "{fault}: {counts}");
        night.run("").done();
        assert_eq!(night.report()["counts"]["up_to_date"], 4, "{fault}");
        let history = fs::read_to_string(night.path("images/history.jsonl")).unwrap();
        assert_eq!(history.lines().count(), 12, "{fault}");
    }
    assert_eq!(killed, 21);
}

/// The comparison above can fail.
#[test]
fn a_flipped_bit_is_a_difference() {
    let expected = undisturbed();
    let mut other = expected.clone();
    let bytes = other.values_mut().find(|bytes| bytes.len() > 1000).unwrap();
    bytes[500] ^= 1;
    assert!(std::panic::catch_unwind(|| assert_same(&expected, &other, "flipped")).is_err());
}

#[test]
fn asked_to_stop_it_cleans_up_and_says_so() {
    let expected = undisturbed();
    for fault in ["write:term:1", "sync:term:3"] {
        let night = prepared();
        let mut command = night.command("");
        command.env("WIMG_FAULT", fault);
        let ran = crate::night::ran(command);
        assert_eq!(ran.code, 4, "{fault}: {}", ran.out);
        assert!(ran.out.contains("were stopped"), "{fault}: {}", ran.out);
        assert!(ran.out.contains("it goes on with the next image"), "{fault}: {}", ran.out);
        let left = night.images().into_keys().find(|path| path.contains(".partial-"));
        assert_eq!(left, None, "{fault}");
        check_links(&night, fault);
        night.run("").done();
        assert_same(&expected, &night.images(), fault);
    }
}

/// A run that is stopped where it writes.
fn paused(night: &Night, line: &str) -> Child {
    let child = night.start_with("write:pause", line);
    wait_until_paused(&child);
    child
}

#[test]
fn a_second_whole_night_refuses_and_names_the_first() {
    let night = prepared();
    let mut first = paused(&night, "");
    for line in ["", "--collect"] {
        let ran = night.run(line);
        assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{line}");
        let who = format!("is held by process {} on ", first.id());
        assert!(ran.err.contains(&who), "{line}: {}", ran.err);
    }
    signal(&first, Signal::CONT);
    assert!(first.wait().unwrap().success());
    night.run("").done();
}

#[test]
fn two_workers_on_one_task_end_with_one_good_image() {
    let expected = undisturbed();
    let night = prepared();
    let mut first = paused(&night, "--task 0");
    let second = night.start_with("", "--task 0 --log json");
    std::thread::sleep(Duration::from_millis(500));
    signal(&first, Signal::CONT);
    assert!(first.wait().unwrap().success());
    let second = second.wait_with_output().unwrap();
    assert!(second.status.success());
    let told = String::from_utf8(second.stderr).unwrap();
    assert!(told.contains(&format!("\"who\":\"process {} on ", first.id())), "{told}");
    // The report has what was done, not that the second found nothing to do.
    night.run("--shard 1/1").done();
    night.run("--collect").done();
    assert_eq!(night.report()["counts"]["packed"], 4);
    assert_same(&expected, &night.images(), "two workers");
}

/// A worker that dies while another waits for it.
#[test]
fn who_waits_takes_over_from_who_was_killed() {
    let expected = undisturbed();
    let night = prepared();
    let mut first = paused(&night, "--task 0");
    let second = night.start_with("", "--shard 1/1");
    std::thread::sleep(Duration::from_millis(300));
    signal(&first, Signal::KILL);
    first.wait().unwrap();
    assert!(second.wait_with_output().unwrap().status.success());
    assert_same(&expected, &night.images(), "took over");
}
