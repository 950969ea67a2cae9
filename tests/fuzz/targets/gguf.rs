//! Fuzzes `wimg_fuzz::gguf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wimg_fuzz::gguf::check(data));
