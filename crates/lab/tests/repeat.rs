//! Boots repeat byte for byte, whatever the host does meanwhile. Boots guests,
//! so ignored by default: `make prove SUBJECT=cases` runs it too, and `make prove SUBJECT=repeat`
//! does the same on every kernel with ten boots each.

use dormouse_board::generate::{Options, generate};
use dormouse_lab::capture::{Wish, captures, recipe, rerun};
use dormouse_lab::describe::guest_number;
use dormouse_lab::kernels;
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Disturbance, Machine};
use dormouse_lab::repeat::repeat;
use dormouse_lab::trace::{Intervals, cycles};
use dormouse_machine::recording::Recording;
use std::time::Duration;

/// Four CPUs, because their turns are what chance changes first.
#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn boots_are_the_same_on_a_disturbed_host_and_another_seed_is_another_sample() {
    let kernel = kernels::get(Arch::Amd64, "6.12").unwrap_or_else(|e| panic!("{e}"));
    let machine = Machine::new(Arch::Amd64, Accel::Icount, 4, &kernel.release);
    let board = generate(&Options { devices: 40, cpus: 4, ..Options::default() });
    let wish = Wish {
        board: Some(&board),
        waits: &[],
        sleep: Sleep::Platform,
        pm_async: true,
        cycles: 1,
        detail: Vec::new(),
        samples: 1,
        limit: Duration::from_secs(900),
    };
    let boots = |disturbance| {
        let r = repeat(&kernel, &machine, &wish, 2, disturbance, |_, _| {})
            .unwrap_or_else(|e| panic!("{e}"));
        println!("{}, 4 CPUs, {disturbance:?}: {r:?}", kernel.release);
        r.different
    };
    assert_eq!(boots(Disturbance::Jitter), 0);
    // Chance decides whether this one parts, so it is printed only.
    boots(Disturbance::JitterAlone);
    // Were the comparison blind, another sample would be the same as well.
    let trace = |seed| {
        let machine = Machine { seed, ..machine.clone() };
        let all = captures(&kernel, &machine, std::slice::from_ref(&wish), 1)
            .unwrap_or_else(|e| panic!("{e}"));
        all.recordings[0].cycles().next().unwrap().unwrap().trace
    };
    assert!(trace(1) != trace(2), "two seeds gave the same trace");
}

/// A board that shares its boot with others gives what it gives alone, and its
/// capture says enough to make it again.
#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn a_board_in_a_shared_boot_does_what_it_does_alone_and_can_be_made_again() {
    let kernel = kernels::get(Arch::Amd64, "6.12").unwrap_or_else(|e| panic!("{e}"));
    let machine = Machine::new(Arch::Amd64, Accel::Icount, 4, &kernel.release);
    let boards =
        [7, 8].map(|seed| generate(&Options { seed, devices: 40, cpus: 4, ..Options::default() }));
    let wish = |n: usize| Wish {
        board: Some(&boards[n]),
        waits: &[],
        sleep: Sleep::Platform,
        pm_async: true,
        cycles: 1,
        detail: Vec::new(),
        samples: 1,
        limit: Duration::from_secs(900),
    };
    let made = |wishes: &[Wish<'_>]| {
        let all = captures(&kernel, &machine, wishes, 1).unwrap_or_else(|e| panic!("{e}"));
        all.recordings.into_iter().next_back().unwrap()
    };
    let (alone, shared) = (made(&[wish(1)]), made(&[wish(0), wish(1)]));
    let cycle = |recording: &Recording| {
        let members = recording.cycles().next().unwrap().unwrap();
        assert_eq!(recording.len(), 1);
        cycles(&String::from_utf8(members.trace).unwrap()).remove(0)
    };
    let (a, b) = (cycle(&alone), cycle(&shared));
    // The guest's own devices may come and go.
    let own = |c: &Intervals| {
        let ours = |name: &String| guest_number(name).is_some();
        let list: Vec<String> = c.list.iter().filter(|n| ours(n)).cloned().collect();
        let called: Vec<_> = c.of.keys().filter(|(_, n)| ours(n)).cloned().collect();
        (list, called)
    };
    assert_eq!(own(&a), own(&b), "dpm_list and callbacks");
    for (phase, t) in &a.phases {
        let off = (b.phases[phase].0 - t.0).abs();
        println!("{phase:?}: {t} alone, {} shared", b.phases[phase]);
        assert!(off <= (t.0 / 50).max(50_000), "{phase:?}");
    }
    let bytes = dormouse_machine::file::encode(&shared, Vec::new()).unwrap();
    let how = recipe(&bytes).unwrap();
    assert!(!how.out_of_step, "QEMU's threads are in step");
    let again = rerun(&kernel, &how, Duration::from_secs(900)).unwrap_or_else(|e| panic!("{e}"));
    let again = dormouse_machine::file::encode(&again, Vec::new()).unwrap();
    assert!(again == bytes, "made again it is another capture");
}
