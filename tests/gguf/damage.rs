//! Sound files, damaged at random: no panic, one verdict however the prefix
//! grows, and whatever is accepted keeps the reader's promises.

use wimg_core::checkpoint::Checkpoint;
use wimg_core::gguf::{self, Header, Read};
use wimg_tests::gguf::{ARRAY, BOOL, Gguf, STRING, U16, U64, array, string, tensor};

use crate::prefix::same_verdict_however_it_grows;

/// Knuth's 64-bit linear congruential generator; its high half is returned.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn sound() -> Vec<u8> {
    let words = [string(b"a"), string(b"\r\n"), string("\u{fffd}".as_bytes())].concat();
    Gguf::sound()
        .with_key(b"words", ARRAY, &array(STRING, 3, &words))
        .with_key(b"flags", ARRAY, &array(ARRAY, 1, &array(BOOL, 2, &[0, 1])))
        .with_key(b"split.count", U16, &[1, 0])
        .with_key(b"big", U64, &[0xff; 8])
        .with_tensors(
            vec![
                tensor(b"a", &[32, 2], 8, 0),
                tensor(b"b", &[4], 0, 96),
                tensor(b"private", &[4], 148, 128),
                tensor(b"empty", &[0], 0, 160),
            ],
            192,
        )
        .bytes()
}

fn damaged(random: &mut Random) -> Vec<u8> {
    let mut file = sound();
    for _ in 0..=random.below(3) {
        if file.is_empty() {
            break;
        }
        let at = random.below(file.len());
        match random.below(6) {
            0 => file[at] ^= 1 << random.below(8),
            1 => file[at] = [0, 1, 0x7f, 0x80, 0xff, 9][random.below(6)],
            2 => file.truncate(at),
            3 => drop(file.remove(at)),
            4 => file.insert(at, 0),
            _ => {
                let end = (at + random.below(40)).min(file.len());
                let run = file[at..end].to_vec();
                let to = random.below(file.len());
                file.splice(to..to, run);
            }
        }
    }
    file
}

fn keeps_its_promises(header: &Header) {
    assert!(header.alignment.is_power_of_two() && header.header_len <= header.file_len);
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for tensor in &header.tensors {
        assert!((1..=64).contains(&tensor.name.len()) && (1..=4).contains(&tensor.dims.len()));
        assert_eq!((tensor.offset - header.data_start) % header.alignment, 0);
        assert!(tensor.offset + tensor.len.unwrap_or(0) <= header.file_len);
        assert_eq!(tensor.len.is_some(), tensor.format.block().is_some());
        runs.extend(tensor.len.filter(|&len| len > 0).map(|len| (tensor.offset, len)));
    }
    if let Ok(checkpoint) = Checkpoint::new(vec![header.clone()]) {
        runs.push((0, header.header_len));
        runs.extend(checkpoint.gaps().iter().map(|gap| (gap.offset, gap.len)));
        runs.sort_unstable();
        let end = runs.iter().fold(0, |at, &(offset, len)| {
            assert_eq!(offset, at);
            offset + len
        });
        assert_eq!(end, header.file_len);
    }
}

#[test]
fn damage_is_refused_or_harmless() {
    let seed = 20_261_129;
    println!("seed {seed}");
    let mut random = Random(seed);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..3000 {
        let file = damaged(&mut random);
        match gguf::read(&file, file.len() as u64) {
            Ok(Read::Header(header)) => {
                keeps_its_promises(&header);
                accepted += 1;
            }
            Ok(Read::More { .. }) => panic!("the whole file was at hand"),
            Err(_) => refused += 1,
        }
        same_verdict_however_it_grows("damaged", &file);
    }
    assert!(accepted > 300 && refused > 1000, "{accepted} {refused}");
}
