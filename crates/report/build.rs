//! Takes the built pages and the simulator (`make web`) into the crate. Without them
//! the crate still builds, so that `cargo check` needs no Node.js; rendering then fails
//! with an error that says what to do.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(page_built)");
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut built = true;
    for name in ["page.html", "idle.html", "simulator.z"] {
        let file = Path::new("../../web/dist").join(name);
        println!("cargo::rerun-if-changed={}", file.display());
        built &= file.exists();
        let bytes = fs::read(file).unwrap_or_default();
        fs::write(Path::new(&out).join(name), bytes).expect("OUT_DIR can be written");
    }
    if built {
        println!("cargo::rustc-cfg=page_built");
    }
}
