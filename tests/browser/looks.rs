//! Pictures of the page for who works on it, in `target/screenshots`; and that
//! nothing sticks out of a phone's width.

use std::path::Path;

use crate::Opened;
use crate::night::Night;
use crate::program::Served;

/// What is pictured: a name, and the address of the view.
const VIEWS: &[(&str, &str)] = &[
    ("night", "#view=night"),
    ("ledger", "#view=ledger"),
    ("map", "#view=map&row=qwen3.8-27b-ggml-org-q4_k_m&layout=4x72/512+check&tile=123456"),
    (
        "tile",
        "#view=map&row=qwen3.8-27b-ggml-org-q4_k_m&layout=4x72/512+check&colour=format&tile=100000&lines=11400000-11410000",
    ),
    ("what-if", "#view=what-if&row=qwen3.8-27b-ggml-org-q4_k_m&layout=4x72/512+check"),
    ("skew", "#view=skew&row=qwen3.8-27b-ggml-org-q4_k_m&layout=4x72/512+check"),
    ("verify", "#view=verify&row=qwen3.8-27b-ggml-org-q4_k_m&layout=4x72/512+check"),
];

#[test]
fn light_dark_and_narrow() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    let night = Night::new();
    night.pass(3);
    let opened = Opened::of(Served::start(Some(night.folder.path())), "");
    let browser = &opened.browser;
    let mut backgrounds = Vec::new();
    for (look, scheme, width, height) in [
        ("light", "light", 1280, 1000),
        ("dark", "dark", 1280, 1000),
        ("narrow", "light", 360, 1200),
        ("wide", "light", 1920, 1080),
    ] {
        browser.prefer("prefers-color-scheme", scheme);
        browser.resize(width, height);
        for (name, hash) in VIEWS {
            browser.open("about:blank");
            browser.open(&format!("{}{hash}", opened.served.url));
            browser.until_true("return document.getElementById('starting').hidden");
            // Drawn before a frame.
            std::thread::sleep(std::time::Duration::from_millis(150));
            std::fs::write(folder.join(format!("{name}-{look}.png")), browser.picture()).unwrap();
            // Nothing sticks out, also where a scroll bar takes some of the width.
            let script = "const page = document.documentElement;
                return page.scrollWidth - page.clientWidth";
            assert_eq!(browser.run(script, &[]), 0, "{name}, {look}: pixels that stick out");
        }
        let script = "return getComputedStyle(document.body).backgroundColor";
        backgrounds.push(browser.run(script, &[]).as_str().unwrap().to_owned());
    }
    assert_ne!(backgrounds[0], backgrounds[1], "dark is another colour");
    assert_eq!(backgrounds[0], backgrounds[2]);
    // On a screen that most people have, the ledger shows all of its columns.
    browser.resize(1280, 1000);
    browser.open(&format!("{}#view=ledger", opened.served.url));
    browser.until_true("return document.getElementById('starting').hidden");
    let script = "const box = document.querySelector('#ledger-view .scroll');
        return box.scrollWidth - box.clientWidth";
    assert_eq!(browser.run(script, &[]), 0, "pixels of the ledger that hide");
    // By hand, whatever the system likes; and it is remembered.
    browser.resize(1280, 900);
    browser.one("#theme").click();
    let script = "return getComputedStyle(document.body).backgroundColor";
    browser.until("dark", || (browser.run(script, &[]) == backgrounds[1].as_str()).then_some(()));
    browser.open(&opened.served.url);
    browser.until("dark", || (browser.run(script, &[]) == backgrounds[1].as_str()).then_some(()));
}
