//! Signals of LAVA's test shell, as `lava-test-case` prints them: what is not known is `skip`.

use super::told::{lines, measured};
use dormouse_base::gate::Verdict;
use dormouse_sleep::budget::Gated;

pub(super) fn print(answer: &Gated) -> String {
    let mut out = String::new();
    for g in &answer.gates {
        for l in lines(g) {
            // LAVA acts on what stands in angle brackets, wherever on a line.
            out += &format!("# {}: {}\n", g.name, l.replace('<', "(").replace('>', ")"));
        }
        let result = match g.verdict {
            Verdict::Met => "pass",
            Verdict::Missed => "fail",
            Verdict::Unknown => "skip",
        };
        let figure = measured(g).map_or(String::new(), |f| {
            format!(" MEASUREMENT={} UNITS={}", f.decimal(), f.unit.name())
        });
        let name = &g.name;
        out += &format!("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name} RESULT={result}{figure}>\n");
    }
    out
}
