//! What is peculiar to the laboratory's guests, whose CPUs take turns on one
//! computing thread because QEMU counts their instructions. Only a profile that
//! has it says anything of an emulator, and only the CPU model that takes turns
//! (`engine/cpu/icount.rs`) reads it.

use super::Kernel;
use dormouse_base::device::Device;
use dormouse_base::names::Names;
use dormouse_base::time::Ns;

/// All CPUs share one computing thread: sleeps overlap, computing does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emulator {
    /// A worker that slept for long interrupts the main thread that wakes it;
    /// `None` is as the kernel does: before 6.6.
    pub preempts: Option<bool>,
    /// The scheduler looks for idle CPUs right after CPUs came up; what the
    /// kernel does, if absent.
    pub searches: Option<bool>,
    /// How long into resume noirq timers of the CPU that came up last wait for
    /// its first tick (CPUs begin with timers of low resolution), earliest and
    /// latest: chance. Zero where CPUs stay online or come up in time.
    pub first_tick: (Ns, Ns),
    /// Which draw of what chance decides, the CPUs that threads ran on before
    /// the cycle and the first tick. Zero: threads are new, and the tick is in
    /// the middle.
    pub draw: u64,
}

impl Emulator {
    /// As the guest's `kernel` does, where nothing else is said.
    pub(super) fn complete(&mut self, kernel: Option<&Kernel>) {
        self.preempts.get_or_insert_with(|| kernel.is_some_and(Kernel::wakeups_preempt));
        self.searches.get_or_insert_with(|| kernel.is_none_or(Kernel::searches_new_domains));
    }
}

/// Whether a callback of `device` gives the turn to other CPUs while it
/// computes: QEMU does so while the registers of a serial port are written. Seen
/// from the guest, others run inside the callback.
pub(super) fn gives_turn_away(device: &Device, names: &Names) -> bool {
    device.facts.guest && names.get(device.driver) == "serial"
}
