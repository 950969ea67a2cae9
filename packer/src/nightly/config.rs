//! `nightly.toml`: what a night packs, and where to.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wimg_core::{Escaped, ImageLayout, Selection};

use crate::backend::{Backend, BackendOptions};
use crate::error::{Error, shown};

/// A commented example, which is a valid configuration.
pub const EXAMPLE: &str = include_str!("nightly.toml");

const KEYS: &[&str] = &[
    "root",
    "checkpoints",
    "layouts",
    "require",
    "backend",
    "generations",
    "free_margin_bytes",
    "backoff_seconds",
];
const CHECKPOINT_KEYS: &[&str] = &["path", "name"];
const LAYOUT_KEYS: &[&str] = &["name", "layout", "select"];

/// The most generations that are kept.
const MOST_GENERATIONS: u64 = 1000;
/// The longest backoff, in seconds.
const MOST_BACKOFF: u64 = 3600;

/// What a night packs, and where to. Paths are as the configuration's folder
/// makes them.
#[derive(Clone, Debug)]
pub struct Config {
    /// The configuration's file.
    pub path: PathBuf,
    /// Where results go.
    pub root: PathBuf,
    /// The checkpoints.
    pub checkpoints: Vec<Wanted>,
    /// The layouts: each checkpoint is packed in each.
    pub layouts: Vec<WantedLayout>,
    /// Whether every checkpoint must be one of `HEADERS`, and all of those be there.
    pub require_headers: bool,
    /// What packs.
    pub backend: BackendOptions,
    /// Images of a checkpoint and layout to keep, the current one included.
    pub generations: usize,
    /// Bytes that must stay free where results go.
    pub free_margin_bytes: u64,
    /// Seconds before the first retry after an I/O error; twice that before the
    /// second, and so on.
    pub backoff_seconds: u64,
}

/// A checkpoint, or a folder of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// A GGUF file, any shard of a set, or a folder.
    pub path: PathBuf,
    /// What its results are called; else its file is what names them.
    pub name: Option<String>,
}

/// A layout.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedLayout {
    /// What results in it are called.
    pub name: String,
    /// How tensors lie.
    pub layout: ImageLayout,
    /// Which tensors.
    pub select: Selection,
}

/// What is wrong with a configuration: the file and the line, and what.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` line {line}: {what}")]
pub struct ConfigError {
    /// The file, escaped.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// A file that cannot be read, or is wrong: [`ConfigError`].
    pub fn read(path: &Path) -> Result<Config, Error> {
        let text = std::fs::read(path).map_err(|cause| Error::io(path, "reading it", cause))?;
        let text = String::from_utf8(text).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(valid).filter(|&&b| b == b'\n').count() + 1;
            ConfigError { path: shown(path), line, what: "it is not UTF-8".into() }
        })?;
        Ok(Config::parse(path, &text)?)
    }

    /// Reads the text of the configuration at `path`.
    ///
    /// # Errors
    /// What is no TOML; unknown keys; values of the wrong kind or out of bounds.
    pub fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
        let reader = Reader { path: shown(path), text };
        let table = DeTable::parse(text).map_err(|error| {
            reader.wrong(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let top = Table { reader: &reader, table: table.get_ref(), at: 0 };
        top.known(KEYS)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = Config {
            path: path.to_owned(),
            root: folder.join(top.required("root")?),
            checkpoints: checkpoints(&top, folder)?,
            layouts: layouts(&top)?,
            require_headers: top.word("require", &["headers"])?.is_some(),
            backend: backend(&top)?,
            generations: usize::try_from(top.number("generations", 2, 1..=MOST_GENERATIONS)?)
                .unwrap_or(usize::MAX),
            free_margin_bytes: top.number("free_margin_bytes", 1 << 30, 0..=1 << 50)?,
            backoff_seconds: top.number("backoff_seconds", 10, 0..=MOST_BACKOFF)?,
        };
        Ok(config)
    }
}

fn backend(top: &Table<'_>) -> Result<BackendOptions, ConfigError> {
    let word = top.word("backend", &Backend::ALL.map(Backend::name))?;
    let backend = word.map_or(Ok(Backend::default()), str::parse);
    let backend = backend.map_err(|error| top.wrong_key("backend", &error))?;
    Ok(BackendOptions { backend, ..BackendOptions::default() })
}

fn checkpoints(top: &Table<'_>, folder: &Path) -> Result<Vec<Wanted>, ConfigError> {
    let mut wanted = Vec::new();
    for value in top.array("checkpoints")? {
        if let Some(path) = value.get_ref().as_str() {
            wanted.push(Wanted { path: folder.join(path), name: None });
            continue;
        }
        let table = top.table(value, "a path, or a table with `path` and `name`")?;
        table.known(CHECKPOINT_KEYS)?;
        let name = table.text("name")?;
        if let Some(name) = name {
            table.check_name(name)?;
        }
        let path = folder.join(table.required("path")?);
        wanted.push(Wanted { path, name: name.map(str::to_owned) });
    }
    if wanted.is_empty() {
        return Err(top.wrong_key("checkpoints", "there is none in it"));
    }
    Ok(wanted)
}

fn layouts(top: &Table<'_>) -> Result<Vec<WantedLayout>, ConfigError> {
    let mut wanted: Vec<WantedLayout> = Vec::new();
    for value in top.array("layouts")? {
        let table = top.table(value, "a table with `name`, `layout` and `select`")?;
        table.known(LAYOUT_KEYS)?;
        let name = table.required("name")?;
        table.check_name(name)?;
        if wanted.iter().any(|other| other.name == name) {
            return Err(table.wrong_key("name", &format!("another layout is called `{name}`")));
        }
        let layout = table.required("layout")?;
        let layout = layout.parse().map_err(|error| table.wrong_key("layout", &format!("{error}")));
        let words = Selection::ALL.map(Selection::name);
        let select = table.word("select", &words)?.map_or(Ok(Selection::default()), str::parse);
        let select = select.map_err(|error| table.wrong_key("select", &error.to_string()))?;
        wanted.push(WantedLayout { name: name.to_owned(), layout: layout?, select });
    }
    if wanted.is_empty() {
        return Err(top.wrong_key("layouts", "there is none in it"));
    }
    Ok(wanted)
}

/// The configuration's text, for errors.
struct Reader<'a> {
    path: String,
    text: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, at: usize, what: String) -> ConfigError {
        let before = self.text.as_bytes().iter().take(at);
        let line = before.filter(|&&byte| byte == b'\n').count() + 1;
        ConfigError { path: self.path.clone(), line, what }
    }
}

/// A table of it, and where that begins.
struct Table<'a> {
    reader: &'a Reader<'a>,
    table: &'a DeTable<'a>,
    at: usize,
}

impl<'a> Table<'a> {
    /// Refuses keys other than these.
    fn known(&self, keys: &[&str]) -> Result<(), ConfigError> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !keys.contains(&name) {
                let what = format!("unknown key `{}`{}", Escaped::new(name), meant(name, keys));
                return Err(self.reader.wrong(key.span().start, what));
            }
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    /// An error over a key, or over the table where the key is missing.
    fn wrong_key(&self, key: &str, what: &str) -> ConfigError {
        let at = self.get(key).map_or(self.at, |value| value.span().start);
        self.reader.wrong(at, format!("`{key}`: {what}"))
    }

    fn missing(&self, key: &str) -> ConfigError {
        self.reader.wrong(self.at, format!("`{key}` is missing"))
    }

    fn kind(&self, key: &str, wanted: &str, value: &DeValue<'_>) -> ConfigError {
        self.wrong_key(key, &format!("must be {wanted}, not a value of type {}", value.type_str()))
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        let Some(value) = self.get(key).map(Spanned::get_ref) else { return Ok(None) };
        match value.as_str() {
            Some("") => Err(self.wrong_key(key, "must not be empty")),
            Some(text) => Ok(Some(text)),
            None => Err(self.kind(key, "a string", value)),
        }
    }

    fn required(&self, key: &str) -> Result<&'a str, ConfigError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    /// One of these words.
    fn word(&self, key: &str, words: &[&str]) -> Result<Option<&'a str>, ConfigError> {
        let Some(word) = self.text(key)? else { return Ok(None) };
        if words.contains(&word) {
            return Ok(Some(word));
        }
        let known: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let known = known.join(", ");
        let shown = Escaped::new(word);
        Err(self.wrong_key(key, &format!("`{shown}` is none of {known}{}", meant(word, words))))
    }

    fn number(
        &self,
        key: &str,
        default: u64,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        let Some(value) = self.get(key).map(Spanned::get_ref) else { return Ok(default) };
        let integer = value.as_integer().ok_or_else(|| self.kind(key, "an integer", value))?;
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        number.filter(|number| bounds.contains(number)).ok_or_else(|| {
            let (least, most) = (bounds.start(), bounds.end());
            let shown = Escaped::new(integer.as_str());
            self.wrong_key(key, &format!("`{shown}` is not within {least} and {most}"))
        })
    }

    fn array(&self, key: &str) -> Result<&'a [Spanned<DeValue<'a>>], ConfigError> {
        let value = self.get(key).map(Spanned::get_ref).ok_or_else(|| self.missing(key))?;
        value.as_array().map(|array| &**array).ok_or_else(|| self.kind(key, "a list", value))
    }

    fn table(
        &self,
        value: &'a Spanned<DeValue<'a>>,
        wanted: &str,
    ) -> Result<Table<'a>, ConfigError> {
        let at = value.span().start;
        match value.get_ref().as_table() {
            Some(table) => Ok(Table { reader: self.reader, table, at }),
            None => Err(self.reader.wrong(at, format!("expected {wanted}"))),
        }
    }

    /// A name is that of a folder too.
    fn check_name(&self, name: &str) -> Result<(), ConfigError> {
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_.+@".contains(c);
        if name.len() <= 100 && !name.starts_with('.') && name.chars().all(fine) {
            return Ok(());
        }
        let shown = Escaped::new(name);
        Err(self.wrong_key(
            "name",
            &format!(
                "`{shown}` is no name: at most 100 letters, digits and `-_.+@`, no dot in front"
            ),
        ))
    }
}

/// What a word was probably meant to be.
fn meant(word: &str, known: &[&str]) -> String {
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(word, known), known));
    match near.min() {
        Some((distance, known)) if distance <= 2.max(known.len() / 3) => {
            format!(" (is `{known}` meant?)")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("etc/nightly.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_example_is_valid_and_names_every_key() {
        let config = parse(EXAMPLE).unwrap();
        assert_eq!(config.layouts.len(), 3);
        assert_eq!(config.root, Path::new("etc/images"));
        let mut keys = 0;
        for key in [KEYS, CHECKPOINT_KEYS, LAYOUT_KEYS].concat() {
            assert!(EXAMPLE.contains(&format!("{key} = ")) || key == "layouts", "{key}");
            keys += 1;
        }
        assert_eq!(keys, 13);
    }

    #[test]
    fn paths_are_from_the_configurations_folder_and_the_rest_has_defaults() {
        let text = "root = \"/out\"\ncheckpoints = [\"a.gguf\", { path = \"/b\", name = \"b\" }]\n\
                    [[layouts]]\nname = \"x\"\nlayout = \"4x64/512\"\n";
        let config = parse(text).unwrap();
        assert_eq!(config.root, Path::new("/out"));
        let wanted = |path: &str, name: Option<&str>| Wanted {
            path: path.into(),
            name: name.map(str::to_owned),
        };
        assert_eq!(config.checkpoints, [wanted("etc/a.gguf", None), wanted("/b", Some("b"))]);
        assert_eq!(config.layouts[0].select, Selection::Machine);
        assert_eq!((config.generations, config.backend.backend), (2, Backend::Auto));
        assert!(!config.require_headers);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let layouts = "[[layouts]]\nname = \"x\"\nlayout = \"4x64/512\"\n";
        let head = "root = \"r\"\ncheckpoints = [\"a\"]\n";
        let cases = [
            ("", "line 1: `root` is missing"),
            ("root = 3\n", "line 1: `root`: must be a string, not a value of type integer"),
            ("root = \"r\"\n", "line 1: `checkpoints` is missing"),
            ("root = \"r\"\ncheckpoints = []\n", "line 2: `checkpoints`: there is none in it"),
            (
                "root = \"r\"\ngenrations = 3\n",
                "line 2: unknown key `genrations` (is `generations` meant?)",
            ),
            ("\"a\\u001Bb\" = 3\n", "line 1: unknown key `a\\u{1b}b`"),
            ("root\n", "line 1: key with no value, expected `=`"),
            (head, "line 1: `layouts` is missing"),
        ];
        let mut seen = 0;
        for (text, expected) in cases {
            assert_eq!(
                parse(text).unwrap_err(),
                format!("`etc/nightly.toml` {expected}"),
                "{text}"
            );
            seen += 1;
        }
        for (more, expected) in [
            (
                "backend = \"gpus\"\n",
                "line 3: `backend`: `gpus` is none of `auto`, `cpu`, `gpu` (is `gpu` meant?)",
            ),
            ("generations = 0\n", "line 3: `generations`: `0` is not within 1 and 1000"),
            ("free_margin_bytes = -1\n", "line 3: `free_margin_bytes`: `-1` is not within 0 and"),
            ("require = true\n", "line 3: `require`: must be a string, not a value of type bool"),
        ] {
            let error = parse(&format!("{head}{more}{layouts}")).unwrap_err();
            assert!(error.contains(expected), "{error}");
            seen += 1;
        }
        for (layout, expected) in [
            ("name = \"../x\"\nlayout = \"4x64/512\"\n", "line 4: `name`: `../x` is no name"),
            ("name = \"x\"\nlayout = \"4x63/512\"\n", "line 5: `layout`: "),
            ("name = \"x\"\nlayout = \"4x64/512\"\nselect = \"al\"\n", "line 6: `select`: `al` is"),
            ("name = \"x\"\nlayuot = \"\"\n", "line 5: unknown key `layuot` (is `layout` meant?)"),
        ] {
            let error = parse(&format!("{head}[[layouts]]\n{layout}")).unwrap_err();
            assert!(error.contains(expected), "{error}");
            seen += 1;
        }
        let twice = parse(&format!("{head}{layouts}{layouts}")).unwrap_err();
        assert!(twice.contains("line 7: `name`: another layout is called `x`"), "{twice}");
        assert_eq!(seen, 16);
    }
}
