//! Writes the seeds: `seeds FOLDER` makes a folder a target there.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: seeds FOLDER")?);
    let malformed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/malformed");
    for target in wimg_fuzz::seeds::targets(&malformed)? {
        let folder = folder.join(target.name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in target.seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}
