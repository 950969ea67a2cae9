//! The `wimg` command.

fn main() {}
