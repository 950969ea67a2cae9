//! A report: one file, from the disk, with no server.

use wimg_tests::vectors;

use crate::files;
use crate::ledger::{assert_same, known, rows};
use crate::program::{printed, wimg};
use crate::webdriver::Browser;

#[test]
fn a_report_opens_from_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    files::image(&image, "4x72/512+check");
    let hostile = folder.path().join("hostile.gguf");
    files::named(&hostile, "</script><script>window.owned=1</script>", "<!--<script>");
    let ledger = folder.path().join("sweep.jsonl");
    let sweep = ["--format", "json", "--layout", "2x64/64"];
    std::fs::write(&ledger, printed(&[&["ledger"], &sweep[..]].concat())).unwrap();
    let checkpoint = vectors::path(files::CHECKPOINT);
    let out = folder.path().join("report.html");
    let [image, hostile, ledger, checkpoint, out] =
        [&image, &hostile, &ledger, &checkpoint, &out].map(|path| path.to_str().unwrap());
    printed(&["report", ledger, image, checkpoint, hostile, "--out", out]);
    let again = wimg(&["report", "--out", out]);
    assert_eq!(again.status.code(), Some(3), "it is not replaced unasked");

    let browser = Browser::start().unwrap();
    browser.open(&format!("file://{out}"));
    let count = 16 + 8 + 1 + 2 + 2;
    browser.until("all rows", || (rows(&browser).len() == count).then_some(()));
    let shown = rows(&browser);
    assert_same(&shown[..16], &known(&[]));
    assert_same(&shown[16..24], &known(&["--layout", "2x64/64"]));
    let opened = [known(&[image, checkpoint]), known(&[hostile, "--select", "table"])].concat();
    assert_same(&shown[24..], &opened);
    assert_eq!(browser.run("return window.owned === undefined", &[]), true);
    // The map of the embedded checkpoint, with its tensors where they were.
    browser.one("#ledger-rows tr:nth-child(26) a").click();
    browser.until_true("return !document.getElementById('map-view').hidden");
    browser.one("#find").enter("output_norm");
    browser.one("[data-do='find-next']").click();
    let header = wimg::source::Source::open(checkpoint.as_ref()).unwrap().checkpoint;
    let tensor = header.tensors.iter().find(|tensor| tensor.name == "output_norm.weight").unwrap();
    let place = browser.one("#details td[data-fact='in the checkpoint']").text();
    assert_eq!(crate::digits(place.trim_start_matches("shard 0")), tensor.offset.to_string());
    assert_eq!(browser.complaints(), [""; 0]);
}
