//! Power states of NVMe drives, as `nvme id-ctrl` and `smartctl` print them, and what
//! `nvme get-feature` says of autonomous transitions.

use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::levels::{Drive, Fall, PowerState};
use serde_json::Value;

/// Reads every table of a text: mails may quote several.
pub fn read(name: &str, bytes: &[u8], drives: &mut Vec<Drive>, losses: &mut Losses) {
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
    let mut heading: Option<String> = None;
    let mut damaged = 0;
    let first = drives.len();
    // Inside the table of smartctl, and the entry of APST whose lines follow.
    let mut smart = false;
    let mut entry: Option<Fall> = None;
    for line in text.lines() {
        let line = plain(line);
        smart = line.starts_with("St Op ") || smart && smart_state(line).is_some();
        if let Some(model) = line.strip_prefix("Model Number:") {
            heading = Some(model.trim().into());
        }
        let power = line.starts_with("get-feature:0x2 ");
        if power {
            entry = None;
        }
        if feature(line, &mut entry) || power {
            if drives.len() == first {
                let name = heading.take().unwrap_or_else(|| short.into());
                drives.push(Drive { name, ..Drive::default() });
            }
            let drive = drives.last_mut().expect("one is there");
            if let Some(f) = entry.filter(|f| f.to > 0 && f.after_ms > 0) {
                drive.falls.push(f);
                entry = None;
            } else if power {
                drive.now = current(line).or(drive.now);
            }
            continue;
        }
        if let Some(model) = line.strip_prefix("mn ").map(|m| m.trim_start_matches([' ', ':'])) {
            heading = Some(model.trim().into());
        } else if let Some(title) = line.strip_prefix("== ") {
            heading = Some(title.trim().into());
        }
        if let Some(s) = state(line).or(smart.then(|| smart_state(line)).flatten()) {
            let Some(s) = s else {
                damaged += 1;
                continue;
            };
            // A number that does not grow begins another table.
            let begins = match drives[first..].last().and_then(|d| d.states.last()) {
                Some(last) => s.number <= last.number,
                None => true,
            };
            if begins {
                let count = drives.len() - first + 1;
                let name = heading.take().unwrap_or_else(|| match count {
                    1 => short.into(),
                    n => format!("{short}, table {n}"),
                });
                drives.push(Drive { name, ..Drive::default() });
            }
            drives.last_mut().expect("one was just pushed").states.push(s);
        }
        if smart {
            continue;
        }
        if let Some(s) = drives[first..].last_mut().and_then(|d| d.states.last_mut()) {
            // Of a state, in its line or in the second.
            for word in line.split_whitespace() {
                if let Some(w) = word.strip_prefix("idle_power:") {
                    s.idle = microwatts(w);
                } else if let Some(w) = word.strip_prefix("active_power:") {
                    s.active = microwatts(w);
                }
            }
        }
    }
    let advice = "lines of power states that cannot be understood: compare them with the original";
    losses.add("damaged_line", damaged, Severity::Warning, advice, None);
}

/// `ps    3 : mp:0.0700W non-operational enlat:500 exlat:5000 …`: `None` if a
/// line is no state, `Some(None)` if it is a damaged one.
fn state(line: &str) -> Option<Option<PowerState>> {
    let rest = line.strip_prefix("ps ")?.trim_start();
    let (number, rest) = rest.split_once(':')?;
    let number = number.trim().parse().ok()?;
    if !rest.contains("mp:") {
        return None;
    }
    let value = |key: &str| {
        rest.split_whitespace().find_map(|w| w.strip_prefix(key)).map(|w| w.trim_end_matches(','))
    };
    let figure = |key: &str| value(key).and_then(|w| w.parse().ok());
    let read = || {
        Some(PowerState {
            number,
            most: microwatts(value("mp:")?),
            operational: !rest.contains("non-operational"),
            entry: figure("enlat:")?,
            exit: figure("exlat:")?,
            idle: None,
            active: None,
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
    let number = number.parse().ok().filter(|_| words.len() == 11)?;
    let read = || {
        Some(PowerState {
            number,
            most: microwatts(most),
            operational: operational == "+",
            entry: entry.parse().ok()?,
            exit: exit.parse().ok()?,
            idle: microwatts(idle),
            active: microwatts(active),
        })
    };
    Some(read())
}

/// Whether a line is of the table of APST: `Entry[ 3]`, and the two values below it
/// (nvme-cli's show of feature 0xc).
fn feature(line: &str, entry: &mut Option<Fall>) -> bool {
    let value = |key: &str| {
        let rest = &line[line.find(key)? + key.len()..];
        rest.trim_start_matches([':', ' ']).split(' ').next()?.parse().ok()
    };
    if let Some(from) = line.strip_prefix("Entry[") {
        let from = from.split(']').next().and_then(|n| n.trim().parse().ok());
        *entry = from.map(|from| Fall { from, ..Fall::default() });
        return false;
    }
    let Some(open) = entry else { return false };
    if let Some(ms) = value("(ITPT)") {
        open.after_ms = ms;
    } else if let Some(to) = value("(ITPS)") {
        open.to = u32::try_from(to).unwrap_or(0);
    } else {
        return false;
    }
    true
}

/// The state of `get-feature:0x2 (Power Management), Current value:0x00000004`: its
/// lowest five bits.
fn current(line: &str) -> Option<u32> {
    let (_, value) = line.strip_prefix("get-feature:0x2 ")?.rsplit_once("0x")?;
    u32::from_str_radix(value.trim(), 16).ok().map(|v| v & 31)
}

/// `nvme id-ctrl -o json`. Powers are in hundredths of a watt, or in ten-thousandths if
/// a bit says so (NVM Express base specification, identify controller).
fn json(name: &str, bytes: &[u8], drives: &mut Vec<Drive>) {
    let begin = memchr::memchr(b'{', bytes).unwrap_or(0);
    let mut stream = serde_json::Deserializer::from_slice(&bytes[begin..]).into_iter::<Value>();
    let Some(Ok(all)) = stream.next() else { return };
    let mut states = Vec::new();
    for (number, s) in all["psds"].as_array().into_iter().flatten().enumerate() {
        let figure = |key: &str| s[key].as_u64();
        let flags = figure("flags").unwrap_or(0);
        let fine = figure("max_power_scale").unwrap_or(flags & 1) == 1;
        states.push(PowerState {
            number: number as u32,
            most: figure("max_power").map(|p| p.saturating_mul(if fine { 100 } else { 10_000 })),
            operational: figure("non-operational_state").unwrap_or(flags >> 1 & 1) == 0,
            entry: figure("entry_lat").unwrap_or(0),
            exit: figure("exit_lat").unwrap_or(0),
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
        assert_eq!((deep.most, deep.operational, deep.exit), (Some(70_000), false, 5_000));
        assert_eq!(drives[1].name, "mail.txt, table 2");
        assert_eq!(drives[1].states[0].idle, Some(630_000));
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
        assert_eq!(d.states[0].idle, Some(500_000));
        let d = one("Model Number:       A B\nSupported Power States\n\
            St Op     Max   Active     Idle   RL RT WL WT  Ent_Lat  Ex_Lat\n\
            \x20 0 +     5.00W    2.50W  0.6300W  0  0  0  0        0       0\n\
            \x20 3 -   0.0500W       -        -    3  3  3  3     5000   10000\n\n\
            Id Fmt  Data  Metadt  Rel_Perf\n 0 +     512       0         2\n");
        assert_eq!((d.name.as_str(), d.states.len()), ("A B", 2));
        assert_eq!((d.states[0].idle, d.states[0].active), (Some(630_000), Some(2_500_000)));
        assert_eq!((d.states[1].exit, d.states[1].operational), (10_000, false));
        let d =
            one("get-feature:0xc (Autonomous Power State Transition), Current value:0x000001\n\
            \tEntry[ 0]\n\t...\n\tIdle Time Prior to Transition (ITPT): 750 ms\n\
            \tIdle Transition Power State   (ITPS): 3\n\tEntry[ 1]\n\
            \tIdle Time Prior to Transition (ITPT): 0 ms\n\
            \tIdle Transition Power State   (ITPS): 0\n\
            get-feature:0x2 (Power Management), Current value:0x00000004\n");
        assert_eq!(d.falls, [Fall { from: 0, after_ms: 750, to: 3 }]);
        assert_eq!((d.name.as_str(), d.now), ("b.txt", Some(4)));
        let d = one(
            "{\"mn\":\"X 1TB  \",\"npss\":1,\"psds\":[{\"max_power\":849,\"max_power_scale\":0,\
            \"non-operational_state\":0,\"entry_lat\":0,\"exit_lat\":0},{\"max_power\":500,\"flags\":3,\
            \"entry_lat\":2000,\"exit_lat\":1200},{\"max_power\":0}]}",
        );
        assert_eq!((d.name.as_str(), d.states.len()), ("X 1TB", 2));
        assert_eq!((d.states[0].most, d.states[1].most), (Some(8_490_000), Some(50_000)));
        assert_eq!((d.states[1].operational, d.states[1].exit), (false, 1_200));
    }
}
