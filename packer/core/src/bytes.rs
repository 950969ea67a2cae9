//! A cursor over untrusted bytes: the only file that slices them.
//!
//! A reader is given a prefix of a file and the file's length. So there are
//! two ways to run short, and a caller must not mix them up: the prefix ends
//! (more of the file will help), or the file itself does (nothing will).

/// Why a read did not happen.
#[derive(Debug)]
pub(crate) enum Shortfall {
    /// The file has the bytes, the prefix does not: it must reach `to`.
    Prefix { to: u64 },
    /// The file ends first. `len` saturates: it may be any 64-bit length.
    File { what: &'static str, offset: u64, len: u64, file_len: u64 },
}

/// A cursor that only moves forward.
#[derive(Debug)]
pub(crate) struct Bytes<'a> {
    prefix: &'a [u8],
    file_len: u64,
    at: u64,
}

impl<'a> Bytes<'a> {
    /// A cursor at the start of a file of `file_len` bytes, of which `prefix`
    /// is at hand. A prefix longer than the file is cut to it.
    pub(crate) fn new(prefix: &'a [u8], file_len: u64) -> Bytes<'a> {
        let prefix =
            usize::try_from(file_len).ok().and_then(|len| prefix.get(..len)).unwrap_or(prefix);
        Bytes { prefix, file_len, at: 0 }
    }

    /// Bytes read so far: the offset of the next one in the file.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Length of the whole file in bytes.
    pub(crate) fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Length of the prefix at hand in bytes.
    pub(crate) fn prefix_len(&self) -> u64 {
        u64::try_from(self.prefix.len()).unwrap_or(u64::MAX)
    }

    /// Bytes of the file that are still ahead, at hand or not.
    pub(crate) fn remaining(&self) -> u64 {
        self.file_len.saturating_sub(self.at)
    }

    /// Everything read so far.
    pub(crate) fn consumed(&self) -> &'a [u8] {
        self.since(0)
    }

    /// What was read from offset `mark` on.
    pub(crate) fn since(&self, mark: u64) -> &'a [u8] {
        self.range(mark, self.at).unwrap_or_default()
    }

    /// The next `len` bytes, without moving past them.
    pub(crate) fn peek(&self, what: &'static str, len: u64) -> Result<&'a [u8], Shortfall> {
        let end = self.at.checked_add(len).filter(|&end| end <= self.file_len);
        let Some(end) = end else {
            let (offset, file_len) = (self.at, self.file_len);
            return Err(Shortfall::File { what, offset, len, file_len });
        };
        self.range(self.at, end).ok_or(Shortfall::Prefix { to: end })
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, what: &'static str, len: u64) -> Result<&'a [u8], Shortfall> {
        let taken = self.peek(what, len)?;
        self.at = self.at.saturating_add(len);
        Ok(taken)
    }

    /// The next `N` bytes as an array, for `from_le_bytes`.
    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], Shortfall> {
        let len = u64::try_from(N).unwrap_or(u64::MAX);
        let taken = self.take(what, len)?;
        // `take` gave exactly N bytes, so the zeros are never seen.
        Ok(taken.try_into().unwrap_or([0; N]))
    }

    /// The next four bytes, little-endian.
    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Shortfall> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// The next eight bytes, little-endian.
    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, Shortfall> {
        self.array(what).map(u64::from_le_bytes)
    }

    fn range(&self, start: u64, end: u64) -> Option<&'a [u8]> {
        self.prefix.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_prefix_and_a_short_file_are_told_apart() {
        let mut bytes = Bytes::new(&[1, 0, 0, 0, 7], 9);
        assert_eq!(bytes.u32("a word").unwrap(), 1);
        assert!(matches!(bytes.peek("a word", 4), Err(Shortfall::Prefix { to: 8 })));
        assert!(matches!(
            bytes.take("a name", 6),
            Err(Shortfall::File { what: "a name", offset: 4, len: 6, file_len: 9 })
        ));
        assert!(matches!(bytes.take("a name", u64::MAX), Err(Shortfall::File { .. })));
        assert_eq!(bytes.take("a byte", 1).unwrap(), [7]);
        assert_eq!((bytes.at(), bytes.remaining(), bytes.prefix_len()), (5, 4, 5));
        assert_eq!(bytes.consumed(), [1, 0, 0, 0, 7]);
        assert_eq!(bytes.since(4), [7]);
    }

    #[test]
    fn a_prefix_longer_than_the_file_is_cut_to_it() {
        let mut bytes = Bytes::new(&[1, 2, 3], 2);
        assert_eq!(bytes.prefix_len(), 2);
        assert!(matches!(bytes.take("all", 3), Err(Shortfall::File { .. })));
    }
}
