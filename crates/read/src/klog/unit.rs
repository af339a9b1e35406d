//! The unit of the numbers that kernels call usecs: by the kernel's version, by the form of its
//! lines, or by the stamps of a log itself.

use super::calls::{self, Form};
use super::grain::LAST_DIGIT;
use super::state::Log;
use dormouse_base::loss::Severity;
use dormouse_base::time::Ns;

impl Log<'_> {
    /// How long `usecs` of a line means; a kernel whose unit is another is told of.
    pub(super) fn took(&mut self, usecs: i64, form: Form) -> Ns {
        if self.micro {
            return Ns(usecs.saturating_mul(1_000));
        }
        let took = calls::duration(usecs, form, self.version);
        if took.0 / 1_000 != usecs && !std::mem::replace(&mut self.shifted, true) {
            self.t.losses().add(
                "units_of_old_kernels",
                1,
                Severity::Info,
                "this kernel prints microseconds as units of 1,024 ns, and they are read as such",
                None,
            );
        }
        took
    }

    /// A callback that the line calls `usecs` long lay between two lines: it is no longer than
    /// that, so a number that only fits as microseconds is of a kernel that prints those,
    /// whatever the form of its lines.
    pub(super) fn learns_unit(&mut self, usecs: i64, between: Ns) {
        let fits = usecs.saturating_mul(1_000) <= between.0;
        let shifted = usecs.saturating_mul(1_024) <= between.0.saturating_add(LAST_DIGIT.0);
        self.micro |= self.timed && self.version.is_none() && fits && !shifted;
    }
}
