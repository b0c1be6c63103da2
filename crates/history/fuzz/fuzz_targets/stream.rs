#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| history::format::fuzz::stream(data));
