//! `cargo xtask demo`: a night, on checkpoints made on the spot. Run again it
//! finds nothing to do.

use std::path::Path;

use crate::step::{Step, root, say, target_dir};

/// Where all of it goes.
const FOLDER: &str = "target/demo";

/// The public checkpoints, each with the scale that makes it narrow: the same
/// tensors, formats and blocks in megabytes instead of gigabytes.
const CHECKPOINTS: [(&str, u64); 8] = [
    ("qwen3.8-27b-ggml-org-q8_0", 512),
    ("qwen3.8-27b-ggml-org-q4_k_m", 32),
    ("qwen3.8-27b-unsloth-q8_0", 256),
    ("qwen3.8-27b-unsloth-q6_k", 128),
    ("qwen3.8-27b-unsloth-q5_k_m", 64),
    ("qwen3.8-27b-unsloth-q4_k_m", 64),
    ("qwen3.8-27b-unsloth-ud-q4_k_xl", 128),
    ("qwen3.8-27b-unsloth-q4_0", 64),
];

/// The night's configuration.
const CONFIG: &str = r#"# The demo's night: `wimg nightly --init` writes a commented example.
root = "images"
checkpoints = ["checkpoints"]
free_margin_bytes = 1_000_000_000

[[layouts]]
name = "beat64"
layout = "4x64/512"

[[layouts]]
name = "beat72"
layout = "4x72/512+check"

[[layouts]]
name = "striped"
layout = "4x72/512+check+stripe8+slot8"
select = "all"
"#;

pub(crate) fn run() -> Result<(), String> {
    let folder = root().join(FOLDER);
    let checkpoints = folder.join("checkpoints");
    std::fs::create_dir_all(&checkpoints)
        .map_err(|why| format!("cannot make the folder `{FOLDER}/checkpoints`: {why}"))?;
    write_config(&folder.join("nightly.toml"))?;
    crate::web::run(false)?;
    let program = target_dir().join("release/wimg");
    let wimg = |words: &str| Step::at(&program, "wimg", words).run();
    for (header, scale) in CHECKPOINTS {
        // Made once: whole, or not there.
        if !checkpoints.join(format!("{header}.gguf")).exists() {
            let out = format!("{FOLDER}/checkpoints/{header}.gguf");
            wimg(&format!("synth {header} --scale {scale} --out {out}"))?;
        }
    }
    wimg(&format!("nightly {FOLDER}/nightly.toml --check"))?;
    wimg(&format!("nightly {FOLDER}/nightly.toml --summary"))?;
    say("\nThe ledger of the public checkpoints themselves:");
    wimg("ledger")?;
    say(&format!(
        "\nThe page is {FOLDER}/images/report.html: open it in a browser. report.json and\n\
         summary.txt beside it say how the night went. An image to load is\n\
         {FOLDER}/images/CHECKPOINT/LAYOUT/current. Run the demo again: all is up to date then."
    ));
    Ok(())
}

/// Writes the configuration, unless it is there as it should be: what did not
/// change is not touched.
fn write_config(path: &Path) -> Result<(), String> {
    if std::fs::read_to_string(path).is_ok_and(|text| text == CONFIG) {
        return Ok(());
    }
    std::fs::write(path, CONFIG)
        .map_err(|why| format!("cannot write `{FOLDER}/nightly.toml`: {why}"))
}
