//! A night's report, as somebody sees it in the morning: beside its images in a
//! file, served, and by itself.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use wimg_tests::vectors;

use crate::Opened;
use crate::program::{Served, wimg};
use crate::verify;
use crate::webdriver::{Browser, key};

/// A checkpoint's name that would be markup, if any of it were.
const HOSTILE: &str = "<img src=x onerror=window.owned=1>";
/// The words of what became of an image, as a report counts them.
const STATUSES: [&str; 5] = ["failed", "missing", "stopped", "packed", "up_to_date"];

/// A folder with checkpoints, and the root that a night makes of them.
pub(crate) struct Night {
    pub(crate) folder: TempDir,
}

impl Night {
    /// Two good checkpoints, one that is cut and one that is not there.
    pub(crate) fn new() -> Night {
        let night = Night { folder: tempfile::tempdir().unwrap() };
        fs::copy(vectors::path("tiny-mixed.gguf"), night.path("a.gguf")).unwrap();
        fs::copy(vectors::path("tiny-edge.gguf"), night.path("b.gguf")).unwrap();
        let whole = fs::read(vectors::path("tiny-q8.gguf")).unwrap();
        fs::write(night.path(&format!("{HOSTILE}.gguf")), &whole[..whole.len() - 100]).unwrap();
        let text = format!(
            "root = {:?}\ncheckpoints = [{:?}, {:?}, {:?}, {:?}]\n\
             free_margin_bytes = 0\nbackoff_seconds = 0\n\
             [[layouts]]\nname = \"plain\"\nlayout = \"4x64/512\"\nselect = \"all\"\n\
             [[layouts]]\nname = \"check\"\nlayout = \"4x72/512+check\"\nselect = \"all\"\n",
            night.path("images"),
            night.path("a.gguf"),
            night.path("b.gguf"),
            night.path(&format!("{HOSTILE}.gguf")),
            night.path("gone.gguf"),
        );
        fs::write(night.path("nightly.toml"), text).unwrap();
        night
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Does a night, and gives its report.
    pub(crate) fn pass(&self, code: i32) -> Value {
        let output = wimg(&["nightly", self.path("nightly.toml").to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        serde_json::from_slice(&fs::read(self.path("images/report.json")).unwrap()).unwrap()
    }
}

/// Waits for the night's view, and for all of a report's rows.
fn is_shown(browser: &Browser, report: &Value) {
    let count = report["rows"].as_array().unwrap().len();
    browser.until("the night", || (cells(browser, "th").len() == count).then_some(()));
    browser.until_true("return !document.getElementById('night-view').hidden");
    assert!(browser.url().contains("view=night"), "{}", browser.url());
}

/// The texts of one cell of each row.
fn cells(browser: &Browser, cell: &str) -> Vec<String> {
    texts(browser, &format!("#night-rows tr > {cell}"))
}

fn texts(browser: &Browser, selector: &str) -> Vec<String> {
    let script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)";
    let texts = browser.run(script, &[selector.into()]);
    texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// That the page says what the report does: verdict, counts, every row, and
/// why what failed did.
fn assert_says(browser: &Browser, report: &Value) {
    let title = match report["code"].as_u64().unwrap() {
        0 => "All is well",
        3 => "Something is wrong: an input is bad (exit code 3)",
        code => panic!("no test's night has exit code {code}"),
    };
    assert_eq!(browser.one("#night-title").text(), title);
    assert!(browser.one("#night-when").text().starts_with(text(&report["host"])));
    for status in STATUSES {
        let count = report["counts"][status].to_string();
        assert_eq!(browser.one(&format!("[data-of='{status}']")).text(), count, "{status}");
    }
    assert_eq!(browser.one("#night-doubt").text(), "");
    let rows = report["rows"].as_array().unwrap();
    let place = |row: &Value| STATUSES.iter().position(|word| row["status"] == *word).unwrap();
    let mut order: Vec<&Value> = rows.iter().collect();
    order.sort_by_key(|row| place(row));
    let column = |key: &str| -> Vec<String> {
        order.iter().map(|row| text(&row[key]).replace("up_to_date", "up to date")).collect()
    };
    assert_eq!(cells(browser, "td:first-child"), column("status"), "what failed is first");
    assert_eq!(cells(browser, "th"), column("checkpoint"));
    assert_eq!(cells(browser, "td:nth-child(3)"), column("name"));
    let script = "return [...document.querySelectorAll('#night-rows tr')].map(row =>
        [row.children[3].dataset.value, row.children[8].title])";
    let ids = order.iter().map(|row| {
        let id = row["image_id"].as_str().unwrap_or_default();
        let parts = ["row_bytes", "padding_bytes", "check_bytes"];
        let bytes: u64 = parts.map(|part| row["ledger"][part].as_u64().unwrap_or(0)).iter().sum();
        json!([bytes.to_string(), id])
    });
    assert_eq!(browser.run(script, &[]), Value::from(ids.collect::<Vec<_>>()));
    let troubles = texts(browser, "#night-troubles").concat();
    let mut bad = 0;
    for row in rows.iter().filter(|row| place(row) < 3) {
        for word in [&row["checkpoint"], &row["problem"]["cause"], &row["problem"]["advice"]] {
            assert!(troubles.contains(text(word)), "{word} is not in {troubles}");
        }
        bad += 1;
    }
    assert_eq!(troubles.is_empty(), bad == 0);
    // Names from files are text, wherever they stand.
    assert_eq!(browser.all("#night-view img").len(), 0);
    assert_eq!(browser.run("return window.owned === undefined", &[]), true);
}

/// Opens the map of a checkpoint's first row, by its link.
fn open_map(browser: &Browser, checkpoint: &str) {
    let script = "[...document.querySelectorAll('#night-rows a')]
        .find(link => link.textContent === arguments[0]).click()";
    browser.run(script, &[checkpoint.into()]);
    browser.until_true("return !document.getElementById('map-view').hidden");
}

#[test]
fn a_nights_page_opens_with_how_it_went() {
    let night = Night::new();
    let report = night.pass(3);
    assert_eq!(report["counts"]["packed"], 4, "two good checkpoints in two layouts");
    assert_eq!(report["counts"]["failed"], 4, "one is cut, one is gone");
    let browser = Browser::start().unwrap();
    let page = night.path("images/report.html");
    browser.open(&format!("file://{}", page.to_str().unwrap()));
    is_shown(&browser, &report);
    assert_says(&browser, &report);
    let causes = texts(&browser, "#night-troubles .cause").concat();
    assert!(causes.contains(HOSTILE), "the file's name is shown as it is: {causes}");
    // The image of a row, with its figures.
    open_map(&browser, "b");
    assert!(browser.url().contains("layout=4x64/512&select=all"), "{}", browser.url());
    assert!(browser.one("#figures").text().contains("tiles"), "its map has its figures");
    // Back where it was; then the same with keys only, to the other checkpoint.
    browser.run("history.back()", &[]);
    is_shown(&browser, &report);
    browser.press("j");
    let linked = "return document.activeElement.matches('#night-rows a')";
    assert_eq!(browser.run(linked, &[]), true, "the first row that has an image has the focus");
    browser.press(key::ENTER);
    browser.until_true("return !document.getElementById('map-view').hidden");
    browser.press("6");
    is_shown(&browser, &report);
    // A link to another view is not overruled.
    browser.open("about:blank");
    browser.open(&format!("file://{}#view=ledger", page.to_str().unwrap()));
    browser.until_true("return document.querySelectorAll('#tabs a[data-view=night]').length === 1");
    assert_eq!(browser.run("return document.getElementById('night-view').hidden", &[]), true);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_served_root_shows_its_night_and_verifies_its_images() {
    let night = Night::new();
    night.pass(3);
    fs::copy(vectors::path("tiny-q8.gguf"), night.path(&format!("{HOSTILE}.gguf"))).unwrap();
    let report = night.pass(3);
    assert_eq!(report["counts"]["up_to_date"], 4);
    assert_eq!(report["counts"]["packed"], 2);
    let opened = Opened::of(Served::start(Some(night.folder.path())), "");
    let browser = &opened.browser;
    is_shown(browser, &report);
    assert_says(browser, &report);
    let changes: Vec<String> = report["changes"].as_array().unwrap().iter().map(change).collect();
    assert!(changes.iter().any(|change| change.ends_with("has its first image")), "{changes:?}");
    assert_eq!(texts(browser, "#night-changes li"), changes);
    // Its images come after it; the links lead to them, wherever the root is.
    browser.until_true("return document.querySelectorAll('#tabs a').length === 6");
    open_map(browser, "a");
    assert!(browser.url().contains("row=images/a/plain/"), "{}", browser.url());
    opened.go("verify");
    assert_eq!(verify::verdict(browser), ("sound".to_owned(), Vec::new()));
}

fn change(change: &Value) -> String {
    format!("{} {}: {}", text(&change["checkpoint"]), text(&change["name"]), text(&change["what"]))
}

/// Chooses a file that holds a report, under a name.
fn choose(browser: &Browser, folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
    browser.one("#open-files").choose(&[&folder.join(name)]);
}

#[test]
fn reports_of_all_kinds_are_opened_and_bad_ones_said() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Opened::at("#view=night");
    let browser = &opened.browser;
    assert!(browser.one("#night-empty").text().contains("report.json"));
    // An old one, with less, and with what nobody knows.
    let row = json!({ "checkpoint": "c", "name": "n", "status": "dreamt", "dream": [1] });
    let old = json!({ "format": 1, "image_format": 1, "rows": [row], "moon": "full" });
    choose(browser, folder.path(), "old.json", &old.to_string());
    browser.until("its row", || (cells(browser, "td:first-child") == ["dreamt"]).then_some(()));
    assert_eq!(browser.one("#night-title").text(), "All is well");
    // Counts that lie are not believed; nights are told apart.
    let row = json!({
        "checkpoint": "d", "name": "n", "status": "failed", "layout": "4x64/512", "select": "all",
        "image": "d/n/5e", "header": "qwen3.8-27b-ggml-org-q4_k_m",
        "problem": { "code": 1, "cause": "<b>cause</b>", "advice": "&lt;advice" },
    });
    let problem = json!({ "code": 4, "cause": "the disk", "advice": "look" });
    let lies = json!({
        "format": 1, "image_format": 1, "code": 1, "host": "h", "rows": [row],
        "counts": { "failed": 3 }, "problem": problem,
    });
    choose(browser, folder.path(), "lies.json", &lies.to_string());
    browser.until("its row", || (cells(browser, "td:first-child") == ["failed"]).then_some(()));
    assert_eq!(
        browser.one("#night-doubt").text(),
        "The report counts 3 as failed, its rows are 1."
    );
    assert_eq!(
        texts(browser, "#night-troubles p"),
        ["the disk (exit code 4)", "look", "<b>cause</b> (exit code 1)", "&lt;advice"]
    );
    assert_eq!(texts(browser, "#night-pick option"), ["old.json", "lies.json"]);
    assert!(browser.url().ends_with("view=night&night=lies.json"), "{}", browser.url());
    // A link to a report that is not open is not silently another's.
    browser.run("location.hash = 'view=night&night=%3Cb%3E'", &[]);
    browser.until("what is not open", || {
        let doubt = browser.one("#night-doubt").text();
        (doubt == "`<b>` is not open: this is another report.").then_some(())
    });
    browser.run("history.back()", &[]);
    browser.until("its row", || (cells(browser, "td:first-child") == ["failed"]).then_some(()));
    // Its image is nowhere; its checkpoint's header shows the same places.
    browser.one("#night-rows a").click();
    browser.until_true("return !document.getElementById('map-view').hidden");
    // Bad ones are said, and change nothing.
    let mut said = 0;
    for (text, why) in [
        (r#"{"format":1,"image_format":1,"#, "it is no night's report: "),
        (r#"{"format":2,"image_format":1,"rows":[]}"#, "format is 2, this page knows 1"),
        (r#"{"format":1,"image_format":1,"rows":{}}"#, "it has no list `rows`"),
        (r#"{"format":1,"image_format":1,"rows":[{"name":"n"}]}"#, "row 0 has no `checkpoint`"),
    ] {
        choose(browser, folder.path(), "report.json", text);
        browser.until(why, || {
            let alerts = texts(browser, "#alerts span");
            alerts.last()?.contains(why).then_some(())
        });
        assert!(texts(browser, "#alerts span")[said].starts_with("report.json: "));
        said += 1;
    }
    assert_eq!(said, 4);
    assert_eq!(texts(browser, "#night-pick option"), ["old.json", "lies.json"]);
}
