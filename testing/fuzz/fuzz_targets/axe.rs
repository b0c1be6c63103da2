#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| format::fuzz::axe(data));
