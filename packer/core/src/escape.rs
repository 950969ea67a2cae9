//! Names from files, made safe to show.

use std::fmt::{self, Write};

/// Bytes from a file, shown so that they can neither steer a terminal nor
/// break a line: control, format and unassigned characters as `\u{…}`, bytes
/// that are not UTF-8 as `\x…`, a backslash doubled. Other text as it is.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(&'a [u8]);

impl<'a> Escaped<'a> {
    /// Wraps a name.
    pub fn new<T: AsRef<[u8]> + ?Sized>(name: &'a T) -> Escaped<'a> {
        Escaped(name.as_ref())
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '"' | '\'' => f.write_char(c)?,
                    _ => write!(f, "{}", c.escape_debug())?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(Escaped::new("blk.0.é模型").to_string(), "blk.0.é模型");
        assert_eq!(Escaped::new("\x1b[2J\n\u{202e}'\\").to_string(), "\\u{1b}[2J\\n\\u{202e}'\\\\");
        assert_eq!(Escaped::new(b"a\xff\0").to_string(), "a\\xff\\0");
    }
}
