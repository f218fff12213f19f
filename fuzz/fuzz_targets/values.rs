#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| graphweft_fuzz_bodies::values(data));
