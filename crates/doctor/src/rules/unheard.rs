//! Interrupts that nobody takes, which the kernel switches off, beside the sleeps of a text
//! (kernel/irq/spurious.c:__report_bad_irq and note_interrupt, 3.15 to 7.3).

use super::beside::near_sleeps;
use super::irq::digits;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Finding};
use crate::message::Message;

const UNHEARD: &str = ": nobody cared";
const OFF: &str = "Disabling IRQ #";

/// So many messages behind the first one stand its handlers: a stack is between them.
const NEAR: usize = 80;

/// The interrupt that such a line names.
fn number(m: &Message) -> Option<&str> {
    let rest = m.text.strip_prefix("irq ").filter(|_| m.has(UNHEARD));
    let of = digits(rest.or(m.text.strip_prefix(OFF))?);
    (!of.is_empty()).then_some(of)
}

/// The functions that should have taken it, below `handlers:`, and the line of the first.
fn handlers<'a>(behind: &'a [Message], of: &str) -> Vec<(&'a str, &'a Message)> {
    let near = behind.iter().take(NEAR);
    let mut list = near.skip_while(|m| m.text.trim() != "handlers:").skip(1);
    let mut out = Vec::new();
    for m in list.by_ref().take_while(|m| number(m).is_none_or(|n| n != of)) {
        // `[<00000000d2e1aa0f>] elm_irq [elm] threaded [<…>] elm_thread [elm]`.
        let name = m.text.trim().strip_prefix("[<").and_then(|t| t.split_once(">] "));
        let Some((_, name)) = name else { break };
        out.push((name.split(" threaded ").next().unwrap_or(name).trim(), m));
    }
    out
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let said = case.messages.having_any(&[UNHEARD, OFF]);
    let said = said.filter(|(_, m)| m.trust.is_of_a_kernel());
    let said = said.filter_map(|(at, m)| Some((at, m, number(m)?))).collect();
    for (irq, told) in near_sleeps(case, said) {
        let handlers = handlers(&case.messages[told.at + 1..], irq);
        let off = told.all.iter().map(|a| a.1).find(|m| m.has(OFF));
        let names: Vec<&str> = handlers.iter().map(|h| h.0).collect();
        let whose = match &names[..] {
            [] => String::new(),
            [one] => format!(" Its handler is {one}."),
            several => format!(" Its handlers are {}.", several.join(", ")),
        };
        let what = match off {
            Some(_) => ", and the kernel switched it off: what uses it does not work, or is slow",
            None => "",
        };
        let (level, sure) = told.weight();
        let f = Finding::new(("irq-unheard", Area::Phase, level), sure)
            .says(format!(
                "Nobody took interrupt {irq}{}{what}.{}{whose}",
                told.place.words(),
                told.earlier()
            ))
            .because("Whose it was no line says: a device that was awake before its driver, or one without a driver on the same line.")
            .look("Look in /proc/interrupts who is on that line, and whether each works afterwards.")
            .shown_by(lines(
                [told.shown].into_iter().chain(handlers.iter().map(|h| h.1)).chain(off),
            ));
        out.push(told.place.mark(f));
    }
}

#[cfg(test)]
mod tests {
    use super::super::beside;
    use super::*;
    use crate::finding::Level;

    fn told(behind: &[(i64, &str)]) -> Vec<(Level, String)> {
        beside::told(judge, &[], behind)
    }

    #[test]
    fn an_interrupt_that_nobody_takes_behind_a_sleep_is_told_with_its_handlers() {
        let cared = "irq 61: nobody cared (try booting with the \"irqpoll\" option)";
        let log = [
            (103_000, cared),
            (103_000, "CPU: 3 UID: 0 PID: 0 Comm: swapper/3 Not tainted 6.12.9 #1"),
            (103_000, "Call Trace:"),
            (103_000, " note_interrupt.cold+0xb/0x60"),
            (103_000, "handlers:"),
            (103_000, "[<00000000d2e1aa0f>] elm_irq [elm]"),
            (103_000, "[<0000000030b1f3d5>] oak_isr threaded [<000000004b1f3d51>] oak_thread"),
            (103_000, "Disabling IRQ #61"),
        ];
        let [(level, said)] = &told(&log)[..] else { panic!() };
        assert_eq!(*level, Level::Risk);
        let all =
            ["interrupt 61, 1.0 s after the resume", "switched it off", "elm_irq [elm], oak_isr."];
        assert!(all.iter().all(|w| said.contains(w)), "{said}");
        let [(_, said)] = &told(&[(103_000, cared)])[..] else { panic!() };
        assert!(!said.contains("switche") && !said.contains("handler"), "{said}");
        assert_eq!(told(&[(103_000, "Disabling IRQ #7")]).len(), 1);
        assert!(told(&[(900_000, cared)]).is_empty());
        assert!(told(&[(103_000, "elm 7: nobody cared")]).is_empty());
    }
}
