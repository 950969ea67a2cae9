//! The repository's own rules, as tests. Each rule is a function from text to
//! the places that break it, and has a test beside it that it bites.

mod layout;
mod manifest;
mod repository;
mod source;

use repository::Repository;

/// Fails with every place that breaks a rule, one a line.
fn assert_kept(rule: &str, checked: usize, broken: &[String]) {
    assert!(checked > 0, "{rule}: nothing was checked");
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// Applies `rule` to all files that `chosen` chooses.
fn check(
    repository: &Repository,
    rule: &str,
    chosen: fn(&str) -> bool,
    broken: fn(&str, &str) -> Vec<String>,
) {
    let files: Vec<_> = repository.texts().filter(|(path, _)| chosen(path)).collect();
    let found: Vec<String> = files.iter().flat_map(|(path, text)| broken(path, text)).collect();
    assert_kept(rule, files.len(), &found);
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

/// Test data may hold anything: broken files are its purpose.
fn is_written_here(path: &str) -> bool {
    !path.starts_with("tests/data/")
}

fn is_core(path: &str) -> bool {
    path.starts_with("packer/core/src/") && is_rust(path)
}

fn is_manifest(path: &str) -> bool {
    path == "Cargo.toml" || path.ends_with("/Cargo.toml")
}

#[test]
fn rust_files_are_short_enough_to_read() {
    check(&Repository::read().unwrap(), "at most 600 lines", is_rust, source::too_long);
}

#[test]
fn nothing_is_left_for_later() {
    check(&Repository::read().unwrap(), "no markers", is_written_here, source::markers);
}

#[test]
fn nobodys_machine_is_named() {
    check(
        &Repository::read().unwrap(),
        "no developer's paths",
        is_written_here,
        source::developer_paths,
    );
}

#[test]
fn lints_are_opened_with_a_reason() {
    check(
        &Repository::read().unwrap(),
        "a reason beside every opened lint",
        is_rust,
        source::lints_without_reason,
    );
}

#[test]
fn the_core_knows_nothing_of_the_world() {
    check(&Repository::read().unwrap(), "the core is pure", is_core, source::impure);
}

#[test]
fn the_core_depends_on_few_crates() {
    check(
        &Repository::read().unwrap(),
        "the core's dependencies are listed in tests/tidy/manifest.rs",
        |path| path == "packer/core/Cargo.toml",
        manifest::unlisted_core_dependencies,
    );
}

#[test]
fn every_crate_inherits_the_lints_and_the_versions() {
    let repository = Repository::read().unwrap();
    let root = repository.text("Cargo.toml").unwrap();
    let members = manifest::members(root);
    let mut broken = Vec::new();
    for member in &members {
        let path = format!("{member}/Cargo.toml");
        let text = repository.text(&path).unwrap_or_else(|| panic!("`{path}` is no file"));
        broken.extend(manifest::not_inherited(&path, text));
    }
    let found = repository.texts().filter(|(path, _)| is_manifest(path)).count();
    assert_eq!(found, members.len() + 1, "a manifest is no member of the workspace");
    assert_kept("lints and versions are the workspace's", members.len(), &broken);
}

#[test]
fn the_clippy_settings_agree() {
    let repository = Repository::read().unwrap();
    let root = repository.text("clippy.toml").unwrap();
    let core = repository.text("packer/core/clippy.toml").unwrap();
    let (shared, broken) = manifest::disagreeing(root, core);
    assert_kept("clippy.toml and packer/core/clippy.toml", shared, &broken);
}

#[test]
fn files_are_named_after_what_they_hold() {
    let repository = Repository::read().unwrap();
    let broken: Vec<_> = repository.paths().filter(|path| layout::is_nameless(path)).collect();
    assert!(broken.is_empty(), "named after nothing: {broken:?}");
    assert!(repository.paths().count() > 20);
}

#[test]
fn the_top_level_shows_the_layers_and_little_else() {
    let repository = Repository::read().unwrap();
    let broken: Vec<_> = repository.paths().filter(|path| !layout::is_at_home(path)).collect();
    assert!(broken.is_empty(), "not for the top level: {broken:?}");
    assert!(layout::is_at_home("packer/src/lib.rs") && !layout::is_at_home("notes.md"));
}
