//! The kernel's test anything protocol, version 1: what is not known is `ok` with `# SKIP`.

use super::told::lines;
use dormouse_base::gate::Verdict;
use dormouse_sleep::budget::Gated;

pub(super) fn print(answer: &Gated) -> String {
    let mut out = format!("KTAP version 1\n1..{}\n", answer.gates.len());
    for (i, g) in answer.gates.iter().enumerate() {
        let lines = lines(g);
        if g.verdict != Verdict::Unknown {
            lines.iter().for_each(|l| out += &format!("# {}: {}\n", g.name, harmless(l)));
        }
        let (ok, skip) = match g.verdict {
            Verdict::Met => ("ok", String::new()),
            Verdict::Missed => ("not ok", String::new()),
            // A further `#` would begin another directive.
            Verdict::Unknown => {
                let why = harmless(&lines.join(" ")).replace(" #", " \\#");
                ("ok", format!(" # SKIP {why}"))
            }
        };
        out += &format!("{ok} {} {}{skip}\n", i + 1, g.name);
    }
    out
}

/// Where the kernel's own reader stops, wherever on a line it stands
/// (tools/testing/kunit/kunit_parser.py, `KTAP_END`, 6.1 to 7.3).
const ENDS: [&str; 3] =
    ["List of all partitions:", "Kernel panic - not syncing: VFS:", "reboot: System halted"];

/// A line that ends no reading.
fn harmless(line: &str) -> String {
    ENDS.iter().fold(line.to_string(), |l, end| l.replace(end, &end.replace(':', ";")))
}
