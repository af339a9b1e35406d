//! Files that set CPU idle: each says what it does, how to install it and how to
//! undo it.

use dormouse_idle::knob::{UNLIMITED, dma_latency_text, resume_latency};
use std::fmt::Write as _;

/// What is to be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Governor, if another.
    pub governor: Option<String>,
    /// The governor before that, to undo the change.
    pub governor_before: Option<String>,
    /// Limit of each CPU, ns; CPUs without one are left alone.
    pub limits: Vec<(u32, i64)>,
    /// One limit for all CPUs, ns.
    pub for_all: Option<i64>,
    /// CPU and number of states to disable.
    pub disable: Vec<(u32, usize)>,
    /// `intel_idle.max_cstate`.
    pub max_cstate: Option<usize>,
    /// The tick is never stopped.
    pub periodic: bool,
}

const CPUS: &str = "/sys/devices/system/cpu";

impl Change {
    /// Files of sysfs with what to write into each.
    pub fn writes(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        if let Some(g) = &self.governor {
            out.push((format!("{CPUS}/cpuidle/current_governor"), g.clone()));
        }
        for &(cpu, ns) in &self.limits {
            let path = format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us");
            out.push((path, resume_latency(ns)));
        }
        for &(cpu, state) in &self.disable {
            out.push((format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/disable"), "1".into()));
        }
        out
    }

    /// What undoes each write, the last one first. A limit or a disabled state
    /// is lifted; the governor is as it was, if that is known.
    fn undo(&self) -> Vec<(String, String)> {
        let back = |(path, _): (String, String)| {
            if path.ends_with("current_governor") {
                return Some((path, self.governor_before.clone()?));
            }
            Some((path, "0".to_string()))
        };
        self.writes().into_iter().rev().filter_map(back).collect()
    }

    /// Words for the kernel command line; empty if none is needed.
    pub fn command_line(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.max_cstate.map(|n| format!("intel_idle.max_cstate={n}")));
        if self.periodic {
            words.push("nohz=off".into());
        }
        words.join(" ")
    }

    /// Name and text of every file.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        let writes = self.writes();
        if !writes.is_empty() {
            out.push(("dormouse-idle.conf", self.tmpfiles(&writes)));
            out.push(("90-dormouse-idle.rules", self.udev()));
            out.push(("dormouse-idle.service", self.unit(&writes)));
        }
        if !writes.is_empty() || !self.command_line().is_empty() {
            out.push(("tuned.conf", self.tuned(&writes)));
        }
        if !self.command_line().is_empty() {
            out.push(("cmdline", self.boot()));
        }
        out
    }

    fn tmpfiles(&self, writes: &[(String, String)]) -> String {
        let mut out = String::from(
            "# dormouse: idle states, set when the machine starts.\n\
             # Install: copy to /etc/tmpfiles.d/, then: systemd-tmpfiles --create dormouse-idle.conf\n\
             # Undo: remove the file and restart the machine.\n\
             # In pm_qos_resume_latency_us, 0 means no limit and n/a a limit of nothing.\n",
        );
        for (path, value) in writes {
            let _ = writeln!(out, "w {path} - - - - {value}");
        }
        out
    }

    fn udev(&self) -> String {
        let mut out = String::from(
            "# dormouse: idle states, set when a CPU appears (also after it was offline).\n\
             # Install: copy to /etc/udev/rules.d/, then: udevadm trigger -s cpu\n\
             # Undo: remove the file and restart the machine.\n",
        );
        for &(cpu, ns) in &self.limits {
            let _ = writeln!(
                out,
                "SUBSYSTEM==\"cpu\", KERNEL==\"cpu{cpu}\", \
                 ATTR{{power/pm_qos_resume_latency_us}}=\"{}\"",
                resume_latency(ns)
            );
        }
        for &(cpu, state) in &self.disable {
            let _ = writeln!(
                out,
                "SUBSYSTEM==\"cpu\", KERNEL==\"cpu{cpu}\", ATTR{{cpuidle/state{state}/disable}}=\"1\""
            );
        }
        if let Some(g) = &self.governor {
            let _ = writeln!(
                out,
                "# The governor belongs to no CPU; dormouse-idle.conf writes {g} into\n\
                 # {CPUS}/cpuidle/current_governor."
            );
        }
        out
    }

    fn unit(&self, writes: &[(String, String)]) -> String {
        let mut out = String::from(
            "# dormouse: idle states, as a service that can be stopped.\n\
             # Install: copy to /etc/systemd/system/, then: systemctl enable --now dormouse-idle\n\
             # Undo: systemctl disable --now dormouse-idle\n\
             [Unit]\nDescription=Idle states set by dormouse\n\n\
             [Service]\nType=oneshot\nRemainAfterExit=yes\n",
        );
        for (path, value) in writes {
            let _ = writeln!(out, "ExecStart=/bin/sh -c 'echo {value} > {path}'");
        }
        for (path, value) in self.undo() {
            let _ = writeln!(out, "ExecStop=/bin/sh -c 'echo {value} > {path}'");
        }
        out + "\n[Install]\nWantedBy=multi-user.target\n"
    }

    fn tuned(&self, writes: &[(String, String)]) -> String {
        let mut out = String::from(
            "# dormouse: idle states as a profile of tuned.\n\
             # Install: copy to /etc/tuned/profiles/dormouse-idle/ (older tuned:\n\
             # /etc/tuned/dormouse-idle/), then: tuned-adm profile dormouse-idle\n\
             # Undo: tuned-adm profile PROFILE, with the one that was in use.\n\
             [main]\nsummary=Idle states set by dormouse\n",
        );
        if let Some(ns) = self.for_all.filter(|&ns| ns < UNLIMITED) {
            // tuned takes a decimal number and writes four bytes itself.
            let _ = write!(
                out,
                "\n[cpu]\n# By hand: exec 3> /dev/cpu_dma_latency; printf {} >&3; it holds\n\
                 # until the shell ends. The file reads text as hexadecimal.\n\
                 force_latency={}\n",
                dma_latency_text(ns),
                ns / 1_000
            );
        }
        let rest: Vec<&(String, String)> = writes
            .iter()
            .filter(|w| self.for_all.is_none() || !w.0.ends_with("_latency_us"))
            .collect();
        if !rest.is_empty() {
            out += "\n[sysfs]\n";
            for (path, value) in rest {
                let _ = writeln!(out, "{path}={value}");
            }
        }
        if !self.command_line().is_empty() {
            let _ = write!(out, "\n[bootloader]\ncmdline_dormouse={}\n", self.command_line());
        }
        out
    }

    fn boot(&self) -> String {
        format!(
            "# dormouse: words for the kernel command line (GRUB_CMDLINE_LINUX in\n\
             # /etc/default/grub, then update-grub). Undo: remove them.\n\
             # intel_idle.max_cstate counts states of the table, not numbers in their\n\
             # names; 0 would hand over to acpi_idle.\n{}\n",
            self.command_line()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_say_what_they_write_and_how_to_undo_it() {
        let c = Change {
            governor: Some("menu".into()),
            governor_before: Some("ladder".into()),
            limits: vec![(2, 0), (3, 50_000), (4, UNLIMITED)],
            disable: vec![(2, 3)],
            max_cstate: Some(2),
            ..Change::default()
        };
        let files = c.files();
        for (name, text) in &files {
            assert!(text.contains("Undo: "), "{name}: {text}");
        }
        let text = |name: &str| &files.iter().find(|f| f.0 == name).expect(name).1;
        let tmp = text("dormouse-idle.conf");
        // A limit of nothing is not written as 0, which would lift it.
        assert!(tmp.contains(
            "w /sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us - - - - n/a\n"
        ));
        assert!(tmp.contains("cpu3/power/pm_qos_resume_latency_us - - - - 50\n"));
        assert!(tmp.contains("cpu4/power/pm_qos_resume_latency_us - - - - 0\n"));
        assert!(tmp.contains("w /sys/devices/system/cpu/cpuidle/current_governor - - - - menu\n"));
        let rules = text("90-dormouse-idle.rules");
        assert!(
            rules.contains("KERNEL==\"cpu2\", ATTR{cpuidle/state3/disable}=\"1\"\n"),
            "{rules}"
        );
        let unit = text("dormouse-idle.service");
        assert!(unit.contains(
            "ExecStop=/bin/sh -c 'echo 0 > /sys/devices/system/cpu/cpu2/cpuidle/state3/disable'"
        ));
        assert!(
            unit.contains(
                "ExecStop=/bin/sh -c 'echo ladder > /sys/devices/system/cpu/cpuidle/current_governor'"
            ),
            "{unit}"
        );
        assert_eq!(unit.matches("ExecStart=").count(), unit.matches("ExecStop=").count());
        assert!(text("cmdline").ends_with("\nintel_idle.max_cstate=2\n"));
        assert!(text("tuned.conf").contains("cmdline_dormouse=intel_idle.max_cstate=2"));
    }

    #[test]
    fn one_limit_for_all_is_tuned_s_own() {
        let c = Change {
            limits: vec![(0, 20_000), (1, 20_000)],
            for_all: Some(20_000),
            ..Change::default()
        };
        let files = c.files();
        let tuned = &files.iter().find(|f| f.0 == "tuned.conf").expect("a profile").1;
        assert!(tuned.contains("force_latency=20\n") && !tuned.contains("[sysfs]"), "{tuned}");
        // Not "20", which the file would take for 32.
        assert!(tuned.contains("printf 0x00000014"), "{tuned}");
        assert!(Change::default().files().is_empty());
    }
}
