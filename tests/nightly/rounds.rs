//! One night after another: only what changed is packed.

use std::fs;
use std::time::{Duration, SystemTime};

use wimg_tests::program::wimg;

use crate::night::{Night, assert_same, ran};

#[test]
fn the_first_night_packs_all_and_the_second_nothing() {
    let night = Night::new();
    // Quiet: nobody wants mail from cron about a night that went well.
    assert_eq!(night.run("").done(), "");
    let statuses = night.statuses();
    assert_eq!(
        statuses,
        ["a plain packed", "a striped packed", "b plain packed", "b striped packed"]
    );
    let report = night.report();
    assert_eq!(report["code"], 0);
    let written = report["written_bytes"].as_u64().unwrap();
    assert!(written > 0);
    for (checkpoint, layout) in [("a", "plain"), ("a", "striped"), ("b", "plain"), ("b", "striped")]
    {
        let id = night.current(checkpoint, layout).unwrap();
        let ran = wimg(night.folder(), &format!("verify images/{checkpoint}/{layout}/current"));
        assert!(ran.done().contains(&id), "{checkpoint} {layout}");
    }
    let ledger = fs::read_to_string(night.path("images/ledger.jsonl")).unwrap();
    assert_eq!(ledger.lines().count(), 4);
    let before = night.images();

    assert_eq!(night.run("").done(), "");
    let report = night.report();
    assert_eq!(
        (report["written_bytes"].as_u64(), report["read_bytes"].as_u64()),
        (Some(0), Some(0))
    );
    assert_eq!(report["counts"]["up_to_date"], 4);
    assert!(night.summary().starts_with("All 4 images are up to date"), "{}", night.summary());
    assert_same(&before, &night.images(), "the second night");

    let full = night.run("--verify full --summary").done();
    assert!(full.starts_with("All 4 images are up to date"), "{full}");
    assert_eq!(night.report()["rows"][0]["verified"], "full");

    let history = fs::read_to_string(night.path("images/history.jsonl")).unwrap();
    let results: Vec<String> = history
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["result"].to_string())
        .collect();
    assert_eq!(results.len(), 12);
    assert_eq!(results.iter().filter(|result| *result == "\"packed\"").count(), 4);
}

#[test]
fn a_changed_checkpoint_is_packed_again_and_old_generations_go() {
    let night = Night::new();
    night.run("").done();
    let mut ids = vec![night.current("a", "plain").unwrap()];
    for vector in ["tiny-edge.gguf", "tiny-q8.gguf", "tiny-mixed.gguf"] {
        night.put("a", vector);
        night.run("").done();
        let statuses = night.statuses();
        assert_eq!(statuses[..2], ["a plain packed", "a striped packed"], "{vector}");
        assert_eq!(statuses[2..], ["b plain up_to_date", "b striped up_to_date"], "{vector}");
        let why = night.report()["rows"][0]["why"].clone();
        assert_eq!(why, "the checkpoint's header or size is another", "{vector}");
        let summary = night.summary();
        assert!(summary.contains("a plain: has another image"), "{summary}");
        let id = night.current("a", "plain").unwrap();
        let before = ids.last().unwrap().clone();
        let mut there: Vec<String> = fs::read_dir(night.path("images/a/plain"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.len() == 64)
            .collect();
        there.sort();
        let mut expected = vec![before, id.clone()];
        expected.sort();
        assert_eq!(there, expected, "two generations are kept");
        ids.push(id);
    }
    assert_eq!(ids.first(), ids.last(), "the same checkpoint gives the same image");
}

#[test]
fn a_time_of_writing_is_believed_unless_checksums_are_asked_for() {
    let night = Night::new();
    night.run("").done();
    let before = night.images();
    let later = SystemTime::now() + Duration::from_secs(60);
    fs::File::options()
        .write(true)
        .open(night.checkpoint("a"))
        .unwrap()
        .set_modified(later)
        .unwrap();
    night.run("--checksum").done();
    assert_eq!(night.report()["counts"]["up_to_date"], 4);
    night.run("").done();
    assert_eq!(night.report()["counts"]["packed"], 2);
    assert_eq!(night.report()["rows"][0]["why"], "the checkpoint was written to since");
    assert_same(&before, &night.images(), "the same bytes");

    // The other way round: other bytes under the old time.
    let meta = fs::metadata(night.checkpoint("a")).unwrap();
    let mut bytes = fs::read(night.checkpoint("a")).unwrap();
    let end = bytes.len() - 8;
    bytes[end] ^= 1;
    fs::write(night.checkpoint("a"), bytes).unwrap();
    let file = fs::File::options().write(true).open(night.checkpoint("a")).unwrap();
    file.set_modified(meta.modified().unwrap()).unwrap();
    night.run("").done();
    assert_eq!(night.report()["counts"]["up_to_date"], 4);
    night.run("--checksum").done();
    assert_eq!(night.report()["counts"]["packed"], 2);
}

#[test]
fn bytes_outside_of_tensors_count_with_the_checksums() {
    let night = Night::new();
    let path = night.checkpoint("a");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes.resize(end + 64, 0);
    fs::write(&path, &bytes).unwrap();
    night.run("").done();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    for (byte, value) in [(40, 1), (40, 2), (63, 9), (40, 0)] {
        bytes[end + byte] = value;
        fs::write(&path, &bytes).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
        night.run("").done();
        assert_eq!(night.report()["counts"]["up_to_date"], 4, "{byte} {value}");
        night.run("--checksum").done();
        assert_eq!(night.report()["counts"]["packed"], 2, "{byte} {value}");
        let why = "the checkpoint has other bytes outside its headers and tensors";
        assert_eq!(night.report()["rows"][0]["why"], why);
    }
    night.run("--checksum").done();
    assert_eq!(night.report()["counts"]["up_to_date"], 4);
}

#[test]
fn an_image_that_was_damaged_is_packed_again_and_said() {
    let night = Night::new();
    night.run("").done();
    let before = night.images();
    let channel = night.path("images/b/plain/current/channel-1.bin");
    let file = fs::File::options().write(true).open(&channel).unwrap();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    fs::remove_file(night.path("images/b/striped/current/tiles.crc")).unwrap();
    let ran = night.run("");
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert!(ran.out.contains("the image that was there was damaged"), "{}", ran.out);
    assert_eq!(night.report()["counts"]["packed"], 2);
    assert_same(&before, &night.images(), "mended");
    night.run("").done();

    // One bit, where a quick look may not look.
    let mut bytes = fs::read(&channel).unwrap();
    bytes[5] ^= 0x20;
    fs::write(&channel, bytes).unwrap();
    assert_eq!(night.run("--verify full").code, 1);
    assert_eq!(night.report()["counts"]["packed"], 1);
    assert_same(&before, &night.images(), "mended again");
}

/// Names from files go into many writers, and steer none of them.
#[test]
fn a_name_that_steers_terminals_is_escaped_everywhere() {
    let night = Night::empty();
    let name = "x\u{1b}[2J\n<script>=1+1";
    night.put(name, "tiny-mixed.gguf");
    fs::write(night.checkpoint("bad\u{1b}"), "no checkpoint").unwrap();
    let ran = ran(night.command("--log json"));
    assert_eq!(ran.code, 3);
    let mut texts = vec![ran.out, ran.err, night.summary(), night.run("--check").out];
    texts.push(night.run("--list").out);
    for file in ["report.json", "history.jsonl", "ledger.jsonl"] {
        texts.push(fs::read_to_string(night.path("images").join(file)).unwrap());
    }
    for text in &texts {
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!text.is_empty() && !text.contains(steers), "{text:?}");
    }
    assert_eq!(texts.len(), 8);
    let names: Vec<String> = fs::read_dir(night.path("images"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("script"))
        .collect();
    assert_eq!(names, ["x%1B%5B2J%0A%3Cscript%3E%3D1+1"]);
}

/// Nothing in the events is for one run only but times.
#[test]
fn events_are_json_lines() {
    let night = Night::new();
    let ran = night.run("--log json");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    let events: Vec<serde_json::Value> =
        ran.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["begin", "done", "done", "done", "done", "end"]);
    assert_eq!(events[0]["images"], 4);
    assert_eq!(events[1]["result"]["status"], "packed");
    assert_eq!(events[5]["code"], 0);
}
