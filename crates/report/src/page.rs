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
pub(crate) fn is_built() -> bool {
    cfg!(page_built) && PAGE.contains(PLACE)
}

/// The page with `blocks` in it. The title goes through the data, where it is
/// text; here it would be markup.
pub(crate) fn assemble(_title: &str, blocks: &Blocks) -> String {
    fill(PAGE, blocks)
}

/// The page of idle states with `blocks` in it.
pub(crate) fn assemble_idle(blocks: &Blocks) -> String {
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
    use std::io::Read;

    #[test]
    fn both_pages_hold_the_simulator_and_no_place_is_left() {
        if !is_built() {
            println!("SKIPPED: the page is not built (make web)");
            return;
        }
        for page in [assemble("", &Blocks::new(|t| t)), assemble_idle(&Blocks::new(|t| t))] {
            assert!(!page.contains("<!--dormouse:"));
            let begin = page.split_once("id=\"simulator\">").expect("a simulator").1;
            let text = begin.split_once("</script>").expect("its end").0;
            let packed = crate::letters::tests::read(text);
            let mut module = Vec::new();
            flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut module).unwrap();
            assert!(module.starts_with(b"\0asm"));
        }
    }
}
