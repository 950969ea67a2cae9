//! `wimg serve` as another program on the machine sees it.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::Opened;
use crate::files;
use crate::ledger::{assert_same, known, rows};
use crate::program::{Served, printed, wimg};
use crate::verify;

/// What the server answers to bytes.
fn exchange(served: &Served, request: &str) -> String {
    let mut stream = TcpStream::connect(served.host()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn it_serves_what_it_must_and_refuses_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("served");
    std::fs::create_dir(&dir).unwrap();
    files::image(&dir.join("image"), "4x72/512+check");
    let ledger = printed(&["ledger", "--format", "json"]);
    std::fs::write(dir.join("known.jsonl"), &ledger).unwrap();
    std::fs::write(folder.path().join("secret.jsonl"), &ledger).unwrap();
    std::os::unix::fs::symlink("../secret.jsonl", dir.join("leak.jsonl")).unwrap();
    let served = Served::start(Some(&dir));
    let host = format!("Host: {}\r\n", served.host());
    let mut cases = 0;
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\n{host}\r\n"), "200"),
        (format!("GET /wimg.wasm HTTP/1.1\r\n{host}\r\n"), "200"),
        (format!("HEAD /data/known.jsonl HTTP/1.1\r\n{host}\r\n"), "200"),
        (
            format!("GET /data/image/channel-0.bin HTTP/1.1\r\n{host}Range: bytes=0-71\r\n\r\n"),
            "206",
        ),
        (format!("GET /data/leak.jsonl HTTP/1.1\r\n{host}\r\n"), "404"),
        (format!("GET /data/../secret.jsonl HTTP/1.1\r\n{host}\r\n"), "404"),
        (format!("GET /data/%2e%2e/secret.jsonl HTTP/1.1\r\n{host}\r\n"), "404"),
        (format!("POST / HTTP/1.1\r\n{host}Content-Length: 0\r\n\r\n"), "405"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "403"),
        (format!("GET / HTTP/1.1\r\n{host}X: {}\r\n\r\n", "y".repeat(17_000)), "431"),
    ] {
        let answer = exchange(&served, &request);
        assert_eq!(answer.split(' ').nth(1), Some(status), "{request:.80}: {answer:.200}");
        cases += 1;
    }
    assert_eq!(cases, 10);
    let index = exchange(&served, &format!("GET /data/index.json HTTP/1.1\r\n{host}\r\n"));
    let (_, index) = index.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        index,
        "{\"ledgers\":[\"known.jsonl\"],\
         \"images\":[{\"path\":\"image\",\"manifest\":\"image/image.json\"}],\
         \"reports\":[],\"whole\":true}"
    );
}

#[test]
fn an_address_for_others_is_warned_of_and_a_bad_one_is_an_error() {
    let output = wimg(&["serve", "--no-open", "--host", "192.0.2.1"]);
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("wimg: listening on `192.0.2.1` port 0: "), "{text}");
    let output = wimg(&["serve", "no-such-folder"]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("wimg: `no-such-folder`: "), "{text}");
}

#[test]
fn what_lies_in_the_folder_is_in_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("deep er/50% #1?");
    std::fs::create_dir_all(image.parent().unwrap()).unwrap();
    files::image(&image, "4x72/512+check");
    let sweep = ["--format", "json", "--layout", "2x64/64"];
    let text = printed(&[&["ledger"], &sweep[..]].concat());
    std::fs::write(folder.path().join("sweep.jsonl"), text).unwrap();
    let opened = Opened::of(Served::start(Some(folder.path())), "");
    let browser = &opened.browser;
    browser.until("the folder's rows", || (rows(browser).len() == 16 + 8 + 1).then_some(()));
    assert_same(&rows(browser)[16..24], &known(&["--layout", "2x64/64"]));
    assert_same(&rows(browser)[24..], &known(&[image.to_str().unwrap()]));
    // Over the server, byte for byte.
    browser.one("#ledger-rows tr:last-child a").click();
    opened.go("verify");
    assert_eq!(verify::verdict(browser), ("sound".to_owned(), Vec::new()));
    files::damage(&image.join("channel-2.bin"), 5000);
    let (state, damages) = verify::verdict(browser);
    assert_eq!((state.as_str(), damages.len()), ("bad", verify::found(&image).len()));
}
