//! What a text shows of nights besides messages of a kernel, line by line.
//!
//! | file | reads |
//! |---|---|
//! | `line` | quote marks, prompts, what a mail program wrapped |
//! | `count` | counters of hardware sleep, conditions of it |
//! | `table` | `ltr_show`, turbostat |
//! | `machine` | /proc/interrupts, /proc/acpi/wakeup, ACPI source, lspci |
//! | `android` | batterystats |
//! | `charge` | batteries before and after |
//! | `clock` | when sleeps began and ended by the clock on the wall |
//! | `tool` | AMD's report of a cycle, powertop's table |
//! | `round` | rounds of endurance runs |
//! | `prose` | what people write of all that |

mod android;
mod charge;
mod clock;
mod count;
pub(crate) mod line;
mod machine;
mod prose;
mod round;
mod table;
mod tool;

use dormouse_doctor::night::charge::{Charge, Gauge, Side, Teller, Window};
use dormouse_doctor::night::machine::Hardware;
use dormouse_doctor::night::report::{Check, Report};
use dormouse_doctor::night::round::{self as rounds, End, Round};
use dormouse_doctor::night::table::Shares;
use dormouse_doctor::night::{Count, Counts, Fact, Item, Night};
use dormouse_doctor::value::heading;
pub(crate) use line::is_of_sleep;
use line::{Rest, plain};
pub(crate) use table::interval;
use table::{Tables, Turbo};

/// So many facts of one text are kept; of further ones those that say that something failed.
const MOST: usize = 200_000;

/// A line that is shorter was not broken by a mail program.
const BROKEN: usize = 60;

/// A line of the text is shown up to here.
const SHOWN: usize = 240;

/// A paragraph has fewer bytes.
const PARAGRAPH: usize = 2_000;

/// So many words begin a sentence.
const WORDS: usize = 5;

/// Below the line of a round so many facts may stand before its end.
const BELOW: usize = 3;

#[derive(Default)]
struct Reading {
    night: Night,
    tables: Tables,
    asl: machine::Asl,
    /// Files that the last command reads, of which each has one line.
    files: Vec<String>,
    /// The table of debugfs that the last command or heading names.
    open: Option<&'static str>,
    /// Names of substates that stood on a line above their numbers.
    substates: Vec<String>,
    /// The PCI device that the lines below are of.
    device: String,
    /// AMD's table of parts and their active times was named above.
    parts: bool,
    /// The line before this one.
    before: String,
    /// A table of Android's wake-up reasons was named above.
    reasons: bool,
    /// A report of AMD's tool began above.
    checks: bool,
    /// The head of a table of cycles stands above.
    cycles: Option<tool::Columns>,
    /// The last line of Android's history that says whether it is charged.
    plugged: Option<android::Plugged>,
    /// Addresses below are of ports outside of D3cold.
    ports: bool,
    /// Counters of Qualcomm's power domains were named above.
    stats: bool,
    /// A file with one number whose value stood in this line: a further number below is what it
    /// had later.
    again: Option<(String, u64)>,
    /// The last line that is one word: the header of a file of qcom_stats.
    domain: String,
    /// The line in lower case.
    lower: String,
    /// The paragraph that is open: its words, and where its lines begin in them.
    words: String,
    starts: Vec<(usize, u64)>,
    /// Place of the last round among the facts.
    round: Option<usize>,
    /// When what follows was read, in seconds since some day, and of which battery, where lines
    /// of their own say so.
    when: Option<i64>,
    battery: String,
    /// The two times that the command or the words above two readings name.
    times: Vec<i64>,
    /// A run of sleeps was announced above.
    runs: bool,
    /// A sleep of a line of commands, behind what those before it print.
    slept: Option<(u64, String, Option<u64>)>,
    /// So many files that line reads after that sleep.
    after: usize,
    /// Milliseconds to add to times whose keeper leaves the year out, and the last of them.
    year: (i64, i64),
}

/// Reads a text.
pub(crate) fn read(bytes: &[u8]) -> Night {
    let mut r = Reading::default();
    let mut rest = Rest::new(bytes);
    let services = clock::Services::of(bytes);
    let (mut at, mut kept) = (0, None);
    while let Some((raw, after)) = rest.next() {
        (at, rest) = (at + 1, after);
        kept = clock::kept(raw).or(kept.filter(|_| !raw.is_empty()));
        for fact in clock::marks(raw, kept).chain(services.back(raw, kept)) {
            let fact = r.in_order(fact);
            r.push(at, &String::from_utf8_lossy(&raw[..raw.len().min(SHOWN)]), fact);
        }
        let Some(text) = plain(raw) else {
            r.paragraph_ends();
            continue;
        };
        let mut took = r.line(text.trim_end(), rest, at);
        r.before.clear();
        r.before.push_str(&text[..text.floor_char_boundary(SHOWN)]);
        while took > 0 {
            let Some((raw, after)) = rest.next() else { break };
            (at, rest) = (at + 1, after);
            took -= usize::from(plain(raw).is_some());
        }
    }
    r.paragraph_ends();
    r.sleeps_at_last();
    r.night
}

/// A day and most of a year, in ms.
const DAY: i64 = 86_400_000;
const MOST_OF_A_YEAR: i64 = 300 * DAY;

impl Reading {
    fn push(&mut self, line: u64, text: &str, fact: Fact) {
        self.paragraph_ends();
        self.add(line, text, fact);
    }

    fn add(&mut self, line: u64, text: &str, fact: Fact) {
        let failed = |f: &Fact| match f {
            Fact::Round(r) => matches!(r.end, End::Failed | End::Shallow),
            Fact::Stats(_) => true,
            _ => false,
        };
        if self.night.items.len() >= MOST && !failed(&fact) {
            self.night.left_out += 1;
            return;
        }
        let mut end = text.len().min(SHOWN);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if matches!(fact, Fact::Round(_)) {
            self.round = Some(self.night.items.len());
        }
        self.night.items.push(Item { line, text: text[..end].trim().into(), fact });
    }

    /// A time of the wall clock behind those before it, where its keeper leaves the year out.
    fn in_order(&mut self, fact: Fact) -> Fact {
        let (Fact::Clock { ms, .. } | Fact::Woke(ms)) = fact else { return fact };
        let (add, last) = self.year;
        let again = ms + add < last - MOST_OF_A_YEAR;
        let add = if again { add + 365 * DAY } else { add };
        self.year = (add, ms + add);
        match fact {
            Fact::Clock { begins, precise, .. } => Fact::Clock { begins, ms: ms + add, precise },
            _ => Fact::Woke(ms + add),
        }
    }

    /// Reads a line; how many more it took.
    fn line(&mut self, text: &str, rest: Rest<'_>, at: u64) -> usize {
        let (table, text) = line::unnamed(text);
        self.open = table.or(self.open);
        if let Some(command) = line::command(text) {
            self.command(command, text, at);
            return 0;
        }
        self.open = line::heading(text).or(self.open);
        if let Some(path) = heading(text) {
            // `head` and `tail` say themselves whose lines follow.
            self.files = vec![path.to_owned()];
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
        let mut lower = std::mem::take(&mut self.lower);
        lower.clear();
        lower.push_str(text);
        lower.make_ascii_lowercase();
        let took = self.values(text, &lower, rest, at);
        if took.is_none() {
            self.said(text, &lower, at);
        }
        self.lower = lower;
        took.unwrap_or(0)
    }

    /// A command: what it reads, whether it sleeps or changes something.
    fn command(&mut self, command: &str, text: &str, at: u64) {
        self.paragraph_ends();
        self.sleeps_at_last();
        if command.is_empty() {
            return;
        }
        self.tables.apart();
        self.device.clear();
        self.battery.clear();
        self.when = None;
        self.times = charge::clocks(text);
        self.times.truncate(if self.times.len() == 2 { 2 } else { 0 });
        let (files, before) = line::reads(command);
        self.files = files;
        self.open = line::table_of(command);
        if self.open == Some("ltr_show") {
            self.tables.another();
        }
        let slept = line::sleeps(command);
        let idled = line::idles(command);
        self.push(at, text, Fact::Command(command.into()));
        if let Some((seconds, before)) = slept.zip(before).filter(|s| s.1 > 0) {
            self.slept = Some((at, text.into(), seconds));
            self.after = self.files.len() - before;
        } else if let Some(seconds) = slept {
            self.push(at, text, Fact::Slept(seconds));
        } else if let Some(seconds) = idled {
            self.push(at, text, Fact::Idled(seconds));
        }
    }

    /// The sleep that the last command ended with.
    fn sleeps_at_last(&mut self) {
        if let Some((at, text, seconds)) = self.slept.take() {
            self.push(at, &text, Fact::Slept(seconds));
        }
    }

    /// When the lines below were read, and of which battery.
    fn dated(&mut self, text: &str) -> bool {
        if let Some(s) = clock::date(text) {
            self.when = Some(s);
            return true;
        }
        let text = text.trim_start();
        let device = text.strip_prefix("Device: /").and_then(|d| d.rsplit('/').next());
        let path = || text.strip_prefix("native-path:").filter(|_| self.battery.is_empty());
        if let Some(name) = device.or_else(path) {
            self.battery = name.trim().into();
            return true;
        }
        false
    }

    /// A reading of a battery, with what lines above say of it.
    fn with_time(&self, mut fact: Fact) -> Fact {
        if let Fact::Charge(c) = &mut fact {
            let column = |s: Side| usize::from(s == Side::After);
            let named = c.side.and_then(|s| self.times.get(column(s)).copied());
            c.at = c.at.or(named).or(self.when);
            if c.battery.is_empty() {
                c.battery.clone_from(&self.battery);
            }
        }
        fact
    }

    /// A line with the content of a file that a command just read.
    fn of_file(&mut self, text: &str, at: u64) -> bool {
        let Some(file) = self.files.first() else { return self.read_again(text, at) };
        let fact = count::alone(text.trim())
            .and_then(|n| count::of_file(file, n))
            .or_else(|| machine::of_file(file, text))
            .or_else(|| charge::of_file(file, text));
        let Some(fact) = fact.map(|f| self.with_time(f)) else {
            // The number of a file that nobody knows: the line below is of the next.
            if self.files.len() > 1 && count::alone(text.trim()).is_some() {
                self.files.remove(0);
            }
            return false;
        };
        let file = self.files.remove(0);
        self.push(at, &format!("{file}: {}", text.trim()), fact);
        self.again = self.files.is_empty().then_some((file, at));
        if self.after > 0 && self.files.len() == self.after {
            self.sleeps_at_last();
        }
        true
    }

    /// A counter that whoever posts it read again, below the one command.
    fn read_again(&mut self, text: &str, at: u64) -> bool {
        let Some((file, last)) = self.again.take() else { return false };
        let value = count::alone(text.trim()).filter(|_| at == last + 1);
        let Some(fact) = value.and_then(|n| count::of_file(&file, n)) else { return false };
        self.push(at, &format!("{file}: {}", text.trim()), fact);
        self.again = Some((file, at));
        true
    }

    /// Values that say themselves what they are of.
    fn values(&mut self, text: &str, lower: &str, rest: Rest<'_>, at: u64) -> Option<usize> {
        self.parts |= lower.contains("smu_fw_info") || lower.contains("active time (in us)");
        let mut facts = count::read(text, self.open);
        if self.parts && facts.is_empty() {
            facts = count::active(text);
        }
        self.stats |=
            lower.contains("qcom_stats") || count::OWN.iter().any(|n| line::has_word(lower, n));
        if self.stats && facts.is_empty() {
            facts = count::entries(text);
        }
        if !facts.is_empty() {
            facts.into_iter().for_each(|f| self.push(at, text, f));
            return Some(0);
        }
        if self.named(text, at) || self.domains(text, rest, at) || self.platform(text, lower, at) {
            return Some(0);
        }
        if let Some(owner) = machine::owner(text) {
            self.push(at, text, Fact::Owner(owner));
            return Some(0);
        }
        if self.dated(text) {
            return Some(0);
        }
        self.reasons |= lower.contains("wakeup reason");
        let next = || rest.ahead(1).first().map_or(String::new(), ToString::to_string);
        if (text.contains("Ah") || text.contains("Wh"))
            && (text.trim_start().starts_with('|') || !prose::is_sentence(text))
            && let Some(w) = charge::window(text, lower, &self.before, &next())
        {
            self.push(at, text, Fact::Window(w));
            return Some(0);
        }
        if let Some(now) = android::plugged(text) {
            let given = self.plugged.as_ref().and_then(|from| android::given(from, &now));
            self.plugged = Some(now);
            if let Some(w) = given {
                self.push(at, text, Fact::Window(w));
            }
            return Some(0);
        }
        let cell = || android::cell(text).filter(|_| self.reasons);
        if let Some(fact) = android::read(text).or_else(cell) {
            self.push(at, text, fact);
            return Some(0);
        }
        if tool::is_early(text) && self.woke_early() {
            return Some(0);
        }
        if let Some(fact) = tool::report(text) {
            if let Fact::Report(Report::Slept { ms, .. }) = fact {
                self.push(at, text, Fact::Slept(Some(ms / 1_000)));
            }
            self.push(at, text, fact);
            return Some(0);
        }
        if !self.checks && tool::begins(text, lower) {
            self.checks = true;
            self.push(at, text, Fact::Check(Check::Head));
        }
        if let Some(check) = tool::check(text) {
            self.push(at, text, Fact::Check(check));
        }
        self.cycles = tool::head(lower).or(self.cycles);
        if let Some(tool::CycleRow { ms, share, power }) =
            self.cycles.and_then(|columns| tool::cycle(text, columns))
        {
            let seconds = i64::try_from(ms / 1_000).ok().filter(|s| *s > 0);
            if let Some((seconds, power)) = seconds.zip(power) {
                let window =
                    Window { seconds, power: Some(power), of_sleep: true, ..Window::default() };
                self.push(at, text, Fact::Window(window));
            }
            let deep = ms.saturating_mul(u64::try_from(share).unwrap_or(0)) / 100_000;
            self.push(at, text, Fact::Slept(Some(ms / 1_000)));
            self.push(at, text, Fact::Report(Report::Slept { ms, early: false }));
            let share = Some(share);
            self.push(at, text, Fact::Report(Report::Hardware { ms: deep, share }));
            return Some(0);
        }
        if let Some(fact) = tool::test(text, next) {
            self.push(at, text, fact);
            return self.rounds(text, lower, rest, at).or(Some(0));
        }
        if let Some(column) = tool::powertop(text) {
            self.powertop(column, tool::is_cut(text), text, at);
            return Some(0);
        }
        if self.hardware(text, at) {
            return Some(0);
        }
        let round = self.rounds(text, lower, rest, at);
        if round.is_none() {
            tool::marked(text).into_iter().for_each(|fact| self.push(at, text, fact));
        }
        round
    }

    /// A report says of the cycle above that it was over before its alarm.
    fn woke_early(&mut self) -> bool {
        let last = self.night.items.iter_mut().rev().find_map(|i| match &mut i.fact {
            Fact::Report(Report::Slept { early, .. }) => Some(early),
            _ => None,
        });
        last.map(|early| *early = true).is_some()
    }

    /// A package state of powertop's table, of which each stands on a line of its own.
    fn powertop(&mut self, column: (String, i64), cut: bool, text: &str, at: u64) {
        if let Some(Item { line, text: shown, fact: Fact::Shares(s) }) = self.night.items.last_mut()
            && at.saturating_sub(*line) < 12
            && s.columns.iter().all(|c| c.0.starts_with("Pk") && c.0 != column.0)
        {
            // The line of the deepest state that was entered tells.
            if column.1 > 0 {
                (*line, *shown) = (at, text[..text.floor_char_boundary(SHOWN)].trim().into());
            }
            s.columns.push(column);
            s.cut = cut;
            return;
        }
        let shares = Shares { columns: vec![column], table: self.tables.next(), ms: None, cut };
        self.push(at, text, Fact::Shares(shares));
    }

    /// A device of a list; lines below it are of it.
    fn hardware(&mut self, text: &str, at: u64) -> bool {
        if text.split(' ').next().is_some_and(machine::is_address) {
            self.device.clear();
        }
        let Some(mut hardware) = machine::hardware(text) else { return false };
        match &mut hardware {
            Hardware::Pci { address, .. } => self.device.clone_from(address),
            Hardware::Aspm { address, .. } => address.clone_from(&self.device),
            Hardware::Bridge { .. } => {}
        }
        self.push(at, text, Fact::Hardware(hardware));
        true
    }

    /// `S0i2.0 S0i3.0` above `45277006 0`, in the lines of Intel's self-test.
    fn named(&mut self, text: &str, at: u64) -> bool {
        if text.trim_start().starts_with("S0i") {
            let words = || text.split_whitespace();
            if words().count() > 1 && words().all(count::is_substate) {
                self.substates = words().map(ToString::to_string).collect();
                return true;
            }
        }
        if self.substates.is_empty() || !text.bytes().all(|b| b.is_ascii_digit() || b == b' ') {
            return false;
        }
        let numbers: Option<Vec<u64>> = text.split_whitespace().map(count::alone).collect();
        let Some(numbers) = numbers.filter(|n| n.len() == self.substates.len()) else {
            return false;
        };
        for (name, value) in std::mem::take(&mut self.substates).into_iter().zip(numbers) {
            self.push(at, text, Fact::Count(Count { name, of: Counts::Substate, value }));
        }
        true
    }

    /// Files of drivers/soc/qcom/qcom_stats.c (qcom_sleep_stats_show): four rows, by the name
    /// of the file or of a line above.
    fn domains(&mut self, text: &str, rest: Rest<'_>, at: u64) -> bool {
        let text = text.trim();
        let file = self.files.first().filter(|f| f.contains("qcom_stats/"));
        // Somebody joined the four rows.
        let (front, joined) = match text.split_once(" Last Entered At:") {
            Some((front, _)) => (front, true),
            None => (text, false),
        };
        let Some(value) = front.strip_prefix("Count:").and_then(count::alone) else {
            let rows = ["Last Entered At:", "Last Exited At:", "Accumulated Duration:"];
            if rows.iter().any(|r| text.starts_with(r)) {
                return true;
            }
            // A loop of the shell prints a name between marks.
            let name = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
            if !name.contains(' ') {
                self.domain = name.rsplit('/').next().unwrap_or("").to_ascii_lowercase();
            }
            return false;
        };
        let name = file.map(|f| f.rsplit('/').next().unwrap_or(f).to_ascii_lowercase());
        let below = || {
            joined
                || rest.ahead(1).first().is_some_and(|l| l.trim().starts_with("Last Entered At:"))
        };
        if name.is_none() && !below() {
            return false;
        }
        if self.files.len() > 1 {
            self.files.remove(0);
        }
        let name = name.unwrap_or_else(|| std::mem::take(&mut self.domain));
        // What has no name is no second reading of another.
        let name = if name.is_empty() { format!("an unnamed one (line {at})") } else { name };
        self.push(at, text, Fact::Count(Count { name, of: Counts::Entries, value }));
        true
    }

    /// What a self-test says of ports, and marks of sleeps.
    fn platform(&mut self, text: &str, lower: &str, at: u64) -> bool {
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
            "Performing sleep operation 'suspend",
        ];
        let begins = slept.iter().any(|w| text.starts_with(w));
        if !begins && !text.contains(": Performing sleep operation 'suspend") {
            return false;
        }
        if text.starts_with("rtcwake:") {
            self.round_ends(at, text, lower);
        }
        self.push(at, text, Fact::Slept(None));
        true
    }

    /// Rounds of a run, and what ends them; how many more lines that took.
    fn rounds(&mut self, text: &str, lower: &str, rest: Rest<'_>, at: u64) -> Option<usize> {
        // The program may break its lines anywhere.
        let mut whole = None;
        let mut took = 0;
        if text.contains("FAILED [") || text.contains("Suspend failed") {
            let mut longer = text.to_owned();
            for (i, next) in rest.ahead(2).iter().enumerate() {
                let glue = if next.starts_with('/') { "" } else { " " };
                longer = format!("{longer}{glue}{}", next.trim());
                let facts = count::read(&longer, None);
                if !facts.is_empty() {
                    facts.into_iter().for_each(|f| self.push(at, &longer, f));
                    (whole, took) = (Some(longer), i + 1);
                    break;
                }
            }
        }
        // Words that go on number things too.
        let any = |f: &Fact| matches!(f, Fact::Round(r) if r.by == rounds::Teller::OfAnything);
        self.runs |= round::announces(lower);
        let fact = round::read(text, lower, self.runs).filter(|f| !(any(f) && self.goes_on(text)));
        if let Some(mut fact) = fact {
            if let Fact::Round(Round { end, .. }) = &mut fact
                && *end != End::Unknown
            {
                *end = round::outcome(text, lower).map_or(*end, |o| o.0);
            }
            self.push(at, text, fact);
            return Some(took);
        }
        let ended = match whole {
            Some(whole) => self.round_ends(at, &whole, &whole.to_ascii_lowercase()),
            None => self.round_ends(at, text, lower),
        };
        ended.then_some(took)
    }

    /// Whether a line ends the round that is open.
    fn round_ends(&mut self, at: u64, text: &str, lower: &str) -> bool {
        let Some((end, alone)) = round::outcome(text, lower) else { return false };
        if let Some(item) = self.round.map(|i| &mut self.night.items[i])
            && let Fact::Round(r) = &mut item.fact
            // What numbers anything and says itself that it went well is over.
            && (matches!(r.end, End::Unknown | End::Asked)
                || r.end == End::Back
                    && end != End::Back
                    && (r.by == rounds::Teller::OfSleep || !item.text.starts_with(&r.said)))
        {
            r.end = end;
            r.said = text.trim().into();
            return true;
        }
        // Only a test's own words tell of a round that the text does not begin.
        if alone {
            let said = text.trim().into();
            self.push(at, text, Fact::Round(Round { end, said, ..Round::default() }));
        }
        alone
    }

    /// What systemd says that the sleep before a reading took: reading and rate are both sides
    /// of it.
    fn rated(&mut self, text: &str, at: u64) -> bool {
        let Some((used, seconds)) = charge::discharged_in(text) else { return false };
        let Some(Item { line, fact: Fact::Charge(c), .. }) = self.night.items.last_mut() else {
            return false;
        };
        if at - *line > 3 || c.of != Gauge::Percent {
            return false;
        }
        let after = Charge { side: Some(Side::After), at: None, of_sleep: true, ..c.clone() };
        *c = Charge { value: c.value + used, side: Some(Side::Before), ..after.clone() };
        self.push(at, text, Fact::Lasted(u64::try_from(seconds).unwrap_or(0)));
        self.push(at, text, Fact::Charge(after));
        true
    }

    /// A line of words: a caption, what a battery did, a part of a sentence.
    fn said(&mut self, text: &str, lower: &str, at: u64) {
        let near = |i: &usize| self.night.items.len() - i <= BELOW;
        if let Some(i) = self.round.filter(near)
            && let Fact::Round(r) = &mut self.night.items[i].fact
            && r.end == End::Unknown
            && prose::says_failed(lower)
        {
            (r.end, r.by) = (End::Failed, rounds::Teller::Person);
            r.said = text.trim().into();
        }
        let sentence = prose::is_sentence(text) || self.goes_on(text);
        if sentence {
            self.substates.clear();
        }
        if !sentence {
            if self.rated(text, at) {
                return;
            }
            let facts = charge::read(text, lower, Teller::Program);
            if !facts.is_empty() {
                for f in facts {
                    let f = self.with_time(f);
                    self.push(at, text, f);
                }
                if let Some(seconds) =
                    prose::lasted(text, lower).and_then(|s| u64::try_from(s).ok())
                {
                    self.push(at, text, Fact::Lasted(seconds));
                }
                return;
            }
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
        if heading || self.words.len() > PARAGRAPH {
            self.paragraph_ends();
        }
        let glue = match (self.words.is_empty(), heading) {
            (true, true) => "# ",
            (true, false) => "",
            (false, _) => " ",
        };
        self.words.push_str(glue);
        self.starts.push((self.words.len(), at));
        self.words.push_str(trimmed);
        // A heading that a mail program broke goes on below.
        if heading && text.len() < BROKEN {
            self.paragraph_ends();
        }
    }

    /// Whether a line goes on with the sentence that the line before it began.
    fn goes_on(&self, text: &str) -> bool {
        self.words.split_whitespace().count() >= WORDS
            && !self.words.ends_with(['.', ':', '!', '?'])
            && text.starts_with(|c: char| c.is_ascii_lowercase())
    }

    /// The words since the last blank line are whole.
    fn paragraph_ends(&mut self) {
        if self.words.is_empty() {
            return;
        }
        let words = std::mem::take(&mut self.words);
        let starts = std::mem::take(&mut self.starts);
        let line = |at: usize| starts.iter().rfind(|s| s.0 <= at).map_or(starts[0].1, |s| s.1);
        let mut of_sleep = false;
        for (at, sentence) in prose::sentences(&words) {
            let lower = sentence.to_ascii_lowercase();
            of_sleep |= line::is_of_sleep(&lower);
            let text = sentence.trim();
            let said = charge::read(sentence, &lower, Teller::Person);
            for fact in said.into_iter().chain(prose::read(sentence, &lower, of_sleep)) {
                self.add(line(at), text, fact);
            }
            if let Some(s) = prose::lasted(sentence, &lower).filter(|s| *s > 1) {
                self.add(line(at), text, Fact::Lasted(u64::try_from(s).unwrap_or(0)));
            }
        }
        self.add(starts[0].1, &words, Fact::Words(words.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_doctor::night::machine::Owner;

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
    fn rows_of_numbers_below_names_of_substates_are_theirs() {
        let night = read(b"S0ix substate before S2idle:\n  S0i2.0 S0i3.0\nresidency:\n  77 0\n");
        let all: Vec<(&str, u64)> =
            night.counts().map(|c| (c.2.name.as_str(), c.2.value)).collect();
        assert_eq!(all, [("S0i2.0", 77), ("S0i3.0", 0)]);
    }
}
