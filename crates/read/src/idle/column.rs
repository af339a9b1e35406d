//! Columns of turbostat's tables: their names, what may stand below them, and cells.
//! The names are those of tools/power/x86/turbostat/turbostat.c, 3.5 to 7.2.

/// Names that stand behind another without a blank where a tab was lost.
const WHOLE: [&str; 44] = [
    "Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz", "CPU%c1", "CPU%c3", "CPU%c6", "CPU%c7", "Mod%c6",
    "Die%c6", "CoreTmp", "CoreThr", "PkgTmp", "GFX%rc6", "GFXMHz", "GFXAMHz", "SAM%mc6", "SAMMHz",
    "SAMAMHz", "Totl%C0", "Any%C0", "GFX%C0", "CPUGFX%", "Pkg%pc2", "Pkg%pc3", "Pkg%pc6",
    "Pkg%pc7", "Pkg%pc8", "Pkg%pc9", "Pk%pc10", "CPU%LPI", "SYS%LPI", "PkgWatt", "CorWatt",
    "GFXWatt", "RAMWatt", "SysWatt", "PKG_%", "RAM_%", "UncMHz", "Pkg_J", "Cor_J", "GFX_J",
    "RAM_J",
];

/// Names that are words of their own elsewhere.
const SHORT: [&str; 7] = ["IRQ", "NMI", "SMI", "IPC", "POLL", "POLL%", "CPU"];

/// Columns that say which CPU a line is of. Versions before 4 leave them blank in
/// the line of the machine.
pub(crate) const PLACES: [&str; 10] =
    ["pk", "cor", "CPU", "Package", "Node", "Die", "L3", "Core", "APIC", "X2APIC"];

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Printed without a fraction: places, counts, MHz, degrees.
    Count,
    /// A share of the time, printed with a fraction.
    Share,
    /// Another figure that turbostat knows.
    Figure,
    /// A column that the caller added.
    Unknown,
}

/// What the cells below `name` are.
pub(super) fn kind(name: &str) -> Kind {
    let digits = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
    };
    // `C1`, `C1E+`, `C10-`, `C3ACPI`: how often a state of the kernel was entered.
    let entries = name.strip_prefix('C').is_some_and(|n| {
        n.starts_with(|c: char| c.is_ascii_digit())
            && n.trim_end_matches(['+', '-']).bytes().all(|b| b.is_ascii_alphanumeric())
    });
    if PLACES.contains(&name)
        || ["IRQ", "NMI", "SMI", "POLL", "POLL+", "POLL-", "CoreThr", "CTMP", "PTMP"]
            .contains(&name)
        || ["MHz", "Tmp"].iter().any(|end| name.ends_with(end))
        || entries
    {
        return Kind::Count;
    }
    let of_kernel = name.strip_suffix('%').is_some_and(|n| n == "POLL" || kind(n) == Kind::Count);
    if of_kernel
        || ["CPU%c", "Pkg%pc", "Pk%pc", "Mod%c", "Die%c"].iter().any(|p| digits(p))
        || name.contains('%') && WHOLE.contains(&name)
    {
        return Kind::Share;
    }
    let figure = name == "IPC" || name == "GHz" || name == "TSC" || WHOLE.contains(&name);
    if figure { Kind::Figure } else { Kind::Unknown }
}

/// What versions before 17 call a column, in today's words.
fn today(word: &str) -> &str {
    match word {
        "%c0" | "%Busy" => "Busy%",
        "%c1" => "CPU%c1",
        "%c3" => "CPU%c3",
        "%c6" => "CPU%c6",
        "%c7" => "CPU%c7",
        "%pc2" => "Pkg%pc2",
        "%pc3" => "Pkg%pc3",
        "%pc6" => "Pkg%pc6",
        "%pc7" => "Pkg%pc7",
        "%pc8" => "Pkg%pc8",
        "%pc9" => "Pkg%pc9",
        "%pc10" => "Pk%pc10",
        "Pkg_W" => "PkgWatt",
        "Cor_W" => "CorWatt",
        other => other,
    }
}

/// Names in a word that lost the tabs between them: `GFXWattRAMWatt`.
fn apart(word: &str, depth: usize) -> Option<Vec<&str>> {
    if WHOLE.contains(&word) || SHORT.contains(&word) {
        return Some(vec![word]);
    }
    let ends = WHOLE.iter().chain(&SHORT).filter_map(|n| word.strip_suffix(n).map(|r| (r, *n)));
    let ends = ends.filter(|(rest, _)| !rest.is_empty() && depth < 16);
    // Two names may end as one does: `Bzy_MHzTSC_MHz`.
    for (rest, name) in ends.clone() {
        if let Some(mut names) = apart(rest, depth + 1) {
            names.push(name);
            return Some(names);
        }
    }
    if kind(word) != Kind::Unknown {
        return Some(vec![word]);
    }
    // A column that the caller added may stand before it.
    ends.filter(|(rest, name)| WHOLE.contains(name) && is_name(rest))
        .map(|(rest, name)| vec![rest, name])
        .next()
}

fn is_name(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_alphabetic())
        && !word.starts_with("0x")
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"%_+-.#/".contains(&b))
        && !word.ends_with('.')
}

/// The names of a line that is nothing but names of columns, most of them
/// turbostat's own.
fn names(line: &str) -> Option<Vec<&str>> {
    // What somebody typed to end it stands before the next head.
    let line = line.trim().trim_start_matches("^C");
    let mut out = Vec::new();
    for word in line.split_whitespace() {
        let word = today(word.trim_matches('*'));
        match apart(word, 0) {
            Some(names) => out.extend(names),
            None if is_name(word) => out.push(word),
            None => return None,
        }
    }
    let known = out.iter().filter(|n| kind(n) != Kind::Unknown).count();
    (known > 0 && known * 2 >= out.len()).then_some(out)
}

/// Fewest columns of turbostat that make a line a head.
const FEWEST: usize = 3;

/// Names of columns, if a line is a head.
pub(crate) fn head(line: &str) -> Option<Vec<&str>> {
    // Every head has a share, a frequency or a power; nearly every line has not.
    if !(line.contains('%') || line.contains("MHz") || line.contains("Watt")) {
        return None;
    }
    let names = names(line)?;
    let known = names.iter().filter(|n| kind(n) != Kind::Unknown).count();
    (known >= FEWEST).then_some(names)
}

/// Names of columns that a mail client moved to the line below `before`.
pub(crate) fn rest_of_head<'a>(before: &[&str], line: &'a str) -> Option<Vec<&'a str>> {
    // The same names again are the next head.
    names(line).filter(|n| n.iter().all(|n| !before.contains(n)))
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// A number in thousandths, and how many digits stand behind the point.
    Number(i64, usize),
    /// `-`: of the whole machine.
    Dash,
    /// A register, or a counter that could not be read.
    Nothing,
}

/// A decimal number in thousandths; some locales have a comma for the point.
pub(crate) fn thousandths(word: &str) -> Option<i64> {
    if let Some(rest) = word.strip_prefix('-') {
        return thousandths(rest).map(|n| -n);
    }
    let comma = |(_, part): &(&str, &str)| part.len() <= 2;
    let (whole, part) =
        word.split_once('.').or_else(|| word.split_once(',').filter(comma)).unwrap_or((word, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let part: i64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000)?.checked_add(part)
}

/// A cell without what pages and mail clients put around it: `**0.00**`, `<b>0.00</b>`,
/// `[COLOR="#F00"]0.00[/COLOR]`.
fn unmarked(word: &str) -> &str {
    let tag = |t: &str| t.trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic());
    let mut bare = word.trim_matches('*');
    for (open, close) in [('<', '>'), ('[', ']')] {
        while let Some((name, rest)) = bare.strip_prefix(open).and_then(|r| r.split_once(close)) {
            if !tag(name) {
                break;
            }
            bare = rest;
        }
        while let Some((rest, name)) = bare.strip_suffix(close).and_then(|r| r.rsplit_once(open)) {
            if !tag(name) {
                break;
            }
            bare = rest;
        }
    }
    bare.trim_matches('*')
}

/// The cells of a word: `0.220.71` are two, because a share and a power have two
/// digits behind the point.
fn cells_of(word: &str, out: &mut Vec<Cell>) -> Option<()> {
    let bare = unmarked(word);
    let fraction = |w: &str| w.find(['.', ',']).map_or(0, |at| w.len() - at - 1);
    if bare.is_empty() || word.ends_with("nan") || word.starts_with("0x") {
        out.push(Cell::Nothing);
        return Some(());
    }
    if bare == "-" {
        out.push(Cell::Dash);
        return Some(());
    }
    if let Some(n) = thousandths(bare) {
        out.push(Cell::Number(n, fraction(bare)));
        return Some(());
    }
    let mut rest = bare;
    while let Some(at) = rest.find(['.', ',']).filter(|_| !rest.is_empty()) {
        let cell = rest.get(..at + 3)?;
        out.push(Cell::Number(thousandths(cell)?, 2));
        rest = &rest[at + 3..];
    }
    rest.is_empty().then_some(())
}

/// The cells of a line; `None` if it is no line of numbers.
pub(crate) fn cells(line: &str) -> Option<Vec<Cell>> {
    let mut out = Vec::new();
    for word in line.split_whitespace() {
        cells_of(word, &mut out)?;
    }
    (!out.is_empty()).then_some(out)
}

/// Whether `cells` can stand below `columns`. `strictly`: a share has a fraction too,
/// as turbostat prints it; else somebody may have copied it without.
pub(super) fn fits(columns: &[&str], cells: &[Cell], strictly: bool) -> bool {
    cells.len() <= columns.len()
        && columns.iter().zip(cells).all(|(name, cell)| match (kind(name), cell) {
            (Kind::Count, Cell::Number(_, digits)) => *digits == 0,
            // More digits are those of the next cell, glued to it.
            (Kind::Share | Kind::Figure, Cell::Number(_, digits)) => {
                (1..=3).contains(digits) || *digits == 0 && !strictly
            }
            (_, Cell::Dash) => PLACES.contains(name) || !strictly,
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_tab_between_them_are_told_apart() {
        let names = |l| head(l).expect("a head");
        assert_eq!(
            names("Busy% PkgTmpPkgWattCorWatt IRQ"),
            ["Busy%", "PkgTmp", "PkgWatt", "CorWatt", "IRQ"]
        );
        assert_eq!(
            names("CPU C10%CPU%c1 LMT_RSNPkgWatt"),
            ["CPU", "C10%", "CPU%c1", "LMT_RSN", "PkgWatt"]
        );
        assert!(head("the Busy% and PkgWatt and CPU%c6 columns").is_none());
        assert!(head("Busy% PkgWatt CPU%c6 matter.").is_none());
    }

    #[test]
    fn cells_are_read_in_any_locale_and_told_apart_where_that_is_certain() {
        let n = |v, f| Cell::Number(v, f);
        assert_eq!(
            cells("- 7 1,25 **0.50**"),
            Some(vec![Cell::Dash, n(7_000, 0), n(1_250, 2), n(500, 2)])
        );
        assert_eq!(
            cells("[COLOR=\"#0F0\"]7[/COLOR] <b>1.25</b> [B]**0.50**[/B]"),
            Some(vec![n(7_000, 0), n(1_250, 2), n(500, 2)])
        );
        assert_eq!(cells("[1] <2>"), None, "no marks of a page");
        assert_eq!(cells("0.4112.30"), Some(vec![n(410, 2), n(12_300, 2)]));
        assert_eq!(cells("1,234 5"), None, "a group of digits, or a fraction: nobody knows");
        assert_eq!(cells("12.30 word"), None);
        assert!(!fits(&["CPU", "Busy%"], &cells("1 3.00900").expect("cells"), false));
        assert!(!fits(&["CPU", "Avg_MHz"], &cells("1 88012.50").expect("cells"), false));
    }
}
