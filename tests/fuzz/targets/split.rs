//! Fuzzes `wimg_fuzz::split`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wimg_fuzz::split::check(data));
