//! Every message that kernels print around sleep, in a log, read and told.

use dormouse_base::stats::random::Random;
use dormouse_doctor::formats::all;
use dormouse_doctor::formats::draw::{Drawn, drawn, is_understood};
use dormouse_read::doctor::read_bytes;

#[test]
fn messages_in_a_log_are_told_by_their_formats() {
    let formats = all();
    for seed in 1..=3 {
        let mut random = Random::new(seed);
        let made: Vec<Drawn> = formats.list.iter().map(|f| drawn(f, &mut random)).collect();
        let mut log = String::new();
        for (i, d) in made.iter().enumerate() {
            log.push_str(&format!("[{:5}.{:06}] {}\n", 40 + i / 50, i % 50 * 20_000, d.text));
        }
        let text = read_bytes("drawn", log.as_bytes());
        let (mut rest, mut right) = (0, 0);
        for (i, (format, d)) in formats.list.iter().zip(&made).enumerate() {
            if !format.is_telling() {
                continue;
            }
            let message = text.case.messages.iter().find(|m| m.line == i as u64 + 1);
            let known = message.and_then(|m| formats.recognise(&m.text));
            let understood = is_understood(format, d, known.as_ref());
            if format.core {
                assert!(understood, "seed {seed}: {:?} of {:?}: {known:?}", d.text, format.text);
            } else {
                rest += 1;
                right += u32::from(understood);
            }
        }
        assert!(right * 100 >= rest * 99, "seed {seed}: {right} of {rest}");
    }
}
