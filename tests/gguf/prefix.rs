//! How a prefix grows must not matter.

use std::fmt::Write;

use wimg_core::gguf::{self, Read};

use wimg_tests::gguf::{Gguf, STRING, U32, string};

/// The verdict on a file whose prefix grows from nothing as `grow` says, given
/// the length at hand and the length asked for.
///
/// NaN is not equal to itself, so a header is compared as it prints.
pub(crate) fn verdict(file: &[u8], grow: impl Fn(usize, usize) -> usize) -> String {
    let file_len = file.len() as u64;
    let mut have = 0;
    for _ in 0..=file.len() {
        match gguf::read(&file[..have], file_len) {
            Ok(Read::Header(header)) => return format!("{header:?}"),
            Err(error) => return error.to_string(),
            Ok(Read::More { at_least }) => {
                assert!(at_least > have as u64 && at_least <= file_len, "{at_least} after {have}");
                assert!(at_least >= (2 * have as u64).min(file_len), "{at_least} after {have}");
                let next = grow(have, at_least as usize).min(file.len());
                assert!(next > have);
                have = next;
            }
        }
    }
    panic!("no verdict with the whole file at hand");
}

/// Holds the verdict of every growth pattern against that of the whole file.
pub(crate) fn same_verdict_however_it_grows(name: &str, file: &[u8]) {
    let whole = verdict(file, |_, _| usize::MAX);
    let mut patterns = 0;
    let mut check = |pattern: &str, grow: &dyn Fn(usize, usize) -> usize| {
        assert_eq!(verdict(file, grow), whole, "{name}: {pattern}");
        patterns += 1;
    };
    check("as asked", &|_, at_least| at_least);
    // Byte by byte where the file is short: the whole is quadratic.
    let step = file.len() / 4096 + 1;
    check("a byte at a time", &|have, _| have + step);
    check("seven bytes at a time", &|have, _| have + 7 * step);
    check("doubling", &|have, _| have * 2 + 1);
    check("half, then all", &|have, _| if have == 0 { file.len() / 2 + 1 } else { usize::MAX });
    assert_eq!(patterns, 5);
}

#[test]
fn the_comparison_notices_a_difference() {
    let sound = Gguf::sound().bytes();
    let mut other = sound.clone();
    let at = other.iter().position(|&byte| byte == b'l').unwrap();
    other[at] ^= 1;
    assert_ne!(verdict(&sound, |_, n| n), verdict(&other, |_, n| n));
}

#[test]
fn a_long_header_takes_few_reads() {
    let mut gguf = Gguf::sound();
    for i in 0..20_000u32 {
        gguf = gguf.with_key(format!("key.{i}").as_bytes(), U32, &i.to_le_bytes());
    }
    gguf = gguf.with_key(b"long", STRING, &string(&[b'x'; 300_000]));
    let file = gguf.bytes();
    let (mut have, mut read, mut log) = (0, 0, String::new());
    while let Read::More { at_least } = gguf::read(&file[..have], file.len() as u64).unwrap() {
        have = at_least as usize;
        read += have;
        write!(log, "{have} ").unwrap();
    }
    assert!(have > 128 << 10, "{log}");
    assert!(read <= 3 * file.len(), "{log}");
}

#[test]
fn a_claim_past_the_limit_is_refused_before_it_is_read() {
    let gguf = Gguf::sound().with_key(b"long", STRING, &(1u64 << 40).to_le_bytes());
    let error = gguf::read(&gguf.header(), 1 << 50).unwrap_err();
    assert_eq!(
        error.to_string(),
        "header of at least `1099511627869` bytes is longer than the limit of `67108864`"
    );
}

#[test]
fn counts_that_a_huge_file_could_hold_allocate_nothing() {
    let mut gguf = Gguf::sound();
    gguf.tensor_count = Some(1 << 50);
    gguf.key_count = Some(1 << 50);
    let read = gguf::read(&gguf.header()[..24], 1 << 62).unwrap();
    assert_eq!(read, Read::More { at_least: 64 << 10 });
}
