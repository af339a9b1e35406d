//! The page that `web/` builds, and the one place in it that takes the data.

use crate::block::Blocks;
use crate::letters::letters;
use std::fmt::Write;

const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
const IDLE: &str = include_str!(concat!(env!("OUT_DIR"), "/idle.html"));
/// The simulator as a stream of zlib, the same in both.
const SIMULATOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/simulator.z"));
const SIMULATOR_PLACE: &str = "<!--dormouse:simulator-->";
const PLACE: &str = "<!--dormouse:data-->";

/// Whether the crate was built with the page.
pub fn is_built() -> bool {
    cfg!(page_built) && PAGE.contains(PLACE)
}

/// The page with `blocks` in it. The title goes through the data, where it is
/// text; here it would be markup.
pub fn assemble(_title: &str, blocks: &Blocks) -> String {
    fill(PAGE, blocks)
}

/// The page of idle states with `blocks` in it.
pub fn assemble_idle(blocks: &Blocks) -> String {
    fill(IDLE, blocks)
}

fn fill(page: &str, blocks: &Blocks) -> String {
    let (head, tail) = page.split_once(PLACE).unwrap_or((page, ""));
    let data: usize = blocks.list().iter().map(|b| b.len() + 64).sum();
    let simulator = letters(SIMULATOR);
    let mut out = String::with_capacity(head.len() + simulator.len() + tail.len() + data);
    out.push_str(&head.replacen(SIMULATOR_PLACE, &simulator, 1));
    for (i, b) in blocks.list().iter().enumerate() {
        let _ = writeln!(out, "<script type=\"text/plain\" id=\"block-{i}\">{b}</script>");
    }
    out.push_str(tail);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_data_is_the_one_that_was_built() {
        if !is_built() {
            println!("SKIPPED: the page is not built (make web)");
            return;
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
        let dist = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
        let none = Blocks::default();
        assert!(assemble("", &none) == dist("page.html").replace(PLACE, ""));
        assert!(assemble_idle(&none) == dist("idle.html").replace(PLACE, ""));
    }
}
