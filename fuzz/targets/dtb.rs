#![no_main]
//! See `readers.rs`.

#[path = "../readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| readers::dtb(data));
