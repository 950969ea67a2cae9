//! The page as a person sees it: the built `wimg` serves it, a real Chromium
//! shows it, and the tests read, click, type and choose files.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what does not build, start or show itself fails the test"
)]

mod files;
mod program;
mod served;
mod webdriver;
