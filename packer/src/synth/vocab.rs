//! A byte-level BPE vocabulary of any size.
//!
//! Every token is a string of bytes, in order of length and then of value; the
//! last one ends a text. So every token longer than a byte is the merge of the
//! token that is its beginning and the byte that is its end, and the vocabulary
//! is one that a tokenizer can use.

use wimg_core::gguf::{Array, Value};

/// The last token.
const END_OF_TEXT: &str = "<|endoftext|>";
/// Token types of GGUF's `tokenizer.ggml.token_type`.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;

/// The metadata of a tokenizer with `size` tokens, at least 257.
pub(crate) fn metadata(size: u64) -> Vec<(String, Value)> {
    let last = size.saturating_sub(1);
    let tokens: Vec<Vec<u8>> = (0..last)
        .map(|id| spelling(&bytes_of(id)).into_bytes())
        .chain([END_OF_TEXT.as_bytes().to_vec()])
        .collect();
    let types: Vec<i32> = (0..last).map(|_| NORMAL).chain([CONTROL]).collect();
    let merges: Vec<Vec<u8>> = (256..last)
        .filter_map(|id| {
            let bytes = bytes_of(id);
            let (end, beginning) = bytes.split_last()?;
            Some(format!("{} {}", spelling(beginning), spelling(&[*end])).into_bytes())
        })
        .collect();
    let end = Value::U32(u32::try_from(last).unwrap_or(u32::MAX));
    [
        ("model", Value::String(b"gpt2".to_vec())),
        ("pre", Value::String(b"qwen35".to_vec())),
        ("tokens", Value::Array(Array::strings(&tokens))),
        ("token_type", Value::Array(Array::i32s(&types))),
        ("merges", Value::Array(Array::strings(&merges))),
        ("eos_token_id", end.clone()),
        ("padding_token_id", end),
        ("add_bos_token", Value::Bool(false)),
    ]
    .into_iter()
    .map(|(key, value)| (format!("tokenizer.ggml.{key}"), value))
    .collect()
}

/// The bytes of a token: its id in bijective base 256.
fn bytes_of(id: u64) -> Vec<u8> {
    let mut rest = id + 1;
    let mut bytes = Vec::new();
    while rest > 0 {
        rest -= 1;
        bytes.insert(0, rest.to_le_bytes()[0]);
        rest >>= 8;
    }
    bytes
}

/// GPT-2's spelling of bytes: those that print stand for themselves, the others
/// for the characters from U+0100 on.
fn spelling(bytes: &[u8]) -> String {
    let prints = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let spell = |byte: u8| {
        if prints(byte) {
            return char::from(byte);
        }
        let before = (0..byte).filter(|b| !prints(*b)).count();
        u32::try_from(before)
            .ok()
            .and_then(|n| char::from_u32(0x100 + n))
            .unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    bytes.iter().map(|byte| spell(*byte)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn strings(metadata: &[(String, Value)], key: &str) -> Vec<String> {
        let Some((_, Value::Array(array))) = metadata.iter().find(|(k, _)| k == key) else {
            panic!("{key}")
        };
        let mut rest = array.bytes.as_slice();
        let mut all = Vec::new();
        while let Some((len, after)) = rest.split_first_chunk() {
            let (text, after) = after.split_at(usize::try_from(u64::from_le_bytes(*len)).unwrap());
            all.push(String::from_utf8(text.to_vec()).unwrap());
            rest = after;
        }
        assert_eq!(all.len() as u64, array.len);
        all
    }

    #[test]
    fn every_merge_joins_two_tokens_into_a_third() {
        for size in [257, 300, 70_000] {
            let metadata = metadata(size);
            let tokens = strings(&metadata, "tokenizer.ggml.tokens");
            let merges = strings(&metadata, "tokenizer.ggml.merges");
            let known: BTreeSet<&String> = tokens.iter().collect();
            assert_eq!(tokens.len() as u64, size);
            assert_eq!(known.len() as u64, size);
            assert_eq!(merges.len() as u64, size - 257);
            for (merge, token) in merges.iter().zip(&tokens[256..]) {
                let (left, right) = merge.split_once(' ').unwrap();
                assert!(
                    known.contains(&left.to_owned()) && known.contains(&right.to_owned()),
                    "{merge}"
                );
                assert_eq!(&format!("{left}{right}"), token);
            }
        }
    }

    #[test]
    fn bytes_are_spelled_as_gpt2_does() {
        assert_eq!(spelling(b"a b\n\x7f\xad\xff"), "aĠbĊġŃÿ");
        assert_eq!(bytes_of(255), [255]);
        assert_eq!(bytes_of(256), [0, 0]);
        assert_eq!(bytes_of(256 + 65536), [0, 0, 0]);
    }
}
