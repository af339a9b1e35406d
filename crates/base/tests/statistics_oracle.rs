//! Our statistics against SciPy on published and drawn samples.
// Tests and benches read files and clocks; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dormouse_base::stats::paired::signed_rank;
use dormouse_base::stats::random::Random;
use dormouse_base::stats::test::{cohens_d, mann_whitney, welch};
use std::io::Write;
use std::process::{Command, Stdio};

type Pair = (Vec<f64>, Vec<f64>);

/// Student's sleep data (1908), the pair of samples of Welch's examples as
/// quoted in every textbook, and seeded draws of many sizes, some with ties.
fn samples() -> Vec<Pair> {
    let mut list: Vec<Pair> = vec![
        (
            vec![0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
            vec![1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
        ),
        (
            vec![
                27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
                21.4,
            ],
            vec![
                27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.3,
                24.0,
            ],
        ),
    ];
    let mut random = Random::new(20);
    for i in 0..60u64 {
        let mut draw = |n: u64, shift: f64| -> Vec<f64> {
            (0..n)
                .map(|_| {
                    let x = random.unit() * 10.0 + shift;
                    if i % 3 == 0 { x.round() } else { x }
                })
                .collect()
        };
        let a = draw(3 + i % 38, 0.0);
        let b = draw(3 + (i * 7) % 31, (i % 5) as f64);
        list.push((a, b));
    }
    list
}

#[test]
fn agrees_with_scipy_to_1e_9() {
    let python = std::env::var("DORMOUSE_PYTHON").unwrap_or_else(|_| "python3".into());
    let has_scipy = Command::new(&python)
        .args(["-c", "import scipy"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if !has_scipy {
        eprintln!("SKIPPED: no SciPy for {python}; `make test` sets it up in target/venv");
        return;
    }
    let pairs = samples();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/statistics.py");
    let mut child = Command::new(&python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the oracle starts");
    let input = serde_json::to_vec(&pairs).unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let rows: Vec<Vec<serde_json::Value>> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows.len(), pairs.len());
    for ((a, b), row) in pairs.iter().zip(rows) {
        let want = |i: usize| row[i].as_f64().unwrap();
        let close = |got: f64, want: f64, what: &str| {
            assert!(
                (got - want).abs() <= 1e-9 * want.abs().max(1.0),
                "{what}: {got} is not {want}"
            );
        };
        let w = welch(a, b).unwrap();
        close(w.t, want(0), "t");
        close(w.df, want(1), "df");
        close(w.p, want(2), "p");
        close(w.interval.0, want(3), "low");
        close(w.interval.1, want(4), "high");
        let m = mann_whitney(a, b).unwrap();
        close(m.u, want(5), "U");
        close(m.p, want(6), "p of U");
        assert_eq!(m.exact, row[7].as_bool().unwrap());
        close(cohens_d(a, b), want(8), "d");
        // All signs of twelve pairs are few enough to be tried one by one.
        let pairs = a.iter().zip(b).take(12);
        let differences: Vec<f64> = pairs.map(|(a, b)| ((b - a) * 1e9).round() / 1e9).collect();
        let s = signed_rank(&differences);
        close(s.positive, want(9), "signed ranks");
        close(s.p_below, want(10), "p below");
        close(s.p_above, want(11), "p above");
    }
}
