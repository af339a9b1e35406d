//! Takes the built pages (`make web`) into the crate. Without them the crate
//! still builds, so that `cargo check` needs no Node.js; rendering then fails
//! with an error that says what to do.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(page_built)");
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut built = true;
    for name in ["page.html", "idle.html"] {
        let page = Path::new("../../web/dist").join(name);
        println!("cargo::rerun-if-changed={}", page.display());
        let out = Path::new(&out).join(name);
        built &= page.exists();
        if page.exists() {
            fs::copy(page, &out).expect("the page can be copied to OUT_DIR");
        } else {
            fs::write(&out, "").expect("OUT_DIR can be written");
        }
    }
    if built {
        println!("cargo::rustc-cfg=page_built");
    }
}
