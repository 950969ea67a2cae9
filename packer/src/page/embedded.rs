//! The page as `cargo xtask web` built it.

use super::PageFile;

/// Its files.
pub(super) const FILES: Option<&[PageFile]> = Some(&[
    PageFile {
        name: "index.html",
        media: "text/html; charset=utf-8",
        bytes: include_bytes!("../../../target/web/index.html"),
    },
    PageFile {
        name: "style.css",
        media: "text/css; charset=utf-8",
        bytes: include_bytes!("../../../target/web/style.css"),
    },
    PageFile {
        name: "wimg.js",
        media: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../../target/web/wimg.js"),
    },
    PageFile {
        name: "wimg.wasm",
        media: "application/wasm",
        bytes: include_bytes!("../../../target/web/wimg.wasm"),
    },
]);
