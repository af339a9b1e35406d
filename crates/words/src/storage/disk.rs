//! A disk, its settings and its load as text that `predict --disk` and
//! `lab run --only storage` read (docs/storage.md).

use dormouse_storage::simulate::energy::{BreakEven, Powers, State};
use dormouse_storage::simulate::load::{Load, Next};
use dormouse_storage::simulate::settings::{Drive, Governor, IdleStop, Qos, Settings};
use std::fmt::Write as _;

fn never(d: Option<i64>) -> String {
    d.map_or("never".into(), |ns| format!("{ns}ns"))
}

/// The description; a time for each KiB is rounded to ns.
pub fn describe(
    drive: &Drive,
    s: &Settings,
    load: &Load,
    powers: &Powers,
    even: &BreakEven,
) -> String {
    let mut out = String::from("dormouse-disk 1\n");
    let mut line = |key: &str, value: String| {
        let _ = writeln!(out, "{key} {value}");
    };
    let levels: Vec<String> = drive.levels.iter().map(|hz| format!("{hz}Hz")).collect();
    line("clocks", levels.join(" "));
    line("start", levels[drive.start.min(levels.len() - 1)].clone());
    line("base", format!("{}ns", drive.law.base));
    line("per-kib", format!("{}ns", (drive.law.transfer + 32) / 64));
    line("software", format!("{}ns", drive.law.software));
    line("change", format!("{}ns", drive.change));
    line("change-waits", if drive.waits { "yes" } else { "no" }.into());
    line("gate-enter", format!("{}ns", drive.gate.enter));
    line("gate-wake", format!("{}ns", drive.gate.wake));
    line("suspend-enter", format!("{}ns", drive.suspend.enter));
    line("resume", format!("{}ns", drive.suspend.wake));
    let d = &s.devfreq;
    match d.governor {
        Governor::SimpleOndemand(t) => {
            line("governor", "simple_ondemand".into());
            line("up", t.up.to_string());
            line("down", t.down.to_string());
        }
        Governor::Performance => line("governor", "performance".into()),
        Governor::Powersave => line("governor", "powersave".into()),
    }
    line("poll", format!("{}ns", d.poll));
    line("tick", format!("{}ns", d.tick));
    line("timer", if d.deferrable { "deferrable" } else { "delayed" }.into());
    let stop = match d.idle_stop {
        IdleStop::Never => "never",
        IdleStop::UnlessRaised => "unless-raised",
        IdleStop::Always => "always",
    };
    line("idle-stop", stop.into());
    if d.least > 0 {
        line("min-freq", format!("{}Hz", d.least));
    }
    if d.most < u64::MAX {
        line("max-freq", format!("{}Hz", d.most));
    }
    let site = match s.qos {
        Qos::Off => "off",
        Qos::Host { .. } => "parent",
        Qos::Disk { .. } => "lun",
    };
    line("qos", site.into());
    if let Some(ns) = s.qos.timeout() {
        line("timeout", format!("{ns}ns"));
    }
    line("gate-delay", never(s.gate));
    line("autosuspend", never(s.autosuspend));
    line("slack", s.slack.to_string());
    costs(&mut line, &levels, powers, even);
    match load {
        Load::Loop(l) => {
            let next = match l.next {
                Next::Every(ns) => format!("every {ns}ns"),
                Next::After(ns) => format!("after {ns}ns"),
            };
            line(
                "load",
                format!(
                    "burst {} {next} count {} bytes {} depth {} think {}ns",
                    l.burst, l.count, l.bytes, l.depth, l.think
                ),
            );
        }
        Load::Open(list) => {
            for (at, bytes) in list {
                line("at", format!("{at}ns {bytes}"));
            }
        }
    }
    out
}

fn costs(line: &mut impl FnMut(&str, String), levels: &[String], p: &Powers, even: &BreakEven) {
    let clocks = (0..levels.len()).flat_map(|n| [State::Busy(n), State::Idle(n)]);
    let naps = (0..3).flat_map(|n| [State::Gate(n), State::Suspend(n)]);
    for state in clocks.chain(naps) {
        let (given, name) = match state {
            State::Busy(n) => (p.busy[n], format!("busy {}", levels[n])),
            State::Idle(n) => (p.idle[n], format!("idle {}", levels[n])),
            State::Gate(n) => (p.gate[n], ["gating", "gated", "ungating"][n].into()),
            State::Suspend(n) => (p.suspend[n], ["suspending", "suspended", "resuming"][n].into()),
        };
        if let Some(uw) = given {
            line("power", format!("{name} {uw}uW"));
        }
    }
    for (name, nj) in [("change", p.change), ("ungate", p.ungate), ("resume", p.resume)] {
        if let Some(nj) = nj {
            line("energy", format!("{name} {nj}nJ"));
        }
    }
    for (name, ns) in [("clock", even.clock), ("gate", even.gate), ("suspend", even.suspend)] {
        if let Some(ns) = ns {
            line("break-even", format!("{name} {ns}ns"));
        }
    }
}
