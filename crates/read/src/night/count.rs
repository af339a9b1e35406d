//! Counters of hardware sleep, and conditions of it, in the forms of the files and in those
//! that people write.

use crate::idle::column::thousandths;
use dormouse_doctor::night::table::PLATFORM;
use dormouse_doctor::night::{Conditions, Count, Counts, Fact};

/// Files with one number, which count.
const FILES: [(&str, Counts); 6] = [
    ("slp_s0_residency_usec", Counts::System),
    ("low_power_idle_system_residency_us", Counts::System),
    ("low_power_idle_cpu_residency_us", Counts::Package),
    ("total_hw_sleep", Counts::System),
    ("last_hw_sleep", Counts::Last),
    ("die_c6_us_show", Counts::Package),
];

fn known(file: &str) -> Option<(&'static str, Counts)> {
    let name = file.rsplit('/').next().unwrap_or(file);
    FILES.iter().find(|f| f.0 == name).copied()
}

/// The number that a text begins with, decimal or hexadecimal, and what follows.
pub(crate) fn number(text: &str) -> Option<(u64, &str)> {
    if let Some(hex) = text.strip_prefix("0x") {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        return Some((u64::from_str_radix(&hex[..end], 16).ok()?, &hex[end..]));
    }
    let digits = |t: &str| t.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(text);
    let (mut value, first): (u64, usize) = (text[..end].parse().ok()?, end);
    // A writer sets thousands apart: `29,527,618`.
    while let Some(more) = text[end..].strip_prefix(',').filter(|_| first <= 3)
        && digits(more) == 3
    {
        value = value.checked_mul(1_000)?.checked_add(more[..3].parse().ok()?)?;
        end += 4;
    }
    Some((value, &text[end..]))
}

/// A line that is a number alone.
pub(crate) fn alone(text: &str) -> Option<u64> {
    number(text.trim()).filter(|(_, rest)| rest.trim().is_empty()).map(|n| n.0)
}

fn count(name: impl Into<String>, of: Counts, value: u64) -> Fact {
    Fact::Count(Count { name: name.into(), of, value })
}

/// What `value` of `file` is.
pub(crate) fn of_file(file: &str, value: u64) -> Option<Fact> {
    known(file).map(|(name, of)| count(name, of, value))
}

/// `slp_s0_residency_usec: 0`, `…/low_power_idle_system_residency_us = 12`, `…_usec to increase
/// from 4, got 4`, `…_usec went from 4 to 9`.
fn inline(text: &str) -> Vec<Fact> {
    let Some((name, of, rest)) = FILES.iter().find_map(|f| {
        let at = text.find(f.0)?;
        Some((f.0, f.1, &text[at + f.0.len()..]))
    }) else {
        return Vec::new();
    };
    let from = rest.split_once("from ").and_then(|(_, r)| number(r.trim_start()));
    if let Some((first, rest)) = from {
        let to = ["got ", "to ", "-> ", "→ "]
            .iter()
            .find_map(|w| number(rest.split_once(w)?.1.trim_start()));
        return match to {
            Some((last, _)) => vec![count(name, of, first), count(name, of, last)],
            None => Vec::new(),
        };
    }
    let value = rest.trim_start_matches([':', '=', ' ', '\t', '|', '"', ')', '>']);
    let words = ["stays at ", "stays ", "is ", "remains ", "reads ", "shows ", "at ", "stuck at "];
    let value = words.iter().find_map(|w| value.strip_prefix(w)).unwrap_or(value);
    let zero = value.strip_prefix("zero").map(|rest| (0, rest));
    let separated = value.len() < rest.len() || rest.is_empty();
    let ends = |r: &str| separated && !r.starts_with(|c: char| c.is_alphanumeric());
    match zero.or_else(|| number(value)).filter(|n| ends(n.1)) {
        Some((first, rest)) => {
            let to = ["-> ", "→ ", "=> "]
                .iter()
                .find_map(|w| number(rest.trim_start().strip_prefix(w)?.trim_start()));
            [Some(first), to.map(|t| t.0)]
                .into_iter()
                .flatten()
                .map(|v| count(name, of, v))
                .collect()
        }
        None => Vec::new(),
    }
}

/// `SYS%LPI 0.00`, `SYS%LPI = 71.4`, `| SYS%LPI | 0.00 | 71.4 |`: what somebody writes of that
/// column of turbostat, without its table.
fn shares(text: &str) -> Vec<Fact> {
    let Some((_, rest)) = text.split_once(PLATFORM) else { return Vec::new() };
    let mut out = Vec::new();
    for cell in rest.split('|') {
        let words = ["stays at ", "stays ", "is ", "was ", "at ", "of ", "remains "];
        let cell = cell.trim_start_matches([':', '=', ' ', '\t', '"', ')', '>']);
        let value = words.iter().find_map(|w| cell.strip_prefix(w)).unwrap_or(cell);
        let value = value.split([' ', '\t', '%', ';', ')', '"']).next().unwrap_or("");
        let value = value.trim_end_matches(['.', ',']);
        match thousandths(value) {
            Some(n) => out.push(Fact::Share { name: PLATFORM.into(), thousandths: n }),
            None if cell.is_empty() => {}
            None => break,
        }
    }
    out
}

/// Names of files of qcom_stats: of the platform (`ddr`, `cxsd` and `aosd` of RPMh, `vlow` and
/// `vmin` of RPM) and of its processors (drivers/soc/qcom/qcom_stats.c: subsystems and
/// qcom_create_soc_sleep_stat_files, 5.12 to 7.3).
const DOMAINS: [&str; 14] = [
    "cxsd", "aosd", "ddr", "vlow", "vmin", "apss", "adsp", "cdsp", "cdsp1", "modem", "mpss",
    "slpi", "gpdsp", "wpss",
];

/// Names that nothing else has.
pub(crate) const OWN: [&str; 2] = ["cxsd", "aosd"];

/// How often domains slept, as people write it: a row of a table with a remark beside the name,
/// `cxsd (CX rail) | 0`, or `cxsd 0, aosd 0, ddr: 12`. The kernel's own rows are read elsewhere.
pub(crate) fn entries(text: &str) -> Vec<Fact> {
    let mut out = Vec::new();
    let mut at = 0;
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let end = at + word.len();
        at = end + text[end..].chars().next().map_or(0, char::len_utf8);
        let name = word.to_ascii_lowercase();
        if !DOMAINS.contains(&name.as_str()) {
            continue;
        }
        let mut rest = text[end..].trim_start();
        if let Some((_, behind)) = rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
            rest = behind;
        }
        rest = rest.trim_start_matches(['|', ':', '=', ' ', '\t']);
        for word in ["Count", "count", ":", "stays at ", "is ", "at "] {
            rest = rest.strip_prefix(word).map_or(rest, str::trim_start);
        }
        let Some((value, behind)) = number(rest) else { continue };
        let next = behind.trim_start();
        // Further cells may be another reading, or times.
        let more = next.strip_prefix('|').is_some_and(|cells| {
            cells.split('|').any(|c| alone(c.trim()).is_some_and(|n| n != value))
        });
        let ends = next.is_empty() || next.starts_with(['|', ',', ';', ')', '(', '/']);
        let listed = || {
            let word = next.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
            behind.starts_with(' ') && DOMAINS.contains(&word.to_ascii_lowercase().as_str())
        };
        if !more && (ends || listed() || next == ".") {
            out.push(count(name, Counts::Entries, value));
        }
    }
    out
}

/// `Package C10 : 70353426` (intel/pmc/core.c:pmc_core_pkgc_show).
fn package(text: &str) -> Option<Fact> {
    let rest = text.trim_start().strip_prefix("Package C")?;
    let (n, rest) = number(rest)?;
    let rest = rest.trim_start().strip_prefix([':', '='])?;
    let (value, rest) = number(rest.trim_start())?;
    rest.trim().is_empty().then(|| count(format!("Package C{n}"), Counts::Package, value))
}

/// Whether a word names a substate: `S0i2.0`.
pub(crate) fn is_substate(word: &str) -> bool {
    word.strip_prefix("S0i").is_some_and(|n| {
        n.starts_with(|c: char| c.is_ascii_digit())
            && n.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    })
}

/// `         S0i3.0      9028122` (pmc_core_substate_res_show), with or without `Enabled`.
fn substate(text: &str) -> Option<Fact> {
    let mut words = text.split_whitespace().filter(|w| *w != "Enabled" && *w != ":" && *w != "|");
    let name = words.next()?.trim_end_matches(':');
    let value = alone(words.next()?)?;
    (is_substate(name) && words.next().is_none()).then(|| count(name, Counts::Substate, value))
}

/// `SLP_S0_DBG: AUDIO_D3   State: No`, `PMC0:PCH IP: 3  - SPA   State: On`, `MPHY CORE LANE 0
/// State: Not power gated`, `MISC2_CLKREQ_ACTIVE  State: Active`, a row of
/// `substate_requirements`. Other things have states too: one without a mark of its own needs
/// the name of its table above.
fn condition(text: &str, open: Option<&str>) -> Option<Fact> {
    if let Some((before, state)) = text.split_once("State:") {
        let state = state.trim();
        let (table, name) = match before.split_once("SLP_S0_DBG:") {
            Some((_, name)) => (Conditions::SlpS0, name),
            None => match before.split_once("PCH IP:") {
                Some((_, name)) => (Conditions::Gating, name.split_once('-').map_or(name, |n| n.1)),
                None if is_pll(before, open) => (Conditions::Pll, before),
                None => return None,
            },
        };
        let met = match state.split_whitespace().next()? {
            "Yes" | "Off" | "Idle" | "Power" => true,
            "No" | "On" | "Active" | "Not" => false,
            _ => return None,
        };
        let name = name.trim().to_owned();
        return (!name.is_empty()).then_some(Fact::Condition { table, name, met });
    }
    // The deepest substate is the last that the table has a column for.
    let (name, cells) = text.split_once('|')?;
    let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
    if cells.len() < 2 || !cells.iter().all(|c| matches!(*c, "Required" | "Yes" | "")) {
        return None;
    }
    let cells = cells.strip_suffix(&[""][..]).unwrap_or(&cells);
    let required = cells.iter().rposition(|c| *c == "Required")?;
    let met = cells[required + 1..].contains(&"Yes");
    let name = name.rsplit(':').next()?.trim();
    // Names of drivers/platform/x86/intel/pmc: every bit is a status.
    name.contains("_STS").then_some(())?;
    Some(Fact::Condition { table: Conditions::Requirement, name: name.into(), met })
}

/// `PMC0:DTS_VNN_REQ_STS   1` (pmc_core_lpm_display): a request for power is none of a part
/// that sleeps; every other bit says that a part is off.
fn status(text: &str) -> Option<Fact> {
    let rest = text.trim().strip_prefix("PMC").or_else(|| text.trim().strip_prefix("pmc"))?;
    let (_, rest) = number(rest)?;
    let mut words = rest.strip_prefix(':')?.split_whitespace();
    let (name, value) = (words.next()?, alone(words.next()?)?);
    let is = name.ends_with("_STS") && value < 2 && words.next().is_none();
    let met = if name.contains("_REQ_STS") { value == 0 } else { value == 1 };
    is.then(|| Fact::Condition { table: Conditions::Status, name: name.into(), met })
}

/// What AMD's tables say of the last sleep (drivers/platform/x86/amd/pmc/pmc.c:
/// smu_fw_info_show, s0ix_stats_show).
fn smu(text: &str) -> Option<Fact> {
    for word in ["Time (in us) in S0i3:", "Residency Time:"] {
        if let Some((_, rest)) = text.split_once(word) {
            return alone(rest).map(|v| count("time in S0i3", Counts::Last, v));
        }
    }
    let (_, status) = text.split_once("Last S0i3 Status:")?;
    match status.trim() {
        "Success" => Some(Fact::Verdict { deep: true }),
        "Unknown/Fail" => Some(Fact::Verdict { deep: false }),
        _ => None,
    }
}

/// Parts whose active time AMD's table has (pmc.c: soc15_ip_blk and soc15_ip_blk_v2, 5.11 to 7.3).
const PARTS: [&str; 24] = [
    "DISPLAY", "CPU", "GFX", "VDD", "VDD_CCX", "ACP", "VCN", "VCN1", "ISP", "NBIO", "DF", "USB0",
    "USB1", "USB2", "USB3", "USB3_0", "USB3_1", "USB4_0", "USB4_1", "LAPIC", "MPM", "JPEG", "IPU",
    "VPE",
];

/// A row of that table, `DISPLAY  : 9440595`, or the same in a sentence, `DISPLAY 9440595`.
pub(crate) fn active(text: &str) -> Vec<Fact> {
    let mark = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':';
    let mut words = text.split(mark).filter(|w| !w.is_empty() && *w != ":").peekable();
    let mut out = Vec::new();
    while let Some(word) = words.next() {
        let name = word.trim_end_matches(':');
        let value = words.peek().and_then(|w| alone(w.trim_start_matches(':')));
        if let Some(us) = value.filter(|_| PARTS.contains(&name)) {
            out.push(Fact::Active { name: name.into(), us });
        }
    }
    out
}

/// Rows of `pll_status` and `mphy_core_lanes_power_gating_status`
/// (drivers/platform/x86/intel/pmc/core.c:pmc_core_pll_show, pmc_core_mphy_pg_show, and
/// spt.c:spt_pll_map, spt_mphy_map).
fn is_pll(name: &str, open: Option<&str>) -> bool {
    let name = name.trim();
    name.starts_with("MPHY CORE LANE")
        || name.ends_with(" PLL")
        || matches!(open, Some("pll_status" | "mphy_core_lanes_power_gating_status"))
}

/// Everything that counts on a line, below the name of a table.
pub(crate) fn read(text: &str, open: Option<&str>) -> Vec<Fact> {
    let digit = text.bytes().any(|b| b.is_ascii_digit());
    if !digit && !text.contains("State:") && !text.contains("Status:") && !text.contains('|') {
        return Vec::new();
    }
    let one = package(text)
        .or_else(|| substate(text))
        .or_else(|| condition(text, open))
        .or_else(|| status(text))
        .or_else(|| smu(text));
    match one {
        Some(f) => vec![f],
        None if text.contains(PLATFORM) => shares(text),
        None => inline(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Vec<(String, u64)> {
        let of = |f: Fact| match f {
            Fact::Count(c) => Some((c.name, c.value)),
            _ => None,
        };
        read(text, None).into_iter().filter_map(of).collect()
    }

    #[test]
    fn thousands_may_be_set_apart() {
        assert_eq!(number("29,527,618   <- us"), Some((29_527_618, "   <- us")));
        assert_eq!(number("1234,567"), Some((1_234, ",567")));
        assert_eq!(number("0,19"), Some((0, ",19")));
        assert_eq!(number("9, 12"), Some((9, ", 12")));
    }

    #[test]
    fn counters_are_read_in_every_form() {
        let one = |name: &str, v: u64| vec![(name.to_string(), v)];
        assert_eq!(counts("Package C6 : 129"), one("Package C6", 129));
        assert_eq!(counts("Package C2 : 0x1f"), one("Package C2", 31));
        assert_eq!(counts("        S0i3.1        1234"), one("S0i3.1", 1234));
        assert_eq!(counts("Enabled S0i2.0 : 7"), one("S0i2.0", 7));
        assert_eq!(counts("slp_s0_residency_usec stays 0"), one("slp_s0_residency_usec", 0));
        assert_eq!(
            counts("/sys/devices/system/cpu/cpuidle/low_power_idle_system_residency_us:88"),
            one("low_power_idle_system_residency_us", 88)
        );
        assert_eq!(
            counts("Expected /x/slp_s0_residency_usec to increase from 71, got 71."),
            [("slp_s0_residency_usec".to_string(), 71), ("slp_s0_residency_usec".to_string(), 71)]
        );
        assert_eq!(counts("Residency Time: 55"), one("time in S0i3", 55));
        assert!(counts("see slp_s0_residency_usec, 3 lines below").is_empty());
        assert!(counts("S0i3.0 is the deepest").is_empty());
        let part = |name: &str, us| Fact::Active { name: name.into(), us };
        assert_eq!(active("USB3_0   : 77"), [part("USB3_0", 77)]);
        assert_eq!(
            active("all but **`VCN 8100200`**, `GFX: 0`"),
            [part("VCN", 8_100_200), part("GFX", 0)]
        );
        assert!(active("CPU usage 12").is_empty());
    }

    #[test]
    fn conditions_are_met_or_not_by_the_words_of_their_table() {
        let met = |t: &str| match read(t, None).pop() {
            Some(Fact::Condition { name, met, .. }) => Some((name, met)),
            _ => None,
        };
        assert_eq!(met("SLP_S0_DBG: XHCI_D3      State: No"), Some(("XHCI_D3".into(), false)));
        assert_eq!(met("PMC0:PCH IP: 4  - SATA     State: Off"), Some(("SATA".into(), true)));
        assert_eq!(
            met("MPHY CORE LANE 2   State: Not power gated"),
            Some(("MPHY CORE LANE 2".into(), false))
        );
        assert_eq!(
            met(
                "pmc0:            USB2PLL_OFF_STS | Required | Required |           |             |"
            ),
            Some(("USB2PLL_OFF_STS".into(), false))
        );
        assert_eq!(
            met("             PCIe_Gen3PLL_OFF_STS | Required |  Required |       Yes |"),
            Some(("PCIe_Gen3PLL_OFF_STS".into(), true))
        );
        for none in ["| a | table | of words |", "TLS | Required | Yes |", "VM web01   State: On"] {
            assert_eq!(met(none), None, "{none}");
        }
        assert_eq!(met("PMC1:SMBUS_VNN_REQ_STS    0   "), Some(("SMBUS_VNN_REQ_STS".into(), true)));
        assert_eq!(met("PMC0:USB2PLL_OFF_STS    0   "), Some(("USB2PLL_OFF_STS".into(), false)));
    }
}
