//! Probing and tables as people post them: interrupted, cut, wrapped, and what explains
//! several waits at once.

use dormouse_power::Finding;
use dormouse_power::domain::Status;
use dormouse_power::probe::Provider;
use dormouse_power::root::Cause;
use dormouse_power::supplier::Fate;
use dormouse_power::{Case, Confidence, Level, judge};
use dormouse_read::domains::read_bytes;

fn case(text: &str) -> Case {
    read_bytes("text", text.as_bytes()).case
}

fn findings(text: &str) -> Vec<Finding> {
    judge(&case(text)).findings
}

fn waiting(text: &str) -> Vec<String> {
    case(text).deferrals.into_iter().map(|d| d.device).collect()
}

#[test]
fn a_list_goes_on_behind_what_interrupts_it() {
    let devices = ["7000.dsi", "1-0051", "leds"];
    let rows = [
        "7000.dsi\tplatform: supplier 6000.hub not ready",
        "1-0051\trtc: no clock",
        "leds\tleds-gpio: no line",
    ];
    let reply = format!(
        "> $ cat /sys/kernel/debug/devices_deferred\n> {}\n\nThat is odd: why?\n\n> {}\n> {}\n",
        rows[0], rows[1], rows[2]
    );
    assert_eq!(waiting(&reply), devices);
    let fences = format!(
        "```\nroot@box:~# cat /sys/kernel/debug/devices_deferred\n```\n\nshows\n\n```text\n{}\n...\n{}\n```\n\
         later also\n```\n{}\n```\nand that is all of it\n",
        rows[0], rows[1], rows[2]
    );
    assert_eq!(waiting(&fences), devices);
    // Another command ends it; a log is no list, and neither is prose.
    let other = format!(
        "# cat /sys/kernel/debug/devices_deferred\n{}\nThe rest: is fine.\n# dmesg | tail\n{}\n\
         imx 5000.clk: error: none\n",
        rows[0], rows[1]
    );
    assert_eq!(waiting(&other)[..1], devices[..1]);
    assert!(!waiting(&other).iter().any(|d| d == "imx" || d == "The"), "{:?}", waiting(&other));
    // A row whose blanks are not those of the list ends it.
    let odd = format!(
        "# cat /sys/kernel/debug/devices_deferred\n{}\nlamp foo: supplier x not ready\n{}\n",
        rows[0], rows[1]
    );
    assert_eq!(waiting(&odd)[..1], devices[..1]);
    let captioned = format!("Devices still deferred:\n{}\n{}\n", rows[0], rows[2]);
    assert_eq!(waiting(&captioned), ["7000.dsi", "leds"]);
}

#[test]
fn the_words_of_the_core_are_known_though_cut() {
    let text = "# cat /sys/kernel/debug/devices_deferred\n12340000.gpu    platform: wait for\n\
                supplier /soc/power@5600\n56780000.vpu    platform: wait for supplier\n\
                9abc0000.jpu    platform: supplier 4444.iommu not\nready\n";
    let roots = judge(&case(text)).roots;
    let at = |cause: &Cause| {
        roots.iter().find(|r| r.cause == *cause).map(|r| r.at.join(" ")).unwrap_or_default()
    };
    assert_eq!(at(&Cause::Node { path: "/soc/power@5600".into() }), "12340000.gpu");
    assert_eq!(at(&Cause::Lost), "56780000.vpu");
    let named = roots
        .iter()
        .any(|r| matches!(&r.cause, Cause::Device { name, .. } if name == "4444.iommu"));
    assert!(named, "{roots:?}");
}

#[test]
fn tables_of_domains_that_were_wrapped_or_interrupted() {
    let text = "domain                          status\nchildren                           performance\n\
        \x20   /device                                             runtime status\n\
        --------------------------------------------------\n\
        soc_top                         on\nisp_island, npu_island             0\n\
        npu_island                      on\n128\n\
        \x20   /devices/platform/soc/77000.npu\nactive                  128\n\
        isp_island                      off-1\n0\n";
    let c = case(text);
    let d = &c.dumps[0];
    let names: Vec<&str> = d.domains.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["soc_top", "npu_island", "isp_island"]);
    assert_eq!(d.domains[0].children, ["isp_island", "npu_island"]);
    assert_eq!((d.domains[0].performance, d.domains[1].performance), (Some(0), Some(128)));
    assert_eq!(d.domains[1].devices[0].name(), "77000.npu");
    assert_eq!(d.domains[2].status, Status::Off(Some(1)));

    let text = "> domain                          status          children        performance\n\
        >     /device                         runtime status                  managed by\n\
        > --------------------------------------------------\n\
        > cam                             on              0\n\nThat one?\n\n\
        >     88000.cam                       active                      0           SW\n\
        > aud                             off-0           0\n";
    let d = &case(text).dumps[0];
    assert_eq!((d.domains.len(), d.domains[0].devices.len()), (2, 1));
}

#[test]
fn rows_that_are_left_out_leave_parents_and_totals_open() {
    let head = "                                 enable  prepare  protect\n\
        \x20  clock                          count    count    count        rate   accuracy phase  cycle\n\
        ------------------------------------------------------------\n";
    for gap in ["....", "[...]", "[ many more ]\n...", "(... 20 rows ...)", "…"] {
        let text = format!(
            "{head} xtal                2 2 0 24000000 0 0 50000\n    pll1             1 1 0 900000000 0 0 50000\n\
             {gap}\n       bus0          1 1 0 100000000 0 0 50000\n"
        );
        let t = &case(&text).clocks[0];
        let rows: Vec<(&str, Option<usize>)> =
            t.clocks.iter().map(|c| (c.name.as_str(), c.parent)).collect();
        assert_eq!(rows, [("xtal", None), ("pll1", Some(0)), ("bus0", None)], "{gap}");
        assert!(t.cut, "{gap}");
    }
    let text = format!("{head} xtal                2 2 0 24000000 0 0 50000\n");
    assert!(!case(&text).clocks[0].cut);
}

#[test]
fn a_row_that_lost_a_blank_is_no_parent() {
    let text = " regulator                      use open bypass  opmode voltage current     min     max\n\
        ----------------------------------------------------------------\n\
        sw1                              1    1      0 unknown  3300mV     0mA  3300mV  3300mV\n\
        \x20sw2                              1    2      0 unknown  1100mV     0mA   900mV  1300mV\n\
        \x20   ldo_cam                       0    1      0 unknown  1800mV     0mA  1800mV  1800mV\n";
    let t = &case(text).regulators[0];
    let parents: Vec<Option<usize>> = t.regulators.iter().map(|r| r.parent).collect();
    assert_eq!(parents, [None, None, Some(1)]);
}

#[test]
fn the_stack_says_which_provider_is_missing() {
    for (function, provider) in [
        ("of_iommu_configure", Some(Provider::Iommu)),
        ("pinctrl_bind_pins", Some(Provider::Pins)),
        ("genpd_dev_pm_attach", Some(Provider::Domain)),
        ("devm_clk_get", Some(Provider::Clock)),
        ("really_probe", None),
    ] {
        let text = format!(
            "[   10.000001] abc-dma 4400.dma: deferred probe timeout, ignoring dependency\n\
             [   10.000002] WARNING: CPU: 0 PID: 9 at drivers/base/dd.c:290 driver_deferred_probe_check_state+0x1c/0x60\n\
             [   10.000003] Call trace:\n[   10.000004]  driver_deferred_probe_check_state+0x1c/0x60\n\
             [   10.000005]  {function}+0x10/0x20\n[   10.000006] ---[ end trace 12 ]---\n\
             [   10.000007]  of_iommu_late+0x1/0x2\n"
        );
        let found = findings(&text);
        let said = match provider {
            Some(p) => format!("{} that never came ({function} in the stack", p.name()),
            None => "a provider that never came; which, no line that was read says".into(),
        };
        assert_eq!(found[0].id, "provider-missing");
        assert!(found[0].sentence.contains(&said), "{function}: {}", found[0].sentence);
    }
}

#[test]
fn probes_that_failed_come_first_and_explain() {
    let unsaid = "[   12.000000] platform 5100.spi: deferred probe pending: (reason unknown)\n\
                  [   12.000001] platform 5200.can: deferred probe pending: (reason unknown)\n";
    let provider =
        "[    2.000000] abc-pins 5000.pinctrl: probe with driver abc-pins failed with error -22\n";
    let found = findings(&format!("{provider}{unsaid}"));
    assert_eq!((found[0].id, found[0].level), ("probe-failed", Level::Broken));
    assert!(found[0].sentence.contains("2 devices wait too"), "{found:?}");
    // A part that is not fitted explains nothing.
    let sensor = "[    2.000000] abc-als: probe of 1-0039 failed with error -121\n";
    let found = findings(&format!("{sensor}{unsaid}"));
    assert!(found.iter().all(|f| f.id != "probe-failed" || f.level == Level::Note), "{found:?}");

    let part = "[    3.000000] abc-drm 6000.display: failed to bind 6100.hdmi (ops abc_hdmi_ops [abcdrm]): -19\n\
                [    3.000001] abc-drm 6000.display: adev bind failed: -19\n";
    let found = findings(part);
    let said = "6100.hdmi could not be bound as a part of 6000.display";
    assert!(found[0].sentence.starts_with(said), "{found:?}");
    let later = part.replace("-19", "-517");
    assert!(findings(&later).iter().all(|f| f.level == Level::Note));

    // Of the whole no probe failed, and that of the part comes first.
    let own =
        "[    3.000100] abc-hdmi 6100.hdmi: probe with driver abc-hdmi failed with error -19\n";
    let found = findings(&format!("{part}{own}{unsaid}"));
    assert!(found[0].sentence.contains("6100.hdmi"), "{found:?}");
    assert!(
        found.iter().all(|f| !f.sentence.starts_with("The probe of 6000.display")),
        "{found:?}"
    );

    // A driver that complains before others wait without a reason; who waits for one of those is
    // said.
    let complains = "[    2.000000] abc-lens 4-0021: error -EIO: no lens answers\n\
        [    2.000001] abc-lens 4-0021: probe with driver abc-lens failed with error -5\n";
    let behind = "[   12.000002] platform 5300.dma: deferred probe pending: platform: supplier 5200.can not ready\n";
    let found = findings(&format!("{complains}{unsaid}{behind}"));
    assert_eq!((found[0].id, found[0].level), ("probe-failed", Level::Broken));
    assert!(found[0].sentence.contains("2 devices wait too"), "{found:?}");

    let brother = "[    2.000000] abc-usb: probe of 7100.usb failed with error -110\n\
                   [   12.000000] platform 7200.usb: deferred probe pending\n";
    let found = findings(brother);
    assert_eq!((found[0].id, found[0].confidence), ("brother-failed", Confidence::Likely));

    let on_bus = "[    2.000000] abc-pmic: probe of 2-0060 failed with error -5\n\
        [   12.000000] platform 8000.gpu: deferred probe pending: platform: wait for supplier /soc/i2c@900/pmic@60/regulators/buck2\n";
    let found = findings(on_bus);
    assert_eq!(found[0].id, "supplier-failed");
}

#[test]
fn a_driver_that_cannot_make_a_part_may_wait_for_who_needs_it() {
    let text = "[   12.000000] platform 9000.dsp: deferred probe pending: abc-dsp: could not add apr-bus\n\
        [   12.000001] platform 9100.codec: deferred probe pending: platform: wait for supplier /soc/dsp@9000/apr-bus/clocks\n\
        [   12.000002] platform 9200.mbox: deferred probe pending: platform: supplier 9100.codec not ready\n";
    let found = findings(text);
    assert_eq!((found[0].id, found[0].confidence), ("probe-loop", Confidence::Likely));
    // What it says of something else is its own reason.
    let other = text.replace("apr-bus\n", "a rail\n");
    assert!(findings(&other).iter().all(|f| f.id != "probe-loop"));
}

#[test]
fn a_power_domain_that_cannot_be_attached_has_one_finding() {
    for (message, domain, error) in [
        ("error -ENOENT: failed to attach power domain \"core\"", "core", "-ENOENT"),
        ("Failed to attach PM domain mx: -2", "mx", "-2"),
        ("failed to attach power domains (-22)", "", "-22"),
    ] {
        let text = format!("[    2.500000] abc-vpu a000.vpu: {message}\n");
        let c = case(&text);
        assert_eq!(c.attachments.len(), 1, "{message}");
        let a = &c.attachments[0];
        assert_eq!((&*a.device, &*a.domain, &*a.error), ("a000.vpu", domain, error));
    }
    let text =
        "[    2.500000] abc-vpu a000.vpu: error -EPROBE_DEFER: failed to attach power domain\n";
    assert_eq!((case(text).attachments.len(), case(text).deferrals.len()), (0, 1));
}

#[test]
fn a_consumer_that_comes_later_is_seen() {
    let pending = "[   10.000000] genpd_provider isp0: sync_state() pending due to b000.cam\n";
    let of = |text: &str| judge(&case(text)).suppliers[0].consumers[0].fate;
    assert_eq!(of(pending), Fate::Silent);
    assert_eq!(of(&format!("{pending}[   30.000000] abc-cam b000.cam: ready\n")), Fate::Came);
    assert_eq!(of(&format!("[    2.000000] abc-cam b000.cam: hello\n{pending}")), Fate::Spoke);
    assert!(findings(pending).iter().all(|f| f.level == Level::Note));
}

/// A list that was printed and is empty says that nobody waits any more; one that was refused,
/// or that the text leaves out, says nothing.
#[test]
fn an_empty_list_ends_what_waited_before() {
    let pending = "[    9.114400] platform a4000.dsi: deferred probe pending: platform: supplier \
                   a7000.hub not ready\n";
    let with = |printed: &str| {
        let text = format!(
            "root@box:~# cat /sys/kernel/debug/devices_deferred\n{printed}root@box:~# dmesg\n{pending}"
        );
        findings(&text).len()
    };
    assert_eq!(findings(pending).len(), 1);
    assert_eq!(with(""), 0);
    for printed in ["cat: /sys/kernel/debug/devices_deferred: Permission denied\n", "...\n"] {
        assert_eq!(with(printed), 1, "{printed}");
    }
    assert!(with("b2000.phy\tphy: no clock\n") > 0);
}

/// Whoever speaks for a device that waited has probed it: a driver, its interface, or a core
/// that registered something on it.
#[test]
fn what_speaks_for_a_device_ends_its_wait() {
    let pending = |device: &str| {
        format!(
            "[    9.114400] platform {device}: deferred probe pending: platform: supplier a7000.hub not ready\n"
        )
    };
    for later in [
        "acme-phy a4000.eth: ready",
        "acme-eth a4000.eth eth0: Link is Up - 1Gbps/Full",
        "mmc1: SDHCI controller on a4000.eth [a4000.eth] using ADMA",
    ] {
        let text = pending("a4000.eth") + "[   12.000000] " + later + "\n";
        assert_eq!(findings(&text).len(), 0, "{text}");
        let other = pending("a4000.eth") + "[   12.000000] " + &later.replace("a4000", "b4000");
        assert_eq!(findings(&other).len(), 1, "{other}");
    }
    let words =
        pending("a4000.eth") + "[   12.000000] systemd[1]: Dependency failed for a4000.eth\n";
    assert_eq!(findings(&words).len(), 1);
}

#[test]
fn what_a_line_does_not_name_is_left_out() {
    let says = |words: &str| {
        findings(&format!("[    4.220000] foo 1000.bar: {words}\n"))[0].sentence.clone()
    };
    assert_eq!(
        says("failed to attach power domain \"x\""),
        "1000.bar could not be put into domain x."
    );
    assert_eq!(
        says("Failed to attach power domain: -19"),
        "1000.bar could not be put into its domain: error -19."
    );
    assert_eq!(
        says("failed to attach power domain x, ret = -2"),
        "1000.bar could not be put into domain x: error -2."
    );
}

#[test]
fn a_failed_probe_is_no_good_news() {
    // Both forms (6.11 on says the driver), an error that is no time-out, a card after it.
    let old = "tas2552: probe of 3-0041 failed with error -5\n\
        simple-audio sound.2: ASoC: failed to instantiate card (-517)\n\
        platform sound.2: Driver simple-audio requests probe deferral\n";
    let new = old.replace(
        "tas2552: probe of 3-0041 failed",
        "tas2552 3-0041: probe with driver tas2552 failed",
    );
    for text in [old, &new] {
        let found = findings(text);
        let failed = found.iter().find(|f| f.id == "probe-failed").expect(text);
        assert_eq!(failed.level, Level::Risk, "{failed:?}");
        assert!(failed.sentence.contains("3-0041 by tas2552 failed with error -5"), "{failed:?}");
        assert_eq!(waiting(text), ["sound.2"; 2], "{text}");
    }
    // Without a card the part may not be fitted.
    let alone = findings("tas2552: probe of 3-0041 failed with error -5\n");
    assert_eq!((alone[0].id, alone[0].level), ("probe-failed", Level::Note));
    // A driver that finds no device of its own says nothing of a fault.
    let none = "probe of 1-0030 returned -19 after 300 usecs\n";
    assert!(findings(none).is_empty(), "{:?}", findings(none));
    // It probed in the end.
    let later = "tas2552: probe of 3-0041 failed with error -5\n\
        probe of 3-0041 returned 0 after 300 usecs\n";
    assert!(findings(later).is_empty(), "{:?}", findings(later));
}

#[test]
fn what_did_not_switch_comes_before_what_waits_for_it() {
    let chain = "[    2.001000] imx-gpcv2 303a0000.gpc: failed to command PGC\n\
        [    2.002000] PM: genpd: hsmix: power-on failed (-110)\n\
        [    2.003000] imx8m-blk-ctrl 32fc0000.blk-ctrl: error -ETIMEDOUT: failed to power on bus domain\n\
        [    2.004000] imx8m-blk-ctrl: probe of 32fc0000.blk-ctrl failed with error -110\n\
        [   12.000000] platform 32e60000.dsi: deferred probe pending: platform: wait for supplier /soc@0/blk-ctrl@32fc0000\n";
    let found = findings(chain);
    assert_eq!(found[0].id, "domain-stuck", "{found:?}");
    let said = &found[0].sentence;
    assert!(said.starts_with("The power domain hsmix did not switch on: error -110"), "{said}");
    assert!(said.contains("32fc0000.blk-ctrl failed to probe over it"), "{said}");
    assert_eq!(found[0].evidence.len(), 3);
    let gdsc = "------------[ cut here ]------------\ncam_gdsc status stuck at 'off'\n\
        WARNING: CPU: 1 PID: 9 at drivers/clk/qcom/gdsc.c:178 gdsc_toggle_logic+0x140/0x160\n";
    let found = findings(gdsc);
    assert_eq!(found[0].sentence, "The power domain cam_gdsc did not switch on.");
    let clock = "gcc_usb_clk status stuck at 'on'\n";
    assert_eq!(findings(clock)[0].sentence, "The clock gcc_usb_clk did not switch off.");
    let rock = "[    3.0] rockchip-pm-domain fd8d8000.power-management:power-controller: failed to set domain 'vop' on, val=0\n";
    assert_eq!(findings(rock)[0].sentence, "The power domain vop did not switch on.");
    for fine in [
        "[    1.0] imx-gpcv2 303a0000.gpc: power domain hsmix is on\n",
        "[    1.0] usb 1-1: failed to power on port\n",
    ] {
        assert!(findings(fine).is_empty(), "{fine}");
    }
}

#[test]
fn a_sentence_that_tells_of_a_clock_is_no_line_of_a_log() {
    let level = |text: &str| {
        let found = findings(text);
        let [f] = &found[..] else { panic!("{found:#?}") };
        assert!(f.sentence.contains(" oak_bus_clk did not switch on"), "{}", f.sentence);
        f.level
    };
    let line = "oak_bus_clk status stuck at 'off'";
    assert_eq!(level(&format!("{line}\n")), Level::Broken);
    // A whole line in quotation marks may be all that somebody shows.
    assert_eq!(level(&format!("Booting ends with \"{line}\"\n")), Level::Broken);
    assert_eq!(level(&format!("It prints \"{line}\" and returns early.\n")), Level::Note);
    let then = format!("The old kernel printed\n\n  {line}\n\non each boot.\n");
    assert_eq!(level(&then), Level::Note);
    let gone = format!("I saw\n\n  {line}\n\non each boot. Since v6.12 this is gone, thanks.\n");
    assert_eq!(level(&gone), Level::Note);
    assert_eq!(level(&then.replace("  oak", "[    3.100000] oak")), Level::Broken);
}

#[test]
fn a_node_without_an_address_has_one_name_in_pairs() {
    let log = "platform 5000.bus:mux: Fixed dependency cycle(s) with /soc/bus/panel@1\n\
        platform 1.panel: Fixed dependency cycle(s) with /soc/bus/mux\n\
        platform 5000.bus:mux: Fixed dependency cycle(s) with /soc/bus/other\n";
    let report = judge(&case(log));
    assert_eq!(report.pairs.list.len(), 2, "{:?}", report.pairs);
}

#[test]
fn a_clock_at_zero_runs_not_and_a_row_that_ends_early_cuts_its_table() {
    let head = "                                 enable  prepare  protect                                duty  hardware\n   \
        clock                          count    count    count        rate   accuracy phase  cycle    enable\n\
        -------------------------------------------------------------------------------------------------------\n";
    let row = |name: &str, rate: &str| {
        format!(" {name:<37}0        0        0  {rate:>10}          0     0  50000         Y\n")
    };
    let text = format!("{head}{}{}", row("still", "0"), row("fast", "48000000"));
    let t = &case(&text).clocks[0];
    assert_eq!((t.running(), t.unasked(), t.cut), (Some(1), vec![1], false));
    let cut = format!("{text} xtal                                 7        7\n");
    let t = &case(&cut).clocks[0];
    assert_eq!((t.clocks.len(), t.cut), (3, true));
}

#[test]
fn regulators_are_a_table_that_can_be_compared() {
    let text = " regulator                      use open bypass  opmode voltage current     min     max\n\
        ---------------------------------------------------------------------------------------\n \
        vin                              2    1      0 unknown  5000mV     0mA  5000mV  5000mV\n    \
        vdd_isp                       1    1      0 unknown   900mV     0mA   800mV  1000mV\n       \
        30.isp-vdd                 1                                 0mA   900mV  1000mV\n";
    let now = case(text).regulators[0].table();
    let later = case(&text.replace(" 900mV     0mA   800mV", " 975mV     0mA   800mV"));
    let found = dormouse_base::beside::beside(&now, &later.regulators[0].table());
    let moved = found.expect("one kind").moved;
    assert_eq!(moved[0].name, "vdd_isp, voltage", "{moved:?}");
    assert_eq!(moved.iter().filter(|m| m.weight() > 0).count(), 1);
    let cut = text.replace("0mA   900mV  1000mV\n", "0m\n");
    assert!(case(&cut).regulators[0].cut);
}

#[test]
fn a_provider_that_is_not_there_stands_before_what_misses_its_kind() {
    let text = "[    1.402201] elm-regulator 0-001c: Failed to get chip ID!\n\
        [    1.402266] elm-regulator 0-001c: probe with driver elm-regulator failed with error -6\n\
        [    2.113811] oak ff9a0000.gpu: get regulator failed: -517\n\
        [   12.291933] platform ff9a0000.gpu: deferred probe pending: oak: get regulator failed\n\
        [   12.291988] cpu cpu4: deferred probe pending: (reason unknown)\n";
    let found = findings(text);
    assert_eq!((found[0].id, found[0].level), ("probe-failed", Level::Broken));
    assert!(found[0].sentence.contains("ff9a0000.gpu waits for a regulator"), "{:?}", found[0]);
}

#[test]
fn a_journal_with_a_tab_in_it_is_no_list_of_deferred_devices() {
    for host in ["elm", "my-host"] {
        let line = |said: &str| format!("2025-04-08T10:00:00+02:00 {host} kernel: {said}\n");
        let text = ["PM: suspend entry (s2idle)", "pci 0000:00:1c.0: \tbridge window", "PM: x"];
        let case = case(&text.map(line).concat());
        assert!(case.deferrals.is_empty(), "{:?}", case.deferrals);
    }
}
