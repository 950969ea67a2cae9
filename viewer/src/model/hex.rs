//! Bytes in hex, and where two runs of them differ.

/// Bytes of a line of hex.
pub const PER_LINE: usize = 16;

/// One line of hex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexLine {
    /// The first byte's place.
    pub offset: u64,
    /// Pieces of the line, in order: two digits a byte, and whether those
    /// bytes differ from the other run's.
    pub pieces: Vec<(String, bool)>,
    /// The bytes as ASCII; dots for those that are none. Blanks come before
    /// those of a short line.
    pub ascii: String,
}

/// Lines `from ..` of `bytes`, at most `lines` of them, held against `other`
/// where there is one. Bytes that only one of them has differ.
pub fn lines(bytes: &[u8], other: Option<&[u8]>, from: usize, lines: usize) -> Vec<HexLine> {
    let chunks = bytes.chunks(PER_LINE).enumerate().skip(from).take(lines);
    chunks.map(|(at, chunk)| line(at * PER_LINE, chunk, other)).collect()
}

fn line(start: usize, chunk: &[u8], other: Option<&[u8]>) -> HexLine {
    let mut pieces: Vec<(String, bool)> = Vec::new();
    // A line that is short keeps its columns.
    let missing = PER_LINE - chunk.len().min(PER_LINE);
    let mut ascii = " ".repeat(missing * 3 + usize::from(missing >= PER_LINE / 2));
    for (at, byte) in chunk.iter().enumerate() {
        let differs = other.is_some_and(|other| other.get(start + at) != Some(byte));
        let space = match at {
            0 => "",
            8 => "  ",
            _ => " ",
        };
        match pieces.last_mut().filter(|(_, same)| *same == differs) {
            Some((text, _)) => *text += &format!("{space}{byte:02x}"),
            None => pieces.push((format!("{space}{byte:02x}"), differs)),
        }
        let printable = byte.is_ascii_graphic() || *byte == b' ';
        ascii.push(if printable { char::from(*byte) } else { '\u{b7}' });
    }
    HexLine { offset: start as u64, pieces, ascii }
}

/// How many bytes differ, and the first that does. Bytes that only one run has
/// count.
pub fn differences(one: &[u8], other: &[u8]) -> (u64, Option<u64>) {
    let longer = one.len().max(other.len());
    let mut differing = (0..longer).filter(|&at| one.get(at) != other.get(at));
    let first = differing.next();
    (first.map_or(0, |_| 1 + differing.count() as u64), first.map(|at| at as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_marked() {
        let one: Vec<u8> = (0..40).collect();
        let mut other = one.clone();
        other[18] ^= 1;
        other[19] ^= 1;
        other.truncate(39);
        let shown: Vec<String> = lines(&one, Some(&other), 1, 9)
            .into_iter()
            .map(|line| {
                let pieces = line.pieces.iter().map(|(text, differs)| match differs {
                    true => format!("[{text}]"),
                    false => text.clone(),
                });
                format!("{:04x}: {} |{}|", line.offset, pieces.collect::<String>(), line.ascii)
            })
            .collect();
        expect_test::expect![[r##"
            0010: 10 11[ 12 13] 14 15 16 17  18 19 1a 1b 1c 1d 1e 1f |················|
            0020: 20 21 22 23 24 25 26[ 27] |                          !"#$%&'|"##]]
        .assert_eq(&shown.join("\n"));
        assert_eq!(differences(&one, &other), (3, Some(18)));
        assert_eq!(differences(&one, &one), (0, None));
        assert!(lines(&one, None, 0, 99).iter().all(|line| line.pieces.len() == 1));
        assert!(lines(&one, None, 3, 9).is_empty());
    }
}
