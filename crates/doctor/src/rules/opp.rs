//! Operating points (OPP) that a kernel cannot use: a clock, and the voltage that it needs from a
//! regulator. What it says of them stands in logs of boots, beside no sleep.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use dormouse_base::say;

/// What becomes of a clock.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Regulators give no such voltage.
    Voltage,
    /// It was to change to a clock that the table has not.
    Missing,
    /// It stands at a clock that the table has not.
    Stray,
    /// Hardware lists a clock that the table has not.
    LeftOut,
    /// There is no table.
    Empty,
    /// The driver of the clock did not come up.
    Driver,
    /// A change failed.
    Change,
}

/// Words of the kernel, with what stands in front of a clock, and how many of its units are a MHz:
/// drivers/opp/core.c:_opp_add and _set_opp, drivers/cpufreq/qcom-cpufreq-hw.c:
/// qcom_cpufreq_hw_read_lut, drivers/cpufreq/cpufreq-dt.c:cpufreq_init and dt_cpufreq_probe,
/// drivers/cpufreq/cpufreq.c:__target_index, 6.12.
const SIGNS: [(&str, Kind, &str, u64); 7] = [
    ("OPP not supported by regulators (", Kind::Voltage, "regulators (", 1_000_000),
    ("failed to find OPP for freq ", Kind::Missing, "freq ", 1_000_000),
    ("failed to find current OPP for freq ", Kind::Stray, "freq ", 1_000_000),
    ("failed to update OPP for freq=", Kind::LeftOut, "freq=", 1_000),
    ("OPP table can't be empty", Kind::Empty, "", 1),
    ("failed register driver: ", Kind::Driver, "", 1),
    ("Failed to change cpu frequency: ", Kind::Change, "", 1),
];

/// One kind of one device.
struct Of<'a> {
    device: Device,
    kind: Kind,
    mhz: Vec<u64>,
    error: Option<i32>,
    shown: Vec<&'a Message>,
}

/// `cpu cpu0: _opp_add: OPP …`: driver and device stand before the first colon.
fn device(m: &Message, words: &str) -> Option<Device> {
    let head = m.text.split_once(words)?.0.trim_end();
    // Vendors put a level behind the device: `elm:cpufreq-cpu0:[ERR]: …`.
    let head = head.split(": ").next()?.split(":[").next()?.trim_end_matches(':');
    let (driver, name) = head.rsplit_once(' ').unwrap_or(("", head));
    let driver = if driver == "cpu" { "" } else { driver.rsplit(' ').next().unwrap_or("") };
    Some(Device { name: name.into(), driver: driver.into() })
}

/// The error at the end: `(-34)`, `: -19`.
fn error(m: &Message) -> Option<i32> {
    let end = m.text.trim_end().trim_end_matches(')');
    end.rsplit(['(', ' ']).next()?.parse().ok().filter(|n| *n < 0)
}

fn read(m: &Message) -> Option<(Device, Kind, Option<u64>, Option<i32>)> {
    let (words, kind, before, unit) = SIGNS.iter().find(|s| m.has(s.0))?;
    let device = device(m, words)?;
    // Other drivers fail so too.
    if *kind == Kind::Driver && !device.name.contains("cpufreq") {
        return None;
    }
    let clock = m.after(before).filter(|_| !before.is_empty());
    let digits = clock.map(|c| c.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(""));
    let hz = digits.and_then(|d| d.parse::<u64>().ok());
    // An error in place of a clock is a number below zero.
    let mhz = hz.filter(|hz| *hz < 1 << 63).map(|hz| hz / unit);
    Some((device, *kind, mhz, error(m)))
}

/// `816 MHz and 1,104 MHz`.
fn clocks(mhz: &[u64]) -> String {
    let all: Vec<String> = mhz.iter().map(|n| format!("{} MHz", say::grouped(*n))).collect();
    if all.is_empty() { "a clock that it does not tell".into() } else { say::names(&all) }
}

fn sentence(of: &Of<'_>) -> String {
    let device = say::device(&of.device);
    let at = clocks(&of.mhz);
    let error = of.error.map_or(String::new(), |n| format!(", with {}", say::told(n)));
    let (it, points) = match of.mhz.len() {
        0 | 1 => ("it", "that operating point (OPP)"),
        _ => ("them", "those operating points (OPP)"),
    };
    match of.kind {
        Kind::Voltage => format!(
            "{device} does not run at {at}: no regulator gives the voltage of {points}, and the \
             kernel leaves {it} out."
        ),
        Kind::Missing => format!(
            "{device} was to run at {at}, for which it has no operating point (OPP): its clock \
             stays as it was."
        ),
        Kind::Stray => format!(
            "{device} has no operating point (OPP) for the clock at which it stands{}: which \
             voltage belongs to it, the kernel does not know.",
            if of.mhz.is_empty() { String::new() } else { format!(", {at}") }
        ),
        Kind::LeftOut => format!(
            "{device} does not run at {at}: its hardware lists {it}, its operating points (OPP) do \
             not, and the driver leaves {it} out."
        ),
        Kind::Empty => {
            format!("{device} has no operating points (OPP): its clock is never changed.")
        }
        Kind::Driver => {
            format!("The driver {device} did not come up{error}: it changes no clock of a CPU.")
        }
        Kind::Change => format!("The clock of a CPU could not be changed{error}."),
    }
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let signs = SIGNS.map(|s| s.0);
    let mut all: Vec<Of<'_>> = Vec::new();
    for (_, m) in case.messages.having_any(&signs).filter(|(_, m)| m.trust.is_of_a_kernel()) {
        let Some((device, kind, mhz, error)) = read(m) else { continue };
        let known = all.iter_mut().find(|o| o.device == device && o.kind == kind);
        let of = match known {
            Some(of) => of,
            None => {
                let (mhz, shown) = (Vec::new(), Vec::new());
                all.push(Of { device, kind, mhz, error, shown });
                all.last_mut().expect("it was just added")
            }
        };
        of.shown.push(m);
        of.mhz.extend(mhz.filter(|n| !of.mhz.contains(n)));
    }
    // What says only that a change failed is told by what says why.
    let told = all.iter().any(|o| o.kind == Kind::Missing);
    all.retain(|o| !(told && o.kind == Kind::Change));
    for of in all.iter().take(FEW) {
        // In a log of sleeps it is another matter; and a table for several makes of a chip has
        // clocks that this one has not.
        let of_another = matches!(of.kind, Kind::Voltage | Kind::LeftOut);
        let note = of_another || !case.attempts.is_empty();
        let level = if note { Level::Note } else { Level::Risk };
        out.push(
            Finding::new(("opp-unusable", Area::Domain, level), Confidence::Certain)
                .says(sentence(of))
                .look(match of.kind {
                    Kind::Voltage => "Compare the voltages of its table (opp-microvolt in the device tree) with what the regulator may give (regulator-min-microvolt, regulator-max-microvolt), and see whether its driver came up before: /sys/kernel/debug/regulator/regulator_summary.",
                    Kind::Driver | Kind::Change => "Look above it for the clock, the regulator or the table of operating points that is missing; devices_deferred of debugfs names what still waits.",
                    _ => "See which operating points there are (/sys/kernel/debug/opp), and compare them with operating-points-v2 of its node in the device tree.",
                })
                .of_devices([of.device.clone()])
                .times(of.shown.len())
                .shown_by(lines(of.shown.iter().copied().take(3))),
        );
    }
}

/// So many of them are told.
const FEW: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rows: &[&str]) -> Vec<String> {
        let log: Vec<(i64, &str)> = rows.iter().map(|r| (900, *r)).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        // A clock that is left out may be of another make of the chip.
        for f in &out {
            let left = f.sentence.contains("out.");
            assert_eq!(f.id, "opp-unusable");
            assert_eq!(f.level, if left { Level::Note } else { Level::Risk }, "{}", f.sentence);
        }
        out.into_iter().map(|f| f.sentence).collect()
    }

    #[test]
    fn clocks_without_a_voltage_and_without_a_point_are_told_by_device() {
        let said = told(&[
            "core: _opp_supported_by_regulators: OPP minuV: 990000 maxuV: 990000, not supported by regulator",
            "cpu cpu4: _opp_add: OPP not supported by regulators (816000000)",
            "cpu cpu4: _opp_add: OPP not supported by regulators (1416000000)",
            "elmgpu fe100000.gpu: dev_pm_opp_set_rate: failed to find OPP for freq 700000000 (-34)",
            "cpufreq: __target_index: Failed to change cpu frequency: -34",
        ]);
        assert_eq!(
            said[0],
            "cpu4 does not run at 816 MHz and 1,416 MHz: no regulator gives the voltage of those operating points (OPP), and the kernel leaves them out."
        );
        assert!(said[1].contains("fe100000.gpu") && said[1].contains("at 700 MHz"), "{said:?}");
        assert_eq!(said.len(), 2, "the change is told by its reason");
    }

    #[test]
    fn tables_and_drivers_that_are_missing() {
        let said = told(&[
            "cpu cpu6: Voltage update failed freq=2016000",
            "cpu cpu6: failed to update OPP for freq=2016000",
        ]);
        assert!(said[0].starts_with("cpu6 does not run at 2,016 MHz: its hardware"), "{said:?}");
        assert!(
            told(&["cpu cpu2: OPP table can't be empty"])[0].starts_with("cpu2 has no operating")
        );
        let driver = told(&["cpufreq-dt cpufreq-dt: failed register driver: -19"]);
        assert!(driver[0].contains("did not come up, with error -19"), "{driver:?}");
        assert!(told(&["elm-led elm-led: failed register driver: -19"]).is_empty());
        let stray = told(&[
            "elmgpu fe100000.gpu: _find_current_opp: failed to find current OPP for freq 18446744073709551615 (-34)",
        ]);
        assert!(stray[0].contains("for the clock at which it stands: which"), "{stray:?}");
    }
}
