//! A report as text: nothing of a log becomes markup, and the same input gives
//! the same bytes. What the page does with it is tested in a browser (web/).

use dormouse_read::{Options as ReadOptions, read_bytes};
use dormouse_report::{Error, Labelled, Options, render};
use dormouse_sleep::analyse::explain;

const HURT: &str = "\"><script>alert(1)</script><!--";

fn trace() -> String {
    let line = |t: u32, text: &str| format!("  sh-9 [000] .... 1.{t:06}: {text}\n");
    let mut out = String::from("# tracer: nop\n");
    let device = format!("hurt {HURT}, parent: none");
    for (t, text) in [
        (0, "suspend_resume: suspend_enter[3] begin".to_string()),
        (10, "suspend_resume: dpm_suspend[2] begin".into()),
        (20, format!("device_pm_callback_start: {device}, bus [suspend]")),
        (9_020, format!("device_pm_callback_end: hurt {HURT}, err=0")),
        (9_030, "suspend_resume: dpm_suspend[2] end".into()),
        (9_040, "suspend_resume: machine_suspend[3] begin".into()),
        (19_040, "suspend_resume: machine_suspend[3] end".into()),
        (19_050, "suspend_resume: dpm_resume[16] begin".into()),
        (19_060, format!("device_pm_callback_start: {device}, bus [resume]")),
        (19_090, format!("device_pm_callback_end: hurt {HURT}, err=0")),
        (19_095, "suspend_resume: dpm_resume[16] end".into()),
        (19_099, "suspend_resume: thaw_processes[0] begin".into()),
        (19_100, "suspend_resume: thaw_processes[0] end".into()),
    ] {
        out.push_str(&line(t, &text));
    }
    out
}

fn report(label: &str, text: &str) -> Result<String, Error> {
    let reading = read_bytes(label, text.as_bytes(), &ReadOptions::default()).expect("text");
    let views: Vec<_> = reading.captures.iter().map(explain).collect();
    let list: Vec<Labelled<'_>> = reading
        .captures
        .iter()
        .zip(&views)
        .map(|(capture, views)| Labelled {
            label,
            capture,
            views,
            findings: &[],
            waits: &[],
            whole: None,
        })
        .collect();
    render(&list, &Options { title: HURT.into(), ..Options::default() })
}

#[test]
fn names_and_titles_do_not_become_markup() {
    match report(HURT, &trace()) {
        Ok(html) => {
            assert!(!html.contains("alert(1)"));
            assert!(html.contains("id=\"block-0\""));
            assert_eq!(html, report(HURT, &trace()).expect("as before"));
        }
        Err(Error::NoPage) => eprintln!("SKIPPED: built without the page (make web)"),
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn an_input_without_cycle_is_an_error() {
    assert!(matches!(report("empty", "nothing here\n"), Err(Error::NoCycle)));
}
