//! What a file that is not GGUF most likely is.

use crate::escape::Escaped;

/// Bytes from a file's start that are enough to tell what it is.
pub(crate) const SNIFF_BYTES: u64 = 512;

/// A file that was taken for GGUF, by its first bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum Lookalike {
    #[error("the file is empty")]
    Empty,
    #[error("the file ends inside the magic `GGUF`, after `{len}` bytes")]
    HalfMagic { len: u64 },
    #[error("the magic is `{found}`, not `GGUF` in upper case")]
    Case { found: String },
    #[error("the magic is `FUGG`, GGUF's backwards: a big-endian file or swapped words")]
    Swapped,
    #[error("{name} file (magic `{magic}`), a predecessor of GGUF: convert it again")]
    GgmlFamily { name: &'static str, magic: String },
    #[error("a safetensors file: convert it to GGUF first")]
    Safetensors,
    #[error("{0}")]
    Container(&'static str),
    #[error("a Git LFS pointer, not the file it points to: fetch it with `git lfs pull`")]
    LfsPointer,
    #[error("an HTML or XML page: a download that gave an error page?")]
    Html,
    #[error("JSON text: a download that gave an error message?")]
    Json,
    #[error("text")]
    Text,
    #[error("text in UTF-16")]
    Utf16,
    #[error("the magic follows a byte order mark: written or saved as text")]
    BomBeforeMagic,
    #[error("text follows the magic `GGUF`")]
    TextAfterMagic,
    #[error("its first `{count}` bytes are zeros: a download that was never filled in?")]
    Zeros { count: u64 },
    #[error("the magic is `{found}`")]
    Unknown { found: String },
}

/// Magics that settle it: containers in which models are handed around.
const CONTAINERS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a zip archive (as PyTorch's files are)"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"PK\x07\x08", "a zip archive (as PyTorch's files are)"),
    (b"\x1f\x8b", "gzip data: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd data: unpack it first"),
    (b"\xfd7zXZ\0", "xz data: unpack it first"),
    (b"BZh", "bzip2 data: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-zip archive: unpack it first"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"%PDF-", "a PDF"),
    (b"\x7fELF", "an ELF program"),
];

/// The GGML family: the name, and the magic as a little-endian machine wrote
/// it (the other order is a big-endian machine's).
const GGML: &[(&str, [u8; 4])] =
    &[("GGML", *b"lmgg"), ("GGMF", *b"fmgg"), ("GGJT", *b"tjgg"), ("GGLA", *b"algg")];

/// Names a file by its first bytes (`SNIFF_BYTES`, or all of a shorter one),
/// which are known not to start with `GGUF`.
pub(crate) fn sniff(start: &[u8], file_len: u64) -> Lookalike {
    if start.is_empty() {
        return Lookalike::Empty;
    }
    if b"GGUF".starts_with(start) {
        return Lookalike::HalfMagic { len: file_len };
    }
    let magic = start.first_chunk::<4>().copied().unwrap_or_default();
    let shown = || Escaped::new(start.first_chunk::<4>().map_or(start, |m| m)).to_string();
    let reversed = || magic.iter().rev().copied();
    if magic == *b"FUGG" {
        return Lookalike::Swapped;
    }
    if magic.eq_ignore_ascii_case(b"GGUF") {
        return Lookalike::Case { found: shown() };
    }
    if let Some((name, _)) =
        GGML.iter().find(|(_, family)| *family == magic || reversed().eq(*family))
    {
        return Lookalike::GgmlFamily { name, magic: shown() };
    }
    if let Some((_, name)) = CONTAINERS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Lookalike::Container(name);
    }
    if is_safetensors(start) {
        return Lookalike::Safetensors;
    }
    let zeros = start.iter().take_while(|&&byte| byte == 0).count();
    if zeros == start.len() || zeros >= 16 {
        return Lookalike::Zeros { count: u64::try_from(zeros).unwrap_or(u64::MAX) };
    }
    text(start).unwrap_or_else(|| Lookalike::Unknown { found: shown() })
}

/// A 64-bit header length, then the header: JSON, an object. Real headers are
/// at most 100 MB; so no text's first eight bytes are such a length.
fn is_safetensors(start: &[u8]) -> bool {
    let Some((len, json)) = start.split_first_chunk::<8>() else { return false };
    (2..1 << 32).contains(&u64::from_le_bytes(*len)) && json.first() == Some(&b'{')
}

fn text(start: &[u8]) -> Option<Lookalike> {
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Some(Lookalike::Utf16);
    }
    let body = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    if body.starts_with(b"GGUF") {
        return Some(Lookalike::BomBeforeMagic);
    }
    if !is_text(body) {
        return None;
    }
    let trimmed = body.trim_ascii_start();
    Some(match trimmed.first() {
        _ if is_lfs_pointer(trimmed) => Lookalike::LfsPointer,
        Some(b'<') => Lookalike::Html,
        Some(b'{' | b'[') => Lookalike::Json,
        _ => Lookalike::Text,
    })
}

fn is_lfs_pointer(body: &[u8]) -> bool {
    [&b"version https://git-lfs.github.com/spec/"[..], b"version https://hawser.github.com/spec/"]
        .iter()
        .any(|start| body.starts_with(start))
}

/// No control characters but those of text. Any encoding that keeps ASCII
/// passes; hundreds of random bytes do not.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|&byte| matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | 0x1b | 0x20..=0x7e | 0x80..))
}
