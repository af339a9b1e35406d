//! What traces say of causes.

use super::*;
use dormouse_base::loss::Losses;

/// A task sleeps 1 ms after its work; the exit latency is 100 us, and the
/// handler runs at the begin of it, as in the laboratory's guests.
const TRACE: &str = "\
# tracer: nop
          <idle>-0       [000] d..1.     1.000000: cpu_idle: state=1 cpu_id=0
          <idle>-0       [000] d.h1.     1.000500: hrtimer_expire_entry: hrtimer=aa function=hrtimer_wakeup now=1000500000
          <idle>-0       [000] d.h3.     1.000501: sched_waking: comm=w pid=33 prio=120 target_cpu=000
          <idle>-0       [000] dN.1.     1.000600: cpu_idle: state=4294967295 cpu_id=0
          <idle>-0       [000] d..2.     1.000606: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=w next_pid=33 next_prio=120
               w-33      [000] d..1.     1.000650: hrtimer_start: hrtimer=bb function=hrtimer_wakeup expires=1001650000 softexpires=1001600000 mode=REL was_armed=0
               w-33      [000] d..2.     1.000656: sched_switch: prev_comm=w prev_pid=33 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0       [000] d..2.     1.000660: idle_sl: (menu_select+0x2f0/0x5d0 <- tick_nohz_get_sleep_length) ret=990000 dt=990000
          <idle>-0       [000] d..1.     1.000666: cpu_idle: state=1 cpu_id=0
          <idle>-0       [000] d.h1.     1.001000: hrtimer_expire_entry: hrtimer=cc function=tick_nohz_handler now=1001000300
          <idle>-0       [000] d..1.     1.001090: cpu_idle: state=4294967295 cpu_id=0
          <idle>-0       [000] d..1.     1.001100: cpu_idle: state=1 cpu_id=0
          <idle>-0       [000] d.h1.     1.001651: hrtimer_expire_entry: hrtimer=bb function=hrtimer_wakeup now=1001650400
          <idle>-0       [000] d.h3.     1.001652: sched_waking: comm=w pid=33 prio=120 target_cpu=000
          <idle>-0       [000] dN.1.     1.001770: cpu_idle: state=4294967295 cpu_id=0
          <idle>-0       [000] d..2.     1.001776: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=w next_pid=33 next_prio=120
               w-33      [000] d..2.     1.001800: sched_switch: prev_comm=w prev_pid=33 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0       [000] d..1.     1.001810: cpu_idle: state=0 cpu_id=0
";

fn wakes(text: &str) -> BTreeMap<u32, Wakes> {
    let mut causes = Causes::default();
    crate::events(text.as_bytes(), &mut causes, &mut Losses::default());
    causes.finish()
}

#[test]
fn a_timer_follows_the_work_that_armed_it() {
    let all = wakes(TRACE);
    let w = &all[&0];
    assert_eq!((w.start, w.list.len()), (1_000_000_000, 2));
    let (a, b) = (w.list[0], w.list[1]);
    // Armed before the trace: when it expires is when it was served.
    assert_eq!((a.at, a.work, a.after), (1_000_500_000, 50_000, None));
    assert_eq!(a.done, 1_000_656_000);
    assert_eq!((b.at, b.slack, b.work), (1_001_650_000, 50_000, 24_000));
    assert_eq!(b.after, Some(After { wake: 0, moves: true }));
    assert!(a.leaves && b.leaves && b.timer);
    // The tick ended one sleep, and is no cause.
    assert_eq!(w.exits[1], [100_000, 120_000]);
    assert_eq!(w.tick_exits[1], [89_700]);
    assert_eq!(w.delays, [100_000, 120_000]);
    assert_eq!(w.phase, 1_001_000_300);
    assert_eq!(w.costs, Costs { begin: 6_000, end: 10_000, again: 10_000, more: 0 });
    assert!(w.pending.is_empty(), "the timer code named a timer that is known");
}

/// The scheduler's timer is cancelled when the CPU gets idle, and its clock event
/// comes at 1.000900 all the same (7.3).
#[test]
fn a_cancelled_timer_of_the_scheduler_leaves_a_clock_event() {
    let armed = "          <idle>-0       [000] d..3.     1.000607: hrtimer_start: hrtimer=dd function=hrtick expires=1000900000 softexpires=1000900000 mode=ABS|PINNED|HARD was_armed=0\n";
    let gone = "          <idle>-0       [000] d..3.     1.000657: hrtimer_cancel: hrtimer=dd\n";
    let slept = "          <idle>-0       [000] d..1.     1.000990: cpu_idle: state=4294967295 cpu_id=0\n          <idle>-0       [000] d..1.     1.000995: cpu_idle: state=1 cpu_id=0\n";
    let put = |text: &str, before: &str, new: &str| {
        let at = text.find(before).expect("a line");
        let at = text[..at].rfind('\n').map_or(0, |n| n + 1);
        format!("{}{new}{}", &text[..at], &text[at..])
    };
    let text = put(TRACE, "1.000650: hrtimer_start", armed);
    let text = put(&text, "1.000660: idle_sl", gone);
    let text = put(&text, "1.001000: hrtimer_expire_entry", slept);
    let w = &wakes(&text)[&0];
    assert_eq!(w.turn, 293_000);
    // It explains the sleep: there is no cause that nobody knows.
    assert_eq!(w.list.len(), 2, "{:?}", w.list);
    // Where none was armed there is one.
    let text = text.replace(armed, "").replace(gone, "");
    assert_eq!((wakes(&text)[&0].turn, wakes(&text)[&0].list.len()), (0, 3));
}

#[test]
fn what_the_timer_code_names_and_nobody_knows_is_kept() {
    let far = TRACE.replace("ret=990000 dt=990000", "ret=300000 dt=200000");
    let w = &wakes(&far)[&0];
    let (from, until) = (1_000_660_000 - NEAR, 1_001_810_000);
    assert_eq!(w.pending, [Pending { from, until, at: 1_000_956_000 }]);
}

#[test]
fn a_task_woken_from_another_cpu_is_an_event_when_it_was_woken() {
    let from_1 = TRACE.replace(
            "          <idle>-0       [000] d.h1.     1.000500: hrtimer_expire_entry: hrtimer=aa function=hrtimer_wakeup now=1000500000\n          <idle>-0       [000] d.h3.     1.000501",
            "               x-44      [001] d.h3.     1.000450",
        );
    let w = &wakes(&from_1)[&0];
    assert_eq!((w.list[0].at, w.list[0].timer), (1_000_450_000, false));
    assert_eq!(w.exits[1], [120_000, 150_000]);
}

#[test]
fn without_timers_or_switches_nothing_is_claimed() {
    let bare: String =
        TRACE.lines().filter(|l| !l.contains("hrtimer_start")).map(|l| format!("{l}\n")).collect();
    assert!(wakes(&bare).is_empty());
}

/// The third tick after it was due serves a timer that may be deferred.
#[test]
fn a_timer_that_may_be_deferred_is_due_before_it_is_served() {
    let tick = |time: &str, ns: &str| {
        format!(
            "          <idle>-0       [000] d.h1.     {time}: hrtimer_expire_entry: hrtimer=cc function=tick_nohz_handler now={ns}\n"
        )
    };
    let wheel = |time: &str, what: &str| {
        format!("          <idle>-0       [000] d.s2.     {time}: {what}\n")
    };
    let expire = |name: &str, now: u32| {
        format!("timer_expire_entry: timer={name} function=f now={now} baseclk={now}")
    };
    let start = |name: &str, due: u32, flags: &str| {
        format!(
            "timer_start: timer={name} function=f expires={due} [timeout=2] bucket_expiry={due} cpu=0 idx=3 flags={flags}"
        )
    };
    let more = [
        tick("1.004000", "1004000000"),
        wheel("1.004003", &expire("t1", 101)),
        wheel("1.004004", &start("t2", 102, "D|P|I")),
        wheel("1.004005", &start("t3", 103, "P")),
        tick("1.016000", "1016000000"),
        wheel("1.016003", &expire("t2", 104)),
        tick("1.020000", "1020000000"),
        wheel("1.020003", &expire("t3", 105)),
    ];
    let w = &wakes(&(TRACE.to_owned() + &more.concat()))[&0];
    let of = |i: usize| (w.list[i].at, w.list[i].wheel, w.list[i].deferrable, w.list[i].after);
    assert_eq!(of(2), (1_004_000_000, true, false, None));
    assert_eq!(of(3), (1_008_000_000, true, true, Some(After { wake: 2, moves: true })));
    assert_eq!(of(4), (1_020_000_000, true, false, None));
}

/// What the second timer of an interrupt takes is told apart from the exit.
#[test]
fn a_second_timer_of_an_interrupt_is_no_part_of_the_exit() {
    let line = "          <idle>-0       [000] d.h1.     1.000503: hrtimer_expire_entry: hrtimer=ee function=hrtimer_wakeup now=1000500000\n";
    let at = TRACE.find("          <idle>-0       [000] dN.1.     1.000600").expect("a line");
    let w = &wakes(&format!("{}{line}{}", &TRACE[..at], &TRACE[at..]))[&0];
    assert_eq!((w.costs.more, &w.exits[1][..]), (3_000, &[97_000, 120_000][..]));
    assert_eq!(w.delays, [100_000, 120_000]);
}

#[test]
fn requests_are_known_by_device_and_sector() {
    let issue = b"254,0 R 4096 () 1234 + 8 none,0,0 [w]";
    let done = b"254,0 R () 1234 + 8 none,0,0 [0]";
    assert_eq!(request(issue), request(done));
    assert_eq!(request(b"254,0 R ()"), None);
}
