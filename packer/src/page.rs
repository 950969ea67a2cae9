//! The page that shows images in a browser, embedded in the program.
//!
//! `cargo xtask web` builds the page into `target/web` and then this crate with
//! the feature `page`, which embeds it. Without the feature there is no page,
//! and the commands that need one say how to get it.
//!
//! The page is these files:
//!
//! | file | what |
//! |---|---|
//! | `index.html` | the markup: it names `style.css` in one `link` and `wimg.js` in one `script`, and has one `meta` with its Content-Security-Policy |
//! | `style.css` | the style: it names no other file |
//! | `wimg.js` | one classic script, for the page, its worker and a report alike |
//! | `wimg.wasm` | the viewer |
//!
//! The script starts from the elements `wimg-wasm` and `wimg-data` where they
//! are in the page, and else fetches `wimg.wasm` and `data/index.json`. The
//! first is what [`crate::report`] writes, the second what [`crate::serve`]
//! serves.

#[cfg_attr(not(feature = "page"), path = "page/absent.rs")]
mod embedded;

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct PageFile {
    /// Its name.
    pub name: &'static str,
    /// Its media type.
    pub media: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

/// All files of the page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The files, `index.html` first.
    pub files: &'static [PageFile],
}

/// What to do where there is no page.
pub const NO_PAGE: &str =
    "this wimg was built without its page: `cargo xtask web` in its sources builds one that has it";

impl Page {
    /// The page, if this program was built with it.
    pub fn embedded() -> Option<Page> {
        embedded::FILES.map(|files| Page { files })
    }

    /// The file of this name.
    pub fn file(&self, name: &str) -> Option<&'static PageFile> {
        self.files.iter().find(|file| file.name == name)
    }
}
