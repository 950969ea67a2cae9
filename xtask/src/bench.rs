//! `cargo xtask bench`: the benchmarks.

use crate::step::Step;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    Step::cargo("bench --workspace").args(args).run()
}
