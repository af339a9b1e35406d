//! Kinds of texts by what they tell besides a sleep's own lines: errors of the way up, answers to
//! requests, checks of a report, reports of the kernel of itself. The texts are made up.

use super::kinds::{DOWN, says, sleep};

#[test]
fn a_callback_that_fails_on_the_way_up_ends_no_sleep() {
    for (function, words) in [
        ("pci_pm_resume+0x0/0x1", "failed to resume async"),
        ("pci_pm_resume_noirq+0x0/0x1", "failed to resume noirq"),
        ("elm_resume+0x0/0xd0 [elm]", "failed to resume"),
        ("acpi_subsys_resume", "failed to resume async"),
    ] {
        let text = format!(
            "{DOWN}[  101.500000] elm 0000:0a:00.0: PM: dpm_run_callback(): {function} returns -5\n"
        );
        let both = format!("{text}[  101.500020] elm 0000:0a:00.0: PM: {words}: error -5\n");
        for text in [&text, &both] {
            let must = ["0000:0a:00.0 (elm) failed to resume: error -5"];
            says("show", text, &must, &["aborted by", "sleep failed", "in its suspend phase"]);
            says("check", text, &must, &["ended the sleep"]);
        }
    }
    // The same line of the way down ends it.
    let down = format!(
        "{DOWN}[  101.500000] elm 0000:0a:00.0: PM: dpm_run_callback(): pci_pm_suspend+0x0/0x1 returns -5\n"
    );
    says("show", &down, &["aborted by 0000:0a:00.0 (error -5)"], &[]);
}
