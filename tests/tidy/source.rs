//! Rules on the text of files.

/// Lines that a file of Rust may have: about what one reads in one go.
const MOST_LINES: usize = 600;

/// A file of too many lines.
pub(crate) fn too_long(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    if lines > MOST_LINES { vec![format!("{path}: {lines} lines")] } else { Vec::new() }
}

/// Words that put work off. (In two halves here, as this file is checked too.)
pub(crate) fn markers(path: &str, text: &str) -> Vec<String> {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    lines_with(path, text, |line| words.iter().any(|word| has_word(line, word)))
}

/// Absolute paths that exist on one machine only.
pub(crate) fn developer_paths(path: &str, text: &str) -> Vec<String> {
    let roots = [
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Use", "rs/"),
        concat!("C:\\Use", "rs\\"),
    ];
    lines_with(path, text, |line| roots.iter().any(|root| starts_a_path(line, root)))
}

/// `#[allow]` or `#[expect]` without a reason.
pub(crate) fn lints_without_reason(path: &str, text: &str) -> Vec<String> {
    let opens = |attribute: &&str| has_word(attribute, "allow") || has_word(attribute, "expect");
    let without = |attribute: &&str| !attribute.contains("reason = \"");
    let found = attributes(text).into_iter().filter(opens).filter(without);
    found.map(|attribute| format!("{path}: `{attribute}`")).collect()
}

/// What of the world the core's sources name: files, threads, clocks,
/// environment, processes, sockets, random orders, the GPU. Comments may.
pub(crate) fn impure(path: &str, text: &str) -> Vec<String> {
    let words = ["HashMap", "HashSet", "Instant", "SystemTime", "wgpu", "web_sys"];
    let mut broken = lines_with(path, text, |line| {
        let code = code(line);
        words.iter().any(|word| has_word(code, word))
    });
    let modules = ["env", "fs", "net", "os", "process", "thread", "time"];
    let code: Vec<&str> = text.lines().map(code).collect();
    for name in modules_of_std(&code.join("\n")) {
        if modules.contains(&name.as_str()) {
            broken.push(format!("{path}: `std::{name}`"));
        }
    }
    broken
}

/// The modules that the code takes from std, also from `use std::{a, b::c}`.
fn modules_of_std(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("std::") {
        if code[..at].ends_with(is_word) {
            continue;
        }
        let rest = &code[at + "std::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push(first_word(rest));
            continue;
        };
        // The names that follow the group's brace or a comma at its level.
        let (mut depth, mut start) = (1, true);
        for (at, c) in group.char_indices() {
            if start && is_word(c) {
                names.push(first_word(&group[at..]));
                start = false;
            }
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => start = true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    names
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|&c| is_word(c)).collect()
}

/// The line without a comment of two slashes; a string that holds them loses
/// its end, which only makes a rule more lenient.
fn code(line: &str) -> &str {
    line.find("//").map_or(line, |at| &line[..at])
}

/// The attributes of a source, each from its `#` to the bracket that closes
/// it. One that follows a quote, a backtick or a slash is only spoken of.
fn attributes(text: &str) -> Vec<&str> {
    let starts = text.match_indices("#[").chain(text.match_indices("#!["));
    let written = starts.filter(|&(at, _)| {
        let before = text[..at].lines().next_back().unwrap_or_default();
        let before = if text[..at].ends_with('\n') { "" } else { before.trim_end() };
        before.is_empty() || before.ends_with(['(', '{', ',', ']', ';'])
    });
    written.filter_map(|(at, _)| attribute(&text[at..])).collect()
}

fn attribute(text: &str) -> Option<&str> {
    let (mut depth, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth -= 1,
            _ => {}
        }
        if c == ']' && depth == 0 {
            return Some(&text[..=at]);
        }
    }
    None
}

fn lines_with(path: &str, text: &str, bad: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| bad(line));
    lines.map(|(at, line)| format!("{path}:{}: {}", at + 1, line.trim())).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
    })
}

/// Whether a path in the line starts with `root`.
fn starts_a_path(line: &str, root: &str) -> bool {
    let inside = |c: char| is_word(c) || matches!(c, '.' | '-' | '/' | '}' | '*');
    line.match_indices(root).any(|(at, _)| !line[..at].ends_with(inside))
}

#[test]
fn the_rule_on_length_bites() {
    assert_eq!(too_long("a.rs", &"\n".repeat(601)), ["a.rs: 601 lines"]);
    assert!(too_long("a.rs", &"\n".repeat(600)).is_empty());
}

#[test]
fn the_rule_on_markers_bites() {
    let text = concat!("fine\n// TO", "DO: later\n", "// FIX", "ME\n", "/* XX", "X */\n");
    assert_eq!(markers("a.rs", text).len(), 3);
    assert_eq!(markers("a.rs", text)[0], concat!("a.rs:2: // TO", "DO: later"));
    assert!(markers("a.rs", concat!("IQ2_XX", "XS TO", "DOS")).is_empty());
}

#[test]
fn the_rule_on_paths_bites() {
    for text in [
        concat!("see /wo", "rk/main"),
        concat!("\"/ho", "me/x\""),
        concat!("(/Use", "rs/x)"),
        concat!("C:\\Use", "rs\\x"),
    ] {
        assert_eq!(developer_paths("a.md", text), [format!("a.md:1: {text}")]);
    }
    assert!(developer_paths("a.md", concat!("a/wo", "rk/b frame/wo", "rk/ ~/x")).is_empty());
}

#[test]
fn the_rule_on_lints_bites() {
    for text in [
        concat!("#[", "allow(dead_code)]"),
        concat!("#![", "expect(dead_code)]"),
        concat!("#[", "cfg_attr(test, allow(dead_code))]"),
        concat!("#[", "expect(\n    dead_code,\n)]"),
        concat!("fn f(#", "[allow(unused)] x: u8) {}"),
        concat!("#[test] #", "[allow(unused)]"),
        concat!("#[", "expect(dead_code)] fn f(reason: [u8; 1]) {}"),
    ] {
        assert_eq!(lints_without_reason("a.rs", text).len(), 1, "{text}");
    }
    let fine =
        concat!("#[", "expect(dead_code, reason = \"a ] in it\")]\n#[test]\nx.expect(\"y\");");
    assert!(lints_without_reason("a.rs", fine).is_empty());
}

#[test]
fn the_rule_on_the_core_bites() {
    for (text, found) in [
        ("let f = std::fs::File::open(p);", "a.rs: `std::fs`"),
        ("use std::{fmt, collections::{BTreeMap}, thread};", "a.rs: `std::thread`"),
        ("use std::{\n    time::Duration,\n    fmt,\n};", "a.rs: `std::time`"),
        ("    std::env::var(\"HOME\")", "a.rs: `std::env`"),
        ("use std::collections::HashMap;", "a.rs:1: use std::collections::HashMap;"),
        ("use wgpu::Buffer;", "a.rs:1: use wgpu::Buffer;"),
    ] {
        assert_eq!(impure("a.rs", text), [found]);
    }
    let fine = "//! never HashMap, std::fs\nuse std::{fmt, collections::{BTreeMap, fs}};\nlet x = 1; // wgpu";
    assert!(impure("a.rs", fine).is_empty());
}
