//! JUnit's XML, as Jenkins and GitLab read it: what is not known is `skipped`.

use super::told::{SUITE, lines};
use dormouse_base::gate::{Gate, Verdict};
use dormouse_sleep::budget::Gated;

pub(super) fn print(answer: &Gated, inputs: &[String]) -> String {
    let of = |v: Verdict| answer.gates.iter().filter(|g| g.verdict == v).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
        answer.gates.len(),
        of(Verdict::Missed),
        of(Verdict::Unknown)
    );
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"dormouse\" {counts}>\n  \
         <testsuite name=\"{SUITE}\" {counts}>\n"
    );
    out += "    <properties>\n";
    for input in inputs {
        out += &format!("      <property name=\"input\" value=\"{}\"/>\n", escaped(input));
    }
    for g in &answer.gates {
        let (name, limit) = (&g.name, escaped(&g.limit));
        out += &format!("      <property name=\"limit.{name}\" value=\"{limit}\"/>\n");
    }
    out += "    </properties>\n";
    answer.gates.iter().for_each(|g| out += &case(g));
    out + "  </testsuite>\n</testsuites>\n"
}

fn case(g: &Gate) -> String {
    let (message, body) = (escaped(&g.sentence), escaped(&lines(g).join("\n")));
    let inner = match g.verdict {
        Verdict::Missed => {
            format!("<failure type=\"missed\" message=\"{message}\">{body}</failure>")
        }
        Verdict::Unknown => format!("<skipped message=\"{message}\"/>"),
        Verdict::Met => format!("<system-out>{body}</system-out>"),
    };
    format!(
        "    <testcase classname=\"{SUITE}\" name=\"{}\">\n      {inner}\n    </testcase>\n",
        g.name
    )
}

/// Text as XML 1.0 allows it, in an attribute or between tags.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // Attributes would lose them.
            '\n' | '\r' | '\t' => out.push_str(&format!("&#{};", u32::from(c))),
            // No document may hold these (XML 1.0, production 2).
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
