//! `wimg serve`: the page, and the ledgers and images of a folder, in a browser.

use std::process::{Command, Stdio};

use super::Console;
use super::args::ServeArgs;
use super::failure::Failure;
use crate::page::{NO_PAGE, Page};
use crate::serve::{ServeOptions, Server};

pub(crate) fn run(args: &ServeArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let page = Page::embedded().ok_or_else(|| Failure::Usage(NO_PAGE.to_owned()))?;
    let options = ServeOptions {
        dir: args.dir.clone(),
        host: args.host.clone(),
        port: args.port,
        ..ServeOptions::default()
    };
    let server = Server::bind(page, &options).map_err(crate::Error::from)?;
    if !server.is_local() {
        let what = match &args.dir {
            Some(_) => "the page, and the ledgers and images of the folder",
            None => "the page",
        };
        // Where warnings cannot be written, nobody reads them.
        let _ = writeln!(
            console.err,
            "wimg: warning: whoever reaches this machine can read {what}: there is no password"
        );
    }
    let url = server.url();
    writeln!(console.out, "{url}")?;
    console.out.flush()?;
    if !args.no_open && console.bar && has_desktop() {
        open(&url);
    }
    server.run()
}

/// Whether a browser could show itself.
fn has_desktop() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Opens the user's browser. Where that fails, the printed address has to do.
fn open(url: &str) {
    let mut command = Command::new("xdg-open");
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // Some wait for the browser to end; somebody has to wait for them.
        std::thread::spawn(move || child.wait());
    }
}
