//! Names of months: journalctl and syslog write a date by the language of who asks
//! (`%b` of strftime; the names are those of glibc's locales).

/// Begins of a month's names from January on, in small letters and without a point.
const NAMES: [&[&str]; 12] = [
    &[
        "jan", "jän", "janv", "ene", "gen", "ian", "sty", "led", "tammi", "oca", "ocak", "янв",
        "січ",
    ],
    &["feb", "febr", "fev", "fév", "févr", "lut", "úno", "helmi", "şub", "фев", "лют"],
    &["mar", "mär", "mrz", "märz", "mars", "mrt", "bře", "maa", "maalis", "márc", "мар", "бер"],
    &[
        "apr", "april", "avr", "avril", "abr", "kwi", "dub", "huh", "huhti", "ápr", "nis", "апр",
        "кві",
    ],
    &["may", "mai", "maj", "mag", "mei", "kvě", "tou", "touko", "máj", "май", "мая", "тра"],
    &["jun", "juni", "juin", "giu", "iun", "cze", "čen", "kes", "kesä", "jún", "haz", "июн", "чер"],
    &[
        "jul", "juli", "juil", "lug", "iul", "lip", "čec", "hei", "heinä", "júl", "tem", "июл",
        "лип",
    ],
    &["aug", "août", "ago", "sie", "srp", "elo", "ağu", "авг", "сер"],
    &["sep", "sept", "set", "wrz", "zář", "syy", "syys", "szept", "eyl", "сен", "вер"],
    &["oct", "okt", "out", "ott", "paź", "říj", "lok", "loka", "eki", "окт", "жов"],
    &["nov", "lis", "marr", "marras", "kas", "ноя", "лис"],
    &["dec", "déc", "dez", "des", "dic", "gru", "pro", "jou", "joulu", "ara", "дек", "гру"],
];

/// As the readers of dates know them.
pub(crate) const ENGLISH: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Longest word that may be a month, in bytes.
const LONGEST: usize = 12;

/// `line`, which begins with a day and a time of day, with the English name of its month;
/// nothing if it has that already, or no date. The day takes two places.
pub(crate) fn english(line: &[u8]) -> Option<Vec<u8>> {
    if !line.first().is_some_and(|b| b.is_ascii_alphanumeric() || *b >= 0x80) {
        return None;
    }
    let blank = memchr::memchr(b' ', &line[..line.len().min(LONGEST + 1)])?;
    let (word, rest) = (&line[..blank], line[blank..].trim_ascii_start());
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let clock = rest.get(digits..)?;
    let clock = clock.strip_prefix(b".").unwrap_or(clock).strip_prefix(b" ")?;
    if !is_clock(clock) {
        return None;
    }
    let plain = blank == 3 && line.len() - rest.len() + digits == 6;
    if !(1..=2).contains(&digits) || plain && ENGLISH.iter().any(|m| m.as_bytes() == word) {
        return None;
    }
    let month = ENGLISH[number(std::str::from_utf8(word).ok()?)?];
    let day = std::str::from_utf8(&rest[..digits]).ok()?;
    let mut out = format!("{month} {day:>2} ").into_bytes();
    out.extend_from_slice(clock);
    Some(out)
}

/// From 0: by its name, or by its number before the sign that East Asia puts there.
fn number(word: &str) -> Option<usize> {
    if let Some(n) = word.strip_suffix(['月', '월']) {
        return n.parse().ok().filter(|n| (1..=12).contains(n)).map(|n: usize| n - 1);
    }
    let word = word.strip_suffix('.').unwrap_or(word).to_lowercase();
    NAMES.iter().position(|names| names.contains(&&*word))
}

/// `14:21:35`, and then anything.
pub(crate) fn is_clock(text: &[u8]) -> bool {
    let pair = |at: usize| text.get(at..at + 2).is_some_and(|d| d.iter().all(u8::is_ascii_digit));
    pair(0) && pair(3) && pair(6) && text.get(2) == Some(&b':') && text.get(5) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_a_name_in_every_language() {
        let of = |line: &str| english(line.as_bytes()).map(|l| String::from_utf8(l).unwrap());
        for (line, month) in [
            ("Mai 04", "May"),
            ("mai 4", "May"),
            ("Dez 04", "Dec"),
            ("Mär 04", "Mar"),
            ("févr. 04", "Feb"),
            ("août 04", "Aug"),
            ("ene 04", "Jan"),
            ("paź 04", "Oct"),
            ("июн 04", "Jun"),
            ("Ağu 04", "Aug"),
            ("11月 04", "Nov"),
            ("1월  4", "Jan"),
            ("sep 04", "Sep"),
            ("dez 4.", "Dec"),
        ] {
            let said = of(&format!("{line} 22:10:01 box kernel: x")).expect(line);
            assert!(said.starts_with(&format!("{month} ")), "{line}: {said}");
            assert!(
                said.ends_with("4 22:10:01 box kernel: x") && said.as_bytes()[6] == b' ',
                "{said}"
            );
        }
        for line in ["Sep 04 22:10:01 x", "Sep  4 22:10:01 x", "[ 1.0] x", "13月 04 22:10:01 x"] {
            assert_eq!(of(line), None, "{line}");
        }
        for prose in ["pro 04 22", "Mai 04", "set 4 values", "", "2026-09-04 22:10:01 x"] {
            assert_eq!(of(prose), None, "{prose}");
        }
    }
}
