//! `cargo xtask test`: every check of the project, the tests last, so that
//! cargo's own summary closes the run.

use crate::setup;
use crate::step::Step;
use crate::web;

pub(crate) fn run(install: bool, args: &[String]) -> Result<(), String> {
    setup::run(install)?;
    Step::cargo("fmt --all --check").run()?;
    // First the page: the feature that embeds it is checked like the rest.
    web::run(true)?;
    Step::cargo("clippy --workspace --all-targets --features wimg/page -- -D warnings").run()?;
    Step::cargo("build -p wimg-core --target wasm32-unknown-unknown").run()?;
    Step::cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings").run()?;
    dependencies()?;
    tests(args)
}

/// deny.toml's rules, and the known advisories where they can be fetched.
fn dependencies() -> Result<(), String> {
    let deny = setup::cargo_deny()?;
    let check = |what: &str| Step::at(&deny, "cargo-deny", &format!("check {what}"));
    check("licenses bans sources").run()?;
    if setup::advisories(&deny) { check("--disable-fetch advisories").run() } else { Ok(()) }
}

/// All tests, or what `args` choose of them. The examples in the docs go
/// first: a run should not close on a crate that has none.
fn tests(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Step::cargo("test --workspace").args(args).run();
    }
    Step::cargo("test --workspace --doc").run()?;
    Step::cargo("test --workspace --tests").run()
}
