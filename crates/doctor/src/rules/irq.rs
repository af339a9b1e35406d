//! Messages that name the interrupt which woke a machine.

use crate::message::Message;

/// The number that a text begins with.
pub(super) fn digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

/// `PM: Triggering wakeup from IRQ 9` (drivers/base/power/wakeup.c:pm_system_irq_wakeup),
/// `IRQ wakeup: IRQ 9`; `Resume caused by IRQ 391, bt_host_wake`
/// (kernel/power/wakeup_reason.c of Android). A patch that is quoted has the format in place
/// of the number.
pub(super) fn irq(m: &Message) -> Option<(&str, Option<&str>)> {
    if let Some(rest) =
        m.after("Resume caused by IRQ ").or_else(|| m.after("Resume caused by IRQs "))
    {
        let number = digits(rest);
        let name = rest[number.len()..].trim_start_matches([',', ' ']).trim();
        return (!number.is_empty()).then_some((number, Some(name).filter(|n| !n.is_empty())));
    }
    // `pm_system_irq_wakeup: 11 triggered pinctrl_amd` of Android's and ChromeOS' kernels;
    // interrupt controllers of Qualcomm's kernels say it by functions of their own
    // (`gic_show_resume_irq: 57 triggered …`).
    if let Some((before, name)) = m.text.split_once(" triggered ")
        && let Some((function, number)) = before.rsplit_once(": ")
        && function.split(' ').next_back().is_some_and(|f| f.contains("irq"))
    {
        let name = name.trim();
        let is = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        return is.then_some((number, Some(name).filter(|n| !n.is_empty() && *n != "null")));
    }
    let rest = m.after("Triggering wakeup from IRQ ").or_else(|| m.after("IRQ wakeup: IRQ "))?;
    let number = digits(rest);
    let whole = rest[number.len()..].chars().next().is_none_or(char::is_whitespace);
    (!number.is_empty() && whole).then_some((number, None))
}

/// Who woke a machine, as messages of one sleep name it: `IRQ 9`, `IRQ 391 of bt_host_wake`.
pub(crate) fn named_in(messages: &[Message]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for m in messages {
        let who = match irq(m) {
            Some((number, Some(name))) => format!("IRQ {number} of {name}"),
            Some((number, None)) => format!("IRQ {number}"),
            None => match m.after("Resume caused by ").filter(|_| m.trust.is_of_a_kernel()) {
                Some(rest) => rest.trim().to_string(),
                None => match super::spm::spm(m) {
                    Some(s) => s.sources.to_string(),
                    None => continue,
                },
            },
        };
        if !out.contains(&who) {
            out.push(who);
        }
    }
    out
}
