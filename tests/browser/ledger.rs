//! The first view: all rows.

use serde_json::{Value, json};

use crate::program::printed;
use crate::webdriver::{Browser, key};
use crate::{Opened, digits};

/// A cell as it is shown, and its tooltip.
type Cell = (String, String);

/// By row: each column's cell.
pub(crate) fn rows(browser: &Browser) -> Vec<Value> {
    let script = "return [...document.querySelectorAll('#ledger-rows tr')].map(row =>
        Object.fromEntries([...row.children].map(cell =>
            [cell.dataset.column, [cell.innerText, cell.title]])))";
    browser.run(script, &[]).as_array().unwrap().clone()
}

fn cell(row: &Value, column: &str) -> Cell {
    let text = |at: usize| row[column][at].as_str().unwrap_or_default().to_owned();
    (text(0), text(1))
}

/// What `wimg ledger` says of each row.
pub(crate) fn known(words: &[&str]) -> Vec<Value> {
    let text = printed(&[&["ledger", "--format", "json"], words].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Holds shown rows against what `wimg ledger` says.
pub(crate) fn assert_same(shown: &[Value], known: &[Value]) {
    assert_eq!(shown.len(), known.len());
    let mut cells = 0;
    for (shown, known) in shown.iter().zip(known) {
        for column in ["checkpoint", "layout", "selection"] {
            assert_eq!(cell(shown, column).0, known[column].as_str().unwrap(), "{known}");
            cells += 1;
        }
        for column in ["beat", "tiles", "tensors", "skew_lines", "largest_tile_lines"] {
            let text = cell(shown, column).0;
            assert_eq!(digits(&text), known[column].to_string(), "{column} of {known}");
            cells += 1;
        }
        let free = known["free_lines"].as_i64().unwrap();
        let text = cell(shown, "free_lines").0;
        assert_eq!(digits(&text), free.unsigned_abs().to_string(), "{known}");
        assert_eq!(text.starts_with("does not fit"), free < 0, "{text}: {known}");
        cells += 1;
        // Shown in GB and the like; exact in the tooltip.
        for column in ["row_bytes", "padding_bytes", "check_bytes"] {
            let text = cell(shown, column).1;
            assert_eq!(digits(&text), known[column].to_string(), "{column} of {known}");
            cells += 1;
        }
        let ceiling = known["ceiling_tokens_s"].as_f64().map(|tokens| format!("{tokens:.3}"));
        assert_eq!(cell(shown, "ceiling_tokens_s").0, ceiling.unwrap_or_else(|| "–".to_owned()));
        let channels = known["channel_lines"].as_array().unwrap();
        let fill = cell(shown, "channel_lines").0;
        assert_eq!(fill.matches('%').count(), channels.len(), "{fill}");
    }
    assert_eq!(cells, known.len() * 12);
}

#[test]
fn all_rows_are_those_of_wimg_ledger() {
    let Opened { browser, .. } = &Opened::at("");
    let (shown, mut known) = (rows(browser), known(&[]));
    assert_eq!(known.len(), 16);
    assert_same(&shown, &known);
    // The sabotage: the comparison does notice one tile more.
    known[7]["tiles"] = json!(known[7]["tiles"].as_u64().unwrap() + 1);
    let lied = std::panic::catch_unwind(|| assert_same(&shown, &known));
    assert!(lied.is_err());
}

#[test]
fn copy_and_files_are_what_the_command_prints() {
    let Opened { browser, served } = &Opened::at("");
    browser.permit_clipboard(&served.url);
    browser.one("[data-do='copy-ledger']").click();
    let copied = browser.run("return navigator.clipboard.readText()", &[]);
    assert_eq!(copied.as_str().unwrap(), printed(&["ledger"]));
    for (button, format, name) in
        [("save-csv", "csv", "ledger.csv"), ("save-json", "json", "ledger.jsonl")]
    {
        browser.one(&format!("[data-do='{button}']")).click();
        let path = browser.downloaded(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, printed(&["ledger", "--format", format]), "{name}");
    }
}

#[test]
fn columns_sort_and_words_filter() {
    let opened = Opened::at("");
    let browser = &opened.browser;
    let tiles = || -> Vec<u64> {
        rows(browser).iter().map(|row| digits(&cell(row, "tiles").0).parse().unwrap()).collect()
    };
    let as_they_came = tiles();
    let head = browser.one("#ledger-head th[data-column='tiles'] button");
    let sorted = || {
        let script = "return document.querySelector(\"th[data-column='tiles']\").ariaSort";
        browser.run(script, &[]).as_str().map(str::to_owned)
    };
    let mut expected = as_they_came.clone();
    expected.sort_by(|one, other| other.cmp(one));
    assert_ne!(expected, as_they_came);
    head.click();
    assert_eq!((tiles(), sorted()), (expected.clone(), Some("descending".to_owned())));
    expected.reverse();
    head.click();
    assert_eq!((tiles(), sorted()), (expected, Some("ascending".to_owned())));
    head.click();
    assert_eq!((tiles(), sorted()), (as_they_came, None));

    browser.press("/");
    browser.press("Q8_0 4x72");
    let kept = rows(browser);
    let names: Vec<_> = kept.iter().map(|row| cell(row, "checkpoint").0).collect();
    assert_eq!(names, ["qwen3.8-27b-ggml-org-q8_0", "qwen3.8-27b-unsloth-q8_0"]);
    assert_eq!(browser.one("#ledger-count").text(), "2 of 16 images");
    browser.press(" nowhere");
    assert_eq!(rows(browser).len(), 0);
    assert_eq!(
        browser.one("#ledger-empty").text().lines().next(),
        Some("No row has all of these words. Clear the filter")
    );
    browser.one("[data-do='clear-filter']").click();
    assert_eq!(rows(browser).len(), 16);
}

#[test]
fn the_keyboard_is_enough() {
    let opened = Opened::at("");
    let browser = &opened.browser;
    browser.press("?");
    let open = "return document.getElementById('help').open";
    browser.until_true(open);
    assert!(browser.one("#help").text().contains("filter the ledger"));
    browser.press(key::ESCAPE);
    browser.until_true("return !document.getElementById('help').open");
    // The third row, and into its map.
    browser.press("jjj");
    browser.press(key::ENTER);
    browser.until_true("return !document.getElementById('map-view').hidden");
    assert_eq!(browser.one("#image-title").text(), "qwen3.8-27b-ggml-org-q4_k_m");
    browser.press("1");
    browser.until_true("return !document.getElementById('ledger-view').hidden");
    for (number, view) in ["map", "what-if", "skew", "verify"].into_iter().enumerate() {
        browser.press(&(number + 2).to_string());
        browser.until_true(&format!("return !document.getElementById('{view}-view').hidden"));
    }
}
