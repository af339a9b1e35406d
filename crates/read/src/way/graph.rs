//! Calls of a function_graph trace (kernel/trace/trace_functions_graph.c), as `trace` prints
//! them and as pm-graph writes them into comments.

use super::shown::shown;
use dormouse_doctor::way::Call;

/// So many calls are kept.
const MOST: usize = 20_000;

/// A call that is open.
struct Open {
    name: String,
    line: u64,
    indent: usize,
    inside: i64,
    cut: bool,
}

pub(super) fn read(text: &str) -> Vec<Call> {
    let mut out = Vec::new();
    if !(text.contains("() {") && text.contains(" us")) {
        return out;
    }
    let mut open: Vec<Open> = Vec::new();
    for (line, raw) in (1..).zip(text.lines()) {
        if out.len() >= MOST {
            break;
        }
        let words = raw.trim_start_matches(['>', ' ', '\t']);
        let words = words.strip_prefix("/*").unwrap_or(words);
        let Some((head, code)) = words
            .split_once("*/")
            .filter(|_| raw.contains("/*") && !words.contains('|'))
            .or_else(|| columns(words))
        else {
            // Lines that were cut out are of the call that is open.
            if let Some(o) = open.last_mut().filter(|_| !words.trim().is_empty()) {
                o.cut = true;
            }
            continue;
        };
        let indent = code.len() - code.trim_start().len();
        let (took, code) = (duration(head), code.trim());
        // Of a module its name stands behind: `foo_resume [foo]();`.
        let bare = |n| str::split_once(n, " [").map_or(n, |(name, _)| name);
        let name =
            |end: &str| code.strip_suffix(end).map(bare).filter(|n| is_name(n)).map(str::to_string);
        if let Some(name) = name("() {") {
            open.push(Open { name, line, indent, inside: 0, cut: false });
        } else if let (Some(name), Some(ns)) = (name("();"), took) {
            if let Some(o) = open.last_mut() {
                o.inside = o.inside.saturating_add(ns);
            }
            out.push(Call {
                line,
                end: line,
                text: shown(raw),
                name,
                ns,
                own: Some(ns),
                depth: open.len(),
            });
        } else if code.starts_with('}') {
            // Ends of calls were cut out with what they called.
            while open.last().is_some_and(|o| o.indent > indent) {
                open.pop();
                open.iter_mut().for_each(|o| o.cut = true);
            }
            if open.last().is_none_or(|o| o.indent != indent) {
                continue;
            }
            let (Some(o), Some(ns)) = (open.pop(), took) else { continue };
            if let Some(above) = open.last_mut() {
                above.inside = above.inside.saturating_add(ns);
            }
            let own = Some(ns.saturating_sub(o.inside)).filter(|own| *own >= 0 && !o.cut);
            let (name, depth) = (o.name, open.len());
            out.push(Call { line: o.line, end: line, text: shown(raw), name, ns, own, depth });
        }
    }
    out
}

/// What a line has before its code, and the code: columns of time, CPU and task stand before it
/// where somebody asked for them (trace options funcgraph-abstime and funcgraph-proc).
fn columns(line: &str) -> Option<(&str, &str)> {
    let code = line.find(['(', '}', ';']).or_else(|| line.find("/*")).unwrap_or(line.len());
    let bar = line[..code].rfind('|')?;
    Some((&line[..bar], &line[bar + 1..]))
}

fn is_name(n: &str) -> bool {
    !n.is_empty() && n.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.'))
}

/// `+ 19.636 us`, `# 1341.094 us`, `$ 2011402 us`, in ns: seven digits are printed and no more
/// (kernel/trace/trace_functions_graph.c:trace_print_graph_duration, 6.12).
fn duration(head: &str) -> Option<i64> {
    let number = head
        .trim()
        .strip_suffix("us")?
        .trim_end()
        .rsplit([' ', '+', '!', '#', '*', '@', '$', ')'])
        .next()?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let ns: i64 = format!("{:0<3}", part.get(..3.min(part.len()))?).parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_its_own_time_and_that_of_its_calls() {
        let text = " 0)               |  foo_resume() {\n 0)   2.500 us    |    bar();\n\
            \x20 0)               |    baz() {\n 0) + 10.000 us   |      qux();\n\
            \x20 0) ! 310.000 us  |    }\n 0) ! 320.000 us  |  }\n";
        let all: Vec<_> = read(text).into_iter().map(|c| (c.name, c.ns, c.own)).collect();
        assert_eq!(all[2], ("baz".into(), 310_000, Some(300_000)));
        assert_eq!(all[3], ("foo_resume".into(), 320_000, Some(7_500)));
        let slow = " 2)               |  foo_resume() {\n 2) $ 2011402 us  |    bar_resume [bar]();\n\
            \x202) @ 2111412 us  |  }\n";
        let ns: Vec<(String, i64)> = read(slow).into_iter().map(|c| (c.name, c.ns)).collect();
        let of = |name: &str, ns| (name.to_string(), ns);
        assert_eq!(ns, [of("bar_resume", 2_011_402_000), of("foo_resume", 2_111_412_000)]);
        let cut = "/*          */ foo() {\n[... cut]\n/* # 12.000 us*/ }\n us";
        assert_eq!(read(cut)[0].own, None);
    }
}
