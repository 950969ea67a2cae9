//! A report: the page and what it shows in one HTML file that opens from disk.
//!
//! A page from `file://` may fetch nothing, so all of it is inline: the style,
//! the script and, before it, two elements that are data:
//!
//! - `<script type="text/plain" id="wimg-wasm">`: `wimg.wasm` in base64;
//! - `<script type="application/json" id="wimg-data">`: what to open, as
//!
//! ```js
//! {
//!   "ledgers": [{ "path": "a.jsonl", "text": "a ledger, JSON by lines" }],
//!   "images": [{ "path": "dir", "manifest": "the text of dir/image.json" }],
//!   "reports": [{ "path": "report.json", "text": "a night's report" }],
//!   // Each shard's file name, its length in bytes, and in base64 the first
//!   // bytes of a file of that length with the same tensors at the same
//!   // offsets: long metadata is left out, and no bytes come after these.
//!   "checkpoints": [
//!     { "path": "a.gguf", "shards": [{ "name": "a.gguf", "length": 123, "header": "…" }] }
//!   ]
//! }
//! ```
//!
//! Names and texts from files are data in there: `<`, `>` and `&` are escaped,
//! so that none ends its element; and the policy lets only the page's script
//! run, by a nonce that depends on all that the report holds.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde::de::IgnoredAny;
use wimg_core::Manifest;
use wimg_core::gguf::outline::outline;
use wimg_core::ledger::json;

use crate::error::{Error, shown};
use crate::nightly::report::{REPORT_JSON, begins_report};
use crate::page::Page;
use crate::serve::{Folder, Index};
use crate::source::{Source, SourceError};
use crate::store::{IMAGE_JSON, place_file};

/// Metadata values of more bytes are left out: tokenizers, chat templates.
const VALUE_BYTES: usize = 4096;
/// The longest ledger or manifest that is read, in bytes.
const TEXT_BYTES: u64 = 256 << 20;

/// What a report shows beside the public checkpoints.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    ledgers: Vec<EmbeddedText>,
    images: Vec<EmbeddedImage>,
    reports: Vec<EmbeddedText>,
    checkpoints: Vec<EmbeddedCheckpoint>,
}

#[derive(Clone, Debug, Serialize)]
struct EmbeddedText {
    path: String,
    text: String,
}

#[derive(Clone, Debug, Serialize)]
struct EmbeddedImage {
    path: String,
    manifest: String,
}

#[derive(Clone, Debug, Serialize)]
struct EmbeddedCheckpoint {
    path: String,
    shards: Vec<EmbeddedShard>,
}

#[derive(Clone, Debug, Serialize)]
struct EmbeddedShard {
    name: String,
    length: u64,
    header: String,
}

/// What cannot be made a report. Paths are shown escaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A file that is not what its name says.
    #[error("`{}` is no {kind}: {why}", shown(.path))]
    Bad {
        /// The file.
        path: PathBuf,
        /// What it would be.
        kind: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The page cannot be made one file: a mistake of its build.
    #[error("the embedded page cannot be made one file: {0}")]
    Page(&'static str),
}

impl Report {
    /// Takes in an image, a checkpoint, a ledger, a night's report, or a folder
    /// with such.
    ///
    /// # Errors
    /// What is none of them, or cannot be read.
    pub fn add(&mut self, path: &Path) -> Result<(), Error> {
        if path.join(IMAGE_JSON).exists() {
            return self.add_image(path);
        }
        if path.extension().is_some_and(|extension| extension == "jsonl") && !path.is_dir() {
            return self.add_ledger(path);
        }
        if path.file_name().is_some_and(|name| name == REPORT_JSON) && !path.is_dir() {
            return self.add_night_as(path, &name_of(path));
        }
        let mut found = false;
        if path.is_dir() {
            let folder =
                Folder::open(path).map_err(|cause| Error::io(path, "opening it", cause))?;
            let index = folder.index();
            for ledger in &index.ledgers {
                self.add_ledger(&path.join(ledger))?;
            }
            for image in &index.images {
                // By its path, as `wimg serve` names it: a night calls its images
                // by their ids.
                self.add_image_as(&path.join(&image.path), &image.path)?;
            }
            for report in &index.reports {
                self.add_night_as(&path.join(report), report)?;
            }
            found = index != Index { whole: index.whole, ..Index::default() };
        }
        match Source::open(path) {
            Ok(source) => {
                self.checkpoints.push(embedded(path, &source));
                Ok(())
            }
            // A folder of images needs none.
            Err(SourceError::NoCheckpoint { .. }) if found => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn add_image(&mut self, dir: &Path) -> Result<(), Error> {
        self.add_image_as(dir, &name_of(dir))
    }

    /// Takes in an image under a name.
    ///
    /// # Errors
    /// What is none, or cannot be read.
    pub fn add_image_as(&mut self, dir: &Path, name: &str) -> Result<(), Error> {
        let path = dir.join(IMAGE_JSON);
        let manifest = read_text(&path)?;
        Manifest::read(manifest.as_bytes()).map_err(|error| bad(&path, "manifest", &error))?;
        self.images.push(EmbeddedImage { path: name.to_owned(), manifest });
        Ok(())
    }

    fn add_ledger(&mut self, path: &Path) -> Result<(), Error> {
        let text = read_text(path)?;
        let ledger = json::read(&text).map_err(|error| bad(path, "ledger", &error))?;
        if ledger.rows.is_empty() {
            return Err(bad(path, "ledger", &"it has no rows"));
        }
        self.ledgers.push(EmbeddedText { path: name_of(path), text });
        Ok(())
    }

    /// Takes in a night's report under a name. Which of its keys are known is
    /// the page's affair, that reads those of other versions too.
    ///
    /// # Errors
    /// What is none, or cannot be read.
    pub fn add_night_as(&mut self, path: &Path, name: &str) -> Result<(), Error> {
        let text = read_text(path)?;
        serde_json::from_str::<IgnoredAny>(&text)
            .map_err(|error| bad(path, "night's report", &error))?;
        if !begins_report(text.as_bytes()) {
            return Err(bad(path, "night's report", &"it does not begin as one"));
        }
        self.reports.push(EmbeddedText { path: name.to_owned(), text });
        Ok(())
    }

    /// The report as HTML.
    ///
    /// # Errors
    /// A page that cannot be made one file.
    pub fn html(&self, page: Page) -> Result<String, ReportError> {
        let bytes = |name| page.file(name).map(|file| file.bytes);
        let text = |name| bytes(name).and_then(|bytes| str::from_utf8(bytes).ok());
        let missing = ReportError::Page("a file is missing or is no UTF-8");
        let (Some(html), Some(style), Some(script), Some(wasm)) =
            (text("index.html"), text("style.css"), text("wimg.js"), bytes("wimg.wasm"))
        else {
            return Err(missing);
        };
        if contains_end(style, "</style") || contains_end(script, "</script") {
            return Err(ReportError::Page("the style or the script has its own end in it"));
        }
        // Strings and integers always serialise.
        let data = in_script(&serde_json::to_string(self).unwrap_or_default());
        let mut digest = blake3::Hasher::new();
        [html, style, script, &data].iter().for_each(|part| {
            digest.update(part.as_bytes());
        });
        let nonce = digest.finalize().to_hex();
        let policy = format!(
            "default-src 'none'; script-src 'nonce-{nonce}' 'wasm-unsafe-eval'; \
             style-src 'nonce-{nonce}'; img-src data: blob:; worker-src blob:; \
             base-uri 'none'; form-action 'none'"
        );
        let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">");
        let style = format!("<style nonce=\"{nonce}\">\n{style}</style>");
        let script = format!(
            "<script type=\"text/plain\" id=\"wimg-wasm\">{}</script>\n\
             <script type=\"application/json\" id=\"wimg-data\">{data}</script>\n\
             <script nonce=\"{nonce}\">\n{script}</script>\n</body>",
            BASE64.encode(wasm)
        );
        let html = replaced(html, "http-equiv=\"Content-Security-Policy\"", ">", &policy)?;
        let html = replaced(&html, "href=\"style.css\"", ">", &style)?;
        // At the end of the body, as an inline script cannot be deferred.
        let html = replaced(&html, "src=\"wimg.js\"", "</script>", "")?;
        match html.matches("</body>").count() {
            1 => Ok(html.replacen("</body>", &script, 1)),
            _ => Err(ReportError::Page("index.html must have one end of its body")),
        }
    }

    /// Writes the report to `out`, whole or not at all.
    ///
    /// # Errors
    /// An `out` that exists (unless `force`), a page that cannot be made one
    /// file, I/O.
    pub fn write(&self, page: Page, out: &Path, force: bool) -> Result<u64, Error> {
        let html = self.html(page)?;
        place_file(out, force, |mut file| file.write_all(html.as_bytes()))?;
        Ok(html.len() as u64)
    }
}

fn bad(path: &Path, kind: &'static str, why: &dyn Display) -> Error {
    ReportError::Bad { path: path.to_owned(), kind, why: why.to_string() }.into()
}

fn embedded(path: &Path, source: &Source) -> EmbeddedCheckpoint {
    let shards = source.files.iter().zip(&source.checkpoint.shards);
    let shards = shards.map(|(file, header)| EmbeddedShard {
        name: name_of(&file.path),
        length: header.file_len,
        header: BASE64.encode(outline(header, VALUE_BYTES)),
    });
    EmbeddedCheckpoint { path: name_of(path), shards: shards.collect() }
}

/// The last part of a path: where a report was made is nobody's business.
fn name_of(path: &Path) -> String {
    let full = path.canonicalize();
    let named = full.as_deref().unwrap_or(path).file_name();
    named.unwrap_or_default().to_string_lossy().into_owned()
}

fn read_text(path: &Path) -> Result<String, Error> {
    let refused = |cause: io::Error| Error::io(path, "reading it", cause);
    let len = fs::metadata(path).map_err(refused)?.len();
    if len > TEXT_BYTES {
        return Err(refused(io::ErrorKind::FileTooLarge.into()));
    }
    fs::read_to_string(path).map_err(refused)
}

/// Whether text would end the element that it stands in.
fn contains_end(text: &str, end: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    // A comment's start inside a script changes how its end is found.
    lower.contains(end) || lower.contains("<!--")
}

/// JSON that can stand in a script: none of these is in it but in strings.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// The markup with another text in place of the one element that has this
/// attribute and ends in `end`.
fn replaced(html: &str, attribute: &str, end: &str, text: &str) -> Result<String, ReportError> {
    let broken = || ReportError::Page("index.html must name its policy, style and script once");
    let (before, after) = html.split_once(attribute).ok_or_else(broken)?;
    if after.contains(attribute) {
        return Err(broken());
    }
    let start = before.rfind('<').ok_or_else(broken)?;
    let (_, after) = after.split_once(end).ok_or_else(broken)?;
    Ok(format!("{}{text}{after}", &before[..start]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageFile;

    const INDEX: &[u8] = b"<!doctype html>\n<meta http-equiv=\"Content-Security-Policy\" \
        content=\"default-src 'none'; script-src 'self'\">\n\
        <link rel=\"stylesheet\" href=\"style.css\">\n<script defer src=\"wimg.js\"></script>\n\
        <body><p>page</p>\n</body>";

    const fn file(name: &'static str, bytes: &'static [u8]) -> PageFile {
        PageFile { name, media: "", bytes }
    }

    const PAGE: Page = Page {
        files: &[
            file("index.html", INDEX),
            file("style.css", b"p { color: red }\n"),
            file("wimg.js", b"start(1 < 2);\n"),
            file("wimg.wasm", b"\0asm"),
        ],
    };

    fn ledger(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        let row = include_str!("../core/src/ledger/ledger.jsonl").lines().next().unwrap();
        let row = row.replace("qwen3.8-27b-ggml-org-q8_0", "</script><img src=x onerror=alert(1)>");
        fs::write(&path, row + "\n").unwrap();
        path
    }

    #[test]
    fn it_is_one_file_and_names_no_other() {
        let html = Report::default().html(PAGE).unwrap();
        let nonce = html.split("nonce-").nth(1).unwrap().split('\'').next().unwrap();
        assert_eq!(nonce.len(), 64);
        expect_test::expect![[r#"
            <!doctype html>
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-N' 'wasm-unsafe-eval'; style-src 'nonce-N'; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'">
            <style nonce="N">
            p { color: red }
            </style>

            <body><p>page</p>
            <script type="text/plain" id="wimg-wasm">AGFzbQ==</script>
            <script type="application/json" id="wimg-data">{"ledgers":[],"images":[],"reports":[],"checkpoints":[]}</script>
            <script nonce="N">
            start(1 < 2);
            </script>
            </body>"#]]
        .assert_eq(&html.replace(nonce, "N"));
    }

    #[test]
    fn names_from_files_are_data() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::default();
        report.add(&ledger(folder.path(), "a & b.jsonl")).unwrap();
        let html = report.html(PAGE).unwrap();
        assert_eq!(html.matches("</script>").count(), 3);
        assert!(!html.contains("<img") && html.contains("\\u003cimg src=x"), "{html}");
        assert!(html.contains("a \\u0026 b.jsonl"), "{html}");
        // Escaped in a script, it is the same JSON.
        let (_, data) = html.split_once("id=\"wimg-data\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert!(data["ledgers"][0]["text"].as_str().unwrap().contains("</script><img src=x"));
        assert_ne!(
            Report::default().html(PAGE).unwrap().split("nonce-").nth(1).unwrap()[..64],
            html.split("nonce-").nth(1).unwrap()[..64],
            "the nonce depends on the data"
        );
    }

    #[test]
    fn a_page_that_would_break_is_refused() {
        let own_end = "the style or the script has its own end in it";
        for (name, bytes, why) in [
            ("wimg.wasm", None, "a file is missing or is no UTF-8"),
            ("style.css", Some(&b"\xff"[..]), "a file is missing or is no UTF-8"),
            ("style.css", Some(b"</style"), own_end),
            ("wimg.js", Some(b"'</SCRIPT>'"), own_end),
            ("wimg.js", Some(b"'<!--'"), own_end),
            (
                "index.html",
                Some(b"<body></body>"),
                "index.html must name its policy, style and script once",
            ),
        ] {
            let others = PAGE.files.iter().copied().filter(|file| file.name != name);
            let files: Vec<_> = others.chain(bytes.map(|bytes| file(name, bytes))).collect();
            let error = Report::default().html(Page { files: files.leak() }).unwrap_err();
            let text = format!("the embedded page cannot be made one file: {why}");
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn it_is_written_whole_and_replaces_nothing_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("report.html");
        let report = Report::default();
        let len = report.write(PAGE, &out, false).unwrap();
        assert_eq!(fs::read_to_string(&out).unwrap(), report.html(PAGE).unwrap());
        assert_eq!(fs::metadata(&out).unwrap().len(), len);
        assert!(matches!(report.write(PAGE, &out, false), Err(Error::Exists(_))));
        fs::write(&out, "old").unwrap();
        report.write(PAGE, &out, true).unwrap();
        assert_eq!(fs::metadata(&out).unwrap().len(), len);
        assert!(report.write(PAGE, folder.path(), true).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn folders_give_all_that_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::default();
        assert!(report.add(folder.path()).is_err(), "nothing is in it");
        ledger(folder.path(), "a.jsonl");
        ledger(folder.path(), "b.jsonl");
        report.add(folder.path()).unwrap();
        let names: Vec<_> = report.ledgers.iter().map(|ledger| ledger.path.as_str()).collect();
        assert_eq!(names, ["a.jsonl", "b.jsonl"]);
        let night = "{\"format\":1,\"image_format\":1,\"rows\":[]}";
        fs::create_dir(folder.path().join("root")).unwrap();
        fs::write(folder.path().join("root/report.json"), night).unwrap();
        let mut report = Report::default();
        report.add(folder.path()).unwrap();
        let nights: Vec<_> = report.reports.iter().map(|night| night.path.as_str()).collect();
        assert_eq!(nights, ["root/report.json"], "its path leads to its images");
        fs::write(folder.path().join("c.jsonl"), "").unwrap();
        let error = report.add(&folder.path().join("c.jsonl")).unwrap_err().to_string();
        assert!(error.ends_with("c.jsonl` is no ledger: it has no rows"), "{error}");
        for (text, why) in [
            ("{\"format\":1,\"image_format\":1", "EOF while parsing an object at line 1 column 28"),
            ("{\"format\":1}", "it does not begin as one"),
        ] {
            fs::write(folder.path().join("report.json"), text).unwrap();
            let error = report.add(&folder.path().join("report.json")).unwrap_err();
            assert_eq!(error.exit_code(), 3, "{error}");
            let end = format!("report.json` is no night's report: {why}");
            assert!(error.to_string().ends_with(&end), "{error}");
        }
        let error = report.add(&folder.path().join("none.gguf")).unwrap_err();
        assert_eq!(error.exit_code(), 3, "{error}");
    }
}
