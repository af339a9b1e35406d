//! What a text shows of nights besides messages of a kernel, line by line.
//!
//! | file | reads |
//! |---|---|
//! | `line` | quote marks, prompts, what a mail program wrapped |
//! | `count` | counters of hardware sleep, conditions of it |
//! | `table` | `ltr_show`, turbostat |
//! | `machine` | /proc/interrupts, /proc/acpi/wakeup, ACPI source, lspci, wakeup_sources |
//! | `charge` | batteries before and after |
//! | `clock` | when sleeps began and ended by the clock on the wall |
//! | `tool` | AMD's report of a cycle, powertop's table |
//! | `round` | rounds of endurance runs |

mod charge;
mod clock;
mod count;
mod line;
mod machine;
mod round;
mod table;
mod tool;

use dormouse_doctor::night::machine::{Hardware, Owner};
use dormouse_doctor::night::report::Report;
use dormouse_doctor::night::round::{End, Round};
use dormouse_doctor::night::table::Shares;
use dormouse_doctor::night::{Count, Counts, Fact, Item, Night};
use line::{Rest, plain};
use table::{Tables, Turbo};

/// A text that somebody posts has fewer lines besides messages.
const MOST_LINES: usize = 200_000;

/// So many facts of one text are kept.
const MOST: usize = 5_000;

/// A line that is shorter was not broken by a mail program.
const BROKEN: usize = 60;

/// A line of the text is shown up to here.
const SHOWN: usize = 240;

#[derive(Default)]
struct Reading {
    night: Night,
    tables: Tables,
    asl: machine::Asl,
    /// Files that the last command reads, of which each has one line.
    files: Vec<String>,
    /// Names of substates that stood on a line above their numbers.
    substates: Vec<String>,
    /// The PCI device that the lines below are of.
    device: String,
    /// Addresses below are of ports outside of D3cold.
    ports: bool,
    /// The header of qcom's file or its name.
    domain: String,
    /// The paragraph that is open: its first line and its words.
    words: Option<(u64, String)>,
}

/// Reads a text.
pub(crate) fn read(bytes: &[u8]) -> Night {
    let mut r = Reading::default();
    let mut rest = Rest::new(bytes);
    let (mut at, mut looked) = (0, 0);
    while let Some((raw, after)) = rest.next() {
        (at, rest) = (at + 1, after);
        if looked > MOST_LINES || r.night.items.len() > MOST {
            break;
        }
        if let Some(fact) = clock::mark(raw) {
            r.push(at, &String::from_utf8_lossy(&raw[..raw.len().min(SHOWN)]), fact);
        }
        let Some(text) = plain(raw) else {
            r.paragraph_ends();
            continue;
        };
        looked += 1;
        let mut took = r.line(text.trim_end(), rest, at);
        while took > 0 {
            let Some((raw, after)) = rest.next() else { break };
            (at, rest) = (at + 1, after);
            took -= usize::from(plain(raw).is_some());
        }
    }
    r.paragraph_ends();
    r.night
}

impl Reading {
    fn push(&mut self, line: u64, text: &str, fact: Fact) {
        let mut end = text.len().min(SHOWN);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.night.items.push(Item { line, text: text[..end].trim().into(), fact });
    }

    /// Reads a line; how many more it took.
    fn line(&mut self, text: &str, rest: Rest<'_>, at: u64) -> usize {
        let text = line::unnamed(text);
        if let Some(command) = line::command(text) {
            self.paragraph_ends();
            self.command(command, text, at);
            return 0;
        }
        if let Some((row, took)) = table::ltr(text, rest, &mut self.tables) {
            self.push(at, text, Fact::Latency(row));
            return took;
        }
        match table::turbostat(text, rest, &mut self.tables) {
            Some(Turbo::Head(took)) => {
                self.paragraph_ends();
                return took;
            }
            Some(Turbo::Row(shares, took)) => {
                self.push(at, text, Fact::Shares(shares));
                return took;
            }
            Some(Turbo::Other) => return 0,
            None => {}
        }
        if let Some(owner) = self.asl.line(text) {
            self.push(at, text, Fact::Owner(owner));
            return 0;
        }
        if self.of_file(text, at) {
            return 0;
        }
        if let Some(took) = self.values(text, rest, at) {
            return took;
        }
        self.said(text, at);
        0
    }

    /// A command: what it reads, whether it sleeps or changes something.
    fn command(&mut self, command: &str, text: &str, at: u64) {
        if command.is_empty() {
            return;
        }
        self.tables.apart();
        self.files = line::reads(command).iter().map(ToString::to_string).collect();
        if command.contains("ltr_show") {
            self.tables.another();
        }
        let slept = line::sleeps(command);
        let idled = line::idles(command);
        self.push(at, text, Fact::Command(command.into()));
        if let Some(seconds) = slept {
            self.push(at, text, Fact::Slept(seconds));
        } else if let Some(seconds) = idled {
            self.push(at, text, Fact::Idled(seconds));
        }
    }

    /// A line with the content of a file that a command just read.
    fn of_file(&mut self, text: &str, at: u64) -> bool {
        let Some(file) = self.files.first().cloned() else { return false };
        let fact = count::alone(text.trim())
            .and_then(|n| count::of_file(&file, n))
            .or_else(|| machine::of_file(&file, text))
            .or_else(|| charge::of_file(&file, text));
        if let Some(fact) = fact {
            self.files.remove(0);
            self.push(at, &format!("{file}: {}", text.trim()), fact);
            return true;
        }
        false
    }

    /// Values that say themselves what they are of.
    fn values(&mut self, text: &str, rest: Rest<'_>, at: u64) -> Option<usize> {
        let facts = count::read(text);
        if !facts.is_empty() {
            facts.into_iter().for_each(|f| self.push(at, text, f));
            return Some(0);
        }
        if self.named(text, at) || self.domains(text, at) || self.platform(text, at) {
            return Some(0);
        }
        if let Some(owner) = machine::owner(text) {
            self.push(at, text, Fact::Owner(owner));
            return Some(0);
        }
        if let Some(fact) = tool::report(text) {
            if let Fact::Report(Report::Slept { ms, .. }) = fact {
                self.push(at, text, Fact::Slept(Some(ms / 1_000)));
            }
            self.push(at, text, fact);
            return Some(0);
        }
        if let Some(column) = tool::powertop(text) {
            self.powertop(column, text, at);
            return Some(0);
        }
        if let Some(hardware) = machine::hardware(text) {
            let hardware = self.placed(hardware);
            self.push(at, text, Fact::Hardware(hardware));
            return Some(0);
        }
        self.rounds(text, rest, at)
    }

    /// A package state of powertop's table, of which each stands on a line of its own.
    fn powertop(&mut self, column: (String, i64), text: &str, at: u64) {
        if let Some(Item { line, fact: Fact::Shares(s), .. }) = self.night.items.last_mut()
            && at.saturating_sub(*line) < 12
            && s.columns.iter().all(|c| c.0.starts_with("Pk") && c.0 != column.0)
        {
            s.columns.push(column);
            return;
        }
        let shares = Shares { columns: vec![column], table: self.tables.next(), ms: None };
        self.push(at, text, Fact::Shares(shares));
    }

    /// A device of a list; lines below it are of it.
    fn placed(&mut self, hardware: Hardware) -> Hardware {
        match hardware {
            Hardware::Pci { address, name } => {
                self.device.clone_from(&address);
                Hardware::Pci { address, name }
            }
            Hardware::Aspm { enabled, .. } => {
                Hardware::Aspm { address: self.device.clone(), enabled }
            }
            other => other,
        }
    }

    /// `S0i2.0 S0i3.0` above `45277006 0`.
    fn named(&mut self, text: &str, at: u64) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() > 1 && words.iter().all(|w| count::is_substate(w)) {
            self.substates = words.iter().map(ToString::to_string).collect();
            return true;
        }
        let numbers: Option<Vec<u64>> = words.iter().map(|w| count::alone(w)).collect();
        let Some(numbers) = numbers.filter(|n| !n.is_empty() && n.len() == self.substates.len())
        else {
            return false;
        };
        for (name, value) in self.substates.clone().into_iter().zip(numbers) {
            self.push(at, text, Fact::Count(Count { name, of: Counts::Substate, value }));
        }
        true
    }

    /// Files of drivers/soc/qcom/qcom_stats.c: a name, then its rows.
    fn domains(&mut self, text: &str, at: u64) -> bool {
        let text = text.trim();
        let known = [
            "aosd", "cxsd", "ddr", "adsp", "cdsp", "modem", "apss", "slpi", "gpu", "display",
            "vmin", "vlow", "vmid",
        ];
        let word = text.trim_end_matches(':').rsplit('/').next().unwrap_or("").to_ascii_lowercase();
        if known.contains(&word.as_str()) && !text.contains(' ') {
            self.domain = word;
            return true;
        }
        let file =
            self.files.first().map(|f| f.rsplit('/').next().unwrap_or(f).to_ascii_lowercase());
        if let Some(file) = file.filter(|f| known.contains(&f.as_str())) {
            self.domain = file;
        }
        let (entries, rest) =
            match (text.strip_prefix("Count:"), text.strip_prefix("Accumulated Duration:")) {
                (Some(rest), _) => (true, rest),
                (_, Some(rest)) => (false, rest),
                _ => {
                    return text.starts_with("Last Entered At:")
                        || text.starts_with("Last Exited At:");
                }
            };
        let Some(value) = count::alone(rest) else { return false };
        let of = if entries { Counts::Entries } else { Counts::Domain };
        let name =
            if self.domain.is_empty() { "a power domain".into() } else { self.domain.clone() };
        self.push(at, text, Fact::Count(Count { name, of, value }));
        true
    }

    /// What a self-test and AMD's tool say of a sleep, and marks of sleeps.
    fn platform(&mut self, text: &str, at: u64) -> bool {
        let lower = text.to_lowercase();
        if lower.contains("not in d3cold") {
            self.ports = true;
            return true;
        }
        let address = text.trim().trim_end_matches(':');
        if self.ports && machine::is_address(address) {
            self.push(at, text, Fact::Port(machine::whole(address)));
            return true;
        }
        self.ports = false;
        let slept = [
            "rtcwake: wakeup from",
            "The system will suspend now",
            "PM: suspend entry",
            "Performing sleep operation",
        ];
        if slept.iter().any(|w| text.contains(w)) {
            if text.starts_with("rtcwake:") {
                self.round_ends(at, text);
            }
            self.push(at, text, Fact::Slept(None));
            return true;
        }
        let passed = lower.contains("s0ix")
            && (lower.contains("passed")
                || lower.contains("congratulations")
                || lower.contains("has pass"))
            && !lower.contains("not pass");
        if passed {
            self.push(at, text, Fact::Verdict { deep: true });
            return true;
        }
        false
    }

    /// Rounds of a run, and what ends them; how many more lines that took.
    fn rounds(&mut self, text: &str, rest: Rest<'_>, at: u64) -> Option<usize> {
        // The program may break its lines anywhere.
        let mut whole = text.to_owned();
        let mut took = 0;
        if text.contains("FAILED [") || text.contains("Suspend failed") {
            let mut longer = text.to_owned();
            for (i, next) in rest.ahead(2).iter().enumerate() {
                let glue = if next.starts_with('/') { "" } else { " " };
                longer = format!("{longer}{glue}{}", next.trim());
                let facts = count::read(&longer);
                if !facts.is_empty() {
                    facts.into_iter().for_each(|f| self.push(at, &longer, f));
                    (whole, took) = (longer, i + 1);
                    break;
                }
            }
        }
        if let Some(mut fact) = round::read(text) {
            if let Fact::Round(Round { end, .. }) = &mut fact
                && *end != End::Unknown
            {
                *end = round::outcome(text).unwrap_or(*end);
            }
            self.push(at, text, fact);
            return Some(took);
        }
        self.round_ends(at, &whole).then_some(took)
    }

    /// Whether a line ends the round that is open.
    fn round_ends(&mut self, at: u64, text: &str) -> bool {
        let Some(end) = round::outcome(text) else { return false };
        let open = self.night.items.iter().rposition(|i| matches!(i.fact, Fact::Round(_)));
        if let Some(Fact::Round(r)) = open.map(|i| &mut self.night.items[i].fact)
            && (r.end == End::Unknown || r.end == End::Back && end != End::Back)
        {
            r.end = end;
            r.said = text.trim().into();
            return true;
        }
        // Only a test's own words tell of a round that the text does not begin.
        if end == End::Back || !text.starts_with("FAILED [") {
            return false;
        }
        self.push(
            at,
            text,
            Fact::Round(Round { number: 0, of: None, end, said: text.trim().into() }),
        );
        true
    }

    /// A line of words: a caption, a claim, what a battery did.
    fn said(&mut self, text: &str, at: u64) {
        let open = self.night.items.iter_mut().rev().take(3).find_map(|i| match &mut i.fact {
            Fact::Round(r) => Some(r),
            _ => None,
        });
        if let Some(r) = open.filter(|r| r.end == End::Unknown && round::says_failed(text)) {
            r.end = End::Failed;
            r.said = text.trim().into();
        }
        let facts = charge::read(text);
        let told = !facts.is_empty();
        if let Some(seconds) = charge::slept(text).and_then(|s| u64::try_from(s).ok())
            && seconds > 1
        {
            self.push(at, text, Fact::Slept(Some(seconds)));
        }
        facts.into_iter().for_each(|f| self.push(at, text, f));
        if let Some(number) =
            text.split_once("Setting wake for pin ").and_then(|t| count::number(t.1))
            && text.contains("to enable")
        {
            let pin = u32::try_from(number.0).unwrap_or(u32::MAX);
            self.push(at, text, Fact::Owner(Owner::Armed(pin)));
            return;
        }
        if told {
            return;
        }
        // A log of the system is no caption.
        if crate::text::has_date(text.as_bytes()) {
            return;
        }
        let heading = text.starts_with('#');
        let trimmed = text.trim_start_matches(['#', '*', '-', ' ']);
        let letters = trimmed.chars().filter(|c| c.is_alphabetic()).count();
        if letters * 2 < trimmed.chars().count() || !trimmed.contains(' ') {
            self.paragraph_ends();
            return;
        }
        self.tables.apart();
        if heading {
            self.paragraph_ends();
        }
        match &mut self.words {
            Some((_, words)) if words.len() < 2_000 => {
                words.push(' ');
                words.push_str(trimmed);
            }
            Some(_) => self.paragraph_ends(),
            none if heading => *none = Some((at, format!("# {trimmed}"))),
            none => *none = Some((at, trimmed.to_owned())),
        }
        // A heading that a mail program broke goes on below.
        if heading && text.len() < BROKEN {
            self.paragraph_ends();
        }
    }

    /// The words since the last blank line are whole.
    fn paragraph_ends(&mut self) {
        let Some((at, words)) = self.words.take() else { return };
        for sentence in words.split_inclusive(". ").filter(|s| is_claim(s)).take(3) {
            self.push(at, sentence.trim(), Fact::Owner(Owner::Claim));
        }
        self.push(at, &words, Fact::Words(words.clone()));
    }
}

/// So many per cent of a sentence are letters and blanks.
const WORDY: usize = 80;

/// Whether a sentence says what wakes a machine: it names an interrupt, a pin, an event, an
/// ACPI device or node, or says by what.
fn is_claim(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let any = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    // A log, a table or a source file is no sentence.
    let letters = sentence.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    let is_words = letters * 100 >= sentence.chars().count() * WORDY
        && sentence.matches(": ").count() < 2
        && !sentence.contains(['|', '[', '=', '+'])
        && !sentence.contains("PM: ");
    if !is_words {
        return false;
    }
    let wakes = any(&["wake", "woke", "waking", "resumes the", "abort"]);
    if !wakes || sentence.trim_end().ends_with('?') {
        return false;
    }
    let number = |word: &str| {
        lower.match_indices(word).any(|(at, _)| {
            let rest = lower[at + word.len()..].trim_start_matches([' ', '#', 's']);
            let rest = rest.strip_prefix("pin").map_or(rest, |r| r.trim_start_matches([' ', '#']));
            rest.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let upper = |w: &str| w.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let device = sentence.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| {
        // `ELAN0688`, `INT34C5`, or a node of the tables: `XHC0`, `GPP6`, `RP09`.
        let id = matches!(w.len(), 7 | 8)
            && w[..3].bytes().all(|b| b.is_ascii_uppercase())
            && upper(w)
            && w[w.len() - 4..].bytes().all(|b| b.is_ascii_hexdigit());
        let node = matches!(w.len(), 3 | 4)
            && upper(w)
            && w[..2].bytes().all(|b| b.is_ascii_uppercase())
            && w.ends_with(|c: char| c.is_ascii_digit())
            && !["CPU", "PCI", "MMC", "USB"].iter().any(|x| w.starts_with(x));
        id || node
    });
    let by = any(&[
        "woken by",
        "woken up by",
        "woke by",
        "wakes the ",
        "wakes my ",
        "wakes up the ",
        "wakeup source is",
        "wake source is",
        "is waking",
        "keeps waking",
    ]);
    by || device || number("irq") || number("interrupt") || number("gpio") || number("gpe")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_with_readings_and_a_sleep_between_them_is_in_order() {
        let text = "me@pc:~$ sudo cat /sys/kernel/debug/pmc_core/package_cstate_show\n\
            [sudo] password for me: \nPackage C2 : 5\nPackage C10 : 0\nme@pc:~$ sudo rtcwake -m freeze -s 60\n\
            me@pc:~$ sudo cat /sys/kernel/debug/pmc_core/package_cstate_show\nPackage C2 : 9\nPackage C10 : 51000000\n\
            me@pc:~$ cat /sys/power/pm_wakeup_irq\n9\n";
        let night = read(text.as_bytes());
        let c10: Vec<(usize, u64)> = night
            .counts()
            .filter(|c| c.2.name == "Package C10")
            .map(|c| (c.0, c.2.value))
            .collect();
        assert_eq!((c10[0].1, c10[1].1), (0, 51_000_000));
        assert!(night.slept(c10[0].0, c10[1].0));
        assert!(night.items.iter().any(|i| i.fact == Fact::Owner(Owner::WakeupIrq(9))));
    }

    #[test]
    fn claims_of_a_writer_are_told_from_words() {
        assert!(is_claim("It is woken by IRQ 23 of the touchpad."));
        assert!(is_claim("The sensor ABCD0123 wakes it."));
        assert!(!is_claim("It wakes up fine."));
        assert!(!is_claim("IRQ 23 is the touchpad."));
        assert!(is_claim("It keeps waking up unless XHC1 is disabled."));
        assert!(!is_claim("What wakes the machine, IRQ 4?"));
        assert!(!is_claim(
            "CPU1 is up PM: noirq resume complete after 9 msecs PM: Finishing wakeup."
        ));
        assert!(!is_claim("P: /devices/LNXSYSTM:00/ACPI0003:00/wakeup/wakeup30"));
    }

    #[test]
    fn rows_of_numbers_below_names_of_substates_are_theirs() {
        let night = read(b"S0ix substate before S2idle:\n  S0i2.0 S0i3.0\nresidency:\n  77 0\n");
        let all: Vec<(&str, u64)> =
            night.counts().map(|c| (c.2.name.as_str(), c.2.value)).collect();
        assert_eq!(all, [("S0i2.0", 77), ("S0i3.0", 0)]);
    }
}
