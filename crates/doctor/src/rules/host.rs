//! Host controllers that die in a sleep.

use crate::case::Case;
use crate::message::Message;

/// So many messages before a failure a hub may have told of a device below it.
pub(super) const NEAR: usize = 20;

/// One that died just before a USB device below it did not come back
/// (drivers/usb/host/xhci-ring.c:xhci_hc_died, 6.12).
pub(super) fn dead<'a>(case: &'a Case, device: &str, failure: &Message) -> Option<&'a Message> {
    let at = case.messages.iter().position(|m| m.line == failure.line)?;
    let mut near = case.messages[at.saturating_sub(NEAR)..at].iter().rev();
    let is = |m: &&Message| m.trust.is_of_a_kernel() && m.has("HC died");
    near.find(is).filter(|_| is_behind(device))
}

/// Whether a name is of a USB device behind a controller: `4-1.2`.
pub(super) fn is_behind(device: &str) -> bool {
    device.starts_with(|c: char| c.is_ascii_digit()) && device.contains('-')
}
