//! What goes back to a client.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::folder::Found;
use super::range::Asked;

/// What a page from here may do: run its own scripts and WASM, and ask nobody
/// but this server. A name in a file that became markup could do nothing.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self' data: blob:; connect-src 'self'; worker-src 'self' blob:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No request that can be understood, and why.
    Malformed(&'static str),
    /// A name that is not this server's.
    Host,
    /// Nothing of that path is served.
    NotFound,
    /// A method that would change something, or an unknown one.
    Method,
    /// It took too long.
    Late,
    /// Bytes that the file of this length does not have.
    Outside(u64),
    /// More or longer header fields than are read.
    TooLarge,
    /// The file is there but cannot be read.
    Broken,
    /// Too many clients.
    Busy,
}

impl Refusal {
    fn status(&self) -> &'static str {
        match self {
            Refusal::Malformed(_) => "400 Bad Request",
            Refusal::Host => "403 Forbidden",
            Refusal::NotFound => "404 Not Found",
            Refusal::Method => "405 Method Not Allowed",
            Refusal::Late => "408 Request Timeout",
            Refusal::Outside(_) => "416 Range Not Satisfiable",
            Refusal::TooLarge => "431 Request Header Fields Too Large",
            Refusal::Broken => "500 Internal Server Error",
            Refusal::Busy => "503 Service Unavailable",
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Refusal::Malformed(why) => why,
            Refusal::Host => {
                "this server does not answer to that name: use its address, or give wimg serve the name with --host"
            }
            Refusal::NotFound => {
                "there is no such file here: only the page, ledgers and images are served"
            }
            Refusal::Method => "only GET and HEAD are answered",
            Refusal::Late => "the request took too long",
            Refusal::Outside(_) => "the file has no such bytes",
            Refusal::TooLarge => "the request's head is too large",
            Refusal::Broken => "the file cannot be read",
            Refusal::Busy => "too many connections: try again",
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    status: &'static str,
    media: &'static str,
    /// Header fields beside those that every answer has.
    fields: Vec<(&'static str, String)>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Bytes(Cow<'static, [u8]>),
    Part { file: File, offset: u64, len: u64 },
}

impl Response {
    /// Bytes that are at hand.
    pub(super) fn bytes(media: &'static str, bytes: Cow<'static, [u8]>) -> Response {
        Response { status: "200 OK", media, fields: Vec::new(), body: Body::Bytes(bytes) }
    }

    /// A file, or the part of it that was asked for.
    pub(super) fn file(found: Found, range: Option<&str>) -> Result<Response, Refusal> {
        let Found { file, len, media } = found;
        let mut fields = vec![("Accept-Ranges", "bytes".to_owned())];
        let (status, part) = match Asked::of(range, len) {
            Asked::Outside => return Err(Refusal::Outside(len)),
            Asked::Whole => ("200 OK", 0..len),
            Asked::Part(part) => {
                let last = part.end - 1;
                fields.push(("Content-Range", format!("bytes {}-{last}/{len}", part.start)));
                ("206 Partial Content", part)
            }
        };
        let body = Body::Part { file, offset: part.start, len: part.end - part.start };
        Ok(Response { status, media, fields, body })
    }

    /// Why not, in words.
    pub(super) fn refusal(refusal: &Refusal) -> Response {
        let fields = match refusal {
            Refusal::Method => vec![("Allow", "GET, HEAD".to_owned())],
            Refusal::Outside(len) => vec![("Content-Range", format!("bytes */{len}"))],
            Refusal::Busy => vec![("Retry-After", "2".to_owned())],
            _ => Vec::new(),
        };
        let words = format!("{}\n", refusal.words()).into_bytes();
        Response {
            status: refusal.status(),
            media: "text/plain; charset=utf-8",
            fields,
            body: Body::Bytes(words.into()),
        }
    }

    /// Sends the answer; without its body if only its head is wanted. A file
    /// that became shorter meanwhile ends early, which the client notices.
    pub(super) fn send<S: Write>(self, mut stream: S, head_only: bool) -> io::Result<()> {
        let len = match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Part { len, .. } => *len,
        };
        let mut head = format!("HTTP/1.1 {}\r\n", self.status);
        let same = [
            ("Content-Type", self.media),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        ];
        for (name, value) in same {
            head += &format!("{name}: {value}\r\n");
        }
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {len}\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        if head_only {
            return Ok(());
        }
        match self.body {
            Body::Bytes(bytes) => stream.write_all(&bytes),
            Body::Part { mut file, offset, len } => {
                file.seek(SeekFrom::Start(offset))?;
                io::copy(&mut file.take(len), &mut stream).map(|_| ())
            }
        }
    }
}
