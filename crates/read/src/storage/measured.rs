//! What a guest of the laboratory measured of a load: text that begins with
//! `dormouse-storage 1` (`dormouse_lab::storage`).

use dormouse_storage::verdict::Measured;

/// The first line.
pub const HEADER: &str = "dormouse-storage 1";

/// Reads all of it.
///
/// # Errors
/// The first line that cannot be understood, with its number; a text without its end.
pub fn measured(text: &str) -> Result<Measured, String> {
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, l)| l != HEADER) {
        return Err(format!("the first line is not `{HEADER}`"));
    }
    let mut m = Measured::default();
    for (n, line) in lines {
        let odd = || format!("line {}: `{line}` cannot be understood", n + 1);
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| words.get(i).and_then(|w| w.parse::<i64>().ok()).ok_or_else(odd);
        match words[0] {
            "end" => return Ok(m),
            "kernel" => m.kernel = words.get(1).ok_or_else(odd)?.to_string(),
            "span" => m.span = number(1)?,
            "changes" => m.changes = number(1)?.unsigned_abs(),
            "asleep_ns" => m.asleep = number(1)?,
            "gated_ns" => m.gated = number(1)?,
            "at" => m.at.push((number(1)?.unsigned_abs(), number(2)?)),
            "r" => m.latencies.push(number(2)?),
            "served" | "ungates" | "fqos" => {}
            _ => return Err(odd()),
        }
    }
    Err("it has no end: the guest was stopped".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_requests() {
        let text = "dormouse-storage 1\nkernel 6.12.1\nspan 50\nserved 2\nchanges 3\n\
                    at 100 20\nat 400 30\nfqos raises 4\nr 0 9\nr 40 8\nend\n";
        let m = measured(text).unwrap();
        assert_eq!((m.kernel.as_str(), m.span, m.changes), ("6.12.1", 50, 3));
        assert_eq!((m.at, m.latencies), (vec![(100, 20), (400, 30)], vec![9, 8]));
        assert_eq!(measured("x").unwrap_err(), "the first line is not `dormouse-storage 1`");
        let cut = text.trim_end_matches("end\n");
        assert!(measured(cut).unwrap_err().contains("no end"));
        assert!(measured(&text.replace("r 40 8", "r 40 x")).unwrap_err().contains("line 10"));
    }
}
