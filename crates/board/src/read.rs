//! Reads a board file (docs/board-format.md).

use super::words::{Atom, Word, parse_duration, split};
use super::{Board, BoardDevice, Times, Work};
use dormouse_base::device::{Device, DeviceId, Link, LinkKind};
use dormouse_base::names::Sym;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// What is wrong with a board file, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardError {
    /// Line, from 1.
    pub line: u32,
    /// A sentence for a person.
    pub message: String,
}

impl fmt::Display for BoardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for BoardError {}

/// The keys of the eight callbacks by [`dormouse_base::phase::Phase::device_index`].
/// `noirq` occurs in both directions, so the way up has its own word.
pub const CALLBACKS: [&str; 8] =
    ["prepare", "suspend", "late", "noirq", "resume_noirq", "early", "resume", "complete"];

/// How the comment of a board begins whose times are assumed.
const ASSUMED: &str = "# ASSUMED, NOT MEASURED: every time below";

/// And what stands before that if no machine has others.
const INVENTED: &str = "# An invented machine";

/// The version that this reader understands.
pub const VERSION: u32 = 1;

/// More devices (or links) than any machine has: a range such as `d{0..4000000000}` must
/// not take all memory.
const MAX_DEVICES: usize = 1_000_000;

/// The same of domains: the largest chips have a few hundred.
const MAX_DOMAINS: usize = 65_536;

/// A reference to a device that may be defined further down.
struct Reference {
    line: u32,
    name: String,
    nth: Option<u32>,
    label: bool,
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    board: Board,
    line: u32,
    versioned: bool,
    parents: Vec<Option<Reference>>,
    links: Vec<(Reference, Reference, LinkKind, bool)>,
    by_name: BTreeMap<Sym, Vec<u32>>,
    labels: BTreeMap<String, u32>,
    domains: BTreeMap<String, u32>,
}

/// Reads a board file.
pub fn parse(text: &str) -> Result<Board, BoardError> {
    let mut r = Reader::default();
    r.board.cpus = 1;
    r.board.pm_async = true;
    r.board.graph.order_known = true;
    r.board.graph.links_known = true;
    let mut invented = false;
    for line in text.lines() {
        r.line = r.line.saturating_add(1);
        let at = r.line;
        // Files from before `times` said so in their comment alone.
        invented |= line.starts_with(INVENTED);
        if !r.versioned && line.starts_with(ASSUMED) {
            r.board.times = if invented { Times::Invented } else { Times::Assumed };
        }
        r.statement(line).map_err(|message| BoardError { line: at, message })?;
    }
    if !r.versioned {
        return Err(BoardError {
            line: 1,
            message: "the file is empty; begin it with `board 1`".into(),
        });
    }
    r.finish()
}

impl Reader {
    fn statement(&mut self, line: &str) -> Result<(), String> {
        let words = split(line)?;
        let Some((first, rest)) = words.split_first() else { return Ok(()) };
        let verb = if first.key.is_none() && !first.value.quoted { &*first.value.text } else { "" };
        if !self.versioned {
            return self.version(verb, rest);
        }
        match verb {
            "cpus" => {
                let n: u32 =
                    single(rest, "cpus 4")?.parse().map_err(|_| "`cpus` needs a number")?;
                if !(1..=65_536).contains(&n) {
                    return Err(format!("`cpus {n}` is not possible; write 1 to 65536"));
                }
                self.board.cpus = n;
            }
            "pm_async" => self.board.pm_async = choose(rest, "pm_async", ["0", "1"])?,
            "order" => {
                self.board.graph.order_known = choose(rest, "order", ["guessed", "known"])?;
            }
            "links" => {
                self.board.graph.links_known = choose(rest, "links", ["guessed", "known"])?;
            }
            "times" => {
                self.board.times = times(rest)?;
            }
            "device" => return self.each(rest, Reader::device),
            "domain" => return self.each(rest, Reader::domain),
            "link" => return self.each(rest, Reader::link),
            "board" => return Err("`board` may stand only once, at the top".into()),
            _ => {
                let what =
                    ["device", "domain", "link", "cpus", "pm_async", "order", "links", "times"];
                return Err(unknown(&first.value.text, "line", &what));
            }
        }
        Ok(())
    }

    fn version(&mut self, verb: &str, rest: &[Word<'_>]) -> Result<(), String> {
        let version = if verb == "board" { single(rest, "board 1")?.parse().ok() } else { None };
        match version {
            Some(VERSION) => {
                self.versioned = true;
                Ok(())
            }
            Some(v) => {
                Err(format!("this is version {v} of the format; version {VERSION} is known"))
            }
            None => Err("a board file begins with the line `board 1`".into()),
        }
    }

    /// Runs `f` on a line, or once for each number of its range: in
    /// `device d{1..3} parent=hub{}` the braces stand for 1, 2 and 3.
    fn each(
        &mut self,
        words: &[Word<'_>],
        f: impl Fn(&mut Reader, &[Word<'_>]) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut ranges = words.iter().filter(|w| !w.value.quoted && w.value.text.contains(".."));
        let range =
            ranges.by_ref().find_map(|w| find_range(&w.value.text).transpose()).transpose()?;
        let Some((pattern, first, last)) = range else { return f(self, words) };
        if (last - first) as usize >= MAX_DEVICES {
            return Err(format!("`{pattern}` is more than {MAX_DEVICES} devices"));
        }
        for i in first..=last {
            let number = i.to_string();
            let fill = |w: &Word<'_>| {
                let text = if w.value.quoted {
                    w.value.text.to_string()
                } else {
                    w.value.text.replace(pattern, &number).replace("{}", &number)
                };
                Atom { text: Cow::Owned(text), quoted: w.value.quoted, nth: w.value.nth }
            };
            let filled: Vec<Word<'_>> =
                words.iter().map(|w| Word { key: w.key, value: fill(w) }).collect();
            f(self, &filled)?;
        }
        Ok(())
    }

    fn device(&mut self, words: &[Word<'_>]) -> Result<(), String> {
        let Some((name, rest)) = words.split_first() else {
            return Err("`device` needs a name: `device usb1 suspend=12ms`".into());
        };
        if name.key.is_some() || (!name.value.quoted && name.value.text.starts_with('@')) {
            return Err("the name comes first: `device usb1 suspend=12ms`".into());
        }
        if name.value.nth.is_some()
            || (!name.value.quoted && name.value.text.contains(['#', '{', '}']))
        {
            let t = &name.value.text;
            return Err(format!("a name with `#`, `{{` or `}}` needs quotes: \"{t}\""));
        }
        if self.board.devices.len() >= MAX_DEVICES {
            return Err(format!("more than {MAX_DEVICES} devices"));
        }
        let names = &mut self.board.names;
        let mut device = Device { name: names.add(&name.value.text), ..Device::default() };
        let mut work = BoardDevice::default();
        let mut parent = None;
        let mut parent_name = None;
        let index = self.board.devices.len() as u32;
        for (i, w) in rest.iter().enumerate() {
            if rest[..i].iter().any(|o| o.key == w.key && (w.key.is_some() || o.value == w.value)) {
                let word = w.key.unwrap_or(&w.value.text);
                return Err(format!("`{word}` stands twice on this line; keep one"));
            }
            let text = &*w.value.text;
            let Some(key) = w.key else {
                if let Some(label) = text.strip_prefix('@').filter(|_| !w.value.quoted) {
                    if self.labels.insert(label.to_string(), index).is_some() {
                        return Err(format!("the label `@{label}` is taken; choose another"));
                    }
                } else {
                    flag(text, &mut device, &mut work)?;
                }
                continue;
            };
            if let Some(i) = CALLBACKS.iter().position(|&c| c == key) {
                work.work[i] = Some(parse_work(text)?);
                continue;
            }
            if let Some(i) = RUNTIME.iter().position(|&c| c == key) {
                work.runtime.work[i] = Some(parse_work(text)?);
                continue;
            }
            let number = || {
                text.parse().map_err(|_| format!("`{key}` is a number; write for example {key}=1"))
            };
            let names = &mut self.board.names;
            let facts = &mut device.facts;
            match key {
                "usage" => work.runtime.usage = number()?,
                "autosuspend_ms" => work.runtime.autosuspend_ms = Some(number()?),
                "qos" => work.qos = Some(parse_duration(text)?),
                "parent" => parent = Some(reference(&w.value, self.line)),
                "domain" => {
                    let Some(&place) = self.domains.get(text) else {
                        return Err(format!(
                            "no domain above is called `{text}`; add a line `domain {text}` before"
                        ));
                    };
                    work.domain = Some(place);
                }
                "parent_name" => parent_name = Some(names.add(text)),
                "driver" => device.driver = names.add(text),
                "subsystem" => device.subsystem = names.add(text),
                "devpath" => facts.devpath = names.add(text),
                "of" => facts.of_fullname = names.add(text),
                "fwnode" => facts.firmware_node = names.add(text),
                "modalias" => facts.modalias = names.add(text),
                "module" => facts.module = names.add(text),
                "runtime_status" => facts.runtime_status = names.add(text),
                "runtime_control" => facts.runtime_control = names.add(text),
                "essential" => facts.essential = names.add(text),
                "power_wakeup" => {
                    facts.wakeup = Some(match text {
                        "enabled" => true,
                        "disabled" => false,
                        _ => return Err("`power_wakeup` is `enabled` or `disabled`".into()),
                    });
                }
                _ => {
                    let mut known = CALLBACKS.to_vec();
                    known.extend(RUNTIME);
                    known.extend(KEYS);
                    return Err(unknown(key, "key", &known));
                }
            }
        }
        if work.work[0].is_none() && rest.iter().any(|w| is_flag(w, "direct_complete")) {
            work.work[0] = Some(Work { ret: 1, ..Work::default() });
        }
        let r = &work.runtime;
        if !r.enabled() && (r.first || r.usage > 0 || r.autosuspend_ms.is_some()) {
            return Err(
                "runtime PM needs a callback: add rpm_suspend=TIME or rpm_resume=TIME".into()
            );
        }
        if r.work.iter().flatten().any(|w| w.ret != 0 || w.lock != 0) {
            return Err("rpm_suspend and rpm_resume are times alone".into());
        }
        // Kept until `finish`, which knows the parent's name.
        device.parent_name = parent_name.unwrap_or(Sym(u32::MAX));
        self.by_name.entry(device.name).or_default().push(index);
        self.board.graph.push(device);
        self.board.devices.push(work);
        self.parents.push(parent);
        Ok(())
    }

    fn domain(&mut self, words: &[Word<'_>]) -> Result<(), String> {
        if self.domains.len() >= MAX_DOMAINS {
            return Err(format!("more than {MAX_DOMAINS} domains"));
        }
        let above = &self.domains;
        let find = |name: &str| above.get(name).copied();
        let domain = super::domain::parse(words, &mut self.board.names, find, unknown)?;
        let name = self.board.names.get(domain.name).to_string();
        self.domains.insert(name, self.board.domains.len() as u32);
        self.board.domains.push(domain);
        Ok(())
    }

    fn link(&mut self, words: &[Word<'_>]) -> Result<(), String> {
        let [consumer, supplier, rest @ ..] = words else {
            return Err("`link` needs two devices: `link CONSUMER SUPPLIER stateless`".into());
        };
        if consumer.key.is_some() || supplier.key.is_some() {
            return Err("a name with `=` needs quotes".into());
        }
        if self.links.len() >= MAX_DEVICES {
            return Err(format!("more than {MAX_DEVICES} links"));
        }
        let mut kind = None;
        let mut pm_runtime = false;
        for w in rest {
            let text = if w.key.is_none() { &*w.value.text } else { w.key.unwrap_or("") };
            match (LinkKind::find(text), w.key) {
                (Some(k), None) if kind.is_none() => kind = Some(k),
                (Some(_), None) => {
                    return Err("a link has one kind; make two lines for two links".into());
                }
                _ if is_flag(w, "pm_runtime") => pm_runtime = true,
                _ => {
                    let mut known = LinkKind::ALL.map(LinkKind::name).to_vec();
                    known.push("pm_runtime");
                    return Err(unknown(text, "word of a link", &known));
                }
            }
        }
        let consumer = reference(&consumer.value, self.line);
        let supplier = reference(&supplier.value, self.line);
        self.links.push((consumer, supplier, kind.unwrap_or(LinkKind::Stateless), pm_runtime));
        Ok(())
    }

    fn finish(mut self) -> Result<Board, BoardError> {
        for (i, parent) in std::mem::take(&mut self.parents).into_iter().enumerate() {
            let mut name = Sym::EMPTY;
            if let Some(p) = &parent {
                let id = self.resolve(p)?;
                if id.index() == i {
                    let message = "a device cannot be its own parent; name another".into();
                    return Err(BoardError { line: p.line, message });
                }
                self.board.graph.devices[i].parent = Some(id);
                name = self.board.graph.get(id).name;
            }
            let device = &mut self.board.graph.devices[i];
            if device.parent_name == Sym(u32::MAX) {
                device.parent_name = name;
            }
            self.parents.push(parent);
        }
        if let Some(d) = self.board.graph.parent_cycle() {
            let line = self.parents[d.index()].as_ref().map_or(1, |p| p.line);
            let name = self.board.names.get(self.board.graph.get(d).name);
            let message = format!("`{name}` is its own ancestor; change one `parent=` of the ring");
            return Err(BoardError { line, message });
        }
        for (consumer, supplier, kind, pm_runtime) in std::mem::take(&mut self.links) {
            let link = Link {
                consumer: self.resolve(&consumer)?,
                supplier: self.resolve(&supplier)?,
                kind,
                pm_runtime,
            };
            if link.consumer == link.supplier {
                let message = "a device cannot be its own supplier; remove the link".into();
                return Err(BoardError { line: consumer.line, message });
            }
            self.board.graph.links.push(link);
        }
        Ok(self.board)
    }

    fn resolve(&self, r: &Reference) -> Result<DeviceId, BoardError> {
        let fail = |message: String| Err(BoardError { line: r.line, message });
        let name = &r.name;
        if r.label {
            return match self.labels.get(name.as_str()) {
                Some(&i) => Ok(DeviceId(i)),
                None => fail(format!("no device has the label `@{name}`; add it to a device line")),
            };
        }
        let all = self.board.names.find(name).and_then(|s| self.by_name.get(&s));
        let Some(all) = all else {
            return fail(format!("no device is called `{name}`; add a line `device {name}`"));
        };
        match r.nth {
            None if all.len() == 1 => Ok(DeviceId(all[0])),
            None => fail(format!(
                "{} devices are called `{name}`; write {name}#1 to {name}#{} for one of them, or give it a label",
                all.len(),
                all.len()
            )),
            Some(n) => match all.get((n as usize).wrapping_sub(1)) {
                Some(&i) => Ok(DeviceId(i)),
                None => fail(format!("`{name}#{n}`: there are {} devices of that name", all.len())),
            },
        }
    }
}

/// The keys of a device line that are not callbacks.
const KEYS: [&str; 17] = [
    "usage",
    "autosuspend_ms",
    "qos",
    "parent",
    "domain",
    "parent_name",
    "driver",
    "subsystem",
    "devpath",
    "of",
    "fwnode",
    "modalias",
    "module",
    "runtime_status",
    "runtime_control",
    "essential",
    "power_wakeup",
];

/// The keys of runtime callbacks, in the order of [`super::Runtime::work`].
pub(crate) const RUNTIME: [&str; 2] = ["rpm_suspend", "rpm_resume"];

/// The words of a device line that stand alone.
const FLAGS: [&str; 12] = [
    "async",
    "sync",
    "wakeup",
    "syscore",
    "no_pm",
    "direct_complete",
    "no_direct_complete",
    "runtime_suspended",
    "rpm_disabled",
    "rpm_first",
    "class",
    "guest",
];

fn flag(text: &str, device: &mut Device, work: &mut BoardDevice) -> Result<(), String> {
    match text {
        "async" | "sync" if device.async_flag.is_some() => {
            return Err("a device is `async` or `sync`, not both".into());
        }
        "async" => device.async_flag = Some(true),
        "sync" => device.async_flag = Some(false),
        "wakeup" => work.wakeup = true,
        "syscore" => device.facts.syscore = true,
        "no_pm" => device.facts.no_pm = true,
        // Short for prepare=0,ret=1: applied when the line has been read.
        "direct_complete" => {}
        "no_direct_complete" => work.no_direct_complete = true,
        "runtime_suspended" => work.runtime_suspended = true,
        "rpm_disabled" => work.rpm_disabled = true,
        "rpm_first" => work.runtime.first = true,
        "class" => device.facts.class = true,
        "guest" => device.facts.guest = true,
        _ => return Err(unknown(text, "word", &FLAGS)),
    }
    Ok(())
}

fn is_flag(w: &Word<'_>, name: &str) -> bool {
    w.key.is_none() && !w.value.quoted && w.value.text == name
}

/// `12ms+5ms.cpu,ret=-5,lock=2`: sleeping and computing time, then what the
/// callback returns and the lock it holds.
fn parse_work(text: &str) -> Result<Work, String> {
    let mut work = Work::default();
    let mut parts = text.split(',');
    for term in parts.next().unwrap_or("").split('+') {
        match term.strip_suffix(".cpu") {
            Some(t) => work.compute += parse_duration(t)?,
            None => work.sleep += parse_duration(term)?,
        }
    }
    for part in parts {
        let bad = || format!("`{part}`: after the time come only `ret=NUMBER` and `lock=NUMBER`");
        match part.split_once('=').ok_or_else(bad)? {
            ("ret", n) => work.ret = n.parse().map_err(|_| bad())?,
            ("lock", n) => work.lock = n.parse().map_err(|_| bad())?,
            _ => return Err(bad()),
        }
    }
    Ok(work)
}

/// `usb1`, `usb1#2` or `@label`.
fn reference(a: &Atom<'_>, line: u32) -> Reference {
    if a.quoted {
        return Reference { line, name: a.text.to_string(), nth: a.nth, label: false };
    }
    if let Some(label) = a.text.strip_prefix('@') {
        return Reference { line, name: label.to_string(), nth: None, label: true };
    }
    match a.text.rsplit_once('#').and_then(|(name, n)| Some((name, n.parse().ok()?))) {
        Some((name, n)) => Reference { line, name: name.to_string(), nth: Some(n), label: false },
        None => Reference { line, name: a.text.to_string(), nth: None, label: false },
    }
}

/// The first `{a..b}` of a word with its two numbers.
fn find_range(text: &str) -> Result<Option<(&str, u32, u32)>, String> {
    let Some(start) = text.find('{') else { return Ok(None) };
    let Some(len) = text[start..].find('}') else { return Ok(None) };
    let pattern = &text[start..=start + len];
    let Some((a, b)) = pattern[1..pattern.len() - 1].split_once("..") else { return Ok(None) };
    match (a.parse::<u32>(), b.parse::<u32>()) {
        (Ok(a), Ok(b)) if a <= b => Ok(Some((pattern, a, b))),
        _ => Err(format!("`{pattern}` is not a range; write two numbers, such as {{0..7}}")),
    }
}

/// The one bare word that a line such as `cpus 4` needs.
fn single<'a>(rest: &'a [Word<'_>], example: &str) -> Result<&'a str, String> {
    match rest {
        [w] if w.key.is_none() && !w.value.quoted => Ok(&w.value.text),
        _ => Err(format!("expected one word, as in `{example}`")),
    }
}

/// Where the times come from: `times assumed`.
fn times(rest: &[Word<'_>]) -> Result<Times, String> {
    match single(rest, "times assumed")? {
        "measured" => Ok(Times::Measured),
        "assumed" => Ok(Times::Assumed),
        "invented" => Ok(Times::Invented),
        other => Err(format!("`times {other}` is not one of measured, assumed, invented")),
    }
}

/// Whether the one word of a line is the second of two choices.
fn choose(rest: &[Word<'_>], verb: &str, words: [&str; 2]) -> Result<bool, String> {
    let text = single(rest, &format!("{verb} {}", words[1]))?;
    match words.iter().position(|&w| w == text) {
        Some(i) => Ok(i == 1),
        None => Err(format!("`{verb}` is `{}` or `{}`", words[0], words[1])),
    }
}

/// The message for a word that is not known: with the nearest that is, or all.
fn unknown(word: &str, what: &str, known: &[&str]) -> String {
    let near = known.iter().min_by_key(|k| distance(word, k));
    match near.filter(|k| distance(word, k) <= 2) {
        Some(k) => format!("unknown {what} `{word}`; did you mean `{k}`?"),
        None => format!("unknown {what} `{word}`; known are {}", known.join(", ")),
    }
}

/// Edit distance; long words are not worth it.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 32 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
