//! Two traces of storage beside each other.

use crate::text::page::{Ink, Page};
use crate::text::{fit, safe};
use crate::wording::number::{grouped, ms, signed_ms};
use crate::wording::storage::row;
use dormouse_base::time::Ns;
use dormouse_storage::beside::Beside;

/// The screen, without its next command.
pub fn beside(b: &Beside) -> String {
    let mut page = Page::new(false);
    let file = |l: &str| safe(l.rsplit('/').next().unwrap_or(l)).into_owned();
    let middle = b.latencies.iter().find(|f| f.name == "p50").map(|f| f.ns);
    let middle = middle.map_or(String::new(), |ns| {
        let [was, is] = ns.map(|t| t.map_or("-".into(), |t| Ns(t).to_string()));
        format!(" The middle latency: {was} -> {is}.")
    });
    page.wrapped(
        Ink::Strong,
        0,
        2,
        &match b.causes.first().filter(|c| c.change() != 0) {
            Some(c) => format!(
                "What changed most is \"{}\": {} -> {} a request.{middle}",
                row(c.cause),
                Ns(c.mean_ns[0]),
                Ns(c.mean_ns[1])
            ),
            None => format!("No wait of requests changed.{middle}"),
        },
    );
    page.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "Disk {} of \"{}\" ({} requests) beside {} of \"{}\" ({}): two loads, each once; whether \
             they differ by chance they do not say.",
            b.disks[0],
            file(&b.labels[0]),
            grouped(b.requests[0]),
            b.disks[1],
            file(&b.labels[1]),
            grouped(b.requests[1])
        ),
    );
    let line = |page: &mut Page, name: &str, ns: [Option<i64>; 2]| {
        let cell = |t: Option<i64>| t.map_or("-".into(), |t| ms(Ns(t)));
        let change = match ns {
            [Some(was), Some(is)] => signed_ms((is - was) as f64),
            _ => String::new(),
        };
        let [was, is] = ns.map(cell);
        let text = format!("{:<36}{was:>12}{is:>12}{change:>12}", fit(name, 35));
        page.line(&[(Ink::Plain, &text)]);
    };
    page.heading(&format!("{:<36}{:>12}{:>12}{:>12}", "Latency, ms", "first", "second", "change"));
    for f in &b.latencies {
        let name = match f.name {
            "p50" => "middle",
            "p99" => "99 of 100 are below",
            "max" => "longest",
            "after_idle_p50" => "middle after an idle gap",
            _ => "middle after a sleep",
        };
        line(&mut page, name, f.ns);
    }
    page.heading(&format!(
        "{:<36}{:>12}{:>12}{:>12}",
        "Waits, ms a request", "first", "second", "change"
    ));
    for c in &b.causes {
        line(&mut page, row(c.cause), c.mean_ns.map(Some));
    }
    page.finish()
}
