//! What runtime power management did around a sleep, as sentences.

use super::doctor::{Advice, look};
use super::number::{ms, names};
use dormouse_base::time::Ns;
use dormouse_doctor::fact::{Device, Fact};

fn named(d: &Device) -> String {
    if d.driver.is_empty() || d.driver == d.name || d.driver.contains(' ') {
        d.name.clone()
    } else {
        format!("{} ({})", d.name, d.driver)
    }
}

/// ` (15 ms in all)`.
fn costs(t: Ns) -> String {
    format!("{} ms", ms(t))
}

/// What was found; empty of what is not about runtime power management.
pub fn sentence(f: &Fact) -> String {
    match f {
        Fact::WokenToSuspend { device, saving } => format!(
            "{} was suspended at run time and was resumed, only to be suspended for the sleep: {} of callbacks.",
            named(device),
            costs(*saving)
        ),
        Fact::WokenWithChild { device, child, saving } => format!(
            "{} was resumed at run time only because {} below it was: {}.",
            named(device),
            named(child),
            costs(*saving)
        ),
        Fact::DirectMissed { devices, by } => {
            let all: Vec<String> = devices.iter().map(named).collect();
            let (verb, own) = if all.len() == 1 { ("was", "its") } else { ("were", "their") };
            let who = match by {
                Some(b) if all.len() == 1 => {
                    format!(" {} below it ran, which forbids that.", named(b))
                }
                Some(b) => format!(" Below the first {} ran, which forbids that.", named(b)),
                None => " Nothing below ran: the driver does not ask for it, or forbids it.".into(),
            };
            format!(
                "{} {verb} suspended at run time and could have been left so; {own} callbacks ran.{who}",
                names(&all)
            )
        }
        Fact::SuspendedAfter { device, saving } => format!(
            "{} was resumed from the sleep and suspended again at once, unused: its resume took {}.",
            named(device),
            costs(*saving)
        ),
        Fact::LateUse { device } => format!(
            "{} was asked for when runtime power management was off, between late and early: it could not be resumed.",
            named(device)
        ),
        _ => String::new(),
    }
}

/// What to do about it.
pub fn advice(f: &Fact) -> Vec<Advice> {
    vec![look(match f {
        Fact::WokenToSuspend { device, .. } => format!(
            "In its driver: DPM_FLAG_SMART_SUSPEND, or a prepare that returns 1; see first whether its power/wakeup differs from what it needs at run time. What it gains: dormouse predict FILE --leave-suspended {}.",
            device.name
        ),
        Fact::WokenWithChild { child, .. } => {
            format!("Let {} stay suspended; this is gained once, whoever of its children wakes it.", child.name)
        }
        Fact::DirectMissed { by: Some(b), .. } => {
            format!("Look at {} first: what it does on the way down keeps all above it from being left alone.", b.name)
        }
        Fact::DirectMissed { devices, .. } => format!(
            "In its driver: prepare returns 1 where the state at run time fits the sleep. What it gains: dormouse predict FILE --leave-suspended {}.",
            devices.first().map_or("NAME", |d| &d.name)
        ),
        Fact::SuspendedAfter { .. } => {
            "In its driver: DPM_FLAG_MAY_SKIP_RESUME, so that it stays suspended.".into()
        }
        _ => "Let its user resume it in its suspend callback and hold it until its resume, or make a device link with DL_FLAG_PM_RUNTIME.".into(),
    })]
}
