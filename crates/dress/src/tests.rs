use super::*;

#[test]
fn a_seed_means_the_same_text() {
    let made = |seed| {
        let mut random = Random::new(seed);
        let story = story(Kernel::V7_3, 3, &mut random);
        (drawn(&story.lines, &mut random), story)
    };
    assert_eq!(made(7), made(7));
    assert_ne!(made(7).0.bytes, made(8).0.bytes);
}

#[test]
fn what_is_kept_is_in_the_text() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let story = story(Kernel::V6_12, 2, &mut random);
        let text = drawn(&story.lines, &mut random);
        let whole = text.damages.iter().all(|d| d.keeps_all());
        assert!(!whole || text.kept.iter().all(|k| *k), "{:?}", text.damages);
        // A word of its own: logcat pads what stands before a colon.
        for (line, _) in story.lines.iter().zip(&text.kept).filter(|(_, kept)| **kept) {
            let word = line.text.rsplit([' ', ':']).next().unwrap_or("");
            assert!(text.bytes.contains(word), "{word:?} of {:?} {:?}", text.dress, text.damages);
        }
    }
}

#[test]
fn a_real_log_is_taken_in() {
    let raw = "[    1.000250] a\nprose\n[   17.100000] Freezing user space processes completed (elapsed 0.001 seconds)\n\
        [   17.200000] b\n[   18.000000] Restarting tasks ... done.\n";
    let lines = lines_of(raw);
    let seen: Vec<(i64, bool)> = lines.iter().map(|l| (l.time.0, l.frozen)).collect();
    assert_eq!(
        seen,
        [
            (1_000_250_000, false),
            (17_100_000_000, true),
            (17_200_000_000, true),
            (18_000_000_000, false)
        ]
    );
    assert_eq!(
        posted(&lines, Dress::Raw, &[], &mut Random::new(1)).bytes,
        raw.replace("prose\n", "")
    );
}

#[test]
fn damages_happen_in_their_order() {
    let lines = lines_of(&format!("[    1.000000] PM: {}end\n", "word ".repeat(30)));
    let text = posted(&lines, Dress::Raw, &[Damage::Quoted, Damage::Wrapped], &mut Random::new(1));
    assert_eq!(text.damages, [Damage::Wrapped, Damage::Quoted]);
    assert!(
        text.bytes.lines().count() > 1
            && text.bytes.lines().all(|l| l.starts_with("> ") && l.len() <= 82)
    );
}

#[test]
fn files_are_torn_by_seed() {
    let torn_by = |seed| {
        let mut bytes = b"[    1.000000] PM: suspend exit\nand more\n".to_vec();
        let mut random = Random::new(seed);
        (0..20).for_each(|_| torn(&mut bytes, b"[    2.000000] other\n", &mut random));
        bytes
    };
    assert_eq!(torn_by(3), torn_by(3));
    let all: Vec<Vec<u8>> = (0..200).map(torn_by).collect();
    assert!(all.iter().any(Vec::is_empty) || all.iter().any(|b| b.len() > 100));
    // Nothing to tear, or to splice with, is no failure.
    (0..200).for_each(|seed| torn(&mut Vec::new(), b"", &mut Random::new(seed)));
}
