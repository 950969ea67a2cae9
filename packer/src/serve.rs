//! A small server for the page: HTTP/1.1 over the standard library, one
//! request a connection.
//!
//! It reads and never writes: the embedded page, and the ledgers, images
//! and nights' reports below one folder. It promises that
//! - no file outside the folder is opened, whatever the path or the links in it;
//! - no other site can read it: the `Host` header must be an address or a name
//!   that the server was given (a name that an attacker's DNS points here is
//!   refused), and there are no CORS headers;
//! - a client costs at most a small thread, and a slow one ends.
//!
//! It does not try to be fast, to keep connections, or to serve the internet.

mod folder;
mod hosts;
mod range;
mod request;
mod response;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use thiserror::Error;

use crate::error::shown;
use crate::page::Page;

pub use folder::{Folder, Index, IndexedImage};
use hosts::Hosts;
use request::Request;
use response::{Refusal, Response};

/// The stack of a connection's thread, in bytes.
const STACK_BYTES: usize = 256 << 10;
/// Bytes of a refused request that are read and thrown away, so that the
/// refusal arrives: closing over unread bytes resets the connection.
const DRAIN_BYTES: usize = 256 << 10;

/// What a client may take.
#[derive(Clone, Copy, Debug)]
pub struct ServeLimits {
    /// Connections at a time; more are turned away.
    pub connections: usize,
    /// How long a request's head may take to arrive.
    pub head: Duration,
    /// How long a client may take nothing of its answer.
    pub stall: Duration,
}

impl Default for ServeLimits {
    fn default() -> ServeLimits {
        ServeLimits {
            connections: 64,
            head: Duration::from_secs(10),
            stall: Duration::from_secs(15),
        }
    }
}

/// What is served, and where.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The folder whose ledgers, images and reports are served; none without it.
    pub dir: Option<PathBuf>,
    /// The address or name to listen on; 127.0.0.1 without it.
    pub host: Option<String>,
    /// The port; 0 for a free one.
    pub port: u16,
    /// What a client may take.
    pub limits: ServeLimits,
}

/// Why nothing is served. Paths and names are shown escaped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The folder cannot be opened.
    #[error("`{}`: {cause}", shown(.path))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// The address cannot be listened on.
    #[error("listening on `{}` port {port}: {cause}", wimg_core::Escaped::new(.host))]
    Listen {
        /// The address or name.
        host: String,
        /// The port.
        port: u16,
        /// The system's reason.
        cause: io::Error,
    },
}

/// A server that listens already.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Arc<Site>,
}

/// What every connection's thread works on.
#[derive(Debug)]
struct Site {
    page: Page,
    folder: Option<Folder>,
    hosts: Hosts,
    limits: ServeLimits,
    /// Connections that are open.
    open: AtomicUsize,
}

impl Server {
    /// Opens the folder and starts to listen; [`Server::run`] answers.
    ///
    /// # Errors
    /// A folder that is none or cannot be opened; an address that is not this
    /// machine's, or a port that is taken.
    pub fn bind(page: Page, options: &ServeOptions) -> Result<Server, ServeError> {
        let folder = match &options.dir {
            None => None,
            Some(path) => Some(
                Folder::open(path)
                    .map_err(|cause| ServeError::Folder { path: path.clone(), cause })?,
            ),
        };
        let host = options.host.as_deref().unwrap_or("127.0.0.1");
        let port = options.port;
        let listen = |cause| ServeError::Listen { host: host.to_owned(), port, cause };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let listener = TcpListener::bind((bare, port)).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let hosts = Hosts::new(address.ip(), options.host.as_deref());
        let open = AtomicUsize::new(0);
        let site = Arc::new(Site { page, folder, hosts, limits: options.limits, open });
        Ok(Server { listener, address, site })
    }

    /// Where the page is, for a browser on this machine.
    pub fn url(&self) -> String {
        format!("http://{}:{}/", self.site.hosts.shown(), self.address.port())
    }

    /// Whether only this machine can connect.
    pub fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Answers until the process ends.
    pub fn run(&self) -> ! {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.site.take(stream),
                // A client that left at once, or no descriptors for a while.
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Site {
    /// Gives a connection its thread, or turns it away.
    fn take(self: &Arc<Site>, stream: TcpStream) {
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.limits.connections {
            // A client may not get the refusal: this waits for nobody.
            let _ = turn_away(&stream);
            self.open.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let site = Arc::clone(self);
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let started = thread.spawn(move || {
            // A client that left, or stalled: there is nobody to tell.
            let _ = site.answer(&stream);
            site.open.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Reads the one request of a connection and answers it.
    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(self.limits.stall))?;
        let request = Request::read(stream, self.limits.head)
            .and_then(|head| Request::parse(&head, &self.hosts));
        let sent = match request {
            Ok(request) => self.respond(&request).send(stream, request.head_only),
            Err(refusal) => Response::refusal(&refusal).send(stream, false),
        };
        drain(stream)?;
        sent
    }

    /// What a request that is in order gets.
    fn respond(&self, request: &Request) -> Response {
        let answer = match request.segments() {
            [only] if only.is_empty() => self.page_file("index.html"),
            [name] => match str::from_utf8(name) {
                Ok(name) => self.page_file(name),
                Err(_) => Err(Refusal::NotFound),
            },
            [data, path @ ..] if data == b"data" => self.data(path, request),
            _ => Err(Refusal::NotFound),
        };
        answer.unwrap_or_else(|refusal| Response::refusal(&refusal))
    }

    fn page_file(&self, name: &str) -> Result<Response, Refusal> {
        let file = self.page.file(name).ok_or(Refusal::NotFound)?;
        Ok(Response::bytes(file.media, file.bytes.into()))
    }

    /// A file of the folder, or the list of them.
    fn data(&self, path: &[Vec<u8>], request: &Request) -> Result<Response, Refusal> {
        if path == [b"index.json"] {
            let index = self.folder.as_ref().map(Folder::index).unwrap_or_default();
            let text = serde_json::to_vec(&index).map_err(|_| Refusal::Broken)?;
            return Ok(Response::bytes("application/json", text.into()));
        }
        let file = self.folder.as_ref().ok_or(Refusal::NotFound)?.file(path)?;
        Response::file(file, request.range.as_deref())
    }
}

/// Refuses without waiting for the request, nor for the answer to be taken.
fn turn_away(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    // What has come already is read: closing over it would reset the connection.
    let _ = stream.read(&mut [0; 4096]);
    Response::refusal(&Refusal::Busy).send(stream, false)?;
    stream.shutdown(Shutdown::Write)
}

/// Says that no more comes, and reads what the client still sends for a moment.
fn drain(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut rest = stream.take(DRAIN_BYTES as u64);
    io::copy(&mut rest, &mut io::sink())?;
    Ok(())
}
