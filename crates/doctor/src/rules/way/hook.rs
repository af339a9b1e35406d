//! Sleep hooks that failed, by lines that stand without their stamps.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;

/// `/usr/lib/systemd/system-sleep/NAME failed with exit status 255.` as somebody copies it out of
/// a window (systemd, src/shared/exec-util.c:do_execute, 237 to 258); the hook and its status.
fn failed(m: &Message) -> Option<(&str, &str)> {
    let (path, rest) = m.text.trim().split_once(" failed with exit status ")?;
    let name = path.strip_prefix('/')?.split_once("/system-sleep/")?.1;
    let status = rest.trim_end_matches('.');
    let is = !name.is_empty() && !path.contains(' ') && status.parse::<u8>().is_ok();
    is.then_some((name, status))
}

/// Where no line with a time tells of one.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    if out.iter().any(|f| f.id == "way-hook-failed") {
        return;
    }
    let said = case.messages.having("/system-sleep/").map(|(_, m)| m);
    let said: Vec<&Message> = said.filter(|m| failed(m).is_some()).collect();
    let Some((name, status)) = said.first().and_then(|m| failed(m)) else { return };
    out.push(
        Finding::new(("way-hook-failed", Area::Phase, Level::Note), Confidence::Certain)
            .says(format!(
                "The sleep hook {name} failed with exit status {status}. systemd goes on with the sleep all the same."
            ))
            .look("Run it by hand with the words pre suspend.")
            .times(said.len())
            .shown_by(lines(said)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_line_of_a_hook_is_read_and_a_sentence_on_one_is_not() {
        let of = |line: &str| {
            let mut out = Vec::new();
            judge(&Case::shown(&[line]), &mut out);
            out.len()
        };
        assert_eq!(of("/usr/lib64/systemd/system-sleep/elm.sh failed with exit status 255."), 1);
        assert_eq!(of("My /usr/lib/systemd/system-sleep/elm failed with exit status 1."), 0);
        assert_eq!(of("/usr/lib/systemd/system-sleep/elm failed with exit status x."), 0);
    }
}
