//! Real kernels against worked cases. Boots guests, so it is ignored by
//! default: `make lab-cases`, or
//! `cargo test -p dormouse-lab --test cases -- --ignored`.

use dormouse_lab::cases::{Cases, Pair, generation};
use dormouse_lab::kernels;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::run::run;
use std::time::Duration;

fn main_check(series: &str) {
    let cases = Cases::parse(&std::fs::read_to_string("/work/shared/spec/dpm-cases.json").unwrap())
        .unwrap();
    let kernel = kernels::get(Arch::Amd64, series).unwrap();
    println!("{kernel:?}");
    let cpus = if series == "6.1" { 1 } else { 4 };
    let machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &kernel.release);
    let mut jobs = Vec::new();
    let boards: Vec<_> = cases.cases.iter().map(|c| c.board(Pair::Normal).unwrap()).collect();
    for (case, board) in cases.cases.iter().zip(&boards) {
        for pm_async in [true, false] {
            jobs.push(case.job(board, Pair::Normal, pm_async));
        }
    }
    let boot = run(&kernel, &machine, &jobs, Duration::from_secs(900)).unwrap();
    println!("{series}: took {:?}", boot.took);
    std::fs::write(format!("/tmp/lab-{series}.log"), &boot.log).unwrap();
    let mut wrong = 0;
    for (i, o) in boot.outcomes.iter().enumerate() {
        let case = &cases.cases[i / 2];
        let pm_async = i % 2 == 0;
        std::fs::write(format!("/tmp/lab-{series}-{}.trace", o.name), &o.trace).unwrap();
        let v = cases
            .compare(case, generation(&kernel.release, pm_async), Pair::Normal, o, 2.0)
            .unwrap();
        println!("{} compared {} worst {:.3} {:?}", o.name, v.compared, v.worst, v.mismatches);
        wrong += v.mismatches.len();
    }
    assert_eq!(wrong, 0);
}

#[test]
#[ignore = "boots a guest"]
fn k6_12() {
    main_check("6.12");
}
#[test]
#[ignore = "boots a guest"]
fn k7() {
    main_check("7");
}
#[test]
#[ignore = "boots a guest"]
fn k6_1() {
    main_check("6.1");
}
