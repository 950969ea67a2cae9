//! What a GPU does to weight images: whether its bytes are the core's, and how
//! fast they come. Needs no files: one binary to carry to a machine with a GPU.
//!
//! `gpu_check [ADAPTER]`, where ADAPTER is a number or a part of a name.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a check that cannot be made ends the program"
)]
#![expect(clippy::print_stdout, reason = "the table is what the program is for")]

#[path = "../gpu/compare.rs"]
#[expect(dead_code, reason = "the tests compare single windows, too")]
mod compare;
mod equivalence;
#[path = "../gpu/made.rs"]
mod made;
mod speed;

fn main() {
    for info in wimg::gpu::adapters() {
        println!("{info:?}");
    }
    let adapter = std::env::args().nth(1);
    equivalence::run(adapter.as_deref());
    speed::run(adapter);
}
