//! What a callback waited for.

use super::device::device;
use super::number::grouped;
use dormouse_base::capture::Capture;
use dormouse_base::inside::Wait;
use dormouse_base::time::Ns;

/// Calls whose times differ by no more than one in so many took the same time for a reader.
const SAME: i64 = 20;

/// `500.0 ms msleep in hub_port_debounce, 5 times 100.0 ms`.
pub fn wait(capture: &Capture, w: &Wait) -> String {
    let name = |s| capture.names.get(s);
    let mut text = format!("{} {}", w.total, name(w.function));
    if !w.what.is_empty() {
        text += &format!(" of {}", name(w.what));
    }
    if !w.caller.is_empty() {
        text += &format!(" in {}", name(w.caller));
    }
    text += &match (w.calls, w.most.since(w.least)) {
        (0 | 1, _) => ", once".to_string(),
        (n, spread) if spread.0 <= w.most.0 / SAME => {
            format!(", {} times {}", grouped(n), Ns(w.total.0 / i64::try_from(n).unwrap_or(1)))
        }
        (n, _) => format!(", {} times, {} to {}", grouped(n), w.least, w.most),
    };
    match w.holds_for {
        Some(d) => text += &format!("; held by the callback of {}", device(capture, d)),
        None if !w.holder.is_empty() => text += &format!("; held by {}", name(w.holder)),
        None => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::device::DeviceId;
    use dormouse_base::names::Sym;
    use dormouse_base::phase::Phase;

    #[test]
    fn a_wait_names_its_function_its_caller_how_often_and_how_long() {
        let mut c = Capture::default();
        let mut name = |text: &str| c.names.add(text);
        let (msleep, hub) = (name("msleep"), name("hub_port_debounce"));
        let (mutex, kworker, firmware) =
            (name("mutex_lock"), name("kworker/u8:2"), name("a b.bin"));
        let one = Wait {
            device: DeviceId(0),
            phase: Phase::Resume,
            function: msleep,
            caller: hub,
            what: Sym::EMPTY,
            holder: Sym::EMPTY,
            holds_for: None,
            calls: 5,
            missed: 0,
            total: Ns::from_ms(500),
            least: Ns::from_ms(99),
            most: Ns::from_ms(101),
        };
        let say = |w: &Wait| wait(&c, w);
        assert_eq!(say(&one), "500.0 ms msleep in hub_port_debounce, 5 times 100.0 ms");
        let apart = Wait { least: Ns::from_ms(2), most: Ns::from_ms(300), ..one };
        assert_eq!(
            say(&apart),
            "500.0 ms msleep in hub_port_debounce, 5 times, 2.00 ms to 300.0 ms"
        );
        let held = Wait { function: mutex, calls: 1, holder: kworker, caller: Sym::EMPTY, ..one };
        assert_eq!(say(&held), "500.0 ms mutex_lock, once; held by kworker/u8:2");
        let loaded = Wait { what: firmware, calls: 1, ..one };
        assert_eq!(say(&loaded), "500.0 ms msleep of a b.bin in hub_port_debounce, once");
    }
}
