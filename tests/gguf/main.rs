//! The GGUF reader: every rule and every look-alike, whatever the prefix.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong here fails the test")]
#![expect(clippy::cast_possible_truncation, reason = "the files are small")]
#![expect(clippy::print_stdout, reason = "a seed is shown when its test fails")]

mod damage;
mod malformed;
mod prefix;
mod rules;
mod sets;
mod source;
mod vectors;
