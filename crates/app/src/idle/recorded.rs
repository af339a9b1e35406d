//! What a recording of idle sleeps says itself, in the figures of the model.

use super::machine::Machine;
use dormouse_idle::energy::Powers;
use dormouse_idle::verdict::Figures;

/// Time that all CPUs were watched, ns.
pub(super) fn span(m: &Machine) -> i64 {
    m.cpus.iter().map(|c| c.wakes.end - c.wakes.start).sum::<i64>().max(1)
}

/// What a recording says itself.
pub(super) fn recorded(m: &Machine, powers: &[Powers]) -> Figures {
    let span = span(m);
    let mut delays: Vec<i64> = m.cpus.iter().flat_map(|c| &c.wakes.delays).copied().collect();
    delays.sort_unstable();
    let quantile = |per_mille: usize| {
        let at = (delays.len() * per_mille).div_ceil(1_000).max(1) - 1;
        delays.get(at).copied().unwrap_or(0)
    };
    let energy = recorded_energy(m, powers);
    Figures {
        shares: m.recorded.iter().map(|s| s.time * 10_000 / span).collect(),
        p50: quantile(500),
        p99: quantile(990),
        energy: (energy / i128::from(span)) as i64,
        sleeps: m.recorded.iter().map(|s| s.sleeps).sum(),
    }
}

/// Energy of the sleeps as they were recorded.
pub(super) fn recorded_energy(m: &Machine, powers: &[Powers]) -> i128 {
    let mut energy: i128 = 0;
    for (cpu, powers) in m.cpus.iter().zip(powers) {
        for (i, s) in cpu.recorded.iter().enumerate() {
            // Without what it took to leave, as the model counts.
            let lists = [&cpu.wakes.exits, &cpu.wakes.tick_exits];
            let exits = || lists.iter().filter_map(|l| l.get(i)).flatten();
            let nominal = cpu.table.states().get(i).map_or(0, |s| s.latency);
            let exit = match exits().count() as i64 {
                0 => nominal,
                n => exits().sum::<i64>() / n,
            };
            let asleep = s.time - exit * s.sleeps as i64;
            energy += powers.of(i, 0) * i128::from(s.sleeps)
                + i128::from(powers.power(i)) * i128::from(asleep);
        }
    }
    energy
}
