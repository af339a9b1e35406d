//! Takes the built page (`make web`) into the crate. Without it the crate
//! still builds, so that `cargo check` needs no Node.js; rendering then fails
//! with an error that says what to do.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(page_built)");
    let page = Path::new("../../web/dist/page.html");
    println!("cargo::rerun-if-changed={}", page.display());
    let out = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("page.html");
    if page.exists() {
        println!("cargo::rustc-cfg=page_built");
        fs::copy(page, &out).expect("the page can be copied to OUT_DIR");
    } else {
        fs::write(&out, "").expect("OUT_DIR can be written");
    }
}
