//! Writes a report of a made-up capture, to see how the page copes with size:
//! `large [CYCLES] [DEVICES] [FILE]`, by default 100 cycles of 5,000 devices.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle, Mode, Outcome, PhaseSpan, Thread, ThreadId};
use dormouse_base::device::{Device, DeviceId};
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_report::{Labelled, Options, render};
use dormouse_sleep::analyse::explain;

/// Worker threads beside the main thread.
const WORKERS: u16 = 16;
/// Children of each device.
const FAN_OUT: usize = 6;
/// The device that is slow in some cycles.
const SLOW: usize = 97;

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |default: u32| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (cycles, devices) = (number(100), number(5000));
    let file = args.next().unwrap_or_else(|| "large.html".into());
    let capture = capture(cycles, devices);
    let label = format!("{cycles} cycles of {devices} devices, made up");
    let views = explain(&capture);
    let options = Options { title: label.clone(), ..Options::default() };
    match render(
        &[Labelled {
            label: &label,
            capture: &capture,
            views: &views,
            findings: &[],
            waits: &[],
            whole: None,
        }],
        &options,
    ) {
        Ok(html) => {
            std::fs::write(&file, &html).expect("the file can be written");
            println!("{file}: {} KB", html.len().div_ceil(1024));
        }
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(3);
        }
    }
}

/// A machine with a tree of devices, of which every third is asynchronous.
fn capture(cycles: u32, devices: u32) -> Capture {
    let mut c = Capture::default();
    let mut r = Random::new(7);
    c.machine.model = c.names.add("a made-up server");
    c.graph.order_known = true;
    for i in 0..devices {
        let parent = (i > 0).then(|| DeviceId((i - 1) / FAN_OUT as u32));
        let name = match i % 4 {
            0 => format!("0000:{:02x}:{:02x}.{}", i / 256 % 256, i % 32, i % 8),
            1 => format!("{}-{:04x}", i % 12, i % 128),
            2 => format!("{:x}.serial", 0x4a00_0000u32 + i * 0x1000),
            _ => format!("1-{}.{}", i / 8 % 8 + 1, i % 8 + 1),
        };
        let device = Device {
            name: c.names.add(&name),
            driver: c.names.add(["pcieport", "at24", "of_serial", "usb"][i as usize % 4]),
            parent,
            parent_name: parent.map_or_else(Default::default, |p| c.graph.get(p).name),
            async_flag: Some(i % 3 == 0),
            ..Device::default()
        };
        c.graph.push(device);
    }
    let work: Vec<i64> = (0..devices)
        .map(|i| match i % 97 {
            0 => 2_000_000 + r.below(9_000_000) as i64,
            _ => 3_000 + r.below(60_000) as i64,
        })
        .collect();
    for k in 0..cycles {
        let cycle = cycle(&mut c, k, &work, &mut r);
        c.cycles.push(cycle);
    }
    c
}

fn cycle(c: &mut Capture, k: u32, work: &[i64], r: &mut Random) -> Cycle {
    let mut cycle = Cycle {
        source: c.names.add(&format!("run-{k:03}.trace")),
        kernel: c.names.add("6.12.0"),
        mode: Mode::S2idle,
        outcome: Outcome::Slept,
        ..Cycle::default()
    };
    for t in 0..=WORKERS {
        let name = if t == 0 { "sh".into() } else { format!("kworker/u32:{t}") };
        let name = c.names.add(&name);
        cycle.threads.push(Thread { pid: 900 + i32::from(t), name, is_main: Some(t == 0) });
    }
    let function = c.names.add("bus");
    let slower = if k % 17 == 5 { 30 } else { 1 };
    let mut now = Ns::ZERO;
    for phase in Phase::DEVICE {
        let down = phase.direction() == Direction::Suspend;
        let event = if down { PmEvent::Suspend } else { PmEvent::Resume };
        let start = now;
        let mut free = vec![now; usize::from(WORKERS) + 1];
        let mut done = vec![now; work.len()];
        // `dpm_prepare()` goes through the list as it was registered, `dpm_complete()` from
        // its end (drivers/base/power/main.c, v6.12).
        let backwards = down != (phase == Phase::Prepare || phase == Phase::Complete);
        for step in 0..work.len() {
            let i = if backwards { work.len() - 1 - step } else { step };
            let worker = phase.may_be_async() && i % 3 == 0;
            let first = |t: &usize| (free[*t], *t);
            let t = if worker { (1..free.len()).min_by_key(first).unwrap_or(0) } else { 0 };
            let share = if matches!(phase, Phase::Suspend | Phase::Resume) { 1 } else { 8 };
            let factor = if i == SLOW { slower } else { 1 };
            let length = work[i] / share * factor * (90 + r.below(20) as i64) / 100;
            // Up: after the parent. Down: after the children, which ran before.
            let parent = (i.max(1) - 1) / FAN_OUT;
            let ready = if backwards { done[i] } else { done[parent] };
            let begin = free[t].max(ready) + Ns(2_000);
            let end = begin + Ns(length / 1000 * 1000);
            free[t] = end;
            if backwards {
                done[parent] = done[parent].max(end);
            } else {
                done[i] = end;
            }
            cycle.callbacks.push(Callback {
                device: DeviceId(i as u32),
                phase,
                event,
                thread: ThreadId(t as u16),
                function,
                start: begin,
                end,
                error: 0,
                complete: true,
            });
        }
        now = free.into_iter().max().unwrap_or(now) + Ns(5_000);
        let span = |phase, start, end| PhaseSpan {
            phase,
            event,
            start,
            end,
            cpu: 0,
            complete: true,
            printed: None,
        };
        cycle.phases.push(span(phase, start, now));
        now += Ns(40_000);
        if phase == Phase::Noirq {
            let up = now + Ns(3_000_000_000);
            cycle.asleep = Some((now, up));
            cycle.phases.push(span(Phase::Asleep, now, up));
            now = up;
        }
    }
    cycle.callbacks.sort_by_key(|cb| cb.start);
    cycle.end = now;
    cycle
}
