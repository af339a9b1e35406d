//! Trouble, each in its own sleep: nothing that was kept is lost in silence, and no sleep waits.

use super::guest::{Case, Guests};
use super::told::Told;
use anyhow::{Result, anyhow};
use std::thread;

const SCRIPT: &str = include_str!("trouble.sh");
/// Rows that are there before each: 80 a page, and pages of rows begin with the seventh, so that
/// both halves of the file have some.
const PAST: usize = 600;
/// A sleep may be delayed by so much more than one without trouble, ms.
const MOST_MS: f64 = 50.0;

/// What is to be after one.
struct Trouble {
    name: &'static str,
    what: &'static str,
    /// Rows of the log that must be there still.
    past: usize,
    /// Rows of sleeps that were slept.
    slept: usize,
    /// The screen has one of these words.
    says: &'static [&'static str],
    /// The damaged file is kept beside.
    aside: bool,
    /// What a victim is to hold.
    victim: &'static str,
}

const fn trouble(name: &'static str, what: &'static str) -> Trouble {
    Trouble { name, what, past: PAST, slept: 1, says: &[], aside: false, victim: "" }
}

const ALL: [&[Trouble]; 4] = [
    &[
        trouble("none", "none"),
        Trouble { past: 0, slept: 0, says: &["full"], ..trouble("full", "the disk is full") },
        Trouble { says: &["full"], ..trouble("full-mended", "then it has room") },
        Trouble {
            past: 0,
            slept: 0,
            says: &["read-only", "readonly"],
            ..trouble("read-only", "the folder is read-only")
        },
        Trouble {
            says: &["read-only", "readonly"],
            ..trouble("read-only-mended", "then it is not")
        },
        Trouble {
            says: &["damaged"],
            aside: true,
            ..trouble("head", "random bytes over the head of the database")
        },
        Trouble {
            says: &["damaged"],
            aside: true,
            ..trouble("first-page", "random bytes over its first page")
        },
    ],
    &[
        trouble("none", "none"),
        Trouble {
            past: PAST / 2,
            says: &["damaged"],
            aside: true,
            ..trouble("middle", "random bytes over its middle")
        },
        Trouble { past: 0, says: &["was empty"], ..trouble("emptied", "it is cut to nothing") },
        Trouble {
            past: PAST / 8,
            says: &["damaged"],
            aside: true,
            ..trouble("halved", "it is cut in half")
        },
        trouble("journal", "a journal and a log of writes of others are left beside it"),
        Trouble {
            slept: 2,
            says: &["set back"],
            ..trouble("clock", "the clock is set back by a day between two sleeps")
        },
    ],
    &[
        trouble("none", "none"),
        Trouble {
            past: 0,
            slept: 0,
            says: &["is a link"],
            victim: "mine",
            ..trouble("link", "a link lies in place of the database")
        },
        trouble("link-mended", "then it is gone"),
        Trouble {
            past: 0,
            slept: 0,
            says: &["is a link"],
            victim: "755 0",
            ..trouble("folder-link", "a link lies in place of the folder")
        },
        trouble("folder-link-mended", "then it is gone"),
        trouble("two", "each hook runs twice at once"),
        Trouble { slept: 2, ..trouble("killed-after-04", "the hook after is killed after 4 ms") },
    ],
    &[
        trouble("none", "none"),
        Trouble { slept: 2, ..trouble("killed-after-12", "the same, 12 ms") },
        Trouble { slept: 2, ..trouble("killed-after-18", "the same, 18 ms") },
        Trouble { slept: 2, ..trouble("killed-after-24", "the same, 24 ms") },
        Trouble { slept: 2, ..trouble("killed-before-04", "the hook before is killed after 4 ms") },
        Trouble { slept: 2, ..trouble("killed-before-08", "the same, 8 ms") },
        Trouble { slept: 2, ..trouble("killed-before-12", "the same, 12 ms") },
    ],
];

pub(super) fn told(guests: &Guests) -> Result<Told> {
    let mut out = Told {
        text: format!(
            "## Trouble\n\nEach in a sleep of its own, with {PAST} sleeps of a log kept before.\n\n\
             | trouble | kept before | slept | said | later before, ms | later after, ms |\n\
             | --- | ---: | ---: | --- | ---: | ---: |\n"
        ),
        ..Told::default()
    };
    let boot = |group: &[Trouble]| {
        let names: Vec<&str> =
            group.iter().map(|t| t.name).filter(|n| !n.ends_with("-mended")).collect();
        guests.run(&format!("PAST={PAST}\nTROUBLES='{}'\n{SCRIPT}", names.join(" ")))
    };
    let booted = thread::scope(|s| {
        let all = ALL.map(|group| s.spawn(move || boot(group)));
        all.map(|guest| guest.join().unwrap_or_else(|_| Err(anyhow!("a guest's thread panicked"))))
    });
    for (group, cases) in ALL.into_iter().zip(booted) {
        let cases = cases?;
        let healthy = cases.first().and_then(|c| c.hooks().last().copied());
        for t in group {
            match cases.iter().find(|c| c.name == t.name) {
                Some(case) => t.judge(case, healthy, &mut out),
                None => out.wrong.push(format!("{}: the guest did not come to it", t.name)),
            }
        }
    }
    Ok(out)
}

impl Trouble {
    fn judge(&self, case: &Case, healthy: Option<(f64, f64)>, out: &mut Told) {
        let (past, slept, screen) = (case.rows("log"), case.rows("hook"), case.text("screen"));
        let wrong = |what: String| format!("{}: {what}; {screen}", self.name);
        out.check(past >= self.past, || wrong(format!("{past} of {PAST} kept before")));
        // Of a sleep before which nothing could be read it is said that it has no row.
        let unread = usize::from(screen.contains("has no row"));
        let right = slept == self.slept || self.slept > slept && slept + unread == self.slept;
        out.check(right, || wrong(format!("{slept} rows of {} sleeps", self.slept)));
        let said = self.says.iter().find(|s| screen.contains(**s));
        out.check(self.says.is_empty() || said.is_some(), || wrong("not said".into()));
        let aside = case.text("files").contains("damaged-1");
        out.check(!self.aside || aside, || wrong("the damaged file is not kept".into()));
        let victim = case.text("victim");
        out.check(victim == self.victim, || wrong(format!("a link was followed: {victim:?}")));
        let hooks = case.hooks().last().copied();
        let later = hooks.zip(healthy).map(|(h, n)| (h.0 - n.0, h.1 - n.1));
        // Of a hook that is killed by its unit the unit's own programs take time.
        let counts = !self.name.starts_with("killed") && self.name != "two";
        if let Some((before, after)) = later.filter(|_| counts) {
            out.check(before <= MOST_MS && after <= MOST_MS, || {
                wrong(format!("later by {before:.0} and {after:.0} ms"))
            });
        }
        let ms = |of: fn((f64, f64)) -> f64| {
            later.filter(|_| counts).map_or("-".into(), |l| format!("{:.0}", of(l)))
        };
        let said = match (said, unread) {
            (Some(s), _) => format!("\"{s}\""),
            (None, 1) => "\"has no row\"".into(),
            _ => "-".into(),
        };
        out.text += &format!(
            "| {} | {past} | {slept} | {said} | {} | {} |\n",
            self.what,
            ms(|l| l.0),
            ms(|l| l.1)
        );
    }
}
