//! Numbers for people: digits in groups, bytes in GB, shares in percent.

/// Decimal digits in groups of three, parted by narrow no-break spaces.
pub fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    if number < 0 {
        text.push('\u{2212}');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// [`grouped`] of a count.
pub fn count(number: u64) -> String {
    grouped(i128::from(number))
}

/// Bytes with three digits that count: `28.6 GB` (10^9 bytes), `640 B`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = match (unit, value) {
        (0, _) => 0,
        (_, v) if v < 9.995 => 2,
        (_, v) if v < 99.95 => 1,
        _ => 0,
    };
    let unit = UNITS.get(unit).copied().unwrap_or_default();
    format!("{value:.decimals$}\u{202f}{unit}")
}

/// A part of a whole, from 0 to 1 (more where the part is the larger); 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A share in percent with two decimals: `0.17%`.
pub fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A whole number of a size that a screen or an index has. What is no number
/// or negative is 0; what is larger than 2^53 is cut to that.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0 ..= 2^53 before"
)]
pub fn whole(number: f64) -> u64 {
    const MOST: f64 = 9_007_199_254_740_992.0;
    if number.is_nan() { 0 } else { number.clamp(0.0, MOST) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(512), "512");
        assert_eq!(count(28_584_769_536), "28\u{202f}584\u{202f}769\u{202f}536");
        assert_eq!(grouped(-1234), "\u{2212}1\u{202f}234");
    }

    #[test]
    fn bytes_have_three_digits() {
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (28_584_769_536, "28.6 GB"),
            (999_600, "1.00 MB"),
            (123_456_789, "123 MB"),
        ] {
            assert_eq!(bytes(number).replace('\u{202f}', " "), text);
        }
        assert_eq!(percent(share(32, 18_995)), "0.17%");
        assert_eq!(share(1, 0), 0.0);
    }

    #[test]
    fn whole_numbers_are_clamped() {
        assert_eq!((whole(f64::NAN), whole(-1.0), whole(2.9)), (0, 0, 2));
        assert_eq!(whole(f64::INFINITY), 1 << 53);
    }
}
