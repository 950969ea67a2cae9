//! Packs a checkpoint, checks it and gives it back: `pack CHECKPOINT FOLDER`
#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::path::Path;
use std::process::ExitCode;

use wimg::Error;
use wimg::backend::BackendOptions;
use wimg::core::Selection;
use wimg::pack::{PackOptions, pack};
use wimg::unpack::{UnpackOptions, unpack};
use wimg::verify::{VerifyOptions, verify};

fn run(checkpoint: &Path, folder: &Path) -> Result<(), Error> {
    let options = PackOptions {
        selection: Selection::Table,
        layout: "4x64/512".parse()?,
        out: folder.join("image"),
        force: true,
        // Read back below, as if on another day.
        verify: false,
        // The CPU, or a GPU where that is faster.
        backend: BackendOptions::default(),
    };
    let done = pack(checkpoint, &options, &|progress| {
        if progress.done == progress.total {
            println!("packed {} bytes", progress.total);
        }
    })?;
    println!("image {}", done.id);

    let against = VerifyOptions { source: Some(checkpoint.to_owned()), ..Default::default() };
    let report = verify(&options.out, &against, &|_| {})?;
    for damage in &report.damage {
        println!("{damage}");
    }
    println!("{} damages in {} tiles", report.damages, report.tiles);

    let back = UnpackOptions { out: folder.join("back"), force: true };
    let unpacked = unpack(&options.out, &back, &|_| {})?;
    println!("{} bytes given back", unpacked.bytes);
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let [_, checkpoint, folder] = args.as_slice() else {
        println!("usage: pack CHECKPOINT FOLDER");
        return ExitCode::from(2);
    };
    match run(Path::new(checkpoint), Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            // What to do about it: 3 is bad input, 4 may go away.
            ExitCode::from(error.exit_code())
        }
    }
}
