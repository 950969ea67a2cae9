//! Numbers for people.

use std::fmt;

/// A count of bytes: exact, with a GB figure (10^9 bytes) beside it.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        let gb = bytes as f64 / 1e9;
        let decimals = if bytes >= 100_000_000 { 3 } else { 6 };
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        write!(f, "{bytes} {unit} ({gb:.decimals$} GB)")
    }
}

/// Numbers with blanks between.
pub(crate) fn list<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_exact_and_in_gb() {
        assert_eq!(Bytes(0).to_string(), "0 bytes (0.000000 GB)");
        assert_eq!(Bytes(1).to_string(), "1 byte (0.000000 GB)");
        assert_eq!(Bytes(7_647_840).to_string(), "7647840 bytes (0.007648 GB)");
        assert_eq!(Bytes(28_584_769_536).to_string(), "28584769536 bytes (28.585 GB)");
    }
}
