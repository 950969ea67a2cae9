//! The channel map of a public checkpoint, and what another layout would cost.

use serde_json::Value;
use wimg_core::{HEADERS, ImageLayout, Plan, Selection, Tile};

use crate::ledger::known;
use crate::webdriver::{Browser, key};
use crate::{Opened, digits};

/// The map of a public checkpoint's image.
const MAP: &str = "#view=map&row=qwen3.8-27b-ggml-org-q4_k_m&layout=4x72/512+check";

/// The plan that the map shows, made by the core here.
fn plan() -> Plan {
    let header = HEADERS.iter().find(|h| h.name == "qwen3.8-27b-ggml-org-q4_k_m").unwrap();
    let selected = Selection::Machine.of(&header.table()).unwrap();
    Plan::of(selected, &ImageLayout::beat72(), Vec::new()).unwrap()
}

/// The value of a fact of the details.
fn fact(browser: &Browser, name: &str) -> String {
    browser.one(&format!("#details td[data-fact='{name}']")).text()
}

/// The number of the pinned tile, from the address.
fn pinned(browser: &Browser) -> Option<u64> {
    parameter(browser, "tile")?.parse().ok()
}

fn parameter(browser: &Browser, name: &str) -> Option<String> {
    let url = browser.url();
    let (_, hash) = url.split_once('#')?;
    let of_name = |pair: &&str| pair.split_once('=').is_some_and(|(key, _)| key == name);
    let pair = hash.split('&').find(of_name)?;
    Some(pair.split_once('=')?.1.to_owned())
}

/// Holds the details of the pinned tile against the core's.
fn assert_details(browser: &Browser, plan: &Plan, tile: &Tile) {
    let name = &plan.image().tensors()[tile.tensor].name;
    assert_eq!(&fact(browser, "tensor"), name);
    for (fact_name, number) in [
        ("tile of the image", tile.index),
        ("channel", tile.channel),
        ("line", tile.line),
        ("row", tile.first_row),
        ("byte in the file", tile.line * 72),
    ] {
        assert_eq!(digits(&fact(browser, fact_name)), number.to_string(), "{fact_name} of {name}");
    }
}

/// The map's canvas: left, top, width and height in the view.
fn canvas(browser: &Browser) -> [i64; 4] {
    let script =
        "const map = document.getElementById('map'); map.scrollIntoView({ block: 'center' });
        const box = map.getBoundingClientRect();
        return [box.left, box.top, box.width, box.height].map(Math.round)";
    let values = browser.run(script, &[]);
    [0, 1, 2, 3].map(|at| values[at].as_i64().unwrap())
}

#[test]
fn a_tile_is_found_by_pointing_clicking_and_zooming() {
    let opened = Opened::at(MAP);
    let (browser, plan) = (&opened.browser, plan());
    let [left, top, width, height] = canvas(browser);
    let (x, y) = (left + width * 2 / 3, top + height / 5);
    browser.point(x, y, false);
    let glance = browser.until("a glance", || {
        let text = browser.one("#map-at").text();
        text.contains("· tile ").then_some(text)
    });
    browser.point(x, y, true);
    let index = browser.until("a pinned tile", || pinned(browser));
    let tile = plan.image().tile(index).unwrap();
    let name = &plan.image().tensors()[tile.tensor].name;
    assert!(glance.starts_with(&format!("{name} · tile ")), "{glance}");
    assert_details(browser, &plan, &tile);
    assert_eq!(plan.image().at(tile.channel, tile.line).unwrap(), tile, "the way back");

    // From the whole image to this tile by its key.
    browser.press("f");
    let lines = browser.until("the tile's lines", || parameter(browser, "lines"));
    let (from, to) = lines.split_once('-').unwrap();
    let (from, to): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
    assert!(from <= tile.line && tile.line + tile.lines <= to, "{lines}: {tile:?}");
    assert!(to - from <= 4 * tile.lines, "{lines}: {tile:?}");
    // The neighbour on the channel, by button, key, and its address.
    browser.one("[data-do='tile-next']").click();
    let next = plan.image().at(tile.channel, tile.line + tile.lines).unwrap();
    browser.until("the next tile", || (pinned(browser) == Some(next.index)).then_some(()));
    assert_details(browser, &plan, &next);
    browser.press("[");
    browser.until("the first tile", || (pinned(browser) == Some(index)).then_some(()));
    let place = browser.one("#place");
    place.clear();
    place.enter(&format!("{}:{}{}", next.channel, next.line, key::ENTER));
    browser.until("the place's tile", || (pinned(browser) == Some(next.index)).then_some(()));
    place.clear();
    place.enter(&format!("9:0{}", key::ENTER));
    browser.until("an error", || browser.one("#place-error").text().contains('9').then_some(()));
    browser.press(key::ESCAPE);
}

#[test]
fn tensors_are_searched_forth_and_back() {
    let opened = Opened::at(MAP);
    let (browser, plan) = (&opened.browser, plan());
    let found: Vec<usize> = plan
        .image()
        .tensors()
        .iter()
        .enumerate()
        .filter(|(_, tensor)| tensor.name.contains("ffn_down"))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(found.len(), 64);
    browser.one("#find").enter("FFN_down");
    browser.until("a count", || browser.one("#find-count").text().contains("64").then_some(()));
    let at = |place: usize| {
        let start = plan.image().placements()[found[place]].tiles.start;
        browser.until("the match", || (pinned(browser) == Some(start)).then_some(()));
    };
    for (button, place) in [("find-next", 0), ("find-next", 1), ("find-back", 0), ("find-back", 63)]
    {
        browser.one(&format!("[data-do='{button}']")).click();
        at(place);
    }
    assert_eq!(fact(browser, "tensor"), "blk.63.ffn_down.weight");
}

#[test]
fn a_link_shows_what_was_seen() {
    let opened = Opened::at(MAP);
    let browser = &opened.browser;
    browser.run("document.getElementById('colour').value = 'format'; document.getElementById('colour').dispatchEvent(new Event('change', { bubbles: true }))", &[]);
    browser.one("#find").enter("blk.8. ssm_conv1d");
    browser.one("[data-do='find-next']").click();
    browser.one("[data-do='zoom-out']").click();
    browser.one("[data-do='zoom-out']").click();
    browser.until("lines", || parameter(browser, "lines"));
    let seen = |browser: &Browser| -> Value {
        let script = "return [location.hash, document.title,
            document.getElementById('map').ariaLabel, document.getElementById('details').innerText,
            document.getElementById('legend').innerText, document.getElementById('find').value]";
        browser.until_true("return document.getElementById('details').innerText.length > 100");
        browser.run(script, &[])
    };
    let url = browser.until("a settled view", || {
        let url = browser.url();
        std::thread::sleep(std::time::Duration::from_millis(300));
        (url == browser.url()).then_some(url)
    });
    let first = seen(browser);
    let other = Browser::start().unwrap();
    other.open(&url);
    other.until_true("return document.getElementById('starting').hidden");
    assert_eq!(seen(&other), first);
    // And back: what was seen before the map was opened by its link.
    opened.go("skew");
    browser.until_true("return !document.getElementById('skew-view').hidden");
    browser.run("history.back()", &[]);
    browser.until_true("return !document.getElementById('map-view').hidden");
    // A link from elsewhere is never an error.
    other.open(&format!("{}#view=map&row=no-such&layout=0x0&tile=-1&lines=9-2", opened.served.url));
    other.until_true("return document.getElementById('starting').hidden");
    assert_eq!(other.complaints(), [""; 0]);
}

#[test]
fn another_layout_is_planned_as_one_types() {
    let opened = Opened::at(&MAP.replace("view=map", "view=what-if"));
    let browser = &opened.browser;
    let figure = |name: &str| -> [String; 2] {
        let script = "const line = [...document.querySelectorAll('#compare-rows tr')]
            .find(line => line.children[0].innerText === arguments[0]);
            return [...line.children].slice(1, 3).map(cell => cell.innerText)";
        let values = browser.run(script, &[name.into()]);
        [0, 1].map(|at| values[at].as_str().unwrap().to_owned())
    };
    let type_into = |id: &str, text: &str| {
        let field = browser.one(&format!("#{id}"));
        field.clear();
        field.enter(&format!("{text}{}", key::ENTER));
    };
    type_into("other-line_bytes", "64");
    type_into("other-tile_lines", "100");
    type_into("other-stripe", "8");
    let layout = browser.one("#other-text").text();
    assert_eq!(layout, "4x64/100+stripe8");
    let of = |layout: &str| {
        let rows = known(&["--layout", layout]);
        rows.into_iter().find(|row| row["checkpoint"] == "qwen3.8-27b-ggml-org-q4_k_m").unwrap()
    };
    let (this, other) = (of("4x72/512+check"), of(&layout));
    for (name, key) in
        [("tiles", "tiles"), ("row bytes", "row_bytes"), ("padding bytes", "padding_bytes")]
    {
        let shown = figure(name).map(|text| digits(&text));
        assert_eq!(shown, [this[key].to_string(), other[key].to_string()], "{name}");
    }
    type_into("other-channels", "257");
    browser.until("an error", || browser.one("#knob-error").text().contains("257").then_some(()));
}

#[test]
fn the_map_is_saved_and_its_layout_copied() {
    use base64::Engine;
    let opened = Opened::at(MAP);
    let browser = &opened.browser;
    let mut saved = Vec::new();
    for view in ["map", "skew"] {
        opened.go(view);
        browser.one(&format!("#{view}-view [data-do='save-png']")).click();
        let bytes = std::fs::read(browser.downloaded(&format!("{view}.png"))).unwrap();
        // The picture that is on the screen, in all its pixels.
        let script = "const canvas = document.getElementById(arguments[0]);
            return [canvas.width, canvas.height, canvas.toDataURL().split(',')[1]]";
        let shown = browser.run(script, &[view.into()]);
        let picture = base64::engine::general_purpose::STANDARD.decode(shown[2].as_str().unwrap());
        assert_eq!(bytes, picture.unwrap(), "{view}");
        let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(shown[0], side(16), "its width, after the signature and IHDR");
        assert_eq!(shown[1], side(20));
        assert!(shown[0].as_u64() > Some(500) && bytes.len() > 3000, "it is more than a ground");
        saved.push(bytes);
    }
    assert_ne!(saved[0], saved[1]);
    browser.permit_clipboard(&opened.served.url);
    for (view, button, text) in
        [("map", "copy-layout", "4x72/512+check"), ("what-if", "copy-other", "4x64/512")]
    {
        opened.go(view);
        browser.one(&format!("[data-do='{button}']")).click();
        assert_eq!(browser.run("return navigator.clipboard.readText()", &[]), text);
        assert_eq!(browser.one("#foot").text(), format!("Copied {text}."));
    }
}
