//! Rules on manifests and settings. They read the little of TOML that these
//! files use: headers, `key = value` lines, and lists over several lines.

use std::collections::BTreeMap;

/// All that the core may stand on: small crates that know no world either.
const CORE: &[&str] = &["blake3", "crc32c", "serde", "serde_json", "thiserror"];

/// One `key = value` of a manifest, with the header above it.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    header: &'a str,
    key: &'a str,
    value: String,
}

/// The entries in order. A value goes on while its brackets are open.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut header = "";
    let mut open = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if open > 0 {
            if let Some(entry) = entries.last_mut() {
                entry.value.push_str(line);
            }
            open += depth(line);
        } else if let Some((key, value)) = line.split_once('=') {
            entries.push(Entry { header, key: key.trim(), value: value.trim().to_owned() });
            open = depth(value);
        } else if let Some(name) = line.strip_prefix('[') {
            header = name.trim_end_matches(']');
        }
    }
    entries
}

/// How many more brackets the line opens than it closes.
fn depth(line: &str) -> i32 {
    line.chars().fold(0, |depth, c| match c {
        '[' | '{' => depth + 1,
        ']' | '}' => depth - 1,
        _ => depth,
    })
}

/// The names of all dependencies: of builds, tests and targets too if `all`.
fn dependencies(text: &str, all: bool) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix('[')) {
        // `[dependencies.NAME]`
        let header = line.trim_end_matches(']');
        if let Some((kind, name)) = header.rsplit_once('.')
            && is_dependencies(kind, all)
        {
            names.push(name.to_owned());
        }
    }
    for entry in entries(text).iter().filter(|entry| is_dependencies(entry.header, all)) {
        let name = entry.key.split('.').next().unwrap_or(entry.key);
        names.push(name.trim_matches('"').to_owned());
    }
    names
}

fn is_dependencies(header: &str, all: bool) -> bool {
    let kind = header.rsplit('.').next().unwrap_or(header);
    kind == "dependencies" || kind == "build-dependencies" || (all && kind == "dev-dependencies")
}

/// What the core's manifest depends on that it may not.
pub(crate) fn unlisted_core_dependencies(path: &str, text: &str) -> Vec<String> {
    let names = dependencies(text, false);
    let unlisted = names.iter().filter(|name| !CORE.contains(&name.as_str()));
    unlisted.map(|name| format!("{path}: `{name}`")).collect()
}

/// The workspace's members.
pub(crate) fn members(root: &str) -> Vec<String> {
    let entries = entries(root);
    let list = entries.iter().find(|entry| entry.header == "workspace" && entry.key == "members");
    let list = list.map(|entry| entry.value.trim_matches(['[', ']'])).unwrap_or_default();
    let names = list.split(',').map(|name| name.trim().trim_matches('"').to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// A member's lints, if they are not the workspace's, and the dependencies
/// whose version the member says itself.
pub(crate) fn not_inherited(path: &str, text: &str) -> Vec<String> {
    let entries = entries(text);
    let inherits = |header: &str, key: &str| {
        entries.iter().any(|e| e.header == header && e.key == key && e.value == "true")
    };
    let mut broken = Vec::new();
    if !inherits("lints", "workspace") {
        broken.push(format!("{path}: no `[lints] workspace = true`"));
    }
    for entry in entries.iter().filter(|entry| is_dependencies(entry.header, true)) {
        if !entry.key.ends_with(".workspace") && !entry.value.contains("workspace = true") {
            broken.push(format!("{path}: `{}` has a version of its own", entry.key));
        }
    }
    broken
}

/// How many keys both settings have, and those whose values differ.
pub(crate) fn disagreeing(one: &str, other: &str) -> (usize, Vec<String>) {
    let other = entries(other);
    let other: BTreeMap<_, _> = other.iter().map(|entry| (entry.key, &entry.value)).collect();
    let (mut shared, mut broken) = (0, Vec::new());
    for Entry { key, value, .. } in entries(one) {
        if let Some(&there) = other.get(key) {
            shared += 1;
            if *there != value {
                broken.push(format!("`{key}` is {value} and {there}"));
            }
        }
    }
    (shared, broken)
}

#[test]
fn the_rules_on_manifests_bite() {
    let text = "[dependencies]\nblake3.workspace = true\nrayon = \"1\"\n\
                [target.'cfg(unix)'.dependencies]\nlibc.workspace = true\n\
                [dependencies.wgpu]\nworkspace = true\n\
                [build-dependencies]\ncc.workspace = true\n\
                [dev-dependencies]\nproptest.workspace = true\n";
    assert_eq!(
        unlisted_core_dependencies("Cargo.toml", text),
        ["wgpu", "rayon", "libc", "cc"].map(|name| format!("Cargo.toml: `{name}`"))
    );
    assert_eq!(
        not_inherited("Cargo.toml", text),
        [
            "Cargo.toml: no `[lints] workspace = true`",
            "Cargo.toml: `rayon` has a version of its own"
        ]
    );
    assert!(not_inherited("Cargo.toml", "[lints]\nworkspace = true\n").is_empty());
    assert_eq!(
        not_inherited("Cargo.toml", "[lints.rust]\nunsafe_code = \"allow\"\n").len(),
        1,
        "lints of its own"
    );
}

#[test]
fn the_rule_on_settings_bites() {
    let one = "# why\nallow-unwrap-in-tests = true\ntoo-many-lines-threshold = 70\n";
    let other = "too-many-lines-threshold = 90\ndisallowed-types = [\n  { path = \"a::b\" },\n]\n\
                 allow-unwrap-in-tests = true\n";
    let broken = vec!["`too-many-lines-threshold` is 70 and 90".to_owned()];
    assert_eq!(disagreeing(one, other), (2, broken));
    assert_eq!(disagreeing(one, "a = [\n]\nb = 1\n"), (0, Vec::new()));
}

#[test]
fn members_are_read_over_lines() {
    assert_eq!(members("[workspace]\nmembers = [\n  \"a\",\n  \"b/c\",\n]\n"), ["a", "b/c"]);
    assert_eq!(members("[workspace]\nmembers = [\"a\", \"b/c\"]\n"), ["a", "b/c"]);
}
