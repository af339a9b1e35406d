//! Modes of sleep that a machine offers, and whether hibernation is ready, by the files
//! of `/sys/power` (kernel/power/main.c and hibernate.c, 6.12).

use crate::value::Value;

/// Modes of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Names as in `mem_sleep`, and `standby` and `hibernation` of `state`.
    pub modes: Vec<String>,
    /// What `mem` means now.
    pub chosen: Option<String>,
}

/// One thing that hibernation needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// How the image is left: `platform`, `shutdown`, …; none if it is forbidden.
    Way(Option<String>),
    /// The kernel knows a device to resume from, here `0:0` or `8:2`.
    Resume(String),
    /// Free swap and the largest image, bytes.
    Room {
        /// Free swap.
        free: u64,
        /// The largest image.
        image: u64,
    },
    /// How the image is compressed.
    Compressor(String),
    /// Why it is forbidden: lockdown, or the command line.
    Forbidden(String),
}

impl Need {
    /// Whether it is met.
    pub fn is_met(&self) -> bool {
        match self {
            Need::Way(way) => way.is_some(),
            Need::Resume(device) => device != "0:0",
            Need::Room { free, image } => free >= image,
            Need::Compressor(_) => true,
            Need::Forbidden(_) => false,
        }
    }
}

fn of<'a>(values: &'a [Value], path: &str) -> Option<&'a str> {
    values.iter().find(|v| v.path == path).map(|v| v.value.as_str())
}

/// The word in brackets of a list.
pub fn bracketed(list: &str) -> Option<String> {
    let (_, rest) = list.split_once('[')?;
    Some(rest.split_once(']')?.0.to_string())
}

/// The modes that these files name; nothing if none of them is there.
pub fn offered(values: &[Value]) -> Option<Offered> {
    let state = of(values, "/sys/power/state")?;
    let mut out = Offered::default();
    let has = |word: &str| state.split(' ').any(|s| s == word);
    if let Some(list) = of(values, "/sys/power/mem_sleep") {
        let word = |w: &str| w.trim_matches(['[', ']']).to_string();
        out.modes = list.split_whitespace().map(word).collect();
        out.chosen = bracketed(list);
    } else if has("freeze") {
        out.modes.push("s2idle".into());
    }
    if has("standby") {
        out.modes.push("standby".into());
    }
    if has("disk") {
        out.modes.push("hibernation".into());
    }
    Some(out)
}

/// What hibernation needs, as far as these files tell; nothing where it is not built in.
pub fn needs(values: &[Value]) -> Vec<Need> {
    let power = |name: &str| of(values, &["/sys/power/", name].concat());
    let mut out = Vec::new();
    let Some(disk) = power("disk") else { return out };
    out.push(Need::Way(bracketed(disk).filter(|w| w != "disabled")));
    let lockdown = of(values, "/sys/kernel/security/lockdown").and_then(bracketed);
    if let Some(mode) = lockdown.filter(|m| m != "none") {
        out.push(Need::Forbidden(["lockdown is ", &mode].concat()));
    }
    let line = of(values, "/proc/cmdline").unwrap_or_default();
    if line.split(' ').any(|w| w == "nohibernate" || w == "hibernate=no") {
        out.push(Need::Forbidden("nohibernate on the kernel command line".into()));
    }
    out.extend(power("resume").map(|r| Need::Resume(r.into())));
    let bytes = |name: &str| {
        let text = of(values, &["/proc/meminfo/", name].concat())?;
        text.split(' ').next()?.parse::<u64>().ok().map(|kb| kb.saturating_mul(1_024))
    };
    let wish = power("image_size").and_then(|v| v.parse::<u64>().ok());
    if let (Some(free), Some(all), Some(spare), Some(wish)) =
        (bytes("SwapFree"), bytes("MemTotal"), bytes("MemFree"), wish)
    {
        out.push(Need::Room { free, image: wish.min(all.saturating_sub(spare)) });
    }
    let compressor = of(values, "/sys/module/hibernate/parameters/compressor");
    out.extend(compressor.map(|c| Need::Compressor(c.into())));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &[(&str, &str)]) -> Vec<Value> {
        let one = |&(p, v): &(&str, &str)| Value { line: 0, path: p.into(), value: v.into() };
        list.iter().map(one).collect()
    }

    #[test]
    fn modes_are_those_of_the_files() {
        let v = values(&[
            ("/sys/power/state", "freeze mem disk"),
            ("/sys/power/mem_sleep", "s2idle [deep]"),
        ]);
        let o = offered(&v).unwrap();
        assert_eq!(o.modes, ["s2idle", "deep", "hibernation"]);
        assert_eq!(o.chosen.as_deref(), Some("deep"));
        assert_eq!(offered(&[]), None);
        assert!(offered(&values(&[("/sys/power/state", "")])).unwrap().modes.is_empty());
    }

    #[test]
    fn hibernation_is_ready_or_lacks_what_is_named() {
        let mut v = values(&[
            ("/sys/power/disk", "[platform] shutdown"),
            ("/sys/power/resume", "8:2"),
            ("/sys/power/image_size", "1000000"),
            ("/proc/meminfo/MemTotal", "4000 kB"),
            ("/proc/meminfo/MemFree", "1000 kB"),
            ("/proc/meminfo/SwapFree", "2000 kB"),
            ("/sys/module/hibernate/parameters/compressor", "lzo"),
            ("/sys/kernel/security/lockdown", "[none] integrity confidentiality"),
        ]);
        assert!(needs(&v).iter().all(Need::is_met), "{:?}", needs(&v));
        v[1].value = "0:0".into();
        v[5].value = "0 kB".into();
        v[7].value = "none [integrity] confidentiality".into();
        let lacks: Vec<Need> = needs(&v).into_iter().filter(|n| !n.is_met()).collect();
        assert_eq!(lacks.len(), 3, "{lacks:?}");
        v[0].value = "[disabled]".into();
        assert_eq!(needs(&v)[0], Need::Way(None));
    }
}
