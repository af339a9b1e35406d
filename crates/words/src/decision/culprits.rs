//! What `search` found: which settings bring the trouble.

use crate::document::{SEARCH, document};
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next::next;
use crate::wording::number::{names, plural};
use dormouse_sleep::culprits::{Culprits, Verdict, Way};
use serde_json::{Value, json};

/// So many suspects are named.
const SUSPECTS: usize = 5;

/// What was searched, and how.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// `wakeup`, `async` or `driver`.
    pub kind: &'a str,
    /// Names of the devices, in the order of their numbers.
    pub devices: &'a [String],
    /// What was found, if anything.
    pub verdict: Option<&'a Verdict>,
    /// Numbers of devices with the weight that each is a culprit, the most suspected first.
    pub suspects: &'a [(usize, f64)],
    /// All sleeps, with why each was one with trouble.
    pub sleeps: &'a [Option<String>],
    /// The trouble was taken to come at least once in so many sleeps.
    pub rarest: u32,
    /// Where the list of sleeps is.
    pub list: &'a str,
    /// Lines of the list that cannot be read.
    pub unreadable: u32,
    /// The rule that makes the remedy last, and where it was written.
    pub rules: Option<(&'a str, Option<&'a str>)>,
    /// The same command with more sleeps.
    pub again: &'a str,
}

impl Search<'_> {
    fn troubled(&self) -> usize {
        self.sleeps.iter().filter(|s| s.is_some()).count()
    }

    fn named(&self, numbers: &[usize]) -> Vec<String> {
        numbers.iter().map(|n| safe(&self.devices[*n]).into_owned()).collect()
    }

    /// `ended before their alarm`: what sleeps with trouble did.
    fn did(&self) -> &'static str {
        if self.kind == "wakeup" { "ended before their alarm or failed" } else { "had the trouble" }
    }

    /// The culprits in a sentence.
    fn found(&self, c: &Culprits) -> String {
        let who = names(&self.named(&c.settings));
        let first = match self.kind {
            "wakeup" => format!("This machine is woken by {who}"),
            "async" => {
                format!("The trouble comes when callbacks of {who} run beside those of others")
            }
            _ if c.settings.len() > 1 => format!("The trouble comes with the drivers of {who}"),
            _ => format!("The trouble comes with the driver of {who}"),
        };
        let way = match c.way {
            Way::Alone => "",
            Way::Each => ", each without the other",
            Way::Together => ", but only both together: it is enough to turn one off",
        };
        format!("{first}{way}.")
    }

    fn proof(&self, c: &Culprits) -> String {
        let (on, off) = match (c.way, c.settings.len()) {
            (Way::Together, _) => ("both on".into(), format!("{} off", self.named(c.remedy())[0])),
            (Way::Each, _) => ("one of them on".into(), "both off".to_string()),
            _ => ("it on".to_string(), "it off".into()),
        };
        format!(
            "With {on}, {} of {} {}; with {off} and all others on, none of the last {} did. \
             {:.1} % sure.",
            c.troubled,
            plural(c.sleeps as usize, "sleep"),
            self.did(),
            c.clean,
            // What is not quite certain is not rounded up to it.
            (c.sure * 1_000.0).floor() / 10.0
        )
    }
}

/// The answer for a terminal.
#[must_use]
pub fn text(s: &Search<'_>) -> String {
    let mut page = Page::new(false);
    let all = plural(s.devices.len(), "device");
    let sleeps = plural(s.sleeps.len(), "sleep");
    match s.verdict {
        Some(Verdict::Found(c)) => {
            page.wrapped(Ink::Strong, 0, 2, &s.found(c));
            page.wrapped(Ink::Plain, 0, 2, &s.proof(c));
        }
        Some(Verdict::Elsewhere { troubled, sleeps: off }) => {
            page.wrapped(Ink::Strong, 0, 2, &format!("None of {all} is to blame."));
            let off = plural(*off as usize, "sleep");
            let with = format!("With all of them off {troubled} of {off} {}.", s.did());
            page.wrapped(Ink::Plain, 0, 2, &with);
        }
        Some(Verdict::Quiet { sleeps: on }) => {
            page.wrapped(Ink::Strong, 0, 2, &format!("The trouble did not come in {sleeps}."));
            let luck = 1.0 - 1.0 / f64::from(s.rarest);
            let luck = 100.0 * luck.powf(f64::from(*on));
            let with = format!(
                "If it comes once in {} with all of {all} on, {on} such sleeps are without it in \
                 {luck:.1} % of searches.",
                plural(s.rarest as usize, "sleep")
            );
            page.wrapped(Ink::Plain, 0, 2, &with);
        }
        None => {
            let first = format!("Not found in {sleeps}; {} of them {}.", s.troubled(), s.did());
            page.wrapped(Ink::Strong, 0, 2, &first);
            let part = |(n, share): &(usize, f64)| {
                format!("{} ({:.0} %)", safe(&s.devices[*n]), share * 100.0)
            };
            let suspects: Vec<String> = s.suspects.iter().take(SUSPECTS).map(part).collect();
            let most = format!("Most suspected: {}.", names(&suspects));
            page.wrapped(Ink::Plain, 0, 2, &most);
        }
    }
    let mut reasons: Vec<&str> = s.sleeps.iter().flatten().map(String::as_str).collect();
    let last = reasons.pop();
    if let Some(last) = last {
        let last = format!("The last trouble: {}.", safe(last));
        page.wrapped(Ink::Plain, 0, 2, &last);
    }
    if s.unreadable > 0 {
        let lines = plural(s.unreadable as usize, "line");
        page.wrapped(Ink::Plain, 0, 2, &format!("{lines} of the list cannot be read."));
    }
    page.wrapped(Ink::Plain, 0, 2, &format!("All {sleeps} are in {}.", safe(s.list)));
    match s.rules {
        Some((_, Some(path))) => {
            page.wrapped(Ink::Plain, 0, 2, &format!("Wrote {}.", safe(path)));
        }
        Some((rules, None)) => return page.finish() + "\n" + rules,
        None => {}
    }
    let command = if s.verdict.is_some() { "check" } else { s.again };
    page.finish() + "\n" + &next(command)
}

/// The same for programs.
#[must_use]
pub fn json(s: &Search<'_>) -> String {
    let name = |n: &usize| Value::from(s.devices[*n].as_str());
    let verdict = match s.verdict {
        Some(Verdict::Found(c)) => json!({
            "what": "found",
            "devices": c.settings.iter().map(name).collect::<Vec<_>>(),
            "way": match c.way {
                Way::Alone => "alone",
                Way::Each => "each",
                Way::Together => "together",
            },
            "turn_off": c.remedy().iter().map(name).collect::<Vec<_>>(),
            "sure": c.sure,
            "sleeps_on": c.sleeps,
            "troubled_on": c.troubled,
            "clean_off": c.clean,
        }),
        Some(Verdict::Elsewhere { troubled, sleeps }) => {
            json!({ "what": "elsewhere", "sleeps_off": sleeps, "troubled_off": troubled })
        }
        Some(Verdict::Quiet { sleeps }) => json!({ "what": "quiet", "sleeps_on": sleeps }),
        None => Value::Null,
    };
    let suspects = s.suspects.iter().map(|(n, share)| json!({ "device": name(n), "share": share }));
    document(
        SEARCH,
        "sleep",
        json!({
            "kind": s.kind,
            "devices": s.devices,
            "verdict": verdict,
            "suspects": suspects.collect::<Vec<_>>(),
            "sleeps": s.sleeps.len(),
            "troubled": s.troubled(),
            "troubles": s.sleeps.iter().flatten().collect::<Vec<_>>(),
            "rarest": s.rarest,
            "list": s.list,
            "unreadable_lines": s.unreadable,
            "rules": s.rules.map(|r| r.0),
        }),
    )
}
