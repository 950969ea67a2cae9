//! Fuzzes `wimg_fuzz::layout`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wimg_fuzz::layout::check(data));
