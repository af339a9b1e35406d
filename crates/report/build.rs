//! Takes the built pages (`make web`) into the crate, the simulator that both
//! hold only once. Without them the crate still builds, so that `cargo check` needs
//! no Node.js; rendering then fails with an error that says what to do.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(page_built)");
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut built = true;
    let mut take = |name: &str| {
        let file = Path::new("../../web/dist").join(name);
        println!("cargo::rerun-if-changed={}", file.display());
        built &= file.exists();
        fs::read(file).unwrap_or_default()
    };
    let write = |name: &str, bytes: &[u8]| {
        fs::write(Path::new(&out).join(name), bytes).expect("OUT_DIR can be written");
    };
    write("simulator.z", &take("simulator.z"));
    for name in ["page.html", "idle.html"] {
        let page = String::from_utf8_lossy(&take(name)).into_owned();
        write(name, without_simulator(&page).as_bytes());
    }
    if built {
        println!("cargo::rustc-cfg=page_built");
    }
}

/// The page with a mark where the letters of its simulator stood.
fn without_simulator(page: &str) -> String {
    const BEGIN: &str = "<script type=\"text/plain\" id=\"simulator\">";
    let Some((head, rest)) = page.split_once(BEGIN) else { return page.into() };
    let Some((_, tail)) = rest.split_once("</script>") else { return page.into() };
    format!("{head}{BEGIN}<!--dormouse:simulator--></script>{tail}")
}
