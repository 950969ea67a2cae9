//! BLAKE3 digests, which name files.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A BLAKE3 digest, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of what a hasher has been given.
    pub fn finish(hasher: &blake3::Hasher) -> Digest {
        Digest(*hasher.finalize().as_bytes())
    }

    /// Reads 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Digest> {
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let hash = blake3::Hash::from_hex(text).ok().filter(|_| lower)?;
        Some(Digest(*hash.as_bytes()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("a digest is 64 lower-case hex digits"))
    }
}
