//! How quick the page is: written to `target/page-measures.txt`, and held to
//! bounds that a slow machine under load still keeps.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use wimg::synth::Synth;
use wimg_core::HEADERS;

use crate::Opened;
use crate::program::{Served, printed};
use crate::webdriver::Browser;

/// Notes when the ledger's last row comes to be, from when the page is asked for.
const FIRST_LEDGER: &str = "new MutationObserver((_, observer) => {
    if (document.querySelectorAll('#ledger-rows tr').length >= 16) {
        window.firstLedger = performance.now(); observer.disconnect();
    }
}).observe(document, { childList: true, subtree: true });";

fn number(browser: &Browser, script: &str) -> f64 {
    browser.run(script, &[]).as_f64().unwrap()
}

/// Draws a frame after each press of a key, and notes each drawing's time and
/// operations.
const PAN: &str = "const done = arguments[arguments.length - 1];
    const map = document.getElementById('map'), root = document.documentElement, frames = [];
    map.focus();
    const step = () => {
        if (frames.length === 200) return done(frames);
        const key = frames.length % 100 < 50 ? 'ArrowRight' : 'ArrowLeft';
        map.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        requestAnimationFrame(() => requestAnimationFrame(() => {
            frames.push([Number(root.dataset.drawMs), Number(root.dataset.drawOps)]);
            step();
        }));
    };
    step()";

/// Milliseconds until the ledger shows, and that its rows take in WASM.
fn first_ledger(said: &mut String) -> [f64; 2] {
    let (browser, served) = (Browser::start().unwrap(), Served::start(None));
    browser.before_pages(FIRST_LEDGER);
    let mut firsts: Vec<f64> = (0..5)
        .map(|_| {
            browser.open("about:blank");
            browser.open(&served.url);
            browser.until_true("return window.firstLedger !== undefined");
            number(&browser, "return window.firstLedger")
        })
        .collect();
    firsts.sort_by(f64::total_cmp);
    let rows = number(&browser, "return Number(document.documentElement.dataset.ledgerMs)");
    writeln!(said, "first ledger {:.0} ms after asking for the page, median of 5", firsts[2])
        .unwrap();
    writeln!(said, "16 rows in WASM {rows:.1} ms").unwrap();
    [firsts[2], rows]
}

/// The median of the milliseconds that drawing takes, over the largest of the
/// public images: a million tiles.
fn panning(said: &mut String) -> f64 {
    let hash = "#view=map&row=qwen3.8-27b-ggml-org-q8_0&layout=4x64/512&lines=40000000-60000000";
    let opened = Opened::at(hash);
    let before = opened.browser.url();
    let frames = opened.browser.run_async(PAN);
    assert_ne!(opened.browser.url(), before, "it moved");
    let frames = frames.as_array().unwrap();
    assert_eq!(frames.len(), 200);
    let sorted = |at: usize| {
        let value = |frame: &Value| frame[at].as_f64().unwrap();
        let mut values: Vec<f64> = frames.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (times, operations) = (sorted(0), sorted(1));
    writeln!(
        said,
        "panning over 1018231 tiles, 200 frames: median {:.2} ms, worst {:.2} ms, \
         at most {:.0} operations",
        times[100], times[199], operations[199]
    )
    .unwrap();
    times[100]
}

/// GB/s of verifying an image in the page, and the page's sizes.
fn verifying(said: &mut String) -> f64 {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (checkpoint, image) = (folder.path().join("c.gguf"), folder.path().join("measured"));
    Synth::new(&HEADERS[1], 10, 0).unwrap().write(&checkpoint, false).unwrap();
    let [checkpoint, out] = [&checkpoint, &image].map(|path| path.to_str().unwrap());
    printed(&["pack", checkpoint, "--beat", "72", "--out", out, "--no-verify"]);
    let opened = Opened::at("");
    let browser = &opened.browser;
    browser.one("#open-folder").choose(&[&image]);
    browser.until("the image", || browser.url().contains("row=measured").then_some(()));
    opened.go("verify");
    browser.one("#verify-start").click();
    browser.until_true("return document.getElementById('verify-at').dataset.state === 'sound'");
    let speed = number(browser, "return Number(document.documentElement.dataset.verifyGbS)");
    writeln!(said, "verify: {}", browser.one("#verify-at").text()).unwrap();
    for name in ["index.html", "style.css", "wimg.js", "wimg.wasm"] {
        let script =
            "return fetch(arguments[0]).then(r => r.arrayBuffer()).then(b => b.byteLength)";
        let bytes = browser.run(script, &[name.into()]);
        writeln!(said, "{name} {bytes} bytes").unwrap();
    }
    speed
}

#[test]
fn it_is_quick() {
    let mut said = String::new();
    let [first, rows] = first_ledger(&mut said);
    let frame = panning(&mut said);
    let speed = verifying(&mut said);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    std::fs::write(target.join("page-measures.txt"), &said).unwrap();
    assert!(first < 3000.0 && rows < 500.0 && frame < 50.0 && speed > 0.02, "{said}");
}
