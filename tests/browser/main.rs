//! The page as a person sees it: the built `wimg` serves it, a real Chromium
//! shows it, and the tests read, click, type and choose files.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what does not build, start or show itself fails the test"
)]

mod files;
mod ledger;
mod looks;
mod map;
mod measures;
mod night;
mod open;
mod program;
mod report;
mod served;
mod verify;
mod webdriver;

use program::Served;
use webdriver::Browser;

/// A browser that shows the page, and the server behind it.
struct Opened {
    browser: Browser,
    served: Served,
}

impl Opened {
    /// Opens the page of a server with no folder, at a hash.
    fn at(hash: &str) -> Opened {
        Opened::of(Served::start(None), hash)
    }

    fn of(served: Served, hash: &str) -> Opened {
        let browser = Browser::start().unwrap();
        browser.open(&format!("{}{hash}", served.url));
        browser.until_true("return document.getElementById('starting').hidden");
        Opened { browser, served }
    }

    /// Goes to a view by its tab.
    fn go(&self, view: &str) {
        self.browser.one(&format!("#tabs a[data-view='{view}']")).click();
    }
}

impl Drop for Opened {
    /// No page that a test has seen may have thrown, or broken its policy.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.browser.complaints(), [""; 0]);
        }
    }
}

/// The digits of a number that is shown in groups.
fn digits(shown: &str) -> String {
    shown.chars().filter(char::is_ascii_digit).collect()
}
