//! The configuration and what is said of it.

use std::fs;

use wimg_tests::program::wimg;

use crate::night::Night;

#[test]
fn the_example_is_written_once_and_can_be_checked() {
    let folder = tempfile::tempdir().unwrap();
    let said = wimg(folder.path(), "nightly --init").done();
    assert!(said.contains("`nightly.toml` is written"), "{said}");
    let again = wimg(folder.path(), "nightly nightly.toml --init");
    assert_eq!(again.code, 2);
    assert!(again.err.contains("exists and is left as it is"), "{}", again.err);
    // Its checkpoints are not there.
    let checked = wimg(folder.path(), "nightly --check");
    assert_eq!(checked.code, 3);
    assert_eq!(checked.out.lines().count(), 7, "{}", checked.out);
    assert!(!folder.path().join("images").exists(), "checking writes nothing");
}

#[test]
fn the_work_is_shown_before_it_is_done() {
    let night = Night::new();
    let shown = night.run("--check").done();
    assert_eq!(shown.lines().count(), 5, "{shown}");
    assert!(shown.contains("   1  a  striped  4x72/512+check+stripe5+slot8 all  "), "{shown}");
    assert!(shown.ends_with(" in all\n"), "{shown}");
    assert!(!night.path("images").exists());
}

#[test]
fn a_wrong_configuration_is_refused_by_file_line_and_suggestion() {
    let night = Night::new();
    night.configure("checkpoints = [\"checkpoints\"]", "generation = 3");
    for line in ["", "--check", "--list", "--collect", "--shard 1/2"] {
        let ran = night.run(line);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line}");
        assert_eq!(
            ran.err,
            "wimg: `nightly.toml` line 5: unknown key `generation` (is `generations` meant?)\n",
            "{line}"
        );
    }
    fs::remove_file(night.path("nightly.toml")).unwrap();
    let ran = night.run("");
    assert_eq!(ran.code, 3, "{}", ran.err);
}
