//! `wimg plan`.

use expect_test::expect_file;
use serde_json::Value;
use wimg_tests::program::wimg;
use wimg_tests::vectors::{Vector, vectors};

use super::{scrub, vectors_folder};

#[test]
fn the_sum_in_every_format() {
    let run = |flags: &str| wimg(&vectors_folder(), &format!("plan tiny-edge.gguf {flags}")).done();
    let text = scrub(&run("--beat 72"), "free space        ", '\n');
    expect_file!["golden/plan/sum.txt"].assert_eq(&text);
    let json = scrub(&run("--beat 72 --format json"), "\"free_bytes\":", ',');
    expect_file!["golden/plan/sum.jsonl"].assert_eq(&json);

    let csv = run("--beat 72 --format csv");
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let [names, cells] = &lines[..] else { panic!("{csv}") };
    let json: Value = serde_json::from_str(&run("--beat 72 --format json")).unwrap();
    let object = json.as_object().unwrap();
    assert_eq!(object.len(), names.len());
    for (name, cell) in names.iter().zip(cells) {
        let expected = match &object[*name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Array(list) => list.iter().map(Value::to_string).collect::<Vec<_>>().join(" "),
            other => other.to_string(),
        };
        // Somebody else may use the disk between the runs.
        if *name != "free_bytes" {
            assert_eq!(**cell, expected, "{name}");
        }
    }
}

#[test]
fn tensors_and_tiles_in_every_format() {
    for what in ["tensors", "tiles"] {
        for (format, end) in [("text", "txt"), ("json", "jsonl"), ("csv", "csv")] {
            let line = format!(
                "plan tiny-edge.gguf --layout 3x64/64+check+stripe8 --{what} --format {format}"
            );
            expect_file![format!("golden/plan/{what}.{end}")]
                .assert_eq(&wimg(&vectors_folder(), &line).done());
        }
    }
}

/// What of a plan is not as the vector has it.
fn disagreements(vector: &Vector, plan: &Value) -> Vec<String> {
    let ledger = vector.ledger.as_object().unwrap();
    assert_eq!(ledger.len(), 8, "case {}", vector.case);
    let other = ledger.iter().filter(|(name, value)| plan[name.as_str()] != **value);
    other.map(|(name, value)| format!("case {}: {name} is not {value}", vector.case)).collect()
}

#[test]
fn the_vectors_ledgers_by_their_flags() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 14);
    for vector in &vectors {
        let (file, flags) = (&vector.file, vector.flags.join(" "));
        let select = format!("{:?}", vector.selection).to_lowercase();
        let line = format!("plan {file} --select {select} {flags} --format json");
        let mut plan = wimg(&vectors_folder(), &line).json(0).remove(0);
        assert_eq!(disagreements(vector, &plan), Vec::<String>::new());
        // The tensors, and the few bytes of gaps between them.
        let gaps = plan["read_bytes"].as_u64().unwrap() - plan["row_bytes"].as_u64().unwrap();
        assert!(gaps < 4096, "case {}: {gaps} bytes of gaps", vector.case);
        plan["tiles"] = Value::from(plan["tiles"].as_u64().unwrap() + 1);
        assert_eq!(disagreements(vector, &plan).len(), 1, "case {}", vector.case);
    }
}

#[test]
fn an_image_that_does_not_fit_is_planned_in_words() {
    // The fullest channel holds 8200 lines.
    let plan = |lines: u64, format: &str| {
        let line = format!("plan tiny-edge.gguf --channel-lines {lines} --format {format}");
        wimg(&vectors_folder(), &line)
    };
    let text = plan(8199, "text").done();
    assert!(text.contains("does not fit, the fullest channel is 1 lines short of 8199"), "{text}");
    let refusal = "the image does not fit: channel 0 needs 8200 lines and holds 8199, 1 short";
    assert!(text.contains(&format!("cannot be packed  {refusal}\n")), "{text}");
    let json = plan(8199, "json").json(0).remove(0);
    assert_eq!((&json["fits"], &json["free_lines"]), (&false.into(), &(-1).into()));
    assert_eq!(json["refusal"], refusal);
    let json = plan(8200, "json").json(0).remove(0);
    assert_eq!((&json["fits"], &json["refusal"]), (&true.into(), &Value::Null));
}

#[test]
fn a_plan_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    super::tiny(folder.path());
    wimg(folder.path(), "plan tiny.gguf --out image").done();
    let left = std::fs::read_dir(folder.path()).unwrap();
    let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["tiny.gguf"]);
    // A place that is not there has no free space.
    assert_eq!(wimg(folder.path(), "plan tiny.gguf --out nowhere/image").code, 3);
}
