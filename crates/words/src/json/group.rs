//! Cycles of one kernel and mode taken together, in `show --json`.

use super::emit::Emit;
use super::table::some;
use crate::Explained;
use dormouse_base::capture::Capture;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::spread::{self, DeviceKey, Group, groups};

/// Columns of a device; the last five are spreads.
pub(super) const DEVICE: [&str; 10] = [
    "device",
    "driver",
    "parent",
    "nth",
    "led",
    "time",
    "critical_suspend",
    "critical_resume",
    "gain_suspend",
    "gain_resume",
];

/// Columns of a spread, where it is a row; elsewhere the names of its fields.
pub(super) const SPREAD: [&str; 6] = ["count", "min_ns", "median_ns", "p95_ns", "max_ns", "mad_ns"];

/// `groups` of the output.
pub(super) fn list(w: &mut Emit<'_>, all: &[Explained]) {
    let pairs: Vec<(&Capture, &[CycleView])> =
        all.iter().map(|e| (&*e.capture, e.views.as_slice())).collect();
    let mut first = vec![1usize];
    for e in all {
        first.push(first[first.len() - 1] + e.views.len());
    }
    let number = |c: &spread::CycleIndex| first[c.0 as usize] + c.1 as usize;
    w.objects("groups", &groups(&pairs), |w, g| group(w, g, number));
}

fn group(w: &mut Emit<'_>, g: &Group<'_>, number: impl Fn(&spread::CycleIndex) -> usize) {
    w.field("kernel", some(g.kernel));
    w.field("mode", g.mode.name());
    w.field("log", g.log + 1);
    w.values("cycles", g.cycles.iter().map(&number));
    w.values("first_after_boot", g.first.iter().map(&number));
    w.key("suspend");
    w.object(|w| fields(w, &g.suspend));
    w.key("resume");
    w.object(|w| fields(w, &g.resume));
    w.objects("phases", &g.phases, |w, p| {
        w.field("name", p.phase.name());
        w.field("direction", p.phase.direction().name());
        fields(w, &p.time);
    });
    w.rows("devices", &g.devices, |w, d| {
        w.value(d.key.name);
        w.value(some(d.key.driver));
        w.value(some(d.key.parent));
        w.value(d.key.nth);
        w.value(d.led);
        for s in [&d.busy, &d.on_path[0], &d.on_path[1], &d.gain[0], &d.gain[1]] {
            w.array(|w| {
                w.value(s.count);
                times(s).into_iter().for_each(|t| w.value(t));
            });
        }
    });
    w.objects("outliers", &g.outliers, |w, o| {
        w.field("cycle", number(&o.cycle));
        w.field("direction", o.direction.name());
        w.field("time_ns", o.time.0);
        w.field("over_ns", o.over.0);
        w.field("devices_missing", o.devices_missing);
        w.field("phase", o.phase.map(|p| p.0.map_or("gaps", |p| p.name())));
        w.field("phase_over_ns", o.phase.map(|p| p.1.0));
        w.key("device");
        match &o.device {
            Some((device, _)) => w.object(|w| key(w, device)),
            None => w.value(None::<u32>),
        }
        w.field("device_over_ns", o.device.as_ref().map(|d| d.1.0));
    });
}

fn key(w: &mut Emit<'_>, k: &DeviceKey<'_>) {
    w.field("device", k.name);
    w.field("driver", some(k.driver));
    w.field("parent", some(k.parent));
    w.field("nth", k.nth);
}

fn times(s: &spread::Spread) -> [i64; 5] {
    [s.min, s.median, s.p95, s.max, s.mad].map(|t| t.0)
}

fn fields(w: &mut Emit<'_>, s: &spread::Spread) {
    w.field(SPREAD[0], s.count);
    for (name, time) in SPREAD[1..].iter().zip(times(s)) {
        w.field(name, time);
    }
}
