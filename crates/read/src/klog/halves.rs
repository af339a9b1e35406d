//! What a kernel measures of a whole half: its devices down, or up.

use super::number::seconds;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// `suspend devices took 0.656 seconds`, `resume devices took …`
/// (kernel/power/suspend_test.c:suspend_test_finish, CONFIG_PM_TEST_SUSPEND): prepare
/// with suspend, and resume with complete, in whole jiffies. Unlike the lines of
/// the phases it needs no pm_debug_messages.
pub(super) fn took(text: &[u8]) -> Option<(Phase, Ns)> {
    [(&b"suspend devices took "[..], Phase::Suspend), (b"resume devices took ", Phase::Resume)]
        .into_iter()
        .find_map(|(words, phase)| Some((phase, seconds(text.strip_prefix(words)?)?)))
}
