//! The page's files, from the module that cargo built and from `web/`.
//!
//! `wimg.js` is wasm-bindgen's glue and `main.js` in one classic script: the
//! page, its worker and a report that opens from disk all run the same text.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use wasm_bindgen_cli_support::Bindgen;

use crate::step::{Step, root, say, target_dir};

/// What all files together may take, in bytes when each is gzipped.
const BUDGET: usize = 300 << 10;

/// Makes `target/web` anew.
pub(crate) fn run() -> Result<(), String> {
    let built = target_dir().join("wasm32-unknown-unknown/web/wimg_viewer.wasm");
    let scratch = target_dir().join("web-build");
    Bindgen::new()
        .input_path(&built)
        .out_name("wimg")
        .no_modules(true)
        .and_then(|bindgen| {
            // Left out, the glue would throw as it starts.
            bindgen
                .omit_default_module_path(false)
                .remove_name_section(true)
                .remove_producers_section(true)
                .typescript(false)
                .generate(&scratch)
        })
        .map_err(|why| format!("cannot make the glue of `{}`: {why}", built.display()))?;
    let module = optimised(&scratch.join("wimg_bg.wasm"))?;
    let web = root().join("web");
    let glue = read(&scratch.join("wimg.js"))?;
    let script = [glue, b"\n".to_vec(), read(&web.join("main.js"))?].concat();
    let files = [
        ("index.html", read(&web.join("index.html"))?),
        ("style.css", read(&web.join("style.css"))?),
        ("wimg.js", script),
        ("wimg.wasm", module),
    ];
    let out = root().join("target/web");
    let failed = |why| format!("cannot write `{}`: {why}", out.display());
    fs::create_dir_all(&out).map_err(failed)?;
    let mut sum = 0;
    for (name, bytes) in &files {
        // What did not change is not touched: `wimg` would be built anew for it.
        let path = out.join(name);
        if !fs::read(&path).is_ok_and(|there| there == *bytes) {
            fs::write(path, bytes).map_err(failed)?;
        }
        let packed = gzipped(bytes).map_err(|why| format!("cannot gzip `{name}`: {why}"))?;
        say(&format!("{name:<12} {:>8} bytes, {packed:>7} gzipped", bytes.len()));
        sum += packed;
    }
    say(&format!("{:<12} {:>8}        {sum:>7} of {BUDGET}", "together", ""));
    if sum <= BUDGET {
        Ok(())
    } else {
        Err(format!("the page is {sum} bytes gzipped: {BUDGET} is the budget"))
    }
}

/// The module or, where the machine has wasm-opt, what that makes of it: the
/// one that is smaller gzipped, as it travels.
fn optimised(module: &Path) -> Result<Vec<u8>, String> {
    let plain = read(module)?;
    if !Step::new("wasm-opt", "--version").succeeds() {
        say("no wasm-opt on the PATH: the module stays as the compiler made it");
        return Ok(plain);
    }
    let small = module.with_file_name("wimg_small.wasm");
    let [from, to] = [module, small.as_path()].map(|path| path.display().to_string());
    Step::new("wasm-opt", "-Oz --all-features").args(&[from, "-o".to_owned(), to]).run()?;
    let small = read(&small)?;
    let size = |bytes: &[u8]| gzipped(bytes).map_err(|why| format!("cannot gzip: {why}"));
    if size(&small)? < size(&plain)? { Ok(small) } else { Ok(plain) }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|why| format!("cannot read `{}`: {why}", path.display()))
}

fn gzipped(bytes: &[u8]) -> std::io::Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}
