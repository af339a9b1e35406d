//! Small kernel logs of every generation of lines.

/// Name and text.
pub(crate) fn logs() -> Vec<(&'static str, String)> {
    let old = |p: &str| {
        format!(
            "{p}PM: Syncing filesystems ... done.\n\
             {p}Freezing user space processes ... (elapsed 0.001 seconds) done.\n\
             {p}calling  0000:00:1f.2+ @ 123, parent: pci0000:00\n\
             {p}call 0000:00:1f.2+ returned 0 after 4567 usecs\n\
             {p}PM: suspend of devices complete after 22.979 msecs\n\
             {p}PM: noirq suspend of devices complete after 1.5 msecs\n\
             {p}PM: noirq resume of devices complete after 2.5 msecs\n\
             {p}calling  usb1+ @ 124, parent: 0000:00:14.0\n\
             {p}call usb1+ returned -16 after 12 usecs\n\
             {p}PM: resume of devices complete after 21.3 msecs\n\
             {p}Restarting tasks ... done.\n"
        )
    };
    let new = |head: &str, offset: &str| {
        format!(
            "[   10.000001] PM: suspend entry (deep)\n\
             [   10.010000] Filesystems sync: 0.010 seconds\n\
             [   10.011000] Freezing user space processes\n\
             [   10.012000] Freezing user space processes completed (elapsed 0.001 seconds)\n\
             [   10.020000][  T77] ahci 0000:00:1f.2: {head}calling pci_pm_suspend{offset} @ 77, parent: pci0000:00\n\
             [   10.021000][  T77] ahci 0000:00:1f.2: {head}pci_pm_suspend{offset} returned 0 after 1000 usecs\n\
             [   10.030000] PM: suspend of devices complete after 12.000 msecs\n\
             [   10.040000] PM: suspend-to-idle\n\
             [   11.000000] PM: resume from suspend-to-idle\n\
             [   11.010000] usb usb1: {head}calling usb_dev_resume{offset} @ 123, parent: 0000:00:14.0\n\
             [   11.020000] usb usb1: {head}usb_dev_resume{offset} returned 0 after 9999 usecs\n\
             [   11.030000] PM: resume of devices complete after 21.368 msecs\n\
             [   11.040000] OOM killer enabled.\n\
             [   11.040001] Restarting tasks ... done.\n\
             [   11.050000] PM: suspend exit\n"
        )
    };
    let modern = new("PM: ", "");
    let body = |line: &str| -> (String, String) {
        let (stamp, text) = line[1..].split_once(']').unwrap();
        (stamp.trim().to_string(), text.trim_start_matches(|c| c != ' ').trim().to_string())
    };
    let dressed = |dress: &dyn Fn(&str, &str) -> String| -> String {
        modern.lines().map(body).map(|(s, t)| dress(&s, &t) + "\n").collect()
    };
    let micros = |stamp: &str| stamp.replace('.', "");
    vec![
        ("decode", modern.lines().map(|l| format!("kern  :info  : {l}\n")).collect()),
        ("fused", modern.replace(" usecs\n", " usecs")),
        ("doubled", modern.lines().map(|l| format!("{l}\n{l}\n")).collect()),
        ("grep", modern.replace("[   10.030000]", "--\n[   10.030000]")),
        (
            "ends",
            modern
                .lines()
                .filter(|l| l.contains(" returned "))
                .map(|l| format!("> {l}\n"))
                .collect(),
        ),
        ("table", "call usb1+ 109400 usecs\ncall 1-1+ 4000 usecs\n".into()),
        ("device", dressed(&|s, t| format!("6,1,{},-,caller=T7;{t}", micros(s)))),
        ("mediatek", dressed(&|s, t| format!("[   {s}] <1>.(1)[7:sh]{t}"))),
        (
            "json",
            dressed(&|s, t| {
                format!(
                    "{{\"_BOOT_ID\":\"a\",\"MESSAGE\":\"{t}\",\"_TRANSPORT\":\"kernel\",\
                 \"_SOURCE_MONOTONIC_TIMESTAMP\":\"{}\"}}",
                    micros(s)
                )
            }),
        ),
        (
            "export",
            dressed(&|s, t| {
                format!(
                    "__CURSOR=c\n_TRANSPORT=kernel\nMESSAGE={t}\n_SOURCE_MONOTONIC_TIMESTAMP={}\n",
                    micros(s)
                )
            }),
        ),
        (
            "hibernation",
            modern
                .replace("suspend entry (deep)", "hibernation: hibernation entry")
                .replace("suspend exit", "hibernation: hibernation exit")
                .replace("pm_suspend", "pm_freeze")
                .replace("dev_resume", "dev_restore")
                .replace(
                    "PM: suspend-to-idle",
                    "PM: hibernation: Allocated 4096 kbytes in 0.02 seconds (204.80 MB/s)",
                ),
        ),
        ("4.19", old("[   97.000123] ")),
        ("syslog", old("Nov 21 22:16:50 box kernel: [   97.000123] ")),
        ("rfc3339", old("2026-11-21T22:16:50.000001+01:00 box kernel: ")),
        ("5.10", new("", "+0x0/0x1b0")),
        ("6.1", new("PM: ", "+0x0/0x1b0")),
        ("6.12", new("PM: ", "")),
    ]
}
