//! What woke a machine from s2idle or deep, as the kernel, Android's kernels and firmware
//! tables name it.

use super::irq::{digits, irq, named_in};
use super::night::{owner, turns};
use super::spm::spm;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::message::{Message, timekeeping};
use crate::night::Fact;
use crate::night::machine::Owner;
use crate::stage;
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::BTreeSet;

/// What a kernel says of how the wake-up came, of its debug messages
/// (drivers/acpi/sleep.c and drivers/acpi/x86/s2idle.c:acpi_s2idle_wake, 5.4 to 7.3;
/// drivers/pinctrl/pinctrl-amd.c:do_amd_gpio_irq_handler).
const HOW: [(&str, &str); 6] = [
    ("ACPI fixed event wakeup", "an ACPI fixed event (the power button, or the clock)"),
    ("ACPI custom handler wakeup", "a handler that a driver put behind the ACPI interrupt"),
    ("non-EC GPE wakeup", "an ACPI event that is not the embedded controller's"),
    ("Wakeup after ACPI Notify sync", "an ACPI notification (lid, button or battery)"),
    ("ACPI EC GPE wakeup", "the embedded controller"),
    ("Wakeup unrelated to ACPI SCI", ""),
];

/// An interrupt that woke, with its name if the text has one.
struct Irq<'a> {
    number: String,
    name: Option<String>,
    times: usize,
    first: &'a Message,
    /// The last line that named it: words, and how many attempts had begun.
    last: (&'a str, usize),
}

/// Interrupts that words of the text name as what woke, and no line of the kernel does.
fn in_words(case: &Case, irqs: &[Irq<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    let claims = case.night.items.iter().filter(|i| i.fact == Fact::Owner(Owner::Claim));
    for sentence in claims.map(|i| i.text.as_str()) {
        for (at, _) in sentence.match_indices("IRQ ") {
            let number = digits(&sentence[at + 4..]);
            let known = irqs.iter().any(|e| e.number == number) || out.iter().any(|n| n == number);
            if !number.is_empty() && !known {
                out.push(number.to_string());
            }
        }
    }
    out
}

/// A line that names what woke has one of these, or of the words of [`HOW`].
const WORDS: [&str; 7] = [
    " wake up by ",
    "Resume caused by ",
    " triggered ",
    "Triggering wakeup from IRQ ",
    "IRQ wakeup: IRQ ",
    "GPE event 0x",
    " is active",
];

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut irqs: Vec<Irq<'_>> = Vec::new();
    let mut how: Vec<(&str, &Message)> = Vec::new();
    let mut gpes: Vec<(String, &Message)> = Vec::new();
    let mut pins: Vec<Pin<'_>> = Vec::new();
    let mut others: Vec<(String, &Message)> = Vec::new();
    let words: Vec<&str> = WORDS.into_iter().chain(HOW.iter().map(|h| h.0)).collect();
    let rounds = Rounds::new(case);
    let mut answered: Vec<(String, usize)> = Vec::new();
    // An attempt that was given up on its way down woke nobody.
    let mut given_up: Option<(usize, bool)> = None;
    let mut woke_nobody = |at: usize| {
        let begun = &case.attempts[..case.attempts.partition_point(|a| a.first <= at)];
        let attempt = begun.iter().rev().find(|a| !a.inside).filter(|a| at < a.end);
        let Some(a) = attempt else { return false };
        if given_up.is_none_or(|g| g.0 != a.first) {
            let slept =
                |m: &Message| m.says("suspend-to-idle") || m.has("imekeeping suspended for");
            let of = case.of(a);
            let ended = super::abort::ended_early(case, a) && !of.iter().any(slept);
            given_up = Some((a.first, ended));
        }
        given_up.is_some_and(|g| g.1)
    };
    for (at, m) in case.messages.having_any(&words) {
        if m.has("Resume caused by ") && woke_nobody(at) {
            continue;
        }
        if rounds.went_on(at) {
            if let Some((number, _)) = irq(m) {
                match answered.iter_mut().find(|a| a.0 == number) {
                    Some(a) => a.1 += 1,
                    None => answered.push((number.to_string(), 1)),
                }
            }
            continue;
        }
        if let Some((number, name)) = irq(m) {
            let begun = case.attempts.partition_point(|a| a.first <= at);
            let by = WORDS.iter().find(|w| m.has(w)).copied().unwrap_or_default();
            match irqs.iter_mut().find(|e| e.number == number) {
                Some(e) => {
                    // Two parts of a kernel name the waker of one sleep, each in its words.
                    let again = e.last.1 == begun && e.last.0 != by;
                    e.times += usize::from(!again);
                    if !again {
                        e.last = (by, begun);
                    }
                    e.name = e.name.take().or(name.map(ToString::to_string));
                }
                None => irqs.push(Irq {
                    number: number.to_string(),
                    name: name.map(ToString::to_string),
                    times: 1,
                    first: m,
                    last: (by, begun),
                }),
            }
        } else if let Some(gpe) = m.after("ACPI: GPE event 0x").or_else(|| m.after("GPE event 0x"))
        {
            let n = gpe.split_whitespace().next().unwrap_or("");
            if !irqs.is_empty() && !gpes.iter().any(|g| g.0[2..] == *n) {
                gpes.push((format!("0x{n}"), m));
            }
        } else if let Some(pin) = Pin::of(m) {
            match pins.iter_mut().find(|p| p.number == pin.number) {
                Some(known) if pin.has_bit() && !known.has_bit() => *known = pin,
                Some(_) => {}
                None => pins.push(pin),
            }
        } else if let Some(rest) = m.after("Resume caused by ").filter(|_| m.trust.is_of_a_kernel())
        {
            others.push((rest.trim().to_string(), m));
        } else if let Some(s) = spm(m) {
            others.push((s.sources.to_string(), m));
        }
        if let Some(h) = HOW.iter().find(|h| m.has(h.0))
            && m.trust.is_of_a_kernel()
            && !how.iter().any(|x| x.0 == h.1)
        {
            how.push((h.1, m));
        }
    }
    reasons(case, &irqs, out);
    how.retain(|h| !h.0.is_empty());
    let (pins, pending): (Vec<Pin<'_>>, Vec<Pin<'_>>) = pins.into_iter().partition(Pin::may_wake);
    if irqs.is_empty() && pins.is_empty() && others.is_empty() && how.is_empty() {
        out.extend(only_pending(&pending));
        return;
    }
    let mut evidence = lines(irqs.iter().map(|e| e.first));
    evidence.extend(lines(how.iter().map(|h| h.1)));
    evidence.extend(lines(gpes.iter().map(|g| g.1)));
    evidence.extend(lines(pins.iter().chain(&pending).map(|p| p.said)));
    evidence.extend(lines(others.iter().map(|p| p.1)));
    let often = |n: usize| if n == 1 { String::new() } else { format!(" ({n} times)") };
    let mut devices = Vec::new();
    let mut named = !pins.is_empty() || !others.is_empty();
    let says = |words: &[&str]| {
        let word = |t: &str| {
            words.iter().any(|w| {
                t.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .any(|x| x.eq_ignore_ascii_case(w))
            })
        };
        !irqs.is_empty() && case.messages.iter().any(|m| word(&m.text))
    };
    let acpi = !how.is_empty() || !gpes.is_empty() || says(&PC);
    let mut by: Vec<String> = Vec::new();
    let mut more = String::new();
    for e in &irqs {
        let shown = owner::irq(case, &e.number, acpi).filter(|_| e.name.is_none());
        let by_table = shown.as_ref().filter(|r| r.device.is_some());
        let name = e.name.clone().or(by_table.map(|r| r.words.clone()));
        named |= name.is_some();
        let device = e.name.clone().or(by_table.and_then(|r| r.device.clone()));
        devices.extend(device.map(|name| Device { name, driver: String::new() }));
        match (name, shown) {
            (Some(name), shown) => {
                by.push(format!("IRQ {} of {name}{}", e.number, often(e.times)));
                evidence.extend(shown.into_iter().flat_map(|r| r.evidence));
            }
            (None, Some(r)) => {
                by.push(format!("IRQ {}{}", e.number, often(e.times)));
                more += &format!(" IRQ {} is {}.", e.number, r.words);
                // Those of a PC are of one device each; the one of ACPI is of many.
                named |= matches!(e.number.as_str(), "1" | "8" | "12");
            }
            (None, None) => by.push(format!("IRQ {}{}", e.number, often(e.times))),
        }
    }
    for (at, (who, _)) in others.iter().enumerate() {
        let same = |o: &&(String, &Message)| o.0 == *who;
        if !others[..at].iter().any(|o| o.0 == *who) {
            by.push(format!("{who}{}", often(others.iter().filter(same).count())));
        }
    }
    let list = |words: &str, all: Vec<String>| match all.len() {
        0 => String::new(),
        _ => format!(" ({words} {})", all.join(", ")),
    };
    for (gpe, _) in &gpes {
        let number = u32::from_str_radix(gpe.trim_start_matches("0x"), 16).ok();
        if let Some(r) = number.and_then(|n| owner::gpe(case, n)) {
            named |= r.device.is_some();
            more += &format!(" GPE {gpe} is {}.", r.words);
            devices.extend(r.device.map(|name| Device { name, driver: String::new() }));
            evidence.extend(r.evidence);
        } else if gpes.len() > 1 {
            more += &format!(" Whose GPE {gpe} is, no table of the text says.");
        }
    }
    let said = owner::said_of(case, &irqs.iter().map(|e| e.number.as_str()).collect::<Vec<_>>());
    if irqs.len() > 1 && !each_its_own(case) && said.is_none() {
        more += " Each of them can have woken it; the kernel prints all that came while it slept.";
    }
    for (number, times) in &answered {
        more += &format!(
            " IRQ {number} came {} before, and the kernel went back to sleep: that did not wake it.",
            say::once(*times)
        );
    }
    more += &pin(case, &irqs);
    more += &queries(case, &irqs, &how);
    let words = in_words(case, &irqs);
    if !words.is_empty() && !irqs.is_empty() {
        more += &format!(
            " The writer names IRQ {} too, and shows no line of the kernel for it.",
            words.join(" and IRQ ")
        );
    }
    more += &words_of_bare(&pins);
    if !pending.is_empty() {
        more += &format!(" {}", words_of_pending(&pending));
    }
    more += &by_sleep(case);
    let gpe_words = list("GPE", gpes.iter().map(|g| g.0.clone()).collect());
    let of_pins: Vec<String> = pins.iter().map(|p| p.number.clone()).collect();
    let pin_words = match by.is_empty() && how.is_empty() {
        true if !of_pins.is_empty() => format!("GPIO {}", of_pins.join(", ")),
        _ => list("GPIO", of_pins),
    };
    // A fixed event is the power button or the clock, a notification a lid or battery.
    let told = how.iter().any(|h| !h.0.contains("not the embedded"));
    let how: Vec<String> = how.iter().map(|h| h.0.to_string()).collect();
    let how = match (how.is_empty(), by.is_empty()) {
        (true, _) => String::new(),
        (false, true) => how.join("; "),
        (false, false) => format!("; {}", how.join("; ")),
    };
    let beside = said.or_else(|| owner::opened(case));
    let which = match beside {
        _ if named || told => String::new(),
        Some((words, line)) => {
            evidence.push(line);
            words
        }
        None => " No kernel line or table that was read names the device that raised it.".into(),
    };
    // Of several sleeps each has its length and perhaps its waker.
    let slept = match turns::slept(case) {
        Some(ms @ LEAST..) => {
            format!("Slept {}; woken", say::span(Ns(ms.saturating_mul(1_000_000))))
        }
        _ => "Woken".into(),
    };
    let alone = by.is_empty() && how.is_empty() && !pins.iter().any(Pin::has_bit);
    let sure = if alone { Confidence::Likely } else { Confidence::Certain };
    let f = Finding::new(("mode-wake-source", Area::Mode, Level::Note), sure)
        .says(format!("{slept} by {}{how}{gpe_words}{pin_words}.{more}{which}", by.join(", ")));
    let by_pins =
        !pins.is_empty() || irqs.iter().any(|e| e.name.as_deref().is_some_and(owner::is_pins));
    let sci = irqs.iter().any(|e| e.number == "9" && e.name.is_none());
    let advice = match (acpi, by_pins) {
        (true, false) if !gpes.is_empty() || sci => {
            "/proc/acpi/wakeup and the _PRW of the ACPI tables name the device of a GPE; switch its wakeup off to try."
        }
        (true, true) => {
            "/sys/kernel/debug/gpio shows the pins, and the _AEI and _EVT of the ACPI tables what each of them tells; switch the power/wakeup of its device off to try."
        }
        (_, _) if devices.is_empty() => {
            "/proc/interrupts names who owns an interrupt; switch the power/wakeup of that device off to try."
        }
        _ => "switch the power/wakeup of that device off to try.",
    };
    let spurious = acpi && irqs.iter().any(|e| e.number == "1" && e.name.is_none()) && says(&AMD);
    let f = if spurious {
        f.change(
            "If nobody touched the keyboard, to try: echo disabled > /sys/bus/serio/devices/serio0/power/wakeup. Firmware that raises IRQ 1 by itself is known of AMD's machines; amd_pmc has a list of them (drivers/platform/x86/amd/pmc/pmc-quirks.c, spurious_8042).",
            "echo enabled > the same file.",
            "The keyboard wakes the machine no more.",
        )
    } else {
        f
    };
    let f = f
        .look(format!("If nobody touched the machine: {advice}"))
        .of_devices(devices)
        .shown_by(once(evidence));
    out.push(f);
}

/// A pin with an interrupt or a wake pending (drivers/pinctrl/pinctrl-amd.c:
/// do_amd_gpio_irq_handler, 6.4 to 7.3, and amd_gpio_check_pending of later ones).
struct Pin<'a> {
    number: String,
    /// Its register, as the kernel printed it.
    register: Option<u32>,
    said: &'a Message,
}

impl<'a> Pin<'a> {
    fn of(m: &'a Message) -> Option<Pin<'a>> {
        let (number, rest) = m.after("GPIO ")?.split_once(" is active")?;
        let hex = rest.strip_prefix(": 0x").unwrap_or_default();
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        let register = u32::from_str_radix(&hex[..end], 16).ok();
        (!number.is_empty() && number == digits(number)).then(|| Pin {
            number: number.to_string(),
            register,
            said: m,
        })
    }

    /// The register has the bit of a wake, or the line shows no register, so that nobody knows.
    fn may_wake(&self) -> bool {
        self.register.is_none() || self.has_bit()
    }

    /// The register has the bit of a wake. Such a line is printed for a pending interrupt too,
    /// which any pin may have (drivers/pinctrl/pinctrl-amd.h: WAKE_STS_OFF, INTERRUPT_STS_OFF).
    fn has_bit(&self) -> bool {
        self.register.is_some_and(|r| r & (1 << 29) != 0)
    }
}

/// What lines of pins without a register leave open.
fn words_of_bare(pins: &[Pin<'_>]) -> String {
    let bare = pins.iter().filter(|p| p.register.is_none()).map(|p| p.number.clone());
    let bare: Vec<String> = bare.collect();
    match bare.is_empty() {
        true => String::new(),
        false => format!(
            " The text shows no register of GPIO {}, so that it woke the machine is likely and not proven.",
            say::names(&bare)
        ),
    }
}

/// What pins without the bit of a wake tell.
fn words_of_pending(pins: &[Pin<'_>]) -> String {
    let one = |p: &Pin<'_>| match p.register {
        Some(r) => format!("{} (0x{r:x})", p.number),
        None => p.number.clone(),
    };
    let list = say::names(&pins.iter().map(one).collect::<Vec<_>>());
    format!(
        "GPIO {list} had an interrupt pending, and the bit of a wake (bit 29) is not set: whether {} woke the machine, that does not show.",
        if pins.len() == 1 { "it" } else { "they" }
    )
}

/// The rule of pins of which an interrupt was pending, where nothing tells of what woke.
pub(crate) const PENDING: &str = "wake-pin-pending";

fn only_pending(pins: &[Pin<'_>]) -> Option<Finding> {
    let rule = (PENDING, Area::Mode, Level::Note);
    let f = Finding::new(rule, Confidence::Certain)
        .says(format!("No line that was read says what woke the machine. {}", words_of_pending(pins)))
        .look("cat /sys/power/pm_wakeup_irq after the next sleep names the interrupt that woke; /sys/kernel/debug/gpio shows which pins are armed for wake.")
        .shown_by(lines(pins.iter().map(|p| p.said)));
    (!pins.is_empty()).then_some(f)
}

/// What tells two things stands among the lines once.
fn once(mut evidence: Vec<Evidence>) -> Vec<Evidence> {
    let mut seen = BTreeSet::new();
    evidence.retain(|e| e.line == 0 || seen.insert(e.line));
    evidence
}

/// Nobody asks for a sleep that is shorter. Ours: the clock that wakes has whole seconds.
const SHORT: Ns = Ns(1_000_000_000);

/// The rule of sleeps that were over in less than that.
pub(crate) const AT_ONCE: &str = "wake-at-once";

/// A sleep that was over at once, by what the kernel's clock says of it: s2idle has a line for
/// each turn, which count together. Where a rule names what woke, nothing is left to say.
pub(super) fn at_once(case: &Case, out: &mut Vec<Finding>) {
    // A recorder, which adds what files say, has a clock that wakes and numbers of its own.
    if case.values.iter().any(|v| v.line == 0) || out.iter().any(names_a_waker) {
        return;
    }
    let whole = [&case.messages[..]];
    let sleeps: Vec<&[Message]> = case.attempts.iter().map(|a| case.of(a)).collect();
    let sleeps = if sleeps.is_empty() { &whole[..] } else { &sleeps };
    let mut short: Vec<(Ns, &Message)> = Vec::new();
    // A test turns round by itself.
    let tested = stage::waits_for_a_test;
    for sleep in sleeps.iter().filter(|s| !s.iter().any(tested)) {
        let kernel = sleep.iter().filter(|m| m.trust.is_of_a_kernel());
        let turns: Vec<(Ns, &Message)> =
            kernel.filter_map(|m| Some((timekeeping(m)?, m))).collect();
        let sum = turns.iter().map(|t| t.0).sum();
        short.extend(turns.last().filter(|_| sum < SHORT).map(|t| (sum, t.1)));
    }
    let Some(least) = short.iter().map(|s| s.0).min() else { return };
    let (often, least) = (short.len(), say::span(least));
    let text = match often {
        1 => format!("A sleep was over after {least}: something woke the machine at once."),
        n => format!("{n} sleeps were over at once, the shortest after {least}."),
    };
    out.push(
        Finding::new((AT_ONCE, Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("{text} No line says what it was."))
            .look("echo 1 > /sys/power/pm_debug_messages names it; so does cat /sys/power/pm_wakeup_irq after the next sleep.")
            .times(often)
            .shown_by(lines(short.iter().map(|s| s.1))),
    );
}

/// Whether a finding names what woke a machine.
pub(super) fn names_a_waker(f: &Finding) -> bool {
    matches!(f.id, "mode-wake-source" | "wake-counted")
}

/// Rounds of the loop of s2idle.
struct Rounds {
    /// Where the kernel had handled what came and armed the ACPI interrupt again
    /// (drivers/acpi/x86/s2idle.c and sleep.c:acpi_s2idle_wake, 5.4 to 7.3): it sleeps on.
    armed: Vec<usize>,
    /// Where a sleep begins or ends.
    bounds: Vec<usize>,
}

impl Rounds {
    fn new(case: &Case) -> Rounds {
        let of = |words: &[&str]| -> Vec<usize> {
            let said = case.messages.having_any(words);
            said.filter(|(_, m)| m.trust.is_of_a_kernel()).map(|(at, _)| at).collect()
        };
        Rounds {
            armed: of(&["Rearming ACPI SCI for wakeup"]),
            bounds: of(&["suspend-to-idle", "suspend exit", "suspend entry"]),
        }
    }

    /// Whether the kernel slept on after message `at`.
    fn went_on(&self, at: usize) -> bool {
        let next = |list: &[usize]| list.get(list.partition_point(|x| *x <= at)).copied();
        next(&self.armed).is_some_and(|armed| next(&self.bounds).is_none_or(|b| armed < b))
    }
}

/// Words that only texts about PCs have, and those of AMD's.
const PC: [&str; 5] = ["ACPI", "x86", "i8042", "Intel", "AMD"];
const AMD: [&str; 6] = ["AMD", "amd_pmc", "pinctrl_amd", "amd_s2idle", "amd_gpio", "amdgpu"];

/// So many messages before a wake-up may tell what happened to a device just then.
const JUST: usize = 8;

/// The pin behind a controller of pins: the one that was armed for wake, and what lost its
/// power just before.
fn pin(case: &Case, irqs: &[Irq<'_>]) -> String {
    let by_name = |e: &Irq<'_>| e.name.as_deref().is_some_and(owner::is_pins);
    let Some(e) = irqs.iter().find(|e| by_name(e)) else { return String::new() };
    let mut words = match owner::armed(case)[..] {
        [] => return String::new(),
        [one] => format!(
            " That is a controller of pins; the one pin that the text shows armed for wake is {one}, so probably that line."
        ),
        ref all => format!(
            " That is a controller of pins; armed for wake in the text are {}.",
            all.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        ),
    };
    let at = case.messages.iter().position(|m| m.line == e.first.line).unwrap_or(0);
    let lost = case.messages[at.saturating_sub(JUST)..at]
        .iter()
        .rev()
        .find(|m| m.has("transitioned to D3") || m.has("-> D3") || m.has("changed to D3"));
    if let Some(m) = lost {
        let after = match (m.time, e.first.time) {
            (Some(a), Some(b)) if b > a => format!("{} before it", say::span(Ns(b.0 - a.0))),
            _ => "just before it".into(),
        };
        words += &format!(
            " A device lost its power {after} (\"{}\"): a line that falls with the power of its device wakes the machine at once.",
            said(m)
        );
    }
    words
}

/// What a message says, without the names of functions that ACPI's debug output puts first.
fn said(m: &Message) -> &str {
    m.text.split_once(" : ").map_or(m.text.as_str(), |t| t.1).trim()
}

/// Events of the embedded controller before a wake-up of the ACPI interrupt: the kernel goes
/// on sleeping after those that it only handles (drivers/acpi/sleep.c:acpi_s2idle_wake).
fn queries(case: &Case, irqs: &[Irq<'_>], how: &[(&str, &Message)]) -> String {
    let of_ec = |m: &&Message| m.trust.is_of_a_kernel() && m.text.starts_with("ACPI: EC: ");
    let handled = case.messages.has("Rearming ACPI SCI for wakeup");
    if irqs.is_empty() || !handled || how.iter().any(|h| h.0.contains("embedded")) {
        return String::new();
    }
    match case.messages.iter().filter(of_ec).count() {
        0 => String::new(),
        _ => " Events of the embedded controller stand before it. The kernel handled them and armed its wake-up again, so they do not prove that the controller woke it.".into(),
    }
}

/// Whether the text has where sleeps begin, and no sleep with more than one waker.
fn each_its_own(case: &Case) -> bool {
    !case.attempts.is_empty() && case.attempts.iter().all(|a| named_in(case.of(a)).len() < 2)
}

/// A shorter sleep has no length worth a word, in ms.
const LEAST: i64 = 1_000;

/// Whether who woke a machine is told with how long it slept.
pub(super) fn tells_lengths(case: &Case) -> bool {
    turns::slept(case).is_some_and(|ms| ms >= LEAST) || !by_sleep(case).is_empty()
}

/// So many sleeps are listed.
const LISTED: usize = 8;

/// Who woke each sleep, where they differ.
fn by_sleep(case: &Case) -> String {
    let turns = turns::turns(case);
    let whole = case.attempts.iter().filter(|a| !a.inside).map(|a| case.of(a));
    let sleeps = whole.chain(case.of_parts()).filter(|s| !s.is_empty());
    let mut each: Vec<(u64, Vec<String>)> = sleeps.map(|s| (s[0].line, named_in(s))).collect();
    each.sort_by_key(|e| e.0);
    let differ = each.windows(2).any(|w| w[0].1 != w[1].1);
    if each.len() < 2 || !differ {
        return String::new();
    }
    let word =
        |who: &[String]| if who.is_empty() { "not in the text".into() } else { who.join(" and ") };
    let long = |line: u64| {
        // A daemon may tell of the begin before the kernel does.
        let turn = turns.iter().find(|t| (t.begin.line..t.end.line).contains(&line))?;
        let ms = (turn.to - turn.from).saturating_mul(1_000_000);
        Some(format!(" after {}", say::span(Ns(ms))))
    };
    let one = |(line, who): &(u64, Vec<String>)| {
        format!("line {line} {}{}", word(who), long(*line).unwrap_or_default())
    };
    let all: Vec<String> = each.iter().take(LISTED).map(one).collect();
    let more = each.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!(" Sleep by sleep: {}{more}.", all.join("; "))
}

/// `/sys/kernel/wakeup_reasons/last_resume_reason` of Android: a number and a name a line, or
/// why a sleep was given up.
fn reasons(case: &Case, irqs: &[Irq<'_>], out: &mut Vec<Finding>) {
    for v in case.values.iter().filter(|v| v.name() == "last_resume_reason") {
        let number = digits(&v.value);
        let name = v.value[number.len()..].trim().to_string();
        let known = !number.is_empty() && irqs.iter().any(|e| e.number == number);
        if v.value.is_empty() || known || name.is_empty() {
            continue;
        }
        let text = match number {
            "" => format!("The kernel's last reason to come back was: {name}."),
            n => format!("Woken by IRQ {n} of {name}."),
        };
        let f = Finding::new(("mode-wake-source", Area::Mode, Level::Note), Confidence::Certain)
            .says(text)
            .look("If nobody touched the machine: look at that device's driver, or switch its power/wakeup off to try.")
            .of_devices([Device { name, driver: String::new() }])
            .shown_by([crate::evidence::value(v)]);
        out.push(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_that_was_over_at_once_is_told_where_nobody_names_the_waker() {
        let case = Case::of_log(&[(9, "Timekeeping suspended for 0.204 seconds")]);
        let mut out = Vec::new();
        at_once(&case, &mut out);
        assert_eq!(out[0].id, "wake-at-once");
        let rule = ("wake-counted", Area::Mode, Level::Note);
        let mut out = vec![Finding::new(rule, Confidence::Likely)];
        at_once(&case, &mut out);
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn a_pin_woke_by_the_bit_of_a_wake_alone() {
        let told = |all: &[(i64, &str)]| {
            let mut out = Vec::new();
            judge(&Case::of_log(all), &mut out);
            let f = out.pop().expect("told");
            (f.id, f.sentence)
        };
        let (id, words) = told(&[(1, "GPIO 77 is active: 0x10057c00")]);
        assert_eq!(id, PENDING);
        assert!(words.starts_with("No line that was read says what woke"), "{words}");
        assert!(words.contains("GPIO 77 (0x10057c00) had an interrupt pending"), "{words}");
        let (id, words) = told(&[(1, "amd_gpio_check_pending: GPIO 78 is active: 0x20057c00.")]);
        assert_eq!((id, &*words), ("mode-wake-source", "Woken by GPIO 78."));
        // Without a register nothing is said of the bit.
        let mut out = Vec::new();
        judge(&Case::of_log(&[(1, "GPIO 79 is active")]), &mut out);
        assert_eq!((out[0].id, out[0].confidence), ("mode-wake-source", Confidence::Likely));
        let words = &out[0].sentence;
        assert!(words.starts_with("Woken by GPIO 79. The text shows no register"), "{words}");
        let irq = (1, "PM: Triggering wakeup from IRQ 7");
        let pins = [(2, "GPIO 77 is active: 0x10057c00"), (3, "GPIO 78 is active: 0x30057c00")];
        let (_, words) = told(&[irq, pins[0], pins[1]]);
        assert!(words.starts_with("Woken by IRQ 7 (GPIO 78). "), "{words}");
        assert!(words.contains("GPIO 77 (0x10057c00) had"), "{words}");
        let (_, words) = told(&[irq, pins[0]]);
        assert!(words.starts_with("Woken by IRQ 7. GPIO 77"), "{words}");
        assert!(words.contains("No kernel line or table that was read names"), "{words}");
    }

    #[test]
    fn what_the_kernel_slept_on_after_did_not_wake_it() {
        let mut out = Vec::new();
        let all = [
            (1, "PM: suspend-to-idle"),
            (2, "ACPI: PM: Rearming ACPI SCI for wakeup"),
            (3, "PM: Triggering wakeup from IRQ 11"),
            (4, "ACPI: EC: ACPI EC GPE dispatched"),
            (5, "ACPI: PM: Rearming ACPI SCI for wakeup"),
            (6, "PM: Triggering wakeup from IRQ 14"),
            (7, "PM: resume from suspend-to-idle"),
        ];
        judge(&Case::of_log(&all), &mut out);
        let words = &out[0].sentence;
        assert!(words.starts_with("Woken by IRQ 14."), "{words}");
        assert!(words.contains("IRQ 11 came once before"), "{words}");
        out.clear();
        // Nothing was armed again behind the last one.
        judge(&Case::of_log(&all[..3]), &mut out);
        assert!(out[0].sentence.starts_with("Woken by IRQ 11."));
    }
}
