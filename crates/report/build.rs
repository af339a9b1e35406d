//! Takes the built pages (`make web`) into the crate, the simulator that both
//! hold only once. Without them the crate still builds, so that `cargo check` needs
//! no Node.js; rendering then fails with an error that says what to do.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(page_built)");
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut built = true;
    for name in ["page.html", "idle.html"] {
        let page = Path::new("../../web/dist").join(name);
        println!("cargo::rerun-if-changed={}", page.display());
        built &= page.exists();
        let page = fs::read_to_string(page).unwrap_or_default();
        let (page, simulator) = apart(&page);
        let write = |name: &str, text: &str| {
            fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
        };
        write(name, &page);
        // That of the last page is that of all.
        write("simulator.html", simulator);
    }
    if built {
        println!("cargo::rustc-cfg=page_built");
    }
}

/// A page with a mark where its simulator stood, and that element.
fn apart(page: &str) -> (String, &str) {
    const END: &str = "</script>\n";
    let found = page.find("<script type=\"text/plain\" id=\"simulator\">").and_then(|at| {
        let end = at + page[at..].find(END)? + END.len();
        Some((at, end))
    });
    let Some((at, end)) = found else { return (page.into(), "") };
    (format!("{}<!--dormouse:simulator-->{}", &page[..at], &page[end..]), &page[at..end])
}
