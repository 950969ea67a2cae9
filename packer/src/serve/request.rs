//! A request's head: read within a time and a size, then held to the rules.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use percent_encoding::percent_decode_str;

use super::hosts::Hosts;
use super::response::Refusal;

/// The longest head, in bytes.
const HEAD_BYTES: usize = 16 << 10;
/// The most header fields.
const FIELDS: usize = 64;

/// A request that is in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Only the answer's head is wanted.
    pub(super) head_only: bool,
    /// The `Range` header, if it counts.
    pub(super) range: Option<String>,
    segments: Vec<Vec<u8>>,
}

impl Request {
    /// The path's parts, decoded: none of them `.`, `..` or hidden, none with a
    /// `/` or NUL in it, none empty but for the only one of `/`.
    pub(super) fn segments(&self) -> &[Vec<u8>] {
        &self.segments
    }

    /// Reads a head, all of which must arrive within `time`.
    pub(super) fn read(mut stream: &TcpStream, time: Duration) -> Result<Vec<u8>, Refusal> {
        let started = Instant::now();
        let mut head = vec![0; HEAD_BYTES];
        let mut len = 0;
        loop {
            let left = time.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(Refusal::Late);
            }
            stream.set_read_timeout(Some(left)).map_err(|_| Refusal::Late)?;
            let read = match stream.read(&mut head[len..]) {
                Ok(0) => return Err(Refusal::Malformed("the request ends in its head")),
                Ok(read) => read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Err(Refusal::Late),
            };
            // The blank line may have begun in what came before.
            let from = len.saturating_sub(3);
            len += read;
            let arrived = &head[from..len];
            if arrived.windows(4).any(|end| end == b"\r\n\r\n") {
                head.truncate(len);
                return Ok(head);
            }
            if len == HEAD_BYTES {
                return Err(Refusal::TooLarge);
            }
        }
    }

    /// Holds a head to the rules.
    pub(super) fn parse(head: &[u8], hosts: &Hosts) -> Result<Request, Refusal> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Err(Refusal::Malformed("no end of the head")),
            Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge),
            Err(_) => return Err(Refusal::Malformed("this is no HTTP/1.1 request")),
        }
        let field = |name: &str| {
            let mut of_name =
                parsed.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
            (of_name.next().map(|field| field.value), of_name.next().is_some())
        };
        let host = match field("host") {
            (Some(host), false) => str::from_utf8(host).unwrap_or_default(),
            _ => return Err(Refusal::Malformed("there must be one Host header")),
        };
        if !hosts.admit(host) {
            return Err(Refusal::Host);
        }
        let head_only = match parsed.method {
            Some("GET") => false,
            Some("HEAD") => true,
            _ => return Err(Refusal::Method),
        };
        // There is nothing to compare an If-Range with, so it never matches.
        let range = match (field("range"), field("if-range")) {
            ((Some(range), false), (None, _)) => str::from_utf8(range).ok().map(str::to_owned),
            _ => None,
        };
        let segments = segments(parsed.path.unwrap_or_default())?;
        Ok(Request { head_only, range, segments })
    }
}

/// The parts of a target's path; its query does not count.
fn segments(target: &str) -> Result<Vec<Vec<u8>>, Refusal> {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let path =
        path.strip_prefix('/').ok_or(Refusal::Malformed("the target must start with a slash"))?;
    if path.is_empty() {
        return Ok(vec![Vec::new()]);
    }
    let decoded = path.split('/').map(|part| percent_decode_str(part).collect::<Vec<u8>>());
    let segments: Vec<Vec<u8>> = decoded.collect();
    let fine = |part: &Vec<u8>| !part.is_empty() && !part.starts_with(b".") && is_name(part);
    if segments.iter().all(fine) { Ok(segments) } else { Err(Refusal::NotFound) }
}

/// Whether a folder could have an entry of this name.
fn is_name(part: &[u8]) -> bool {
    !part.iter().any(|&byte| byte == b'/' || byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_part_by_part() {
        let parts = |target| segments(target).ok();
        assert_eq!(parts("/"), Some(vec![Vec::new()]));
        assert_eq!(parts("/?x=/../y"), Some(vec![Vec::new()]));
        assert_eq!(parts("/a/b%20c"), Some(vec![b"a".to_vec(), b"b c".to_vec()]));
        assert_eq!(parts("/%ff%3Fx#y"), Some(vec![b"\xff?x".to_vec()]));
        assert_eq!(parts("/a..b/c."), Some(vec![b"a..b".to_vec(), b"c.".to_vec()]));
        let mut refused = 0;
        for target in [
            "/..",
            "/a/..",
            "/../a",
            "/.",
            "/%2e%2e/a",
            "/a/%2E%2e",
            "/.%2e/a",
            "/..%2fa",
            "/a%2fb",
            "/a%00b",
            "/%2f",
            "//",
            "//a",
            "/a//b",
            "/a/",
            "/.git/config",
            "a",
            "",
            "http://127.0.0.1/",
            "*",
        ] {
            assert_eq!(parts(target), None, "{target}");
            refused += 1;
        }
        assert_eq!(refused, 20);
    }
}
