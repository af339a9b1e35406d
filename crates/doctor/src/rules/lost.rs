//! Devices that their own subsystem or driver gives up, or that hang, without a word of the core:
//! what is said of them, and where it stands beside the sleeps of a text.

use super::abort::owner;
use super::silent::{Place, first_near};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::said;
use crate::stage::Stages;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// The name of the rule.
pub(crate) const LOST: &str = "device-lost";

/// So soon behind a sleep it is taken for one of it: a job of a graphics processor is given 10 s,
/// a USB device three times 5 s. What comes later is named, and blamed on nothing.
const SOON: Ns = Ns(60_000_000_000);

/// The driver's own error stands so many messages before that at most.
const NEAR: usize = 40;

/// What is said of a device that is lost or hangs.
struct Sign {
    /// All of these stand in the message.
    words: &'static [&'static str],
    /// What that is, behind its name.
    what: &'static str,
    /// It is given up; else it hangs, and may be there again.
    gone: bool,
}

const fn sign(words: &'static [&'static str], what: &'static str, gone: bool) -> Sign {
    Sign { words, what, gone }
}

const WEDGED: &str = "was given up by its driver, which declared it wedged";

const SIGNS: [Sign; 11] = [
    // NVIDIA's driver (open-gpu-kernel-modules 550: Xid 79 of ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS,
    // src/nvidia/arch/nvalloc/unix/src/osinit.c:RmInitAdapter).
    sign(&["NVRM: ", "has fallen off the bus"], "fell off its bus", true),
    sign(&["NVRM: ", "RmInitAdapter failed"], "could not be started by its driver", true),
    // drivers/gpu/drm/i915/i915_gem.c:i915_gem_init, i915_gem_pm.c:i915_gem_resume;
    // drivers/gpu/drm/xe/xe_device.c:xe_device_declare_wedged, 6.12;
    // drivers/gpu/drm/drm_drv.c:drm_dev_wedged_event, 6.15.
    sign(&["declaring it wedged"], WEDGED, true),
    sign(&["has declared device ", " as wedged"], WEDGED, true),
    sign(&["device wedged, needs recovery"], WEDGED, true),
    // drivers/gpu/drm/i915/i915_gpu_error.c:error_msg, drivers/gpu/drm/amd/amdgpu/amdgpu_job.c:
    // amdgpu_job_timedout, 6.12.
    sign(&["GPU HANG: ecode"], "hung (GPU HANG)", false),
    sign(&["ring ", " timeout, signaled seq="], "did not finish a job in time", false),
    // drivers/ata/libata-core.c:ata_dev_disable: `disabled` before 5.11.
    sign(&["ata", ": disable"], "was given up by the kernel, which switched it off", true),
    // drivers/usb/core/hub.c:hub_port_init, hub_port_connect, 6.12.
    sign(&["unable to enumerate USB device"], "could not be set up", true),
    sign(&["device not accepting address ", ", error -"], "did not accept its address", false),
    // drivers/net/ethernet/intel/igc/igc_main.c:igc_rd32, igb_main.c:igb_rd32, 6.12.
    sign(&["PCIe link lost"], "lost its link, says its driver", true),
];

/// What is said of a device that is there again: drivers/usb/core/hub.c:announce_device,
/// drivers/gpu/drm/amd/amdgpu/amdgpu_device.c:amdgpu_device_gpu_recover and amdgpu_job.c,
/// drm_dev_wedged_event, 6.15.
const AGAIN: [&str; 4] =
    ["New USB device found", "reset succeeded", "succeeded!", "recovered through reset"];

impl Sign {
    fn is(&self, m: &Message) -> bool {
        let ends = self.words[0] != "ata" || is_disabled(&m.text);
        self.words.iter().all(|w| m.has(w)) && ends
    }
}

/// `ata1.00: disabled`, and no more.
fn is_disabled(text: &str) -> bool {
    let Some((name, said)) = text.split_once(": ") else { return false };
    let port = name.strip_prefix("ata").is_some_and(|n| {
        n.starts_with(|c: char| c.is_ascii_digit())
            && n.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    });
    port && matches!(said.trim(), "disabled" | "disable device")
}

/// The device of such a message. NVIDIA's driver writes the address of PCI in ways of its own, and
/// a function of a graphics driver may stand where the device would.
pub(super) fn device(text: &str) -> Device {
    if let Some((_, said)) = text.split_once("NVRM: ") {
        let at = said.split_once("PCI:").or_else(|| said.split_once("GPU "));
        let is = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
        let name = at.map_or("", |(_, rest)| rest.split(|c| !is(c)).next().unwrap_or_default());
        let name = name.trim_end_matches(':').split('.').next().unwrap_or_default();
        let name = if name.matches(':').count() == 2 { name } else { "" };
        return Device { name: name.into(), driver: "NVIDIA".into() };
    }
    if let Some(driver) = text.strip_prefix("[drm").and_then(|t| t.split_once(" [")) {
        let driver = driver.1.split(']').next().unwrap_or_default();
        return Device { name: String::new(), driver: driver.into() };
    }
    let mut device = owner(text);
    // `usb usb1-port4` is the port that the device is plugged into.
    if let Some((hub, port)) = device.name.split_once("-port") {
        device.name = match hub.strip_prefix("usb") {
            Some(bus) => format!("{bus}-{port}"),
            None => format!("{hub}.{port}"),
        };
    }
    if device.name.starts_with('[') { Device::default() } else { device }
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let words = SIGNS.map(|s| s.words[s.words.len() - 1]);
    let said: Vec<(usize, &Message)> =
        case.messages.having_any(&words).filter(|(_, m)| m.trust.is_of_a_kernel()).collect();
    if said.is_empty() {
        return;
    }
    let stages = Stages::new(&case.messages);
    let mut told: Vec<Device> = Vec::new();
    for sign in &SIGNS {
        for (_, first) in said.iter().filter(|(_, m)| sign.is(m)) {
            let device = device(&first.text);
            let stem = device.name.split('.').next().unwrap_or_default();
            let like = |d: &Device| match (d.name.is_empty(), stem.is_empty()) {
                (false, false) => d.name == device.name || d.name == stem,
                _ => d.driver == device.driver,
            };
            // What another rule tells of it says more, and so does its host.
            let of_it = |f: &Finding| f.about.devices.iter().any(like);
            let host = |f: &Finding| {
                f.id == "host-died"
                    && sign.words.iter().any(|w| w.contains("USB") || w.contains("address"))
            };
            if told.iter().any(like) || out.iter().any(|f| of_it(f) || host(f)) {
                continue;
            }
            let all: Vec<(usize, &Message)> = said
                .iter()
                .filter(|(_, m)| sign.is(m) && self::device(&m.text) == device)
                .copied()
                .collect();
            let Some((shown, place, before)) = first_near(case, &stages, &all) else { continue };
            if !place.is_near() {
                continue;
            }
            told.push(device.clone());
            out.push(found(case, sign, device, &all, (shown, place, before)));
        }
    }
}

/// The finding of one device: its messages, which of them is told and where it stands, and whether
/// there was one before that sleep.
fn found(
    case: &Case,
    sign: &Sign,
    device: Device,
    all: &[(usize, &Message)],
    (shown, place, before): (&Message, Place, bool),
) -> Finding {
    let at = all.iter().find(|a| a.1.line == shown.line).map_or(0, |a| a.0);
    let of_it = |m: &&Message| m.trust.is_of_a_kernel() && self::device(&m.text) == device;
    let again = case.messages[at..].iter().filter(of_it).find(|m| AGAIN.iter().any(|w| m.has(w)));
    let near = case.messages[at.saturating_sub(NEAR)..at].iter().rev();
    let marked = |m: &&Message| said::has_errno(&m.text) || m.has("*ERROR*") || m.has("Xid");
    let cause = near.filter(of_it).find(marked);
    let (level, sure) = match place {
        _ if before || again.is_some() => (Level::Note, Confidence::Certain),
        Place::Inside(_) if sign.gone => (Level::Broken, Confidence::Certain),
        Place::Inside(_) | Place::Entered(_) => (Level::Risk, Confidence::Certain),
        Place::Behind(Some(t)) if t > SOON => (Level::Note, Confidence::Certain),
        Place::Behind(Some(_)) if sign.gone => (Level::Broken, Confidence::Likely),
        _ => (Level::Risk, Confidence::Likely),
    };
    let who = match (device.name.is_empty(), device.driver.is_empty()) {
        (true, true) => "A device".into(),
        (true, false) => format!("The device of {}", device.driver),
        _ => say::device(&device),
    };
    let often = if all.len() > 1 { format!(" {} times", all.len()) } else { String::new() };
    let too = if before { " It did so before that sleep, too." } else { "" };
    let back = if again.is_some() { " Then it was there again." } else { "" };
    let late = match place {
        Place::Behind(Some(t)) if t > SOON => " No line ties that to the sleep.",
        _ => "",
    };
    let why = match cause {
        Some(m) => format!(" Before that it says: \"{}\".", m.text.trim()),
        None => String::new(),
    };
    let f = Finding::new((LOST, Area::Phase, level), sure)
        .says(format!(
            "{who} {}{often}{}: \"{}\".{too}{back}{late}{why}",
            sign.what,
            place.words(),
            shown.text.trim().trim_end_matches('.')
        ))
        .look("Look whether it works afterwards; who maintains its driver wants the lines around that one, and whether it happens behind each sleep.")
        .times(all.len())
        .of_devices((!device.name.is_empty()).then_some(device))
        .shown_by(lines(cause.into_iter().chain([shown]).chain(again)));
    place.mark(f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Attempt;

    const ENTRY: (i64, &str) = (0, "PM: suspend entry (deep)");
    const UP: (i64, &str) = (900, "PM: noirq resume of devices complete after 3.100 msecs");
    const EXIT: (i64, &str) = (2_000, "PM: suspend exit");

    /// The level, the confidence and the sentence of each finding of a sleep with `inside` on its
    /// way up, and `behind` it.
    fn told(inside: &[(i64, &str)], behind: &[(i64, &str)]) -> Vec<(Level, Confidence, String)> {
        let log = [&[ENTRY, UP], inside, &[EXIT], behind].concat();
        let end = inside.len() + 3;
        let attempt =
            Attempt { end, closed: true, exit: Some(Ns::from_ms(2_000)), ..Attempt::default() };
        let case = Case { attempts: vec![attempt], ..Case::of_log(&log) };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out.into_iter().map(|f| (f.level, f.confidence, f.sentence)).collect()
    }

    #[test]
    fn who_is_given_up_on_the_way_up_is_broken() {
        for (line, words) in [
            (
                "NVRM: Xid (PCI:0000:0a:00): 79, pid=7, GPU has fallen off the bus.",
                "0000:0a:00 (NVIDIA) fell off its bus",
            ),
            (
                "NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x1:0x2:3)",
                "0000:0a:00 (NVIDIA) could not be started",
            ),
            (
                "elm 0000:0a:02.0: [drm] *ERROR* Failed to initialize GPU, declaring it wedged!",
                "0000:0a:02.0 (elm) was given up",
            ),
            ("ata7.00: disabled", "ata7.00 was given up by the kernel"),
            ("ata7.00: disable device", "ata7.00 was given up by the kernel"),
            ("usb usb7-port3: unable to enumerate USB device", "7-3 (usb) could not be set up"),
            ("igc 0000:0b:00.0 elm0: PCIe link lost, device now detached", "lost its link"),
        ] {
            let [(level, sure, said)] = &told(&[(1_000, line)], &[])[..] else { panic!("{line}") };
            assert_eq!((*level, *sure), (Level::Broken, Confidence::Certain), "{line}");
            assert!(said.contains(words) && said.contains("on the way out of a sleep"), "{said}");
            let later = told(&[], &[(7_000, line)]);
            assert_eq!((later[0].0, later[0].1), (Level::Broken, Confidence::Likely), "{line}");
            assert!(later[0].2.contains("5.0 s after the resume"), "{}", later[0].2);
            let minutes = told(&[], &[(200_000, line)]);
            assert_eq!(minutes[0].0, Level::Note, "{line}");
            assert!(minutes[0].2.contains("No line ties"), "{}", minutes[0].2);
            assert!(told(&[], &[(900_000, line)]).is_empty(), "apart from the sleep: {line}");
        }
    }

    #[test]
    fn who_hangs_or_is_there_again_is_told_and_not_given_up() {
        let hang = "elm 0000:0a:02.0: [drm] GPU HANG: ecode 9:1:7, in oak [77]";
        assert_eq!(told(&[], &[(4_000, hang)])[0].0, Level::Risk);
        let job = "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=7, emitted seq=9";
        let [(level, _, said)] = &told(&[], &[(4_000, job)])[..] else { panic!() };
        assert!(*level == Level::Risk && said.contains("The device of amdgpu did not"), "{said}");
        let address = (1_000, "usb 7-3: device not accepting address 9, error -71");
        assert_eq!(told(&[address], &[])[0].0, Level::Risk);
        let found = (3_000, "usb 7-3: New USB device found, idVendor=1209, idProduct=0001");
        let [(level, _, said)] = &told(&[address], &[found])[..] else { panic!() };
        assert!(*level == Level::Note && said.contains("there again"), "{said}");
        let other = (3_000, "usb 7-4: New USB device found, idVendor=1209, idProduct=0001");
        assert_eq!(told(&[address], &[other])[0].0, Level::Risk);
    }

    #[test]
    fn what_a_machine_says_without_a_sleep_is_of_none() {
        let mut out = Vec::new();
        let boot =
            [(7, "ata7.00: disabled"), (9, "usb usb7-port3: unable to enumerate USB device")];
        judge(&Case::of_log(&boot), &mut out);
        assert!(out.is_empty());
        for other in
            ["ata7: SATA max UDMA/133 irq 27 disabled", "elm: disabled", "atakbd: disabled"]
        {
            assert!(told(&[(1_000, other)], &[]).is_empty(), "{other}");
        }
        // One that did so before the sleep did not get it from there.
        let port = "usb usb7-port3: unable to enumerate USB device";
        let log =
            [(0, port), (700_000, ENTRY.1), (700_900, UP.1), (701_000, port), (702_000, EXIT.1)];
        let attempt = Attempt { first: 1, end: 5, closed: true, ..Attempt::default() };
        let case = Case { attempts: vec![attempt], ..Case::of_log(&log) };
        judge(&case, &mut out);
        assert_eq!(out[0].level, Level::Note);
        assert!(out[0].sentence.contains("before that sleep, too"), "{}", out[0].sentence);
    }
}
