//! Power states of NVMe drives, as `nvme id-ctrl` prints them.

use dormouse_model::loss::{Losses, Severity};
use dormouse_storage::levels::{Drive, PowerState};

/// Reads every table of a text: mails may quote several.
pub fn read(name: &str, bytes: &[u8], drives: &mut Vec<Drive>, losses: &mut Losses) {
    if memchr::memmem::find(bytes, b"enlat:").is_none() {
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    let short = name.rsplit('/').next().unwrap_or(name);
    let mut heading: Option<String> = None;
    let mut damaged = 0;
    let first = drives.len();
    for line in text.lines() {
        let line = line.trim_start_matches(['>', ' ', '\t', '|']);
        if let Some(model) = line.strip_prefix("mn ").map(|m| m.trim_start_matches([' ', ':'])) {
            heading = Some(model.trim().into());
        } else if let Some(title) = line.strip_prefix("== ") {
            heading = Some(title.trim().into());
        }
        if let Some(s) = state(line) {
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
                drives.push(Drive { name, states: Vec::new() });
            }
            drives.last_mut().expect("one was just pushed").states.push(s);
        } else if let Some(s) = drives[first..].last_mut().and_then(|d| d.states.last_mut()) {
            // The second line of a state.
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
}
