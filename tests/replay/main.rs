//! What fuzzing begins with and what it has found, again: no property breaks.
//! Inputs that it finds are kept in `found/TARGET/`, under a name that says
//! what was wrong.
#![expect(clippy::unwrap_used, reason = "an input that is not read fails the test")]

use std::fs;
use std::path::Path;

use wimg_fuzz::seeds::targets;
use wimg_tests::cases::random_bytes;

#[test]
fn seeds_findings_and_some_mutants_break_nothing() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let targets = targets(&tests.join("data/malformed")).unwrap();
    let names: Vec<&str> = targets.iter().map(|target| target.name).collect();
    assert_eq!(names, ["gguf", "split", "image_json", "layout"]);
    for target in targets {
        assert!(!target.seeds.is_empty());
        let found = tests.join("replay/found").join(target.name);
        let found = fs::read_dir(found).into_iter().flatten();
        let found: Vec<Vec<u8>> =
            found.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
        for (number, input) in target.seeds.iter().chain(&found).enumerate() {
            (target.check)(input);
            for mutant in mutants(number as u64, input) {
                (target.check)(&mutant);
            }
        }
    }
}

/// Each with a few bytes changed, cut out or doubled; the same ones every time.
fn mutants(seed: u64, input: &[u8]) -> Vec<Vec<u8>> {
    // Long ones cost much and say little more.
    if input.is_empty() || input.len() > 1 << 16 {
        return Vec::new();
    }
    let draws = random_bytes(seed, 12 * 24);
    let (draws, _) = draws.as_chunks::<24>();
    let draw = |bytes: &[u8; 24], at: usize| {
        let word = bytes[at..at + 8].try_into().unwrap();
        usize::try_from(u64::from_le_bytes(word) % input.len() as u64).unwrap()
    };
    let mutant = |bytes: &[u8; 24]| {
        let mut mutant = input.to_vec();
        let (from, to) = (draw(bytes, 0), draw(bytes, 8));
        match bytes[16] % 4 {
            0 => mutant[from] ^= 1 << (bytes[17] % 8),
            1 => mutant[from] = bytes[17],
            2 => drop(mutant.drain(from.min(to)..from.max(to).min(from.min(to) + 9))),
            _ => {
                let part = mutant[from.min(to)..from.max(to).min(from.min(to) + 9)].to_vec();
                mutant.splice(from..from, part);
            }
        }
        mutant
    };
    draws.iter().map(mutant).collect()
}
