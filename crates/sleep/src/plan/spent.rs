//! What the callbacks of a device take.

use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::Board;

/// Callback time below which no change is worth a look.
pub(super) const WORTH_LOOKING: Ns = Ns(50_000);

/// Time of all callbacks of a device in `directions`.
pub(super) fn spent(board: &Board, device: DeviceId, directions: &[Direction]) -> Ns {
    Phase::DEVICE
        .into_iter()
        .filter(|p| directions.contains(&p.direction()))
        .filter_map(|p| board.devices[device.index()].in_phase(p))
        .map(|w| w.sleep + w.compute)
        .sum()
}
