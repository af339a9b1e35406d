//! Devices that do not thaw in a hibernation.

use crate::case::Case;
use crate::message::Message;

/// What a callback of `thaw` that failed tells: the core calls those between the making of an
/// image and its writing, and after making it failed (kernel/power/hibernate.c:
/// hibernation_snapshot; drivers/base/power/main.c:pm_op, 2.6.32 to 7.3). And the line behind it
/// that says what became of the image.
pub(super) fn thawed<'a>(
    case: &'a Case,
    failed: &Message,
) -> Option<(String, Option<&'a Message>)> {
    const NEAR: usize = 40;
    if !["_thaw", "to thaw"].iter().any(|w| failed.has(w)) {
        return None;
    }
    let step = "Devices thaw once the image of a hibernation is made, and before it is written";
    let at = case.messages.iter().position(|m| m.line == failed.line)?;
    let behind = case.messages[at + 1..].iter().take(NEAR);
    let mut behind = behind.take_while(|m| !m.has("hibernation exit") && !m.says("Wrote "));
    let lost =
        behind.find(|m| m.has("Image saving failed") || m.has("Failed to put system to sleep"));
    let became = match lost {
        Some(m) => format!("it failed then, and nothing was hibernated: \"{}\"", m.text.trim()),
        None => "whether it was written, these lines do not tell".into(),
    };
    Some((format!("{step}: {became}."), lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thaw_that_failed_is_of_a_hibernation_and_its_end_is_told() {
        let log = [
            (10, "elm 0000:07:00.0: PM: dpm_run_callback(): pci_pm_thaw returns -5"),
            (20, "PM: Image saving failed: -11"),
        ];
        let case = Case::of_log(&log);
        let (why, m) = thawed(&case, &case.messages[0]).expect("a thaw");
        assert!(why.contains("nothing was hibernated: \"PM: Image saving failed: -11\""), "{why}");
        assert_eq!(m.map(|m| m.line), Some(2));
        let alone = Case::of_log(&log[..1]);
        let (why, m) = thawed(&alone, &alone.messages[0]).expect("a thaw");
        assert!(m.is_none() && why.contains("do not tell"), "{why}");
        let resume = Case::of_log(&[(1, "elm 7-1: PM: failed to resume: error -5")]);
        assert!(thawed(&resume, &resume.messages[0]).is_none());
    }
}
