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
//! | `index.html` | the markup. It names the others in exactly one line each, the scripts last: `<link rel="stylesheet" href="style.css">`, `<script src="viewer.js"></script>`, `<script src="main.js"></script>`; and has one `<meta http-equiv="Content-Security-Policy" content="…">` |
//! | `style.css` | the style; names no other file |
//! | `main.js` | starts the page: a classic script |
//! | `worker.js` | what a worker runs after `viewer.js`: a classic script |
//! | `viewer.js` | wasm-bindgen's glue, its target `no-modules` |
//! | `viewer_bg.wasm` | the viewer |
//!
//! `main.js` starts from `globalThis.WIMG_EMBEDDED` where it is there, and else
//! fetches `viewer_bg.wasm` and then `data/index.json`. The first is what
//! [`crate::report`] writes, the second what [`crate::serve`] serves.

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
