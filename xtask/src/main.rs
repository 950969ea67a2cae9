//! The project's chores, as `cargo xtask COMMAND`. One file a command; what
//! they share is a [`step::Step`], a command line that is shown and then run.

mod bench;
#[cfg(feature = "web")]
mod bundle;
mod demo;
mod fuzz;
mod gpu_check;
mod setup;
mod step;
mod test;
mod web;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--install] [-- ARGS]   set up what the checks need, then run them all;
                               ARGS go to `cargo test`. Missing system packages
                               are installed as root on Debian, or with --install
  demo                         make eight narrow checkpoints and pack them in three
                               layouts, as a night does; print the ledger
  bench                        pack and verify a checkpoint of over 4 GiB, against `cp`;
                               needs 20 GB under target/
  bench --kernels [-- ARGS]    the core's functions; ARGS go to `cargo bench`
  fuzz SECONDS [TARGET...]     look for inputs that break what must hold, all
                               targets in turn; needs a nightly toolchain
  gpu-check                    build the one program that checks and measures a GPU,
                               and run it here
  web [--page]                 build the page into target/web, and target/release/wimg
                               with the page in it (or, with --page, only the page)
";

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Chore {
    Help,
    Test {
        install: bool,
        args: Vec<String>,
    },
    Demo,
    Fuzz {
        seconds: u64,
        targets: Vec<&'static str>,
    },
    Bench,
    Kernels {
        args: Vec<String>,
    },
    GpuCheck,
    Web {
        page_only: bool,
    },
    /// The part of `web` that its own build of xtask does.
    Bundle,
}

impl Chore {
    /// Reads the words after `cargo xtask`; the error is a message for a person.
    fn parse(words: &[String]) -> Result<Chore, String> {
        let split = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let (own, rest) = words.split_at(split);
        let args: Vec<String> = rest.iter().skip(1).cloned().collect();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        match own.as_slice() {
            [] | ["help" | "--help" | "-h"] => Ok(Chore::Help),
            ["test"] => Ok(Chore::Test { install: false, args }),
            ["test", "--install"] => Ok(Chore::Test { install: true, args }),
            ["demo"] if args.is_empty() => Ok(Chore::Demo),
            ["gpu-check"] if args.is_empty() => Ok(Chore::GpuCheck),
            ["bench"] if args.is_empty() => Ok(Chore::Bench),
            ["bench", "--kernels"] => Ok(Chore::Kernels { args }),
            ["fuzz", seconds, targets @ ..] if args.is_empty() => match seconds.parse() {
                Ok(seconds) => Ok(Chore::Fuzz { seconds, targets: fuzz::targets(targets)? }),
                Err(_) => Err(format!("`{seconds}` is no number of seconds")),
            },
            ["web"] if args.is_empty() => Ok(Chore::Web { page_only: false }),
            ["web", "--page"] if args.is_empty() => Ok(Chore::Web { page_only: true }),
            ["web-bundle"] if args.is_empty() => Ok(Chore::Bundle),
            _ => Err(format!("cannot read `{}`", words.join(" "))),
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chore = match Chore::parse(&words) {
        Ok(chore) => chore,
        Err(message) => {
            step::complain(&format!("{message}\n\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    let done = match chore {
        Chore::Help => {
            step::say(USAGE.trim_end());
            Ok(())
        }
        Chore::Test { install, args } => test::run(install, &args),
        Chore::Demo => demo::run(),
        Chore::GpuCheck => gpu_check::run(),
        Chore::Bench => bench::run(),
        Chore::Kernels { args } => bench::kernels(&args),
        Chore::Fuzz { seconds, targets } => fuzz::run(seconds, &targets),
        Chore::Web { page_only } => web::run(page_only),
        Chore::Bundle => web::bundle(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            step::complain(&message);
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Chore, String> {
        Chore::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_after_two_dashes_are_the_tools_own() {
        let args = vec!["--test".to_owned(), "tidy".to_owned()];
        assert_eq!(
            parse("test -- --test tidy"),
            Ok(Chore::Test { install: false, args: args.clone() })
        );
        assert_eq!(parse("test --install"), Ok(Chore::Test { install: true, args: Vec::new() }));
        assert_eq!(parse("bench --kernels -- --test tidy"), Ok(Chore::Kernels { args }));
        assert_eq!(parse("bench"), Ok(Chore::Bench));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert_eq!(parse("demo -- now"), Err("cannot read `demo -- now`".to_owned()));
        assert_eq!(parse("tests"), Err("cannot read `tests`".to_owned()));
        assert_eq!(parse("fuzz soon"), Err("`soon` is no number of seconds".to_owned()));
        let all = fuzz::TARGETS.to_vec();
        assert_eq!(parse("fuzz 60"), Ok(Chore::Fuzz { seconds: 60, targets: all }));
        let some = vec!["split", "image_json"];
        assert_eq!(
            parse("fuzz 60 image_json split"),
            Ok(Chore::Fuzz { seconds: 60, targets: some })
        );
        let unknown = "`images` is no fuzz target; there are gguf, split, image_json, layout";
        assert_eq!(parse("fuzz 60 split images"), Err(unknown.to_owned()));
        assert_eq!(parse(""), Ok(Chore::Help));
    }
}
