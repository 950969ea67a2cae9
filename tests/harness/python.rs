//! The Python that has gguf-py, the reference library.

use std::path::{Path, PathBuf};

/// The Python of `target/venv`, or the one that `WIMG_PYTHON` names.
///
/// # Panics
/// There is none.
pub fn python() -> PathBuf {
    let of_tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/venv/bin/python");
    let python = std::env::var_os("WIMG_PYTHON").map_or(of_tests, PathBuf::from);
    assert!(
        python.exists(),
        "no Python with gguf-py at `{}`: run `cargo xtask test`, which makes one, or set WIMG_PYTHON",
        python.display()
    );
    python
}
