//! Settings that a line of a text names, as people write them: of a kernel's command line, in
//! words or as the line itself.

/// Parameters of a kernel that change what its CPUs do between and around their work.
const PARAMETERS: [&str; 14] = [
    "cpuidle.off=",
    "idle=",
    "intel_idle.max_cstate=",
    "intel_pstate=",
    "irqaffinity=",
    "isolcpus=",
    "mitigations=",
    "nohz_full=",
    "preempt=",
    "processor.max_cstate=",
    "rcu_nocbs=",
    "rcu_nocb_poll",
    "skew_tick=",
    "tsc=",
];

/// The same without a value.
const FLAGS: [&str; 3] = ["nohlt", "nosmt", "threadirqs"];

/// Words behind which a setting is one that does not hold, in the languages that are met.
const WITHOUT: [&str; 17] = [
    "without", "w/o", "no", "not", "don", "doesn", "isn", "aren", "didn", "minus", "removed",
    "removing", "dropped", "instead", "ohne", "sans", "sin",
];

/// Words behind which it holds again.
const WITH: [&str; 7] = ["with", "w/", "but", "has", "mit", "avec", "con"];

/// Words of a line that tries or asks for something: it does not say that a setting holds.
const MAYBE: [&str; 10] =
    ["should", "could", "would", "maybe", "perhaps", "try", "trying", "if", "unless", "wonder"];

fn words(line: &str) -> impl Iterator<Item = &str> {
    let mark = |c: char| "*_()[]{}<>,;:!".contains(c);
    // `GRUB_CMDLINE_LINUX="idle=poll"`.
    let parts = line.split(|c: char| c.is_whitespace() || "`\"'".contains(c));
    parts.map(move |w| w.trim_matches(mark)).filter(|w| !w.is_empty())
}

fn is_one(words: &[&str], word: &str) -> bool {
    words.iter().any(|w| w.eq_ignore_ascii_case(word))
}

/// Each setting that a line names, and whether it holds by the words before it.
pub fn settings(line: &str) -> Vec<(String, bool)> {
    let mut on = true;
    let mut out = Vec::new();
    for w in words(line) {
        let bare = w.trim_end_matches('.');
        if is_one(&WITHOUT, bare) {
            on = false;
        } else if is_one(&WITH, bare) {
            on = true;
        } else if is_setting(bare) {
            out.push((bare.to_owned(), on));
        }
        // The next sentence begins anew.
        on |= w.ends_with('.');
    }
    out
}

fn is_setting(word: &str) -> bool {
    if let Some(value) = word.strip_prefix("idle=") {
        return ["poll", "halt", "nomwait"].contains(&value);
    }
    let valued = |p: &str| match word.strip_prefix(p) {
        Some(value) => !value.is_empty() || !p.ends_with('='),
        None => false,
    };
    PARAMETERS.iter().any(|p| valued(p)) || FLAGS.contains(&word)
}

/// Whether a line asks or proposes.
pub fn is_doubtful(line: &str) -> bool {
    line.contains('?') || words(line).any(|w| is_one(&MAYBE, w.trim_end_matches('.')))
}

/// Whether a setting keeps CPUs in C1 or above: `intel_idle.max_cstate` counts states of its
/// table, so that 2 leaves C1E (drivers/idle/intel_idle.c, intel_idle_max_cstate_reached, 6.12);
/// 0 hands over to acpi_idle, which `processor.max_cstate` bounds.
pub fn keeps_shallow(setting: &str) -> bool {
    let Some((key, value)) = setting.split_once('=') else { return setting == "nohlt" };
    let at_most = |n: u32| value.parse::<u32>().is_ok_and(|v| v <= n);
    match key {
        "idle" => ["poll", "halt", "nomwait"].contains(&value),
        "cpuidle.off" => value == "1",
        "intel_idle.max_cstate" => value != "0" && at_most(2),
        "processor.max_cstate" => at_most(1),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_hold_by_the_words_before_them() {
        let told = |line: &str| -> Vec<String> {
            settings(line).iter().map(|(s, on)| format!("{s} {on}")).collect()
        };
        assert_eq!(
            told("workstation **without** boot options `processor.max_cstate=1 idle=poll`"),
            ["processor.max_cstate=1 false", "idle=poll false"]
        );
        assert_eq!(told("LINUX=\"idle=poll\""), ["idle=poll true"]);
        assert_eq!(told("I don't have idle=poll"), ["idle=poll false"]);
        assert_eq!(told("BOOT_IMAGE=/vmlinuz quiet idle=halt"), ["idle=halt true"]);
        assert_eq!(
            told("no idle=poll, but with isolcpus=2,3."),
            ["idle=poll false", "isolcpus=2,3 true"]
        );
        assert_eq!(told("idle=25 s, max_cstate"), [""; 0]);
        assert!(is_doubtful("should I try idle=poll") && !is_doubtful("cmdline has idle=poll"));
        let shallow = ["idle=poll", "intel_idle.max_cstate=1", "processor.max_cstate=1", "nohlt"];
        assert!(shallow.iter().all(|s| keeps_shallow(s)));
        let others = ["intel_idle.max_cstate=0", "intel_idle.max_cstate=9", "isolcpus=1"];
        assert!(!others.iter().any(|s| keeps_shallow(s)));
    }
}
