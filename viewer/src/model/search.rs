//! Finding tensors by a part of their names.

use wimg_core::TensorEntry;

/// The places of the tensors whose names have every word of `find`, whatever
/// the case. Nothing is found by no words.
pub fn matches(tensors: &[TensorEntry], find: &str) -> Vec<usize> {
    let words: Vec<String> = find.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let has = |name: &str| {
        let name = name.to_lowercase();
        words.iter().all(|word| name.contains(word))
    };
    tensors.iter().enumerate().filter(|(_, t)| has(&t.name)).map(|(at, _)| at).collect()
}

/// The match after `at` (before it, if `back`), round and round.
pub fn next(matches: &[usize], at: Option<usize>, back: bool) -> Option<usize> {
    let found = match (at, back) {
        (None, false) => None,
        (None, true) => None,
        (Some(at), false) => matches.iter().find(|&&found| found > at),
        (Some(at), true) => matches.iter().rfind(|&&found| found < at),
    };
    found.or(if back { matches.last() } else { matches.first() }).copied()
}

#[cfg(test)]
mod tests {
    use wimg_core::HEADERS;

    use super::*;

    #[test]
    fn matches_go_round() {
        let tensors = HEADERS[0].table().tensors;
        let found = matches(&tensors, "FFN_up blk.1");
        assert_eq!(found.len(), 11, "blk.1 and blk.10 to blk.19");
        assert!(found.iter().all(|&at| tensors[at].name.contains("ffn_up")));
        assert_eq!(next(&found, None, false), found.first().copied());
        assert_eq!(next(&found, Some(found[0]), false), Some(found[1]));
        assert_eq!(next(&found, Some(found[10]), false), Some(found[0]));
        assert_eq!(next(&found, Some(found[0]), true), Some(found[10]));
        assert_eq!(next(&found, Some(found[4] - 1), true), Some(found[3]));
        assert!(matches(&tensors, "  ").is_empty());
        assert_eq!(next(&[], Some(3), false), None);
    }
}
