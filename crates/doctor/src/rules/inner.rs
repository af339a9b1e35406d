//! The callback of a driver that returned an error, as kernels before 5.17 print it: by its name,
//! and without its device (drivers/base/power/main.c:__suspend_report_result, 3.0 to 5.16).

use crate::message::Message;
use crate::stack::{self, Frame};
use crate::stage;

/// The driver's callback that returned `error` right before a line that blames a device: its line
/// and its name. `before` ends above that line.
pub(super) fn callback(before: &[Message], error: i32) -> Option<(&Message, Frame)> {
    let told = |m: &Message| {
        let text = m.text.strip_prefix("PM: ").unwrap_or(&m.text);
        let (caller, rest) = text.split_once("(): ")?;
        let (function, code) = rest.rsplit_once(" returns ")?;
        let named = caller.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let same = code.trim().parse() == Ok(error);
        (named && same).then(|| stack::place(function))?
    };
    let near = before.iter().rev().take_while(|m| told(m).is_some());
    let all = near.filter_map(|m| Some((m, told(m)?)));
    let of_a_driver = |f: &Frame| !stage::is_of_bus(&f.function);
    all.filter(|(_, f)| of_a_driver(f)).last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;

    fn named(lines: &[&str]) -> Option<(String, String)> {
        let log: Vec<(i64, &str)> = lines.iter().map(|l| (1, *l)).collect();
        let case = Case::of_log(&log);
        callback(&case.messages, -16).map(|(_, f)| (f.function, f.module))
    }

    #[test]
    fn the_innermost_callback_is_the_drivers() {
        let bus = "PM: dpm_run_callback(): pci_pm_suspend+0x0/0x150 returns -16";
        let own = "PM: pci_pm_suspend(): elm_pm_suspend+0x0/0x50 [elm] returns -16";
        let some = |f: &str, m: &str| Some((f.to_string(), m.to_string()));
        assert_eq!(named(&[own, bus]), some("elm_pm_suspend", "elm"));
        let built_in = "pci_pm_suspend(): oak_system_suspend+0x0/0x2c0 returns -16";
        assert_eq!(named(&[built_in, bus]), some("oak_system_suspend", ""));
        assert_eq!(named(&[bus]), None, "the bus alone names no driver");
        assert_eq!(named(&[own, "usb 7-1: reset", bus]), None, "of another device");
        let other = "pci_pm_suspend(): elm_pm_suspend+0x0/0x50 [elm] returns -5";
        assert_eq!(named(&[other, bus]), None);
    }
}
