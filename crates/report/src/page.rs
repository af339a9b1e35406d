//! The page that `web/` builds, and the one place in it that takes the data.

use crate::block::Blocks;
use std::fmt::Write;

const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
const IDLE: &str = include_str!(concat!(env!("OUT_DIR"), "/idle.html"));
/// The element that holds the simulator, the same in both.
const SIMULATOR: &str = include_str!(concat!(env!("OUT_DIR"), "/simulator.html"));
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
    let mut out = String::with_capacity(head.len() + SIMULATOR.len() + tail.len() + data);
    out.push_str(&head.replacen(SIMULATOR_PLACE, SIMULATOR, 1));
    for (i, b) in blocks.list().iter().enumerate() {
        let _ = writeln!(out, "<script type=\"text/plain\" id=\"block-{i}\">{b}</script>");
    }
    out.push_str(tail);
    out
}
