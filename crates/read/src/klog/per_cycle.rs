//! What a log has told of the cycle that is open.

use super::held::Refusal;
use crate::track::CallRef;
use dormouse_base::cycle::Mode;
use dormouse_base::phase::{Phase, PmEvent};
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// A callback that has not ended: which, in what thread, since when.
pub(super) type OpenCall = (CallRef, i32, Ns);

/// Who stands before a line that a callback returned an error, and the error.
pub(super) type Returned = (Box<[u8]>, i32);

/// Reset with every cycle.
#[derive(Default)]
pub(crate) struct PerCycle {
    pub(super) serial: u64,
    /// Some line of this cycle had a time.
    pub(super) timed: bool,
    /// So many of its lines meant something, and whether one stood in a log.
    pub(super) known: u32,
    pub(super) logged: bool,
    /// When its last line came.
    pub(super) last_known: Ns,
    /// The whole second of its last line, as whoever kept the log wrote it.
    pub(super) second: Option<(bool, i64)>,
    /// Lines tell that firmware slept.
    pub firmware: bool,
    /// `Waking up from system sleep state` was there.
    pub(super) waking: bool,
    /// And in the cycle before or behind it too, of which the text has no more.
    pub(super) wakes_again: bool,
    /// Its entry has the date in place of the mode.
    pub dated: bool,
    /// When the image of a hibernation was made.
    pub image_made: Option<Ns>,
    /// Since when memory is taken for one.
    pub(super) allocating: Option<Ns>,
    /// Its header was refused: nothing of it is read.
    pub image_refused: bool,
    /// When the memory was copied for it: there its clock goes on.
    pub image_from: Option<Ns>,
    /// When the step began that lasts.
    pub lasting_from: Ns,
    /// It was all but over ("Finishing wakeup").
    pub finishing: bool,
    /// The device phase that callbacks are in.
    pub phase: Option<Phase>,
    /// "complete after" lines name the phases of this cycle.
    pub proven: bool,
    /// First callback whose phase no such line has confirmed.
    pub(super) mark: usize,
    /// When the device phase began, as far as is known.
    pub base: Ns,
    /// End of the last span of a device phase.
    pub covered: Ns,
    /// Per thread, when its last callback ended: makes times where there are
    /// none.
    pub(super) cursors: HashMap<i32, Ns>,
    /// Callbacks that have not ended, by the text of their owner.
    pub(super) open: HashMap<Box<[u8]>, Vec<OpenCall>>,
    /// Time of the last `calling` line.
    pub(super) last_call: Ns,
    /// The event of the callbacks of this direction, where one of their names
    /// told, and the first callback of the direction.
    pub(super) event: (Option<PmEvent>, usize),
    /// A step that lasts until the next line of a step.
    pub lasting: Option<Phase>,
    /// But not longer than this, if its line says how long.
    pub at_most: Ns,
    /// The line that told of the begin of a sync told of its end too, but not when.
    pub sync_done: Option<Ns>,
    /// Where the CPU step that comes next begins.
    pub cpu_from: Option<Ns>,
    /// First and last `Calling FN` of the system core.
    pub syscore: Option<(Ns, Ns)>,
    /// Last thing that happened on the way down.
    pub sleep_from: Option<Ns>,
    /// `suspend-to-idle` was printed, its end was not.
    pub idle_from: Option<Ns>,
    /// systemd-sleep asked for another mode meanwhile.
    pub(super) operation: Option<Mode>,
    /// When it woke up.
    pub woke: Option<Ns>,
    /// Where the embedded controller stopped and started: marks sleep in logs
    /// that have nothing better.
    pub quiet: (Option<Ns>, Option<Ns>),
    /// Tasks that would not freeze are being listed.
    pub listing: bool,
    /// The way down was given up.
    pub refusal: Option<Refusal>,
    /// Who stands before the last `…: PM: f(): g returns -16`, and the error.
    pub(super) returned: Option<Returned>,
    /// It is of the core, which gives up then.
    pub(super) core_returned: bool,
    /// The last line that the core has for an attempt that it gives up was there.
    pub(super) given_up: bool,
    /// When a failure was told that no step of the core follows, and whether it is a crash.
    pub(super) died: Option<(Ns, bool)>,
    /// The last line that only the way down prints.
    pub down: Option<Ns>,
    /// When freezing began, by its stamp and as the cycle counts.
    pub(super) freezing: Option<(Ns, Ns)>,
    /// How long whoever kept the log was frozen, by what the kernel measured.
    pub(super) closed: Ns,
    /// Whoever kept the log was frozen from then on, so that stamps until tasks ran again
    /// tell of no time.
    pub missed: bool,
    /// By what the clock of whoever kept the log was ahead of the kernel's as it began.
    pub(super) ahead: Option<Ns>,
    /// By how much more that clock went on, by the last line of the way up.
    pub(super) stood: Option<Ns>,
    /// The clock may have been set on here, by so much, or its keeper was frozen from here on.
    pub(super) set_on: Option<(Ns, Ns)>,
    /// What the stamps of this cycle were moved by in the end.
    pub(super) late: Ns,
}

impl PerCycle {
    /// The number of its cycle.
    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    /// Whether some line of it had a time.
    pub(super) fn timed(&self) -> bool {
        self.timed
    }

    /// Whether a person may just have quoted a line or two. A refusal with another line
    /// of the core beside it is more.
    pub(crate) fn is_quote(&self) -> bool {
        !self.logged && !self.wakes_again && self.known < if self.refusal.is_some() { 2 } else { 3 }
    }

    /// All its times move by `by`: see [`Tracker::shift_open`].
    pub(super) fn shift(&mut self, by: Ns) {
        let one = [
            &mut self.base,
            &mut self.covered,
            &mut self.last_call,
            &mut self.lasting_from,
            &mut self.last_known,
        ];
        let maybe = [
            &mut self.cpu_from,
            &mut self.sleep_from,
            &mut self.idle_from,
            &mut self.woke,
            &mut self.quiet.0,
            &mut self.quiet.1,
            &mut self.down,
            &mut self.image_made,
            &mut self.image_from,
            &mut self.allocating,
            &mut self.sync_done,
        ];
        let refused = self.refusal.as_mut().map(|r| &mut r.at);
        let pair = self.syscore.iter_mut().flat_map(|(a, b)| [a, b]);
        let open = self.open.values_mut().flatten().map(|o| &mut o.2);
        let times = one.into_iter().chain(maybe.into_iter().flatten());
        let times = times.chain(pair).chain(open).chain(refused);
        for t in times.chain(self.cursors.values_mut()) {
            *t += by;
        }
        if self.at_most != Ns::MAX {
            self.at_most += by;
        }
    }
}
