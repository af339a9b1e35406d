//! Power states of NVMe drives, as `nvme id-ctrl` and `smartctl` print them, and what
//! `nvme get-feature` says of autonomous transitions.

use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::levels::{Drive, Fall, PowerState};
use serde_json::Value;

/// What is known of the text so far.
#[derive(Default)]
struct State {
    /// What a heading calls the next drive, and the device that a command was given.
    heading: Option<String>,
    device: Option<String>,
    /// The device of the last drive.
    of: Option<String>,
    /// Inside the table of smartctl.
    smart: bool,
    /// The entry of APST whose lines follow, and how many it stands for.
    entry: Option<(Fall, u32)>,
    /// Bytes of the table of APST, if it is printed in hex.
    hex: Option<Vec<u8>>,
    /// The kernel's limit, and whether the next line says it.
    limit: Option<u64>,
    limit_follows: bool,
    /// The next line is the kernel's command line.
    boot_follows: bool,
    /// A limit that the text names, and no line shows as set.
    named_limit: Option<u64>,
    /// Whether the next drive can go into states by itself (`apsta`).
    can: Option<bool>,
    /// The last state of the next drive (`npss`).
    last_state: Option<u32>,
    damaged: u64,
}

/// The parameter of nvme_core that limits what leaving a state may take, us.
const LIMIT: &str = "default_ps_max_latency_us";

/// A limit in a line.
#[derive(Default)]
struct Limit {
    /// What a line shows as set: its file with a colon, the kernel's command line, or a line of
    /// modprobe.conf.
    set: Option<u64>,
    /// What it names besides.
    named: Option<u64>,
    /// The next line is the content of the file.
    follows: bool,
}

/// The limit in a line; `boot`: the line is the kernel's command line.
fn limit(line: &str, boot: bool) -> Limit {
    let Some((before, after)) = line.split_once(LIMIT) else { return Limit::default() };
    let set = boot
        || before.contains("ommand line:")
        || before.contains("/proc/cmdline:")
        || before.starts_with("options nvme_core ");
    let file = before.ends_with("/parameters/");
    let number = |v: &str| {
        let end = v.find(|c: char| !c.is_ascii_digit()).unwrap_or(v.len());
        v[..end].parse::<u64>().ok()
    };
    let value = after.strip_prefix(if file { ':' } else { '=' }).and_then(number);
    let read = ["cat ", "grep . "].iter().any(|c| before.contains(c));
    Limit {
        set: value.filter(|_| file || set),
        named: value.filter(|_| !file && !set),
        follows: read && after.is_empty(),
    }
}

/// Reads every table of a text: mails may quote several.
pub(super) fn read(name: &str, bytes: &[u8], drives: &mut Vec<Drive>, losses: &mut Losses) {
    let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    if has("\"psds\"") {
        json(name, bytes, drives);
        return;
    }
    if !["enlat:", "Ex_Lat", "get-feature:"].iter().any(|w| has(w)) {
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    let short = name.rsplit('/').next().unwrap_or(name);
    let first = drives.len();
    let mut now = State::default();
    for line in text.lines() {
        let line = plain(line);
        if std::mem::take(&mut now.limit_follows) {
            now.limit = line.parse().ok().or(now.limit);
        }
        let limit = limit(line, std::mem::take(&mut now.boot_follows));
        (now.limit, now.limit_follows) = (limit.set.or(now.limit), limit.follows);
        now.named_limit = now.named_limit.or(limit.named);
        now.boot_follows = line.trim_end().ends_with("cat /proc/cmdline");
        if now.hex.is_some() && !now.hex_line(line, drives) {
            now.hex = None;
        }
        now.smart = line.starts_with("St Op ") || now.smart && smart_state(line).is_some();
        let named = ["Model Number:", "mn "].iter().find_map(|w| line.strip_prefix(w));
        if let Some(model) = named {
            now.heading = Some(model.trim_start_matches([' ', ':']).trim().into());
            continue;
        }
        if let Some(title) = line.strip_prefix("== ") {
            now.heading = Some(title.trim().into());
        } else if let Some(device) = device(line) {
            now.device = Some(device.into());
        }
        if let Some(last) = hex_value(line, "npss") {
            now.last_state = u32::try_from(last).ok().filter(|n| *n < MOST);
        }
        if let Some(can) = hex_value(line, "apsta") {
            now.can = Some(can & 1 == 1);
        }
        for (word, place) in [("rtd3e", 0), ("rtd3r", 1)] {
            if let (Some(us), Some(d)) = (hex_value(line, word), drives[first..].last_mut()) {
                d.off[place] = Some(us);
            }
        }
        if line.starts_with("get-feature:") {
            now.feature_head(line, first, short, drives);
            continue;
        }
        if feature(line, &mut now.entry) {
            now.take_entry(drives);
            continue;
        }
        if let Some(on) = line.split_once("(APSTE)").map(|(_, v)| v.contains("Enabled")) {
            if let Some(d) = drives[first..].last_mut() {
                d.apst = Some(on);
            }
            continue;
        }
        if let Some(s) = state(line).or(now.smart.then(|| smart_state(line)).flatten()) {
            match s {
                Some(s) => now.add_state(s, first, short, drives),
                None => now.damaged += 1,
            }
        }
        if now.smart {
            continue;
        }
        if let Some(s) = drives[first..].last_mut().and_then(|d| d.states.last_mut()) {
            // Of a state, in its line or in the second.
            for word in line.split_whitespace() {
                if let Some(w) = word.strip_prefix("idle_power:") {
                    s.idle_uw = microwatts(w);
                } else if let Some(w) = word.strip_prefix("active_power:") {
                    s.active_uw = microwatts(w);
                }
            }
        }
    }
    for d in &mut drives[first..] {
        d.limit = now.limit;
        d.named_limit = now.named_limit.filter(|_| now.limit.is_none());
    }
    let advice = "lines of power states that cannot be understood: compare them with the original";
    losses.add("damaged_line", now.damaged, Severity::Warning, advice, None);
}

impl State {
    /// Whether what comes next is of another drive than the last.
    fn is_other(&self) -> bool {
        self.device.is_some() && self.of.is_some() && self.device != self.of
    }

    fn begin(&mut self, first: usize, short: &str, drives: &mut Vec<Drive>) {
        let count = drives.len() - first + 1;
        let name = self.heading.take().or(self.device.clone()).unwrap_or_else(|| match count {
            1 => short.into(),
            n => format!("{short}, table {n}"),
        });
        self.of.clone_from(&self.device);
        drives.push(Drive { name, last_state: self.last_state.take(), ..Drive::default() });
    }

    fn add_state(&mut self, s: PowerState, first: usize, short: &str, drives: &mut Vec<Drive>) {
        // A number that does not grow begins another table.
        let begins = match drives[first..].last() {
            Some(d) => match d.states.last() {
                Some(last) => s.number <= last.number,
                None => self.is_other(),
            },
            None => true,
        };
        if begins {
            self.begin(first, short, drives);
        } else if let (Some(model), Some(d)) = (self.heading.take(), drives.last_mut()) {
            // What it was called until now is its device.
            if d.states.is_empty() {
                d.name = model;
            } else {
                self.heading = Some(model);
            }
        }
        let drive = drives.last_mut().expect("one is there");
        drive.can = self.can.take().or(drive.can);
        drive.states.push(s);
    }

    /// `get-feature:0xc (Autonomous Power State Transition), Current value:0x000001`.
    fn feature_head(&mut self, line: &str, first: usize, short: &str, drives: &mut Vec<Drive>) {
        self.entry = None;
        let power = line.contains("(Power Management)");
        if !power && !line.contains("Autonomous Power State") {
            return;
        }
        let last = drives[first..].last();
        if last.is_none_or(|d| !power && d.apst.is_some()) || self.is_other() {
            self.begin(first, short, drives);
        }
        let drive = drives.last_mut().expect("one is there");
        if power {
            drive.now = value(line).map(|v| v & 31).or(drive.now);
        } else {
            drive.apst = value(line).map(|v| v & 1 == 1).or(drive.apst);
            self.hex = Some(Vec::new());
        }
    }

    fn take_entry(&mut self, drives: &mut [Drive]) {
        let Some((f, of)) = self.entry else { return };
        let Some(drive) = drives.last_mut() else { return };
        // Both values are there when the second is.
        if f.to == u32::MAX {
            return;
        }
        drive.entries += of;
        if f.to > 0 && f.after_ms > 0 {
            drive.falls.push(f);
        }
        self.entry = None;
    }

    /// `0010: 00 00 18 …`: the table as bytes, an entry of eight each; whether the line
    /// may be of one.
    fn hex_line(&mut self, line: &str, drives: &mut [Drive]) -> bool {
        let (Some(bytes), Some(drive)) = (&mut self.hex, drives.last_mut()) else { return false };
        let Some((at, rest)) = line.split_once(": ") else {
            // The head of the columns.
            return line.split_whitespace().all(|w| w.len() == 1);
        };
        let Ok(at) = usize::from_str_radix(at, 16) else { return false };
        if at != bytes.len() || at >= APST_BYTES {
            return false;
        }
        let cells = rest.split_whitespace().take(16);
        bytes.extend(cells.map_while(|w| u8::from_str_radix(w, 16).ok().filter(|_| w.len() == 2)));
        while bytes.len() / 8 > drive.entries as usize {
            let from = drive.entries;
            let at = from as usize * 8;
            let word = bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
            // Bits 3 to 7 are the state, 8 to 31 the time (NVM Express base specification,
            // autonomous power state transition).
            let fall = Fall { from, after_ms: word >> 8 & 0xff_ffff, to: (word >> 3 & 31) as u32 };
            if fall.to > 0 && fall.after_ms > 0 {
                drive.falls.push(fall);
            }
            drive.entries += 1;
        }
        true
    }
}

/// How many power states a drive has at most, and entries its table of APST (NVM Express
/// base specification, identify controller: NPSS).
const MOST: u32 = 32;

/// Bytes of the table of APST.
const APST_BYTES: usize = MOST as usize * 8;

/// `nvme0` of a command of nvme-cli or smartctl.
fn device(line: &str) -> Option<&str> {
    if !line.contains("nvme ") && !line.contains("smartctl ") {
        return None;
    }
    let at = line.find("/dev/nvme")? + 5;
    let end = line[at..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(line.len(), |n| at + n);
    let name = &line[at..end];
    // A namespace is of its controller.
    let digits = name[4..].find(|c: char| !c.is_ascii_digit()).map_or(name.len(), |n| n + 4);
    Some(&name[..digits])
}

/// `rtd3r : 0x7a120`.
fn hex_value(line: &str, word: &str) -> Option<u64> {
    let rest = line.strip_prefix(word)?.trim_start_matches([' ', ':']);
    match rest.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex.trim(), 16).ok(),
        None => rest.trim().parse().ok(),
    }
}

/// `ps    3 : mp:0.0700W non-operational enlat:500 exlat:5000 …`: `None` if a
/// line is no state, `Some(None)` if it is a damaged one.
fn state(line: &str) -> Option<Option<PowerState>> {
    let rest = line.strip_prefix("ps ")?.trim_start();
    let (number, rest) = rest.split_once(':')?;
    let number: u32 = number.trim().parse().ok()?;
    if !rest.contains("mp:") {
        return None;
    }
    let value = |key: &str| {
        rest.split_whitespace().find_map(|w| w.strip_prefix(key)).map(|w| w.trim_end_matches(','))
    };
    let figure = |key: &str| value(key).and_then(|w| w.parse().ok());
    let read = || {
        (number < MOST).then_some(PowerState {
            number,
            most_uw: microwatts(value("mp:")?),
            operational: !rest.contains("non-operational"),
            entry_us: figure("enlat:")?,
            exit_us: figure("exlat:")?,
            idle_uw: None,
            active_uw: None,
        })
    };
    Some(read())
}

/// A line without the marks of mail and blanks.
fn plain(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t', '|'])
}

/// ` 3 -   0.0500W       -        -    3  3  3  3     5000   10000` of smartctl.
fn smart_state(line: &str) -> Option<Option<PowerState>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [number, operational @ ("+" | "-"), most, active, idle, .., entry, exit] = words[..] else {
        return None;
    };
    let number: u32 = number.parse().ok().filter(|_| words.len() == 11)?;
    let read = || {
        (number < MOST).then_some(PowerState {
            number,
            most_uw: microwatts(most),
            operational: operational == "+",
            entry_us: entry.parse().ok()?,
            exit_us: exit.parse().ok()?,
            idle_uw: microwatts(idle),
            active_uw: microwatts(active),
        })
    };
    Some(read())
}

/// Whether a line is of the table of APST: `Entry[ 3]`, or `Entry [4-31] are:` of many,
/// and the two values below it (nvme-cli's show of feature 0xc).
fn feature(line: &str, entry: &mut Option<(Fall, u32)>) -> bool {
    let value = |key: &str| {
        let rest = &line[line.find(key)? + key.len()..];
        rest.trim_start_matches([':', ' ']).split(' ').next()?.parse().ok()
    };
    if let Some(from) = line.strip_prefix("Entry").and_then(|l| l.trim_start().strip_prefix('[')) {
        let mut numbers = from.split(']').next().unwrap_or("").split('-').map(str::trim);
        let mut number = || numbers.next().and_then(|n| n.parse::<u32>().ok());
        *entry = number().map(|from| {
            let last = number().unwrap_or(from).clamp(from, from.saturating_add(MOST - 1));
            (Fall { from, after_ms: 0, to: u32::MAX }, last - from + 1)
        });
        return false;
    }
    let Some((open, _)) = entry else { return false };
    if let Some(ms) = value("(ITPT)") {
        open.after_ms = ms;
    } else if let Some(to) = value("(ITPS)") {
        open.to = u32::try_from(to).unwrap_or(0);
    } else {
        return false;
    }
    true
}

/// The number behind `value:` at the end of a feature's head.
fn value(line: &str) -> Option<u32> {
    let (_, value) = line.rsplit_once("value:")?;
    let value = value.trim();
    u32::from_str_radix(value.strip_prefix("0x").unwrap_or(value), 16).ok()
}

/// `nvme id-ctrl -o json`. Powers are in hundredths of a watt, or in ten-thousandths if
/// a bit says so (NVM Express base specification, identify controller).
fn json(name: &str, bytes: &[u8], drives: &mut Vec<Drive>) {
    let begin = memchr::memchr(b'{', bytes).unwrap_or(0);
    let mut stream = serde_json::Deserializer::from_slice(&bytes[begin..]).into_iter::<Value>();
    let Some(Ok(all)) = stream.next() else { return };
    let mut states = Vec::new();
    for (number, s) in (0..MOST).zip(all["psds"].as_array().into_iter().flatten()) {
        let figure = |key: &str| s[key].as_u64();
        let flags = figure("flags").unwrap_or(0);
        let fine = figure("max_power_scale").unwrap_or(flags & 1) == 1;
        states.push(PowerState {
            number,
            most_uw: figure("max_power").map(|p| p.saturating_mul(if fine { 100 } else { 10_000 })),
            operational: figure("non-operational_state").unwrap_or(flags >> 1 & 1) == 0,
            entry_us: figure("entry_lat").unwrap_or(0),
            exit_us: figure("exit_lat").unwrap_or(0),
            ..PowerState::default()
        });
    }
    // A list may end with states that the drive does not have.
    states.truncate(all["npss"].as_u64().map_or(usize::MAX, |n| n as usize + 1));
    if !states.is_empty() {
        let short = name.rsplit('/').next().unwrap_or(name);
        let name = all["mn"].as_str().map_or(short, str::trim).to_string();
        drives.push(Drive { name, states, ..Drive::default() });
    }
}

/// `0.0700W` in uW; `None` for `-`.
fn microwatts(text: &str) -> Option<u64> {
    let text = text.strip_suffix('W')?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if !part.bytes().all(|b| b.is_ascii_digit()) || part.len() > 6 {
        return None;
    }
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_the_kernel_is_read_where_it_is_shown() {
        let drive = |above: &str| {
            let table = "ps 0 : mp:7.10W operational enlat:0 exlat:0\nps 1 : mp:0.0061W non-operational enlat:900 exlat:7700\n";
            let (mut drives, mut losses) = (Vec::new(), Losses::default());
            super::read("x.txt", format!("{above}\n{table}").as_bytes(), &mut drives, &mut losses);
            drives.swap_remove(0)
        };
        let (named, can) = (|t: &str| drive(t).named_limit, |t: &str| drive(t).can);
        let read = |above: &str| drive(above).limit;
        let file = "/sys/module/nvme_core/parameters/default_ps_max_latency_us";
        assert_eq!(read(&format!("{file}:5500")), Some(5_500));
        assert_eq!(read(&format!("box:~# cat {file}\n7000")), Some(7_000));
        assert_eq!(read("options nvme_core default_ps_max_latency_us=0"), Some(0));
        let boot = "[    0.000000] Command line: ro nvme_core.default_ps_max_latency_us=200 quiet";
        assert_eq!(read(boot), Some(200));
        let typed =
            "# cat /proc/cmdline\nroot=/dev/nvme9n1p2 nvme_core.default_ps_max_latency_us=0";
        assert_eq!(read(typed), Some(0));
        assert_eq!(read(&typed.replace("cat", "edit")), None);
        let words = "Try nvme_core.default_ps_max_latency_us=0, once.";
        assert_eq!((read(words), named(words)), (None, Some(0)));
        assert_eq!(named(boot), None, "what was set is no word");
        assert_eq!(can("apsta     : 0"), Some(false));
        assert_eq!(can("apsta     : 0x1"), Some(true));
    }

    #[test]
    fn tables_of_two_versions_in_one_mail() {
        let text = b"\
> > mn      : PC401 NVMe
> > ps    0 : mp:6.00W operational enlat:5 exlat:5 rrt:0 rrl:0
> >           rwt:0 rwl:0 idle_power:- active_power:-
> > ps    1 : mp:0.0700W non-operational enlat:500 exlat:5000 rrt:3 rrl:3
ps      0 : mp:8.49W operational enlat:0 exlat:0 rrt:0 rrl:0
            rwt:0 rwl:0 idle_power:0.6300W active_power:5.00W
            active_power_workload:-
ps      1 : mp:broken operational rrt:0
";
        let (mut drives, mut losses) = (Vec::new(), Losses::default());
        read("mail.txt", text, &mut drives, &mut losses);
        assert_eq!(drives.len(), 2);
        assert_eq!((drives[0].name.as_str(), drives[0].states.len()), ("PC401 NVMe", 2));
        let deep = drives[0].states[1];
        assert_eq!((deep.most_uw, deep.operational, deep.exit_us), (Some(70_000), false, 5_000));
        assert_eq!(drives[1].name, "mail.txt, table 2");
        assert_eq!(drives[1].states[0].idle_uw, Some(630_000));
        assert_eq!(losses.count("damaged_line"), 1);
    }

    #[test]
    fn other_forms_of_the_same_table() {
        let one = |text: &str| {
            let (mut drives, mut losses) = (Vec::new(), Losses::default());
            read("a/b.txt", text.as_bytes(), &mut drives, &mut losses);
            assert_eq!(losses.list.len(), 0, "{text}");
            assert_eq!(drives.len(), 1, "{text}");
            drives.remove(0)
        };
        let d = one("mn : X\nps 0 : mp:7.60W operational enlat:0 exlat:0 idle_power:0.5W\n");
        assert_eq!(d.states[0].idle_uw, Some(500_000));
        let d = one("Model Number:       A B\nSupported Power States\n\
            St Op     Max   Active     Idle   RL RT WL WT  Ent_Lat  Ex_Lat\n\
            \x20 0 +     5.00W    2.50W  0.6300W  0  0  0  0        0       0\n\
            \x20 3 -   0.0500W       -        -    3  3  3  3     5000   10000\n\n\
            Id Fmt  Data  Metadt  Rel_Perf\n 0 +     512       0         2\n");
        assert_eq!((d.name.as_str(), d.states.len()), ("A B", 2));
        assert_eq!((d.states[0].idle_uw, d.states[0].active_uw), (Some(630_000), Some(2_500_000)));
        assert_eq!((d.states[1].exit_us, d.states[1].operational), (10_000, false));
        let d =
            one("get-feature:0xc (Autonomous Power State Transition), Current value:0x000001\n\
            \tEntry[ 0]\n\t...\n\tIdle Time Prior to Transition (ITPT): 750 ms\n\
            \tIdle Transition Power State   (ITPS): 3\n\tEntry[ 1]\n\
            \tIdle Time Prior to Transition (ITPT): 0 ms\n\
            \tIdle Transition Power State   (ITPS): 0\n\
            get-feature:0x2 (Power Management), Current value:0x00000004\n");
        assert_eq!(d.falls, [Fall { from: 0, after_ms: 750, to: 3 }]);
        assert_eq!((d.name.as_str(), d.now), ("b.txt", Some(4)));
        assert_eq!((d.apst, d.entries), (Some(true), 2));
        // In hex, and then the states of the same drive.
        let d = one("$ nvme get-feature -f 0xc /dev/nvme2n1\n\
            get-feature:0x0c (Autonomous Power State Transition), Current value:0x00000001\n\
            \x20      0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f\n\
            0000: 18 2c 01 00 00 00 00 00 00 00 00 00 00 00 00 00 \".,..............\"\n\
            $ nvme id-ctrl /dev/nvme2\nrtd3r     : 0x7a120\nmn : Z 2\n\
            ps 0 : mp:7.60W operational enlat:0 exlat:0\n");
        assert_eq!(d.falls, [Fall { from: 0, after_ms: 300, to: 3 }]);
        assert_eq!((d.name.as_str(), d.entries, d.off[1]), ("Z 2", 2, Some(500_000)));
        // In words.
        let d = one("get-feature:0xc (Autonomous Power State Transition), Current value:0x1\n\
            Entry[ 0]\nIdle Time Prior to Transition (ITPT): 0 ms\n\
            Idle Transition Power State   (ITPS): 0\nEntry [1-31] are:\n\
            Idle Time Prior to Transition (ITPT): 0 ms\n\
            Idle Transition Power State   (ITPS): 0\n");
        assert_eq!((d.apst, d.entries, d.falls.len()), (Some(true), 32, 0));
        let d = one(
            "{\"mn\":\"X 1TB  \",\"npss\":1,\"psds\":[{\"max_power\":849,\"max_power_scale\":0,\
            \"non-operational_state\":0,\"entry_lat\":0,\"exit_lat\":0},{\"max_power\":500,\"flags\":3,\
            \"entry_lat\":2000,\"exit_lat\":1200},{\"max_power\":0}]}",
        );
        assert_eq!((d.name.as_str(), d.states.len()), ("X 1TB", 2));
        assert_eq!((d.states[0].most_uw, d.states[1].most_uw), (Some(8_490_000), Some(50_000)));
        assert_eq!((d.states[1].operational, d.states[1].exit_us), (false, 1_200));
    }
}
