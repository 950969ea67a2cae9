//! Rules on paths.

/// What the top level may hold, beside names that start with a dot or with
/// `LICENSE-`.
const TOP: &[&str] = &[
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "clippy.toml",
    "deny.toml",
    "packer",
    "rust-toolchain.toml",
    "shaders",
    "tests",
    "viewer",
    "web",
    "xtask",
];

/// Whether the top level may hold the path's first part.
pub(crate) fn is_at_home(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or(path);
    top.starts_with('.') || top.starts_with("LICENSE-") || TOP.contains(&top)
}

/// Whether the file or one of its folders is named after nothing in it.
pub(crate) fn is_nameless(path: &str) -> bool {
    const NAMELESS: &[&str] = &["common", "helper", "helpers", "misc", "util", "utils"];
    path.split('/').any(|part| {
        let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
        NAMELESS.contains(&stem)
    })
}

#[test]
fn the_rules_on_paths_bite() {
    assert!(is_nameless("packer/src/util.rs"));
    assert!(is_nameless("tests/common/mod.rs"));
    assert!(!is_nameless("packer/core/src/utility_of_tiles.rs"));
    assert!(!is_at_home("scratch.rs"));
    assert!(!is_at_home("src/lib.rs"));
    assert!(!is_at_home("packers/src/lib.rs"));
    assert!(is_at_home(".ci/run") && is_at_home("LICENSE-MIT") && is_at_home("Cargo.toml"));
}
