//! Interrupt lines that wake the machine (kernel/irq/pm.c, 6.12).

use crate::case::Case;
use crate::evidence::{lines, value};
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::stack;
use crate::value::Value;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    window(case, out);
    shared(case, out);
}

/// The line that woke the machine belongs to one device, which may wake it and counted
/// no event: its driver leaves that to the line, which is watched from noirq on alone
/// (irq/pm.c:irq_pm_check_wakeup). What comes before, after its own suspend, is lost.
/// `wakeup_count` counts armed sleeps alone, `wakeup_active_count` all
/// (drivers/base/power/wakeup.c:wakeup_source_report_event).
fn window(case: &Case, out: &mut Vec<Finding>) {
    let of = |path: &str| case.values.iter().rfind(|v| v.path == path);
    let Some(woke) = of("/sys/power/pm_wakeup_irq") else { return };
    if woke.value.is_empty() || !woke.value.bytes().all(|b| b.is_ascii_digit()) {
        return;
    }
    let Some(action) = of(&format!("/sys/kernel/irq/{}/actions", woke.value)) else { return };
    // A line of several names none of them.
    let name = action.value.strip_suffix(":wakeup").unwrap_or(&action.value);
    if name.is_empty() || name.contains(',') {
        return;
    }
    // I2C puts its own word before the name that firmware gives.
    let is_it = |folder: &str| {
        let device = folder.strip_suffix("/power").and_then(|f| f.rsplit('/').next());
        device.is_some_and(|d| d == name || d.strip_prefix("i2c-") == Some(name))
    };
    let mut counts: Vec<&Value> = case
        .values
        .iter()
        .filter(|v| v.name() == "wakeup_active_count" && is_it(v.folder()))
        .collect();
    let Some(count) = counts.pop().filter(|v| v.value == "0" && counts.is_empty()) else { return };
    let Some(enabled) = of(&format!("{}/wakeup", count.folder())).filter(|v| v.value == "enabled")
    else {
        return;
    };
    let f = Finding::new(("phase-wake-window", Area::Phase, Level::Risk), Confidence::Likely)
        .says(format!(
            "IRQ {} of {name} woke the machine, and {name} never reported an event. Only the line wakes, which is watched from noirq on: what comes between the suspend of {name} and noirq is lost.",
            woke.value
        ))
        .look("Its handler, or the callback that reads why it woke, must call pm_wakeup_event(). If the line is not armed in suspend: enable_irq_wake() there, or dev_pm_set_wake_irq() at probe.")
        .of_devices([Device { name: name.to_string(), driver: String::new() }])
        .shown_by([value(woke), value(action), value(enabled), value(count)]);
    out.push(f);
}

/// The kernel warns when a line is shared by one that shall not be suspended
/// (`IRQF_NO_SUSPEND`) and one that knows nothing of it
/// (kernel/irq/pm.c:irq_pm_install_action).
fn shared(case: &Case, out: &mut Vec<Finding>) {
    let is = |m: &Message| {
        m.trust.is_of_a_kernel() && m.has("WARNING") && m.has(" irq_pm_install_action+")
    };
    let mut named = case.messages.having(" irq_pm_install_action+");
    let Some((at, _)) = named.find(|(_, m)| is(m)) else { return };
    let frames = stack::frames(&case.messages, at, 60);
    // The first that is none of the core's asked for the line.
    let of_the_core = ["irq_pm_", "__setup_irq", "request_", "devm_request_", "__warn", "warn_"];
    let other = ["report_bug", "handle_bug", "exc_", "asm_exc", "el1", "do_", "brk_", "bug_"];
    let is_core = |f: &&str| of_the_core.iter().chain(&other).any(|w| f.starts_with(w));
    let asked = frames.iter().map(String::as_str).find(|f| !is_core(f));
    let f = Finding::new(("phase-nosuspend-wake", Area::Phase, Level::Risk), Confidence::Certain)
        .says(format!(
            "{} asked for an interrupt line that another driver shares, and one of the two wants it never suspended (IRQF_NO_SUSPEND): in a sleep both handlers run, and a wakeup by that line may not end it.",
            asked.unwrap_or("A driver")
        ))
        .look("The other driver must say that it can stand it (IRQF_COND_SUSPEND), or each must have a line of its own. One device alone must not ask for both: IRQF_NO_SUSPEND and wakeup by the same line.")
        .of_function(asked)
        .shown_by(lines([&case.messages[at]]));
    out.push(f);
}
