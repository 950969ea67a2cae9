//! Fuzzes `wimg_fuzz::image_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wimg_fuzz::image_json::check(data));
