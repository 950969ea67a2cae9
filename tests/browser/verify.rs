//! Verifying an image in the page: all of it, in a worker.

use std::path::Path;

use wimg::verify::{VerifyOptions, verify};

use crate::Opened;
use crate::files;
use crate::webdriver::Browser;

/// Opens an image's folder, verifies it and gives the state and the damages.
fn verified(opened: &Opened, image: &Path) -> (String, Vec<String>) {
    let browser = &opened.browser;
    browser.one("#open-folder").choose(&[image]);
    let name = image.file_name().unwrap().to_str().unwrap();
    browser.until("the image", || browser.url().contains(&format!("row={name}")).then_some(()));
    opened.go("verify");
    verdict(browser)
}

/// Verifies the image that is shown: the state that comes of it, the damages.
pub(crate) fn verdict(browser: &Browser) -> (String, Vec<String>) {
    browser.one("#verify-start").click();
    let state = browser.until("a verdict", || {
        let state = browser.run("return document.getElementById('verify-at').dataset.state", &[]);
        state.as_str().filter(|state| ["sound", "bad"].contains(state)).map(str::to_owned)
    });
    let script = "return [...document.querySelectorAll('#damage li')].map(li => li.textContent)";
    let damages = browser.run(script, &[]);
    let damages = damages.as_array().unwrap().iter();
    (state, damages.map(|damage| damage.as_str().unwrap().to_owned()).collect())
}

/// What `wimg verify` finds.
pub(crate) fn found(image: &Path) -> Vec<String> {
    let report = verify(image, &VerifyOptions::default(), &|_| {}).unwrap();
    report.damage.iter().map(ToString::to_string).collect()
}

#[test]
fn without_an_image_it_asks_for_its_folder() {
    let opened = Opened::at("#view=verify&row=qwen3.8-27b-ggml-org-q4_k_m&layout=4x72/512+check");
    let browser = &opened.browser;
    assert!(browser.all("#verify-start:not([hidden])").is_empty());
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("asked");
    files::image(&image, "4x72/512+check");
    browser.one("#verify-open:not([hidden]) input").choose(&[&image]);
    browser.until("the image", || browser.url().contains("row=asked").then_some(()));
    assert_eq!(verdict(browser), ("sound".to_owned(), Vec::new()));
    assert!(browser.all("#verify-open:not([hidden])").is_empty());
}

#[test]
fn a_sound_image_is_said_to_be_and_a_damaged_tile_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Opened::at("");
    let mut images = 0;
    for layout in ["4x72/512+check", "4x64/512", "3x32/64+check+stripe2+slot8"] {
        let image = folder.path().join(format!("image-{images}"));
        files::image(&image, layout);
        assert_eq!(verified(&opened, &image), ("sound".to_owned(), Vec::new()), "{layout}");
        files::damage(&image.join("channel-1.bin"), 100_000);
        let damaged = folder.path().join(format!("damaged-{images}"));
        std::fs::rename(&image, &damaged).unwrap();
        let (state, damages) = verified(&opened, &damaged);
        let mut expected = found(&damaged);
        assert!(expected.iter().any(|text| text.starts_with("tile ")), "{expected:?}");
        let mut damages_sorted = damages.clone();
        damages_sorted.sort();
        expected.sort();
        assert_eq!((state.as_str(), damages_sorted), ("bad", expected), "{layout}");
        images += 1;
    }
    assert_eq!(images, 3);
    // Its link leads to the tile on the map.
    let browser = &opened.browser;
    let link = browser.one("#damage a[data-tile]");
    let text = link.text();
    link.click();
    browser.until_true("return !document.getElementById('map-view').hidden");
    let tile = text.trim_start_matches("tile ").split(':').next().unwrap().to_owned();
    assert!(browser.url().contains(&format!("tile={tile}")), "{}: {text}", browser.url());
}
