//! GGUF headers.

use wimg_core::gguf::{Header, Read, read};

/// Far more than any input has.
const HUGE: u64 = 1 << 40;

/// Reads `data` as a file: the same verdict however its prefix grows, and none
/// that is no verdict for a longer file that starts with it.
///
/// # Panics
/// Something is wrong with the reader.
pub fn check(data: &[u8]) {
    let whole = verdict(data, usize::MAX);
    let grown = verdict(data, data.len() / 3 + 1);
    // NaN is not equal to itself, so a header is compared as it prints.
    assert_eq!(format!("{whole:?}"), format!("{grown:?}"));
    if let Ok(header) = &whole {
        sound(header, data.len() as u64);
    }
    if let Ok(Read::Header(header)) = read(data, HUGE) {
        sound(&header, HUGE);
    }
}

/// The header of a whole file whose prefix grows by at least `step` bytes.
pub(crate) fn verdict(data: &[u8], step: usize) -> Result<Header, String> {
    let file_len = data.len() as u64;
    let mut have = 0;
    loop {
        match read(&data[..have], file_len).map_err(|error| error.to_string())? {
            Read::Header(header) => return Ok(header),
            Read::More { at_least } => {
                assert!(at_least > have as u64 && at_least <= file_len);
                let least = usize::try_from(at_least).unwrap_or(usize::MAX);
                have = least.max(have.saturating_add(step)).min(data.len());
            }
        }
    }
}

/// What a reader of the header may rely on.
fn sound(header: &Header, file_len: u64) {
    assert!(header.header_len <= file_len && header.trailing <= file_len);
    assert!(header.alignment.is_power_of_two());
    for tensor in &header.tensors {
        assert!((1..=4).contains(&tensor.dims.len()) && !tensor.name.is_empty());
        assert!(tensor.offset >= header.data_start);
        assert_eq!((tensor.offset - header.data_start) % header.alignment, 0);
        if let Some(len) = tensor.len {
            assert!(tensor.offset.checked_add(len).is_some_and(|end| end <= file_len || len == 0));
        }
    }
}
