//! What the pages show is what the command prints.

use crate::ran::{output, root};

/// Runs the command shown in `page`, between its two marks, and compares.
fn is_real(page: &str) {
    let text = std::fs::read_to_string(root().join(page)).expect(page);
    let (_, rest) = text.split_once("<!-- demo begin -->\n").expect("a place for the demo");
    let (shown, _) = rest.split_once("<!-- demo end -->").expect("its end");
    let body: Vec<&str> =
        shown.lines().filter(|l| !l.starts_with("```")).skip_while(|l| l.is_empty()).collect();
    // A command may go on after a backslash.
    let lines = 1 + body.iter().take_while(|l| l.ends_with('\\')).count();
    let command = body[..lines].join(" ").replace('\\', "");
    let words = command.strip_prefix("$ dormouse ").expect("a command").split_whitespace();
    let out = output(words);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let printed = String::from_utf8(out.stdout).expect("text");
    let want = body[lines..].join("\n");
    // A page may show the first lines only.
    let (want, printed) = match want.trim().strip_suffix("\n[...]") {
        Some(start) => {
            let n = start.lines().count();
            (start.trim(), printed.lines().take(n).collect::<Vec<_>>().join("\n"))
        }
        None => (want.trim(), printed.clone()),
    };
    assert_eq!(want, printed.trim(), "run the command and put its output into {page}");
}

#[test]
fn the_output_in_the_readme_is_real() {
    is_real("README.md");
}

#[test]
fn the_worked_example_of_energy_is_real() {
    is_real("docs/energy.md");
}
