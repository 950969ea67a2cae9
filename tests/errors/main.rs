//! The error catalogue, `packer/ERRORS.md`: every error of the library and the
//! program, its message as it is printed, its exit code, what causes it and
//! what to do. Made from the errors themselves; `UPDATE_EXPECT=1` writes it
//! anew. Every variant is there: the test reads the sources for their names.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a catalogue with a gap fails the test")]

mod checkpoint;
mod gguf;
mod image;
mod night;
mod packer;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// One error.
pub(crate) struct Entry {
    /// `ENUM::VARIANT`; of those that are printed alike, all.
    pub(crate) variant: &'static str,
    /// A message of it.
    pub(crate) message: String,
    /// The exit code.
    pub(crate) code: u8,
    /// How it comes about.
    pub(crate) cause: &'static str,
    /// What to do.
    pub(crate) remedy: &'static str,
}

/// A chapter of the catalogue.
pub(crate) struct Chapter {
    pub(crate) title: &'static str,
    pub(crate) entries: Vec<Entry>,
}

const HEAD: &str = "\
# Errors

Every error of `wimg`, as it is printed after `wimg: `, with examples for names
and numbers. Names from files and paths are escaped: nothing in them steers a
terminal. The exit code says what to do first: 1 damage was found, or images
differ; 2 the command line is wrong; 3 the input is bad, and trying again gives
the same; 4 input/output or resources failed, and trying again may help; 5 no
usable GPU. After any error, what was at the target before is there still, and
nothing else is.

A test makes this page from the errors themselves.
";

fn render(chapters: &[Chapter]) -> String {
    let mut text = HEAD.to_owned();
    for chapter in chapters {
        write!(text, "\n## {}\n\n", chapter.title).unwrap();
        text += "| code | message | cause | what to do |\n|---|---|---|---|\n";
        for entry in &chapter.entries {
            let Entry { message, code, cause, remedy, .. } = entry;
            let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
            writeln!(text, "| {code} | {} | {} | {} |", cell(message), cell(cause), cell(remedy))
                .unwrap();
        }
    }
    text
}

fn chapters() -> Vec<Chapter> {
    vec![
        packer::chapter(),
        packer::gpu(),
        checkpoint::chapter(),
        gguf::chapter(),
        image::chapter(),
        night::chapter(),
    ]
}

/// The variants of the error enums in a source, but those that only pass
/// another enum's on.
fn variants(source: &str) -> Vec<String> {
    let mut variants = Vec::new();
    let mut open: Option<String> = None;
    let mut transparent = false;
    for line in source.lines() {
        transparent |= line == "    #[error(transparent)]";
        if let Some(name) = line.strip_prefix("pub enum ").and_then(|l| l.strip_suffix(" {")) {
            open = name.ends_with("Error").then(|| name.to_owned());
        } else if line == "}" {
            open = None;
        } else if let (Some(name), Some(rest)) = (&open, line.strip_prefix("    "))
            && rest.starts_with(|c: char| c.is_ascii_uppercase())
        {
            let variant: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            if !std::mem::take(&mut transparent) {
                variants.push(format!("{name}::{variant}"));
            }
        }
    }
    variants
}

/// Every source below a folder, but of what only stands in for another.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if !path.ends_with("gpu/absent.rs") {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn the_catalogue_is_whole_and_as_the_errors_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts = Vec::new();
    sources(&root.join("packer/src"), &mut texts);
    sources(&root.join("packer/core/src"), &mut texts);
    let wanted: BTreeSet<String> = texts.iter().flat_map(|text| variants(text)).collect();
    assert!(wanted.len() > 100, "{wanted:?}");
    let chapters = chapters();
    let listed = chapters.iter().flat_map(|chapter| &chapter.entries);
    let listed = listed.flat_map(|entry| entry.variant.split(", "));
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    let missing: Vec<_> = wanted.difference(&listed).collect();
    assert!(missing.is_empty(), "not in the catalogue: {missing:?}");
    // Those of the command line are no variants of a library's error.
    let unknown: Vec<_> = listed.difference(&wanted).collect();
    assert_eq!(unknown, ["ConfigError", "Damage", "Difference", "Usage"]);
    expect_test::expect_file!["../../packer/ERRORS.md"].assert_eq(&render(&chapters));
}

#[test]
fn messages_are_lower_case_sentences_without_an_end() {
    let mut messages = 0;
    for entry in chapters().iter().flat_map(|chapter| &chapter.entries) {
        let Entry { variant, message, cause, remedy, code } = entry;
        let first = message.chars().next().unwrap();
        let named = ["GGUF", "GPU", "No ", "CRLF"].iter().any(|name| message.starts_with(name));
        assert!(!first.is_uppercase() || named, "{variant}: {message}");
        assert!(!message.ends_with('.') && !message.contains('\n'), "{variant}: {message}");
        assert!(!cause.is_empty() && !remedy.is_empty() && (1..=5).contains(code), "{variant}");
        messages += 1;
    }
    assert!(messages > 80, "{messages}");
}

#[test]
fn a_variant_that_is_new_is_missed() {
    let source = "\
pub enum NewError {
    #[error(\"x\")]
    One,
    Two { a: u8 },
    Three(u8),
    #[error(transparent)]
    Passed(#[from] OldError),
}
pub enum Kind {
    Four,
}
";
    assert_eq!(variants(source), ["NewError::One", "NewError::Two", "NewError::Three"]);
}
