use super::Redactor;
use dormouse_base::stats::random::Random;

fn redacted(text: &str) -> String {
    String::from_utf8(Redactor::default().redacted(text.as_bytes())).expect("text")
}

/// Each with what others read.
#[test]
fn what_identifies_is_replaced_where_it_stands() {
    let said = [
        ("siskin@linnet:~$ dmesg", "user-1@host-1:~$ dmesg"),
        ("[siskin@linnet logs]$ dmesg -T", "[user-1@host-1 logs]$ dmesg -T"),
        (
            "Linux linnet 6.9.3-arch1-1 #1 SMP PREEMPT_DYNAMIC x86_64",
            "Linux host-1 6.9.3-arch1-1 #1 SMP PREEMPT_DYNAMIC x86_64",
        ),
        ("Feb 08 07:00:01 linnet kernel: PM: x", "Feb 08 07:00:01 host-1 kernel: PM: x"),
        (
            "2026-02-08T07:00:01+0100 linnet cron[7]: x",
            "2026-02-08T07:00:01+0100 host-1 cron[7]: x",
        ),
        ("[   81.000001] linnet kernel: PM: x", "[   81.000001] host-1 kernel: PM: x"),
        ("# suspend-020826-070001 linnet mem 6.9.3", "# suspend-020826-070001 host-1 mem 6.9.3"),
        ("systemd[1]: Hostname set to <linnet>.", "systemd[1]: Hostname set to <host-1>."),
        (r#"{"host": "linnet", "cpus": 8}"#, r#"{"host": "host-1", "cpus": 8}"#),
        ("/home/siskin/linux/vmlinux", "/home/user-1/linux/vmlinux"),
        ("/run/media/siskin/STICK/a.log", "/run/media/user-1/STICK/a.log"),
        ("file:///home/siskin/a.html", "file:///home/user-1/a.html"),
        (
            "session opened for user siskin(uid=1000) by",
            "session opened for user user-1(uid=1000) by",
        ),
        ("uid=1000(siskin) gid=1000(siskin)", "uid=1000(user-1) gid=1000(user-1)"),
        ("sudo[9]:  siskin : TTY=pts/1 ; PWD=/", "sudo[9]:  user-1 : TTY=pts/1 ; PWD=/"),
        ("usb 3-1: SerialNumber: 4C53000135", "usb 3-1: SerialNumber: serial-1"),
        ("\tSerial Number: PF0XYZ12", "\tSerial Number: serial-1"),
        ("[ro.serialno]: [R58M12ABCDE]", "[ro.serialno]: [serial-1]"),
        (
            "/dev/disk/by-id/ata-CT500MX500SSD1_1934E20C0FFE-part2",
            "/dev/disk/by-id/ata-CT500MX500SSD1_serial-1-part2",
        ),
        ("/dev/disk/by-id/wwn-0x500a0751e20c0ffe", "/dev/disk/by-id/wwn-serial-1"),
        ("root=UUID=ABCD-1234 ro", "root=UUID=uuid-1 ro"),
        (
            "resume=/dev/mapper/luks-0a1b2c3d-1111-4222-8333-444455556666 x",
            "resume=/dev/mapper/luks-uuid-1 x",
        ),
        ("-- Boot 00112233445566778899aabbccddeeff --", "-- Boot uuid-1 --"),
        ("ax88179 1-1:1.0 enxf8e43b0a0b0c: up", "ax88179 1-1:1.0 enx-mac-1: up"),
        ("hci0: dev_F8_E4_3B_0A_0B_0C went", "hci0: dev_mac-1 went"),
        ("hid-f8:e4:3b:0a:0b:0c-battery", "hid-mac-1-battery"),
        (r#"["hid-QX77-PLK9931-battery"]"#, r#"["hid-serial-1-battery"]"#),
        ("hid-0003:046D:C52B.0004-battery", "hid-0003:046D:C52B.0004-battery"),
        ("addr 2001:db8:0:1::7, 203.0.113.9:443", "addr ip-1, ip-2:443"),
        ("associate (SSID='Nest 5 GHz' freq=5180)", "associate (SSID='ssid-1' freq=5180)"),
        ("wlp2s0  ESSID:\"Nest\"", "wlp2s0  ESSID:\"ssid-1\""),
        ("From: Siskin <s.iskin+pm@birds.example>", "From: Siskin <mail-1>"),
    ];
    for (text, want) in said {
        assert_eq!(redacted(text), want);
    }
}

/// What the field needs is not touched, to the byte.
#[test]
fn what_the_field_needs_stays() {
    let text = "\
pci 0000:00:14.0: PME# supported, usb 1-2.4: reset, i2c-ELAN0001:00, PNP0C14:02, LNXSYSTM:00
12:34:56 and 23:59:59.999999, 2026-11-27T08:51:24, 10:20:30:40, 00:00:00:00:00:00, ff:ff:ff:ff:ff:ff
Linux version 6.12.9-amd64 (buildd@localhost) #1 SMP, 5.15.0-91-generic, dkms 1.2.3.4-1, v1.0.0.7
iwlwifi firmware version 10.0.0.18, BIOS 1.22.0.1 07/01/2024, 127.0.0.1, 255.255.255.0, ::1
async_schedule_node_domain+0x1a/0x40 [e1000e] at ffffffff81234567, RIP: 0010:intel_idle+0x7f/0xb0
ACPI: _DSM c4eb40a0-6cd2-11e2-bcfd-0800200c9a66, e3f32452-febc-43ce-9039-932122d37721
wmi device 8D9DDCBC-A997-11DA-B012-B622A1EF5492-3, mei::01e88543-8050-4380-9d6f-4f9cec704917:01
0000:00:16.0-309dcde8-ccb1-4062-8f78-600115a34327, ID_PART_ENTRY_TYPE=0fc63daf-8483-4772-8e79-3d69d8477de4
usb usb1: SerialNumber: 0000:00:14.0, usb 1-2: New USB device strings: Mfr=1, Product=2, SerialNumber=3
Serial: 8250/16550 driver, 32 ports, serial 00:05: ttyS0, serial8250: too much work
getty@tty1.service, systemd-cryptsetup@luks.service, user@1000.service, i2c@78b6000, soc@0.pcie
input3::capslock tpacpi::power dell::kbd_backlight std::io::Error 0::/init.scope
Adding DSD properties for SSID 104317F3; localhost kernel: root@localhost:~# uname; /home, ~/x
48:6f:77 0c-dc-00, cpu0: 100.0.2 5.0, 1.2.3, wakeup_source_activate: PNP0C0D:00 state=0x0
";
    assert_eq!(redacted(text), text);
}

#[test]
fn a_thing_has_one_word_however_it_is_written() {
    let text = "Feb 08 07:00:01 linnet kernel: 00:1B:21:AB:CD:EF up, 001b21abcdef no, 00-1b-21-ab-cd-ef\n\
                as linnet.example.org said: enx001b21abcdef on Linnet, linnet-dmesg.txt";
    assert_eq!(
        redacted(text),
        "Feb 08 07:00:01 host-1 kernel: mac-1 up, 001b21abcdef no, mac-1\n\
         as host-1.example.org said: enx-mac-1 on Linnet, host-1-dmesg.txt"
    );
}

/// A name such as a driver's is replaced only where it stands for somebody.
#[test]
fn a_word_of_the_field_is_a_name_only_in_its_place() {
    let text = "Feb 08 07:00:01 nvme kernel: nvme nvme0: up\n/home/linux/x, linux boots";
    let want = "Feb 08 07:00:01 host-1 kernel: nvme nvme0: up\n/home/user-1/x, linux boots";
    assert_eq!(redacted(text), want);
}

#[test]
fn what_was_learned_elsewhere_is_known_on_a_screen() {
    let mut r = Redactor::default();
    r.learn(b"Feb 08 07:00:01 linnet kernel: hid-f8:e4:3b:0a:0b:0c: SerialNumber: 4C53000135\n(SSID='Nest of five')");
    let screen = "linnet   1 ms\nhid-f8:e4:3b:0\u{2026}  2 ms\n\u{2026}C53000135 at Nest\n  of five\nlinne\u{2026}";
    let said = String::from_utf8(r.redacted(screen.as_bytes())).expect("text");
    assert_eq!(
        said,
        "host-1   1 ms\nhid-mac-1\u{2026}  2 ms\n\u{2026}serial-1 at ssid-1\nhost-1\u{2026}"
    );
}

/// With a key, a host is the same word in outputs that know nothing of each other.
#[test]
fn hosts_may_have_words_of_their_own() {
    let of = |text: &str| {
        let mut r = Redactor::default().naming_hosts(|host| format!("{:032x}", host.len()));
        String::from_utf8(r.redacted(text.as_bytes())).expect("text")
    };
    let want = format!("Feb 08 07:00:01 host-{:032x} kernel: host-{:032x} by mac-1", 6, 6);
    let text = "Feb 08 07:00:01 Linnet kernel: Linnet by 00:1b:21:ab:cd:ef";
    assert_eq!(of(text), want);
}

/// Texts of made-up machines, with secrets in every place that is known: none is left, the same
/// thing is called the same, and what was replaced once is not replaced again.
#[test]
fn no_planted_secret_is_left_in_a_thousand_texts() {
    let mut rng = Random::new(0x9e37);
    for round in 0..1_000 {
        let hex = |rng: &mut Random, n: usize| -> String {
            (0..n).map(|_| char::from(b"0123456789abcdef"[rng.below(16) as usize])).collect()
        };
        let word = |rng: &mut Random| -> String {
            let n = 4 + rng.below(6);
            let letters: String = (0..n)
                .map(|_| char::from(b"bcdfghjklmnpqrstvwxz"[rng.below(20) as usize]))
                .collect();
            format!("q{letters}")
        };
        let pairs = |rng: &mut Random, mark: &str| {
            let mut all: Vec<String> = (0..5).map(|_| hex(rng, 2)).collect();
            all.push(format!("{}b", hex(rng, 1)));
            all.join(mark)
        };
        let (host, user) = (word(&mut rng), word(&mut rng));
        let serial = format!("{}{}7", word(&mut rng).to_uppercase(), rng.below(90_000) + 1_000);
        let (mac, mac2) = (pairs(&mut rng, ":"), pairs(&mut rng, "-"));
        let interface = format!("{}b", hex(&mut rng, 11));
        let ssid = format!("{} {}", word(&mut rng), word(&mut rng));
        let (v4, v6) = (
            format!("192.168.{}.{}", rng.below(256), rng.below(256)),
            format!("2001:db8:{}::{}", hex(&mut rng, 4), hex(&mut rng, 3)),
        );
        let uuid = [8, 4, 4, 4, 12].map(|n| hex(&mut rng, n)).join("-");
        let mail = format!("{}.{}@{}.example.org", word(&mut rng), word(&mut rng), word(&mut rng));
        let mut lines = vec![
            format!("Nov 03 01:02:03 {host} kernel: usb 1-2: SerialNumber: {serial}"),
            format!("Nov 03 01:02:04 {host} sudo[44]:   {user} : TTY=pts/0 ; PWD=/home/{user}/x"),
            format!("wlan0: associate with {mac} (SSID='{ssid}' freq=2412 MHz)"),
            format!("nic {mac2}, enx{interface}: link is up, src {v4} dst {v6}"),
            format!("Command line: root=UUID={uuid} quiet"),
            format!("mail to {mail} or see https://{host}/~{user}/{serial}.txt"),
            format!("hid-{mac}-battery: 97 %"),
            format!("\"{ssid}\" again at {host}.lan, {user}'s"),
        ];
        // In any order: what tells may stand behind what is told.
        rng.shuffle(&mut lines);
        let text = lines.join(if round % 3 == 0 { "\r\n" } else { "\n" });
        let said = redacted(&text);
        for secret in
            [&host, &user, &serial, &mac, &mac2, &interface, &ssid, &v4, &v6, &uuid, &mail]
        {
            assert!(
                !said.contains(secret.as_str()),
                "round {round}: {secret} in\n{said}\nof\n{text}"
            );
        }
        let words = ["host-1", "user-1", "serial-1", "ssid-1", "uuid-1", "mail-1", "hid-mac-"];
        assert!(words.iter().all(|w| said.contains(w)), "{said}\nof\n{text}");
        assert!(!said.contains("host-2") && !said.contains("user-2"), "{said}\nof\n{text}");
        assert_eq!(redacted(&text), said, "the same bytes");
        assert_eq!(redacted(&said), said, "once is enough");
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let mut rng = Random::new(7);
    let pieces: [&[u8]; 24] = [
        b":",
        b"-",
        b"_",
        b".",
        b"@",
        b"/home/",
        b"SSID=",
        b"\"",
        b"'",
        b"serial: ",
        b"aa:bb:cc:dd:ee:ff",
        b"by-id/",
        b"::",
        b"1.2.3.4",
        b"Nov 03 01:02:03 ",
        b"kernel: ",
        b"\xff\xfe",
        "\u{2026}".as_bytes(),
        b"\x1b[1",
        b"\\",
        b"uid=",
        b"abcdef01",
        b"(",
        b"<",
    ];
    for _ in 0..20_000 {
        let n = rng.below(9);
        let text: Vec<u8> =
            (0..n).flat_map(|_| pieces[rng.below(pieces.len() as u64) as usize].to_vec()).collect();
        let _ = Redactor::default().redacted(&text);
    }
}
