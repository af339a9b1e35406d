//! One number for many schedules: equal only if every bit of them is.
//!
//! The same boards are drawn, simulated under every policy and hashed wherever
//! this runs, so two builds of the core (native and WebAssembly) can be compared.

use super::policy::ALL;
use super::{Cpus, Profile, Settings, Topology, run};
use dormouse_board::generate::{Options, generate};

/// The number for the boards with seeds `0..boards`.
pub fn fingerprint(boards: u64) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for seed in 0..boards {
        let board = generate(&Options {
            seed,
            devices: 30 + (seed as u32 % 7) * 30,
            computing: 30,
            locked: 10,
            direct_complete: 10,
            prepare: 10,
            dormant: 10,
            ..Options::default()
        });
        let Ok(topology) = Topology::new(&board) else { continue };
        let mut profile = if seed % 2 == 0 { Profile::x86() } else { Profile::phone() };
        profile.cpus.get_or_insert(Cpus::equal(3));
        let settings = Settings { profile, pm_async: None, wakeup_at: None };
        for policy in ALL {
            let Ok(r) = run(&topology, policy, &settings) else {
                hash.add(1);
                continue;
            };
            for c in &r.cycle.callbacks {
                hash.add(u64::from(c.device.0));
                hash.add(u64::from(c.thread.0));
                hash.add(c.start.0 as u64);
                hash.add(c.end.0 as u64);
            }
            for p in &r.cycle.phases {
                hash.add(p.start.0 as u64);
                hash.add(p.end.0 as u64);
            }
            hash.add(r.tally.wakeups);
            hash.add(r.tally.blocked_waits);
            hash.add(r.tally.workers_created);
        }
    }
    hash.0
}

/// FNV-1a over words.
struct Hash(u64);

impl Hash {
    fn add(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_boards_are_another_number_and_the_same_are_the_same() {
        assert_eq!(fingerprint(3), fingerprint(3));
        assert_ne!(fingerprint(3), fingerprint(4));
    }
}
