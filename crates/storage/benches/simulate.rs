//! Speed of the simulator on one core: requests a second of three loads.
//!
//! `cargo bench -p dormouse-storage` prints times; nothing is asserted, because
//! machines differ.

use dormouse_storage::simulate::disk::simulate;
use dormouse_storage::simulate::settings::{Clock, Load, Qos, Settings, Sleep};
use std::hint::black_box;
use std::time::Instant;

const REQUESTS: u32 = 2_000_000;

fn main() {
    let settings = |qos, sleep| {
        let Settings { law, clock, .. } = Settings::laboratory();
        Settings { law, clock: Clock { blocks: true, ..clock }, qos, sleep }
    };
    let sleep = Some(Sleep { delay: 100_000_000, resume: 3_000_000 });
    let host = Qos::Host { timeout: 30_000_000 };
    let paced = |burst, period| Load::Paced { count: REQUESTS, bytes: 65_536, burst, period };
    for (name, s, load) in [
        ("back to back", settings(Qos::Off, None), paced(REQUESTS, 1)),
        ("1 read every 6 ms, quality of service", settings(host, None), paced(1, 6_000_000)),
        ("8 reads every 300 ms, suspended between", settings(host, sleep), paced(8, 300_000_000)),
    ] {
        let begin = Instant::now();
        black_box(simulate(&s, &load));
        let seconds = begin.elapsed().as_secs_f64();
        println!("{name}: {:.1} million requests a second", f64::from(REQUESTS) / seconds / 1e6);
    }
}
