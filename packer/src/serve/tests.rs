//! The server as a client sees it, over sockets.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::page::PageFile;

const PAGE: Page = Page {
    files: &[
        PageFile { name: "index.html", media: "text/html; charset=utf-8", bytes: b"<p>page" },
        PageFile { name: "wimg.wasm", media: "application/wasm", bytes: b"\0asm" },
    ],
};

/// How a night's report begins; this one breaks off, which is the page's to say.
const REPORT: &str = "{\n  \"format\": 1,\n  \"image_format\": 1,";

/// A folder with a ledger, two images, a report and what must not be served.
fn folder() -> tempfile::TempDir {
    let all = tempfile::tempdir().unwrap();
    let dir = all.path().join("served");
    let row = include_str!("../../core/src/ledger/ledger.jsonl");
    for (path, text) in [
        ("served/a.jsonl", row),
        ("served/b/c d/two.jsonl", row),
        ("served/chat.jsonl", "{\"role\":\"user\"}\n"),
        ("served/b/report.json", REPORT),
        ("served/report.json", "{\"format\":1,\"private\":[]}"),
        ("served/b/other.json", REPORT),
        ("served/notes.txt", "private"),
        ("served/channel-0.bin", "no image's"),
        ("served/.hidden/a.jsonl", row),
        ("served/image/image.json", "{}"),
        ("served/image/channel-0.bin", "0123456789"),
        ("served/image/key.pem", "private"),
        ("served/b/image/image.json", "{}"),
        ("secret.jsonl", row),
        ("secret/image.json", "{}"),
    ] {
        fs::create_dir_all(all.path().join(path).parent().unwrap()).unwrap();
        fs::write(all.path().join(path), text).unwrap();
    }
    symlink("../secret.jsonl", dir.join("leak.jsonl")).unwrap();
    symlink("../secret", dir.join("leak")).unwrap();
    symlink("a.jsonl", dir.join("near.jsonl")).unwrap();
    all
}

fn start(dir: Option<&Path>, limits: ServeLimits) -> SocketAddr {
    let options = ServeOptions { dir: dir.map(Path::to_owned), limits, ..ServeOptions::default() };
    let server = Server::bind(PAGE, &options).unwrap();
    let address = server.address;
    assert!(server.is_local());
    assert_eq!(server.url(), format!("http://127.0.0.1:{}/", address.port()));
    std::thread::spawn(move || server.run());
    address
}

/// Sends bytes and reads what comes back, until the server closes. One that is
/// turned away before its request was read may see a reset.
fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The server may have answered and closed before all of it is sent.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(cause) if cause.kind() != io::ErrorKind::ConnectionReset => panic!("{cause}"),
        _ => {}
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: SocketAddr, path: &str, fields: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n");
    exchange(address, request.as_bytes())
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn the_page_and_its_policy_are_served() {
    let address = start(None, ServeLimits::default());
    let answer = get(address, "/", "");
    assert_eq!((status(&answer), body(&answer)), ("200", "<p>page"));
    expect_test::expect![[r#"
        HTTP/1.1 200 OK
        Content-Type: text/html; charset=utf-8
        Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        X-Content-Type-Options: nosniff
        Cross-Origin-Resource-Policy: same-origin
        Cross-Origin-Opener-Policy: same-origin
        Referrer-Policy: no-referrer
        Cache-Control: no-store
        Connection: close
        Content-Length: 7

        <p>page"#]]
    .assert_eq(&answer.replace("\r\n", "\n"));
    assert!(!answer.to_lowercase().contains("access-control"));
    assert_eq!(body(&get(address, "/wimg.wasm", "")), "\0asm");
    assert_eq!(status(&get(address, "/wimg.js", "")), "404");
    assert_eq!(
        body(&get(address, "/data/index.json", "")),
        "{\"ledgers\":[],\"images\":[],\"reports\":[],\"whole\":true}"
    );
    let head = exchange(address, b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.contains("Content-Length: 7\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn ledgers_and_images_are_listed_and_served() {
    let all = folder();
    let address = start(Some(&all.path().join("served")), ServeLimits::default());
    assert_eq!(
        body(&get(address, "/data/index.json", "")),
        "{\"ledgers\":[\"a.jsonl\",\"b/c d/two.jsonl\",\"near.jsonl\"],\"images\":[\
         {\"path\":\"b/image\",\"manifest\":\"b/image/image.json\"},\
         {\"path\":\"image\",\"manifest\":\"image/image.json\"}],\
         \"reports\":[\"b/report.json\"],\"whole\":true}"
    );
    for (path, media) in [
        ("/data/a.jsonl", "application/x-ndjson"),
        ("/data/near.jsonl", "application/x-ndjson"),
        ("/data/b/c%20d/two.jsonl", "application/x-ndjson"),
        ("/data/image/image.json", "application/json"),
        ("/data/image/channel-0.bin", "application/octet-stream"),
        ("/data/b/report.json", "application/json"),
    ] {
        let answer = get(address, path, "");
        assert_eq!(status(&answer), "200", "{path}: {answer}");
        assert!(answer.contains(&format!("Content-Type: {media}\r\n")), "{path}: {answer}");
    }
    let part = get(address, "/data/image/channel-0.bin", "Range: bytes=2-4\r\n");
    assert_eq!((status(&part), body(&part)), ("206", "234"));
    assert!(part.contains("Content-Range: bytes 2-4/10\r\nContent-Length: 3\r\n"), "{part}");
    let outside = get(address, "/data/image/channel-0.bin", "Range: bytes=10-\r\n");
    assert_eq!(status(&outside), "416");
    assert!(outside.contains("Content-Range: bytes */10\r\n"), "{outside}");
    let fields = "Range: bytes=2-4\r\nIf-Range: \"x\"\r\n";
    assert_eq!(body(&get(address, "/data/image/channel-0.bin", fields)), "0123456789");
}

#[test]
fn nothing_else_is_served() {
    let all = folder();
    let address = start(Some(&all.path().join("served")), ServeLimits::default());
    let mut refused = 0;
    for path in [
        "/data/chat.jsonl",
        "/data/notes.txt",
        "/data/report.json",
        "/data/b/other.json",
        "/data/channel-0.bin",
        "/data/.hidden/a.jsonl",
        "/data/image/key.pem",
        "/data/image/channel-1.bin",
        "/data/image",
        "/data/",
        "/data",
        "/data/leak.jsonl",
        "/data/leak/image.json",
        "/data/../secret.jsonl",
        "/data/%2e%2e/secret.jsonl",
        "/data/..%2fsecret.jsonl",
        "/data/image/../../secret.jsonl",
        "/data//a.jsonl",
        "/data/a.jsonl%00",
        "/../../etc/passwd",
        "/etc/passwd",
        "/data/%2fetc%2fpasswd",
    ] {
        let answer = get(address, path, "");
        assert_eq!(status(&answer), "404", "{path}: {answer}");
        assert!(answer.contains("nosniff") && !answer.contains("private"), "{path}");
        refused += 1;
    }
    assert_eq!(refused, 22);
}

#[test]
fn requests_out_of_order_are_refused() {
    let address = start(None, ServeLimits::default());
    let host = "Host: 127.0.0.1\r\n";
    let mut cases = 0;
    for (request, expected) in [
        (format!("POST / HTTP/1.1\r\n{host}Content-Length: 5\r\n\r\nhello"), "405"),
        (format!("PUT / HTTP/1.1\r\n{host}\r\n"), "405"),
        (format!("OPTIONS * HTTP/1.1\r\n{host}\r\n"), "405"),
        (format!("get / HTTP/1.1\r\n{host}\r\n"), "405"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/1.1\r\n{host}{host}\r\n"), "400"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "403"),
        ("POST / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "403"),
        (format!("GET http://127.0.0.1/ HTTP/1.1\r\n{host}\r\n"), "400"),
        (format!("GET / HTTP/9.9\r\n{host}\r\n"), "400"),
        ("\u{16}\u{3}\u{1}\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/1.1\r\n{host}{}\r\n", "X: y\r\n".repeat(64)), "431"),
        (format!("GET / HTTP/1.1\r\n{host}X: {}\r\n\r\n", "y".repeat(20_000)), "431"),
        (format!("GET /{} HTTP/1.1\r\n{host}\r\n", "y".repeat(100_000)), "431"),
    ] {
        let answer = exchange(address, request.as_bytes());
        assert_eq!(status(&answer), expected, "{request:.60}: {answer}");
        cases += 1;
    }
    assert_eq!(cases, 14);
    assert_eq!(status(&get(address, "/", &"X: y\r\n".repeat(63))), "200", "63 fields and Host");
}

#[test]
fn a_slow_client_ends_and_hangs_nobody() {
    let limits = ServeLimits { head: Duration::from_millis(500), ..ServeLimits::default() };
    let address = start(None, limits);
    let mut slow: Vec<TcpStream> = (0..30)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
            stream
        })
        .collect();
    let started = Instant::now();
    assert_eq!(status(&get(address, "/", "")), "200");
    assert!(started.elapsed() < Duration::from_millis(450), "{:?}", started.elapsed());
    // A byte now and then does not prolong it.
    let mut answer = String::new();
    let one = &mut slow[0];
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(100));
        let _ = one.write_all(b"X");
    }
    one.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), "408", "{answer}");
}

#[test]
fn more_clients_than_the_limit_are_turned_away_and_come_back() {
    let limits = ServeLimits { connections: 2, ..ServeLimits::default() };
    let address = start(None, limits);
    let held: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(address).unwrap()).collect();
    // Accepted in the order in which they connected.
    let answer = get(address, "/", "");
    assert!(["503", ""].contains(&status(&answer)), "{answer}");
    drop(held);
    let back = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        status(&get(address, "/", "")) == "200"
    });
    assert!(back, "the places are free again");
}

#[test]
fn what_cannot_be_served_is_said() {
    let bind = |options: &ServeOptions| Server::bind(PAGE, options).unwrap_err().to_string();
    let all = folder();
    let file =
        ServeOptions { dir: Some(all.path().join("served/a.jsonl")), ..ServeOptions::default() };
    assert!(
        bind(&file).ends_with("/served/a.jsonl`: Not a directory (os error 20)"),
        "{}",
        bind(&file)
    );
    let foreign = ServeOptions { host: Some("192.0.2.1".to_owned()), ..ServeOptions::default() };
    assert!(bind(&foreign).starts_with("listening on `192.0.2.1` port 0: "), "{}", bind(&foreign));
}
