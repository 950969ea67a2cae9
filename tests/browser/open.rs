//! What a person opens: files and folders, through the page's file inputs.

use std::path::{Path, PathBuf};
use std::process::Command;

use wimg_core::gguf::{self, Read};
use wimg_core::{HEADERS, Selection};
use wimg_tests::vectors;

use crate::files;
use crate::ledger::{assert_same, known, rows};
use crate::program::printed;
use crate::verify;
use crate::webdriver::Browser;
use crate::{Opened, digits};

/// Chooses files, and waits until the ledger has this many rows more than its own.
fn choose(browser: &Browser, paths: &[&Path], more: usize) {
    browser.one("#open-files").choose(paths);
    browser.until("the opened rows", || (rows(browser).len() == 16 + more).then_some(()));
}

fn text_of(browser: &Browser, id: &str) -> String {
    let script = "return document.getElementById(arguments[0]).innerText";
    browser.run(script, &[id.into()]).as_str().unwrap().to_owned()
}

#[test]
fn a_checkpoint_and_its_image_show_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let checkpoint = vectors::path(files::CHECKPOINT);
    files::image(&image, "4x72/512+check");
    let opened = Opened::at("");
    let browser = &opened.browser;
    choose(browser, &[&checkpoint], 2);
    assert_same(&rows(browser)[16..], &known(&[checkpoint.to_str().unwrap()]));
    browser.one("#open-folder").choose(&[&image]);
    browser.until("the image's row", || (rows(browser).len() == 19).then_some(()));
    assert_same(&rows(browser)[18..], &known(&[image.to_str().unwrap()]));

    // The first tile, packed here and now and as it was packed.
    let hash =
        format!("{}#view=map&row=image&layout=4x72/512+check&select=all&tile=0", opened.served.url);
    browser.run("location.hash = arguments[0]", &[hash.split_once('#').unwrap().1.into()]);
    let hex = browser.until("the tile's bytes", || {
        let text = text_of(browser, "bytes");
        let both = ["Packed here", "As the image has it"];
        both.iter().all(|source| text.contains(source)).then_some(text)
    });
    let channel = std::fs::read(image.join("channel-0.bin")).unwrap();
    let line: Vec<String> = channel[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex.matches(&line.join(" ")).count(), 2, "{hex}");
}

#[test]
fn a_split_set_is_one_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let shards = files::split(folder.path());
    let opened = Opened::at("");
    let browser = &opened.browser;
    // One of two: said, and nothing is opened.
    browser.one("#open-files").choose(&[&shards[1]]);
    browser.until("what is missing", || {
        text_of(browser, "alerts").contains("of its 2 shards, number 1 is missing").then_some(())
    });
    choose(browser, &[&shards[1], &shards[0]], 2);
    let name = shards[0].to_str().unwrap();
    assert_same(&rows(browser)[16..], &known(&[name]));
}

/// Bytes of a file that the system holds in memory: what was read of it, once
/// it was written back and let go.
fn resident(path: &Path) -> u64 {
    let output = Command::new("fincore")
        .args(["--bytes", "--noheadings", "--output", "RES"])
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().unwrap_or_else(|_| panic!("fincore says `{text}`"))
}

#[test]
fn of_six_gibibytes_only_the_header_is_read() {
    // Beside the build: where temporary files are may be memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("large.gguf");
    let synth = wimg::synth::Synth::new(&HEADERS[0], 2, 0).unwrap();
    synth.write_sparse(&path, false).unwrap();
    assert!(path.metadata().unwrap().len() > 6 << 30);
    let forget = || {
        let file = std::fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    };
    forget();
    assert!(resident(&path) < 1 << 20, "{} bytes are still in memory", resident(&path));
    let opened = Opened::at("");
    choose(&opened.browser, &[&path], 2);
    let read = resident(&path);
    assert!((1 << 20..32 << 20).contains(&read), "{read} bytes were read");
    // By the page's own count, too.
    let script = "return Number(document.documentElement.dataset.bytesRead)";
    let counted = opened.browser.run(script, &[]).as_u64().unwrap();
    assert!((1 << 20..32 << 20).contains(&counted), "{counted} bytes were read");
    // The sabotage: reading more does count.
    let mut more = std::fs::File::open(&path).unwrap();
    std::io::copy(&mut std::io::Read::take(&mut more, 64 << 20), &mut std::io::sink()).unwrap();
    assert!(resident(&path) > 32 << 20, "{}", resident(&path));
}

/// What the core says of a file, if it is no checkpoint's shard.
fn fault(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).unwrap();
    let mut prefix = 0;
    loop {
        match gguf::read(&bytes[..prefix], bytes.len() as u64) {
            Err(error) => return Some(error.to_string()),
            Ok(Read::Header(_)) => return None,
            Ok(Read::More { at_least }) => prefix = usize::try_from(at_least).unwrap(),
        }
    }
}

#[test]
fn files_that_are_no_good_are_said_to_be_by_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/malformed");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file() && path.extension().is_some_and(|end| end == "gguf"));
    paths.sort();
    let faults: Vec<(&PathBuf, String)> =
        paths.iter().filter_map(|path| Some((path, fault(path)?))).collect();
    assert!(faults.len() > 40, "{} files are no good", faults.len());
    let opened = Opened::at("");
    let browser = &opened.browser;
    let chosen: Vec<&Path> = faults.iter().map(|(path, _)| path.as_path()).collect();
    browser.one("#open-files").choose(&chosen);
    let script = "return [...document.querySelectorAll('#alerts p span')].map(s => s.textContent)";
    let alerts = browser.until("an alert a file", || {
        let alerts = browser.run(script, &[]).as_array().unwrap().clone();
        (alerts.len() == faults.len()).then_some(alerts)
    });
    for ((path, fault), alert) in faults.iter().zip(&alerts) {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(alert.as_str().unwrap(), format!("{name}: {fault}"));
    }
    assert_eq!(rows(browser).len(), 16);
    browser.one("#alerts p:last-child button").click();
    browser.until("one alert less", || {
        (browser.all("#alerts p").len() == faults.len() - 1).then_some(())
    });
}

#[test]
fn names_from_files_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("<img src=x onerror=window.owned=1>.gguf");
    let tensor = "<img src=x onerror=window.owned=1>";
    files::named(&path, tensor, "</script><img src=x onerror=window.owned=1>");
    let opened = Opened::at("");
    let browser = &opened.browser;
    choose(browser, &[&path], 2);
    assert!(
        text_of(browser, "ledger-rows").contains("</script><img src=x onerror=window.owned=1>")
    );
    opened.go("map");
    browser.one("#find").enter("img");
    browser.one("[data-do='find-next']").click();
    browser
        .until("the tensor's name", || text_of(browser, "details").contains(tensor).then_some(()));
    browser.one("#map-table-box summary").click();
    browser.until("the table", || text_of(browser, "map-rows").contains(tensor).then_some(()));
    for view in ["what-if", "skew", "verify", "ledger"] {
        opened.go(view);
        browser.until_true(&format!("return !document.getElementById('{view}-view').hidden"));
    }
    let unharmed = "return document.images.length === 0 && window.owned === undefined";
    assert_eq!(browser.run(unharmed, &[]), true);
    // The sabotage: as markup it would have been noticed.
    let script = "document.body.insertAdjacentHTML('beforeend', arguments[0])";
    browser.run(script, &[tensor.into()]);
    assert_eq!(browser.run(unharmed, &[]), false);
    // And even then the policy would have stopped it.
    browser.until("the policy", || {
        browser.complaints().iter().any(|text| text.contains("Security Policy")).then_some(())
    });
    assert_eq!(browser.run("return window.owned === undefined", &[]), true);
}

#[test]
fn an_image_json_and_a_ledger_open_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("sweep.jsonl");
    let text = printed(&["ledger", "--format", "json", "--layout", "2x64/64"]);
    std::fs::write(&ledger, text).unwrap();
    let opened = Opened::at("");
    let browser = &opened.browser;
    choose(browser, &[&ledger], 8);
    let layouts = rows(browser)[16..].iter().filter(|row| row["layout"][0] == "2x64/64").count();
    assert_eq!(layouts, 8);
    let image = folder.path().join("image");
    files::image_of(&image, "3x32/16", Selection::Machine);
    choose(browser, &[&image.join("image.json")], 9);
    assert_same(&rows(browser)[24..], &known(&[image.to_str().unwrap()]));
    opened.go("map");
    let tiles = known(&[image.to_str().unwrap()])[0]["tiles"].to_string();
    browser
        .until("its tiles", || digits(&text_of(browser, "figures")).contains(&tiles).then_some(()));
}

#[test]
fn files_and_folders_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("dropped image");
    files::image(&image, "4x72/512+check");
    let checkpoint = vectors::path(files::CHECKPOINT);
    let opened = Opened::at("");
    let browser = &opened.browser;
    let sign = "return !document.getElementById('drop').hidden";
    assert_eq!(browser.run(sign, &[]), false);
    browser.drag(&[&checkpoint, &image], false);
    browser.until_true(sign);
    browser.drag(&[&checkpoint, &image], true);
    browser.until("what was dropped", || (rows(browser).len() == 16 + 3).then_some(()));
    assert_eq!(browser.run(sign, &[]), false);
    let known = [known(&[checkpoint.to_str().unwrap()]), known(&[image.to_str().unwrap()])];
    assert_same(&rows(browser)[16..], &known.concat());
    // With all its files: it can be verified.
    browser.one("#ledger-rows tr:last-child a").click();
    opened.go("verify");
    assert_eq!(verify::verdict(browser), ("sound".to_owned(), Vec::new()));
    // What is no file of a file system, as some programs drop it; and nothing.
    opened.go("ledger");
    let script = "const transfer = new DataTransfer();
        const file = new File([arguments[0]], 'mailed.jsonl');
        if (arguments[0]) transfer.items.add(file);
        transfer.setData('text/plain', 'words');
        const drop = new DragEvent('drop', { dataTransfer: transfer, bubbles: true });
        document.body.dispatchEvent(drop)";
    let sweep = printed(&["ledger", "--format", "json", "--layout", "2x64/64"]);
    browser.run(script, &[sweep.into()]);
    browser.until("the ledger", || (rows(browser).len() == 16 + 3 + 8).then_some(()));
    browser.run(script, &["".into()]);
    let alert = browser.one("#alerts span").text();
    assert_eq!(alert, "There is no checkpoint, image, ledger or report among these files.");
}
