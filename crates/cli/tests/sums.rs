//! Sums and headlines of the screens of idle, storage, doctor and domains: what the
//! first lines say is what the table says, and its rows add up.

/// The numbers of a line, without its units.
fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace()
        .filter_map(|w| {
            w.trim_matches(['+', '%', ',', '.', ';', ':']).replace(',', "").parse().ok()
        })
        .collect()
}

/// The lines of `text` below the one that begins with `head`, up to an empty one.
fn table<'t>(text: &'t str, head: &str) -> Vec<&'t str> {
    let below = text.lines().skip_while(|l| !l.starts_with(head)).skip(1);
    below.take_while(|l| !l.is_empty()).collect()
}

/// The text without its line breaks.
fn flow(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What was checked of idle, storage, doctor and domains.
pub(crate) fn all(name: &str, text: &str) -> [usize; 4] {
    let (mut idle, mut storage) = (0, 0);
    if name.contains("__idle_") {
        idle = sleeps_of_states(name, text) + delays(name, text);
    } else if name.contains("__storage_") {
        storage = time_of_requests(name, text) + latencies(name, text);
    }
    let of = |subject: &str| name.contains(&format!("__{subject}"));
    let rules = if of("doctor") || of("domains") { findings(name, text) } else { 0 };
    [idle, storage, usize::from(of("doctor")) * rules, usize::from(of("domains")) * rules]
}

/// `idle predict`: sleeps and shares of the states, and how sleeps ended, add up.
fn sleeps_of_states(name: &str, text: &str) -> usize {
    let rows = table(text, "State                sleeps");
    let Some(at) = rows.iter().position(|l| l.starts_with("total ")) else { return 0 };
    // Six columns behind the name of the state.
    let cells = |line: &str| -> Vec<f64> { numbers(&line[10..]) };
    let total = cells(rows[at]);
    for (column, total) in total.iter().enumerate() {
        let sum: f64 = rows[..at].iter().map(|l| cells(l)[column]).sum();
        // Shares are whole percents.
        let rounding = if column % 2 == 1 { 0.5 * (at + 1) as f64 } else { 0.0 };
        assert!((sum - total).abs() <= rounding, "{name}: column {column}: {sum}, not {total}");
    }
    let ended: Vec<Vec<f64>> =
        rows.iter().filter(|l| l.starts_with("ended by ")).map(|l| numbers(l)).collect();
    assert_eq!(ended.len(), 3, "{name}: {text}");
    // What was recorded stands first, and nobody knows how its sleeps ended.
    for column in 0..ended[0].len() {
        let (sum, total) = (ended.iter().map(|e| e[column]).sum::<f64>(), total[2 * column + 2]);
        assert!((sum - total).abs() < 0.5, "{name}: {sum} ended, not {total}");
    }
    1
}

/// The first line's delays and energy are those of the table.
fn delays(name: &str, text: &str) -> usize {
    let first = flow(text);
    let mut seen = 0;
    for (said, row) in
        [("p99 ", "wake-up delay p99, us"), ("longest ", "wake-up delay longest, us")]
    {
        let Some(line) = text.lines().find(|l| l.starts_with(row)) else { continue };
        let cells = numbers(line);
        // A sweep and a question without a change have one column.
        let [.., was, is] = cells[..] else { continue };
        let Some((_, rest)) = first.split_once(said) else { continue };
        if rest.split(' ').nth(1).is_none_or(|w| w != "->") {
            continue;
        }
        let told = numbers(&rest.split(' ').take(3).collect::<Vec<_>>().join(" "));
        assert_eq!(told, [was, is], "{name}: {line}");
        seen += 1;
    }
    seen
}

/// `storage show`: the slices of all requests are their mean latency.
fn time_of_requests(name: &str, text: &str) -> usize {
    let slices = table(text, "Where the time went");
    let rows: Vec<Vec<f64>> = slices
        .iter()
        .filter(|l| l.contains(" %"))
        .map(|l| numbers(&l.chars().skip(36).collect::<String>()))
        .collect();
    let Some(all) = text.lines().find(|l| l.starts_with("  all requests")) else { return 0 };
    let (requests, mean) = (numbers(all)[0], numbers(all)[1]);
    let sum: f64 = rows.iter().map(|r| r[0]).sum();
    assert!(
        (sum - requests * mean).abs() <= 0.0005 * (requests + rows.len() as f64),
        "{name}: {sum}"
    );
    let shares: f64 = rows.iter().map(|r| r[1]).sum();
    assert!((shares - 100.0).abs() <= 0.5 * rows.len() as f64, "{name}: {shares} %");
    1
}

/// The first line's mean latency is that of the table, before and after.
fn latencies(name: &str, text: &str) -> usize {
    let first = flow(text);
    let told = first.split_once(" requests would take ").map(|t| t.1);
    let told = told.and_then(|t| t.split_once(" on average, not "));
    let Some((after, before)) = told else { return 0 };
    let ms = |text: &str| numbers(text).first().copied().expect("a time");
    let near = |a: f64, b: f64| (a - b).abs() <= 0.0051;
    if let Some(line) = text.lines().find(|l| l.starts_with("  mean latency")) {
        let cells = numbers(line);
        // The oracle and the rule stand behind the two, and a recording before them.
        let (was, is) = match cells[..] {
            [was, is, _, _] | [_, was, is] | [_, was, is, _, _] => (was, is),
            _ => panic!("{name}: {line}"),
        };
        assert!(near(was, ms(before)) && near(is, ms(after)), "{name}: {line}: {first}");
        // `(-1.02 ms)` is their difference.
        let less = before.split_once("(-").map(|b| ms(b.1));
        let more = before.split_once("(+").map(|b| -ms(b.1));
        let by = less.or(more).expect("a difference");
        assert!((was - is - by).abs() <= 0.0051, "{name}: {line}: {by}");
        return 1;
    }
    if let Some(line) = text.lines().find(|l| l.starts_with("  all requests")) {
        assert!(near(numbers(line)[1], ms(before)), "{name}: {line}: {first}");
        return 1;
    }
    0
}

/// As many findings are told as are announced.
fn findings(name: &str, text: &str) -> usize {
    let told = text.lines().filter(|l| l.trim_start().starts_with("rule ")).count();
    let flow = flow(text);
    let further = flow.split_once(" further finding").map_or(0, |(before, _)| {
        let number = before.rsplit(' ').next().unwrap_or_default();
        number.parse().unwrap_or_else(|e| panic!("{name}: {number}: {e}"))
    });
    if told > 0 {
        assert_eq!(told, further + 1, "{name}: {text}");
    }
    told
}
