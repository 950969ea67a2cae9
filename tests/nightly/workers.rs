//! Many workers, one night.

use std::fs;

use serde_json::Value;
use wimg::core::HEADERS;
use wimg::synth::Synth;

use crate::night::{Night, assert_same, ran};

#[test]
fn shards_equal_the_whole() {
    let whole = Night::new();
    whole.put("c", "tiny-edge.gguf");
    whole.run("").done();

    let night = Night::new();
    night.put("c", "tiny-edge.gguf");
    let mut rows = 0;
    for share in ["1/3", "2/3", "3/3"] {
        let ran = night.run(&format!("--shard {share} --log json"));
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{share}");
        let done = ran.err.lines().filter(|line| line.contains("\"event\":\"done\"")).count();
        assert!(done > 0, "{share} does nothing");
        rows += done;
    }
    assert_eq!(rows, 6);
    assert!(!night.path("images/report.json").exists(), "workers make no report");
    assert_eq!(night.run("--collect").done(), "");
    assert_eq!(night.report()["counts"]["packed"], 6);
    assert_eq!(night.report()["collected"], true);
    assert_same(&whole.images(), &night.images(), "shards");
    assert_eq!(whole.statuses(), night.statuses());
    let ledger = |night: &Night| fs::read_to_string(night.path("images/ledger.jsonl")).unwrap();
    assert_eq!(ledger(&whole), ledger(&night));
}

#[test]
fn tasks_are_stable_and_collecting_names_those_that_left_nothing() {
    let night = Night::new();
    let list = night.run("--list").done();
    assert_eq!(list, night.run("--list").done());
    fs::write(night.path("tasks.json"), &list).unwrap();
    let tasks: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 4);
    assert_eq!(tasks["tasks"][3]["task"], 3);
    assert!(tasks["tasks"][0]["write_bytes"].as_u64().unwrap() > 0);

    // A file that comes later does not shift the numbers.
    night.put("0", "tiny-edge.gguf");
    for task in [0, 2, 3] {
        let mut command = night.command("--tasks tasks.json --task");
        command.env("SLURM_ARRAY_TASK_ID", task.to_string());
        ran(command).done();
    }
    let collected = night.run("--collect --tasks tasks.json");
    assert_eq!((collected.code, collected.err.as_str()), (4, ""));
    assert!(collected.out.contains("no worker has left a result of task 1"), "{}", collected.out);
    let statuses = night.statuses();
    assert_eq!(
        statuses,
        ["a plain packed", "a striped missing", "b plain packed", "b striped packed"]
    );

    // The next night: what the last one left does not count.
    let mut command = night.command("--tasks tasks.json --shards 2");
    command.env("JOB_COMPLETION_INDEX", "0");
    ran(command).done();
    let collected = night.run("--collect --tasks tasks.json");
    assert_eq!(collected.code, 4);
    assert!(collected.out.contains("only one of an earlier night"), "{}", collected.out);
    let statuses = night.statuses();
    assert_eq!(
        statuses,
        ["a plain up_to_date", "a striped packed", "b plain up_to_date", "b striped missing"]
    );
}

#[test]
fn a_night_with_a_name_may_be_collected_twice() {
    let night = Night::new();
    night.run("--shard 1/2 --night monday").done();
    night.run("--shard 2/2 --night monday").done();
    for _ in 0..2 {
        night.run("--collect --night monday").done();
        assert_eq!(night.report()["counts"]["packed"], 4);
        assert_eq!(night.report()["night"], "monday");
    }
    let history = fs::read_to_string(night.path("images/history.jsonl")).unwrap();
    assert_eq!(history.lines().count(), 4);
    assert_eq!(night.run("--collect --night tuesday").code, 4);
    assert_eq!(night.report()["counts"]["missing"], 4);
}

#[test]
fn what_a_scheduler_says_and_does_not_say() {
    let night = Night::new();
    let mut seen = 0;
    for (variables, line, code, err) in [
        ("", "--shard", 2, "no array job's variables are set"),
        ("JOB_COMPLETION_INDEX=1", "--shard", 2, "say `--shards N`"),
        ("JOB_COMPLETION_INDEX=3", "--shards 3", 2, "job 3 is not one of 3, counted from 0"),
        ("SLURM_ARRAY_TASK_ID=9", "--task", 2, "there is no task 9: there are 4, from 0"),
        ("", "--shard 0/3", 2, "a share from 1"),
        ("", "--shard 4/3", 2, "a share from 1"),
        ("", "--shard 1/3 --task 0", 2, "cannot be used with"),
        ("", "--collect --shard 1/3", 2, "cannot be used with"),
    ] {
        let mut command = night.command(line);
        command.envs(variables.split_whitespace().filter_map(|word| word.split_once('=')));
        let ran = ran(command);
        assert_eq!(ran.code, code, "{variables} {line}: {}", ran.err);
        assert!(ran.err.contains(err), "{variables} {line}: {}", ran.err);
        seen += 1;
    }
    assert_eq!(seen, 8);
    let mut command = night.command("--shard");
    command.envs([("AWS_BATCH_JOB_ARRAY_INDEX", "1"), ("AWS_BATCH_JOB_ARRAY_SIZE", "2")]);
    ran(command).done();
    // By bytes, b's second image is half of the work.
    assert!(night.current("b", "plain").is_none() && night.current("b", "striped").is_some());
}

/// Full-size sources that take no space: only their headers are read.
#[test]
fn required_checkpoints_are_recognised_by_their_tables() {
    let night = Night::empty();
    night.configure("checkpoints = [\"checkpoints\"]", "require = \"headers\"");
    for (number, header) in HEADERS.iter().enumerate() {
        let synth = Synth::new(header, 1, 0).unwrap();
        synth.write_sparse(&night.checkpoint(&format!("n{number}")), false).unwrap();
    }
    let listed = night.run("--list");
    assert_eq!((listed.code, listed.err.as_str()), (0, ""));
    let tasks: Value = serde_json::from_str(&listed.out).unwrap();
    let tasks = tasks["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 16);
    for (task, header) in tasks.iter().step_by(2).zip(HEADERS.iter()) {
        assert_eq!(task["header"], header.name);
        let rest = header.file_bytes - task["read_bytes"].as_u64().unwrap();
        assert!(rest < 40 << 20, "{}: {rest} bytes are not read", header.name);
    }

    fs::rename(night.checkpoint("n3"), night.path("elsewhere.gguf")).unwrap();
    night.put("stranger", "tiny-mixed.gguf");
    let listed = night.run("--list");
    assert_eq!(listed.code, 3);
    let missing = format!("required and not found: {}", HEADERS[3].name);
    assert!(listed.err.contains(&missing), "{}", listed.err);
    assert!(listed.err.contains("stranger plain: "), "{}", listed.err);
    assert!(listed.err.contains("none of the checkpoints that are required"), "{}", listed.err);
    // The whole night: what is strange fails, what is missing is said.
    for number in [0, 1, 2, 4, 5, 6, 7] {
        fs::remove_file(night.checkpoint(&format!("n{number}"))).unwrap();
    }
    let ran = night.run("");
    assert_eq!(ran.code, 3);
    assert!(ran.out.contains("required and not found: "), "{}", ran.out);
    assert_eq!(night.statuses(), ["stranger plain failed", "stranger striped failed"]);
}
