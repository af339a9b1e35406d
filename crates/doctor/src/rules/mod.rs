//! The rules, a file an area. Each names the messages it rests on.

pub(crate) mod abort;
mod aspm;
mod at_run_time;
mod back;
mod bare;
mod beside;
pub(crate) mod callback;
mod capped;
mod clock;
pub(crate) mod columns;
mod cpu;
pub(crate) mod crash;
mod damage;
mod delay;
mod descent;
mod died;
mod disk;
mod distrusted;
mod dma;
pub(crate) mod doubt;
pub(crate) mod drawn;
mod drive;
pub(crate) mod ended;
mod event;
mod fall;
pub(crate) mod freezer;
mod gpe;
mod grid;
mod hibernation;
mod host;
pub(crate) mod hung;
mod image;
mod inner;
pub(crate) mod irq;
pub(crate) mod knob;
mod lan;
mod libc;
mod limited;
mod line;
mod listed;
mod looped;
pub(crate) mod lost;
mod medium;
pub(crate) mod method;
pub(crate) mod mode;
pub(crate) mod night;
mod offers;
mod opp;
mod own;
mod parked;
mod part;
pub(crate) mod patch;
mod pause;
pub(crate) mod phase;
pub(crate) mod platform;
mod power_state;
pub(crate) mod powerstat;
mod quoted;
mod radio;
pub(crate) mod ready;
pub(crate) mod reset;
mod restore;
mod rpm;
mod sata;
pub(crate) mod silent;
mod source;
mod spm;
mod spun;
mod stayed;
mod stuck;
mod swap;
pub(crate) mod sync;
mod thaw;
mod unheard;
mod unit;
mod unnamed;
mod verdict;
mod versions;
mod waited;
pub(crate) mod wake;
pub(crate) mod way;

use crate::case::Case;
use crate::finding::{Finding, Unchecked};

/// A rule reads the case and adds what it finds.
type Rule = fn(&Case, &mut Vec<Finding>);

/// All rules.
pub(crate) const ALL: [Rule; 66] = [
    freezer::judge,
    listed::judge,
    abort::judge,
    died::judge,
    own::judge,
    unnamed::judge,
    power_state::judge,
    radio::judge,
    clock::judge,
    mode::judge,
    platform::judge,
    spm::judge,
    limited::judge,
    method::judge,
    wake::judge,
    gpe::judge,
    phase::judge,
    hibernation::judge,
    restore::judge,
    unit::judge,
    sync::judge,
    disk::judge,
    line::judge,
    rpm::judge,
    crash::judge,
    damage::judge,
    back::judge,
    ready::judge,
    source::judge,
    night::judge,
    image::judge,
    delay::judge,
    pause::judge,
    descent::judge,
    callback::judge,
    drive::judge,
    silent::judge,
    medium::judge,
    parked::judge,
    spun::judge,
    lan::judge,
    waited::judge,
    lost::judge,
    dma::judge,
    distrusted::judge,
    unheard::judge,
    part::judge,
    stayed::judge,
    patch::judge,
    columns::judge,
    powerstat::judge,
    way::judge,
    wake::at_once,
    looped::judge,
    versions::judge,
    drawn::judge,
    at_run_time::judge,
    aspm::judge,
    event::judge,
    verdict::judge,
    quoted::judge,
    bare::judge,
    opp::judge,
    capped::judge,
    offers::judge,
    // Last: it leaves out what others told of, and explains what they did not find.
    knob::judge,
];

/// Checks that this text cannot answer.
pub(crate) fn unchecked(case: &Case) -> Vec<Unchecked> {
    let has = |word: &str| case.messages.has(word);
    let mut out = Vec::new();
    // The counter is of s2idle alone: firmware sleeps otherwise, or the power is off.
    let s2idle =
        case.attempts.iter().any(|a| !a.failed && matches!(a.mode.as_str(), "s2idle" | ""));
    if s2idle && !mode::has_counters(case) && !night::has_counters(case) && !spm::has_depth(case) {
        out.push(Unchecked::Hardware);
    }
    // Ends of callbacks alone tell how long each took, too.
    let timed = case.messages.having(" returned ").any(|(_, m)| pause::returned(m).is_some());
    if !case.attempts.is_empty() && !has("calling ") && !has(" of drv:") && !timed {
        out.push(Unchecked::Callbacks);
    }
    // Asked of a text that speaks of it: a log of a sleep alone is about something else.
    let speaks = case.values.iter().any(|v| v.path.contains("/power/control"));
    let shown = has("rpm_resume") || case.values.iter().any(|v| v.name() == "runtime_status");
    if speaks && !shown {
        out.push(Unchecked::RuntimePm);
    }
    out
}
