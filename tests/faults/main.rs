//! Whatever the machine does, no result that is not whole has a final name,
//! the exit code and the words are right, and the next run ends as if nothing
//! had been.
//!
//! The calls that fail are those of the real program: `shim.c` is preloaded
//! into it and stands between it and the system, so that nothing in the
//! program is there for its tests.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what does not run fails the test")]

mod calls;
mod lab;
mod machine;
