//! The `Range` header: one run of bytes (RFC 9110, section 14).

use std::ops::Range;

/// What of a file is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// All of it: no range, or one in a form that need not be understood.
    Whole,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Bytes that it does not have.
    Outside,
}

impl Asked {
    /// Reads a header's value for a file of `len` bytes. Several ranges are
    /// answered by the whole file, as a server may.
    pub(super) fn of(value: Option<&str>, len: u64) -> Asked {
        let Some((first, last)) = value.and_then(one) else { return Asked::Whole };
        let range = match (number(first), number(last)) {
            _ if first.is_empty() && last.is_empty() => return Asked::Whole,
            (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(len),
            (Some(first), None) if last.is_empty() => first..len,
            (None, Some(count)) if first.is_empty() => len.saturating_sub(count)..len,
            _ => return Asked::Whole,
        };
        if range.is_empty() { Asked::Outside } else { Asked::Part(range) }
    }
}

/// Both sides of the only range.
fn one(value: &str) -> Option<(&str, &str)> {
    let (unit, set) = value.split_once('=')?;
    let (first, last) = set.split_once('-')?;
    unit.trim().eq_ignore_ascii_case("bytes").then_some((first.trim(), last.trim()))
}

/// Digits; more than a u64 holds are past the end of any file.
fn number(digits: &str) -> Option<u64> {
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_files_end() {
        let mut cases = 0;
        for (value, asked) in [
            ("bytes=0-0", Asked::Part(0..1)),
            ("bytes=2-4", Asked::Part(2..5)),
            ("Bytes = 2 - 4", Asked::Part(2..5)),
            ("bytes=2-", Asked::Part(2..10)),
            ("bytes=2-99999999999999999999999", Asked::Part(2..10)),
            ("bytes=-3", Asked::Part(7..10)),
            ("bytes=-99", Asked::Part(0..10)),
            ("bytes=9-9", Asked::Part(9..10)),
            ("bytes=10-", Asked::Outside),
            ("bytes=10-20", Asked::Outside),
            ("bytes=18446744073709551615-18446744073709551615", Asked::Outside),
            ("bytes=-0", Asked::Outside),
            ("bytes=4-2", Asked::Whole),
            ("bytes=-", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes=+1-2", Asked::Whole),
            ("bytes=0-1,3-4", Asked::Whole),
            ("lines=0-1", Asked::Whole),
            ("", Asked::Whole),
        ] {
            assert_eq!(Asked::of(Some(value), 10), asked, "{value}");
            cases += 1;
        }
        assert_eq!(cases, 19);
        assert_eq!(Asked::of(None, 10), Asked::Whole);
        assert_eq!(Asked::of(Some("bytes=0-"), 0), Asked::Outside);
    }
}
