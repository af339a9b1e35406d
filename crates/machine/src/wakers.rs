//! Who arms sleep, and which line woke the machine last.

use crate::root::{File, Root};

/// Where systemd and elogind look for programs to run around a sleep.
const HOOKS: [&str; 4] = [
    "/usr/lib/systemd/system-sleep",
    "/etc/systemd/system-sleep",
    "/usr/lib/elogind/system-sleep",
    "/etc/elogind/system-sleep",
];

/// Says that systemd runs the machine, and names the folders with a program that writes
/// `wakeup_count`, by itself or through `dormouse sync --arm`.
pub(crate) fn hooks(root: &Root, out: &mut Vec<File>) {
    const SYSTEMD: &str = "/run/systemd/system";
    if !root.exists(SYSTEMD) {
        return;
    }
    out.push((SYSTEMD.into(), "there".into()));
    for folder in HOOKS {
        let text = |name: String| root.read(&format!("{folder}/{name}"));
        let arms = |t: String| t.contains("wakeup_count") || t.contains("sync --arm");
        if root.list(folder).into_iter().filter_map(text).any(arms) {
            out.push((folder.into(), "arms".into()));
        }
    }
}

const IRQ: &str = "/sys/power/pm_wakeup_irq";

fn actions(irq: &str) -> String {
    format!("/sys/kernel/irq/{irq}/actions")
}

/// The number of the line that woke the machine last, and the names of its owners where the
/// kernel gives them.
pub(crate) fn owned(root: &Root) -> Option<(String, Option<String>)> {
    let irq = root.read(IRQ).filter(|n| !n.is_empty())?;
    let owners = root.read(&actions(&irq)).filter(|a| !a.is_empty());
    Some((irq, owners))
}

/// The number of the line that woke the machine last and the names of its owners. What
/// the device of that name counted is read by [`counted`].
pub(crate) fn line(root: &Root, out: &mut Vec<File>) {
    let Some((irq, Some(action))) = owned(root) else { return };
    let path = actions(&irq);
    let name = action.strip_suffix(":wakeup").unwrap_or(&action);
    // Names of devices hold no blank, and a shared line belongs to nobody.
    if !name.contains([',', ' ', '/']) {
        let is_it = |d: &str| d == name || d.strip_prefix("i2c-") == Some(name);
        counted(root, out, "/sys/devices", &is_it, DEPTH);
    }
    out.push((IRQ.into(), irq));
    out.push((path, action));
}

/// Levels of folders that are gone through, at most.
const DEPTH: usize = 24;

/// Files of the device that `is_it` knows by its name, below `at`.
fn counted(root: &Root, out: &mut Vec<File>, at: &str, is_it: &dyn Fn(&str) -> bool, depth: usize) {
    if at.rsplit('/').next().is_some_and(is_it) {
        for file in ["wakeup", "wakeup_active_count"] {
            let path = format!("{at}/power/{file}");
            if let Some(value) = root.read(&path) {
                out.push((path, value));
            }
        }
    }
    if depth == 0 {
        return;
    }
    for path in root.folders(at).iter().filter(|p| !p.ends_with("/power")) {
        counted(root, out, path, is_it, depth - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_line_and_the_hooks_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let place = dir.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        };
        let root = Root::below(dir.path());
        let mut found = Vec::new();
        hooks(&root, &mut found);
        line(&root, &mut found);
        assert!(found.is_empty(), "{found:?}");
        put("sys/power/pm_wakeup_irq", "45\n");
        put("sys/kernel/irq/45/actions", "PAD1:00\n");
        put("sys/devices/i2c-1/i2c-PAD1:00/power/wakeup", "enabled\n");
        put("sys/devices/i2c-1/i2c-PAD1:00/power/wakeup_active_count", "0\n");
        put("run/systemd/system/x", "");
        put("usr/lib/systemd/system-sleep/other", "#!/bin/sh\necho off\n");
        put("etc/systemd/system-sleep/arm", "#!/bin/sh\nexec dormouse sync --arm --budget 0\n");
        hooks(&root, &mut found);
        line(&root, &mut found);
        let paths: Vec<&str> = found.iter().map(|f| f.0.as_str()).collect();
        let power = "/sys/devices/i2c-1/i2c-PAD1:00/power";
        let [active, enabled] = ["wakeup_active_count", "wakeup"].map(|f| format!("{power}/{f}"));
        assert_eq!(
            paths,
            [
                "/run/systemd/system",
                "/etc/systemd/system-sleep",
                &enabled,
                &active,
                "/sys/power/pm_wakeup_irq",
                "/sys/kernel/irq/45/actions"
            ]
        );
        // A line of two has no owner.
        put("sys/kernel/irq/45/actions", "PAD1:00,other\n");
        let mut found = Vec::new();
        line(&root, &mut found);
        assert_eq!(found.len(), 2, "{found:?}");
        let line = |owners: Option<&str>| Some(("45".to_string(), owners.map(String::from)));
        assert_eq!(owned(&root), line(Some("PAD1:00,other")));
        fs::remove_file(dir.path().join("sys/kernel/irq/45/actions")).unwrap();
        assert_eq!(owned(&root), line(None), "the number is known for all that");
    }
}
