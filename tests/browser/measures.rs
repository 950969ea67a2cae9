//! How quick the page is: written to `target/page-measures.txt`, and held to
//! bounds that a slow machine under load still keeps.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use wimg_core::HEADERS;

use crate::Opened;
use crate::program::Served;
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

#[test]
fn it_is_quick() {
    let mut said = String::new();
    let browser = Browser::start().unwrap();
    let served = Served::start(None);
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
    writeln!(said, "first ledger {:.0} ms after asking for the page (median of 5)", firsts[2])
        .unwrap();
    let ledger = number(&browser, "return Number(document.documentElement.dataset.ledgerMs)");
    writeln!(said, "16 rows in WASM {ledger:.1} ms").unwrap();
    drop((browser, served));

    // A million tiles: the largest of the public images.
    let hash = "#view=map&row=qwen3.8-27b-ggml-org-q8_0&layout=4x64/512&lines=40000000-60000000";
    let opened = Opened::at(hash);
    let browser = &opened.browser;
    let script = "const done = arguments[arguments.length - 1];
        const map = document.getElementById('map'), times = [];
        map.focus();
        const step = () => {
            if (times.length === 200) return done(times);
            const code = times.length % 100 < 50 ? 'ArrowRight' : 'ArrowLeft';
            map.dispatchEvent(new KeyboardEvent('keydown', { key: code, bubbles: true }));
            requestAnimationFrame(() => requestAnimationFrame(() => {
                times.push([Number(document.documentElement.dataset.drawMs),
                    Number(document.documentElement.dataset.drawOps)]);
                step();
            }));
        };
        step()";
    let before = browser.url();
    let frames = browser.run_async(script);
    assert_ne!(browser.url(), before, "it moved");
    let column = |at: usize| -> Vec<f64> {
        let mut values: Vec<f64> = frames
            .as_array()
            .unwrap()
            .iter()
            .map(|frame: &Value| frame[at].as_f64().unwrap())
            .collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (times, operations) = (column(0), column(1));
    assert_eq!(times.len(), 200);
    writeln!(
        said,
        "drawing 1018231 tiles while panning, 200 frames: median {:.2} ms, worst {:.2} ms, at most {:.0} operations",
        times[100], times[199], operations[199]
    )
    .unwrap();

    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (checkpoint, image) = (folder.path().join("c.gguf"), folder.path().join("measured"));
    wimg::synth::Synth::new(&HEADERS[1], 10, 0).unwrap().write(&checkpoint, false).unwrap();
    let [checkpoint, out] = [&checkpoint, &image].map(|path| path.to_str().unwrap());
    crate::program::printed(&["pack", checkpoint, "--beat", "72", "--out", out, "--no-verify"]);
    browser.one("#open-folder").choose(&[&image]);
    browser.until("the image", || browser.url().contains("row=measured").then_some(()));
    opened.go("verify");
    browser.one("#verify-start").click();
    browser.until_true("return document.getElementById('verify-at').dataset.state === 'sound'");
    let speed = number(browser, "return Number(document.documentElement.dataset.verifyGbS)");
    writeln!(said, "verifying {:.2} GB/s: {}", speed, browser.one("#verify-at").text()).unwrap();
    for name in ["index.html", "style.css", "wimg.js", "wimg.wasm"] {
        let script =
            "return fetch(arguments[0]).then(r => r.arrayBuffer()).then(b => b.byteLength)";
        let bytes = browser.run(script, &[name.into()]);
        writeln!(said, "{name} {bytes} bytes").unwrap();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    std::fs::write(root.join("page-measures.txt"), &said).unwrap();
    assert!(firsts[2] < 3000.0 && ledger < 500.0 && times[100] < 50.0 && speed > 0.02, "{said}");
}
