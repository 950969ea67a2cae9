//! `cargo xtask bench`: packing and verifying against `cp`, on one checkpoint
//! of over 4 GiB, all in turn, so that what else the machine does meets all of
//! them. `--kernels`: the benchmarks of the core's functions.

mod measure;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::step::{Step, say, target_dir};
use measure::{Measured, Series, measure};

/// Rounds; the median counts.
const ROUNDS: usize = 7;

/// The checkpoint: at a third of its widths it has more than 2^32 bytes.
const HEADER: &str = "qwen3.8-27b-unsloth-q8_0";
const SCALE: u64 = 3;
/// One channel holds all of it, so that it passes 2^32 bytes.
const ONE_CHANNEL: &str = "1x64/512+check";

/// What is measured: its name and `wimg`'s words, or none for `cp`. What is
/// written goes to OUT; IMAGE is an image that stays.
const CASES: [(&str, Option<&str>); 5] = [
    ("cp, fsync", None),
    ("pack plain", Some("pack SOURCE --out OUT --layout 4x64/512+check")),
    ("pack striped", Some("pack SOURCE --out OUT --layout 4x72/512+check+stripe8+octets+slot16")),
    ("verify", Some("verify IMAGE")),
    ("verify --quick", Some("verify IMAGE --quick")),
];

pub(crate) fn kernels(args: &[String]) -> Result<(), String> {
    Step::cargo("bench --workspace").args(args).run()
}

pub(crate) fn run() -> Result<(), String> {
    Step::cargo("build --release --package wimg").run()?;
    let program = target_dir().join("release/wimg");
    let folder = target_dir().join("bench");
    fs::create_dir_all(&folder).map_err(|why| format!("`{}`: {why}", folder.display()))?;
    let bench = Bench { program, folder };
    bench.prepare()?;
    let bytes = bench.warm(&bench.source())?;
    let mut series: Vec<Series> = CASES.iter().map(|(name, _)| Series::new(name)).collect();
    for round in 1..=ROUNDS {
        say(&format!("round {round} of {ROUNDS}"));
        for ((_, words), series) in CASES.iter().zip(&mut series) {
            series.add(bench.case(*words)?);
        }
    }
    let base = series.first().map_or(f64::NAN, Series::median_seconds);
    say(&format!("\n{bytes} bytes of checkpoint, warm; ratios to cp; median of {ROUNDS} rounds\n"));
    say(Series::HEADING);
    series.iter().for_each(|series| say(&series.line(bytes, base)));
    bench.clear()
}

/// The program, and the folder with the checkpoint and the images.
struct Bench {
    program: PathBuf,
    folder: PathBuf,
}

impl Bench {
    fn source(&self) -> PathBuf {
        self.folder.join(format!("{HEADER}-{SCALE}.gguf"))
    }

    fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// The checkpoint, made once; an image of one channel that is verified, and
    /// the image that is verified in each round.
    fn prepare(&self) -> Result<(), String> {
        self.clear()?;
        if !self.source().exists() {
            let words = format!("synth {HEADER} --scale {SCALE} --out");
            let out = self.source().display().to_string();
            Step::at(&self.program, "wimg", &words).args(&[out]).run()?;
        }
        let pack = |layout: &str, out: PathBuf| {
            let words = self.words(&format!("pack SOURCE --select table --layout {layout} --out"));
            Step::at(&self.program, "wimg", "")
                .args(&words)
                .args(&[out.display().to_string()])
                .run()
        };
        pack(ONE_CHANNEL, self.out())?;
        let channel = self.out().join("channel-0.bin");
        let len = fs::metadata(&channel).map(|data| data.len());
        let len = len.map_err(|why| format!("`{}`: {why}", channel.display()))?;
        if len <= 1 << 32 {
            return Err(format!("`{}` has {len} bytes, not over 4 GiB", channel.display()));
        }
        remove(&self.out())?;
        pack("4x64/512+check", self.image())?;
        // Verified, it was taken out of the page cache.
        for channel in 0..4 {
            self.warm(&self.image().join(format!("channel-{channel}.bin")))?;
        }
        Ok(())
    }

    /// Reads a file, so that it is in the page cache. Its length in bytes.
    fn warm(&self, path: &Path) -> Result<u64, String> {
        let failed = |why| format!("`{}`: {why}", path.display());
        let mut file = File::open(path).map_err(failed)?;
        let mut buffer = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            match file.read(&mut buffer).map_err(failed)? {
                0 => return Ok(bytes),
                len => bytes += len as u64,
            }
        }
    }

    fn words(&self, words: &str) -> Vec<String> {
        let path = |word: &str| match word {
            "SOURCE" => self.source().display().to_string(),
            "OUT" => self.out().display().to_string(),
            "IMAGE" => self.image().display().to_string(),
            other => other.to_owned(),
        };
        words.split_whitespace().map(path).collect()
    }

    /// Measures one case; what it wrote is removed.
    fn case(&self, words: Option<&str>) -> Result<Measured, String> {
        let measured = match words {
            None => {
                let script = "cp -- \"$0\" \"$1\" && sync -- \"$1\"".to_owned();
                let words = ["-c".to_owned(), script].into_iter().chain(self.words("SOURCE OUT"));
                measure(Path::new("sh"), &words.collect::<Vec<_>>())
            }
            Some(words) => {
                let mut words = self.words(words);
                if words.first().is_some_and(|word| word == "pack") {
                    let more = "--select table --no-verify --backend cpu";
                    words.extend(more.split_whitespace().map(str::to_owned));
                }
                words.push("--quiet".to_owned());
                measure(&self.program, &words)
            }
        };
        remove(&self.out())?;
        measured
    }

    /// Removes the images; the checkpoint stays for the next time.
    fn clear(&self) -> Result<(), String> {
        remove(&self.out())?;
        remove(&self.image())
    }
}

/// Removes a file or a folder, if it is there.
fn remove(path: &Path) -> Result<(), String> {
    let removed = match path.symlink_metadata() {
        Err(_) => return Ok(()),
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    removed.map_err(|why| format!("cannot remove `{}`: {why}", path.display()))
}
