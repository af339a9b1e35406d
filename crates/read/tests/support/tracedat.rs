//! Writes trace.dat files of either version, byte order and word size from a
//! list of events. Written from trace-cmd.dat.v6(5) and v7(5);
//! `trace-cmd report` checks it.

use std::io::Write;

pub(crate) use super::events::*;

/// How to write them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub version: u8,
    pub big: bool,
    pub long: usize,
    pub page: usize,
    /// `none`, `zlib` or `zstd`.
    pub codec: &'static str,
    /// Absolute time stamps in place of time extends.
    pub absolute: bool,
    /// `__rel_loc` in place of `__data_loc`.
    pub relative: bool,
    /// The second half of the CPUs goes into an instance of its own.
    pub instance: bool,
    /// Events lost before the second page of every CPU: none, unknown, or a number.
    pub lost: Option<Option<u64>>,
    /// Every so many events one was discarded (padding).
    pub discard: usize,
    pub tsc: Option<(u32, u32, u64)>,
    pub offset: Option<&'static str>,
    pub clock: &'static str,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            version: 6,
            big: false,
            long: 8,
            page: 4096,
            codec: "none",
            absolute: false,
            relative: false,
            instance: false,
            lost: None,
            discard: 0,
            tsc: None,
            offset: None,
            clock: "local",
        }
    }
}

const FUNCTION: u64 = 0x8123_4500;
fn action_address(action: &str) -> u64 {
    let i = ACTIONS.iter().position(|a| *a == action).expect("a known action");
    0x8266_0000 + 16 * i as u64
}

struct Out {
    bytes: Vec<u8>,
    big: bool,
}

impl Out {
    fn n(&mut self, value: u64, size: usize) -> &mut Self {
        let le = value.to_le_bytes();
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&le[..size]);
        if self.big {
            self.bytes[start..].reverse();
        }
        self
    }
    fn s(&mut self, s: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(s);
        self
    }
    fn z(&mut self, s: &str) -> &mut Self {
        self.s(s.as_bytes()).s(b"\0")
    }
    fn align(&mut self, n: usize) -> &mut Self {
        while !self.bytes.len().is_multiple_of(n) {
            self.bytes.push(0);
        }
        self
    }
    fn chars(&mut self, s: &str, size: usize) -> &mut Self {
        let mut b = s.as_bytes().to_vec();
        b.resize(size, 0);
        self.s(&b)
    }
}

/// One field of a format: declaration without the name, name, size, signed.
type F = (&'static str, &'static str, usize, bool);

/// Name, number, fields and print format of an event.
fn formats(s: &Shape) -> Vec<(&'static str, &'static str, u16, Vec<F>, &'static str)> {
    let l = s.long;
    let dynamic = if s.relative { "__rel_loc char[]" } else { "__data_loc char[]" };
    let get = |data, rel| if s.relative { rel } else { data };
    vec![
        (
            "ftrace",
            "print",
            5,
            // As long as what was written (kernel/trace/trace_entries.h).
            vec![("unsigned long", "ip", l, false), ("char", "buf[]", 0, false)],
            "\"%ps: %s\", (void *)REC->ip, REC->buf",
        ),
        (
            "power",
            "suspend_resume",
            149,
            vec![
                ("const char *", "action", l, false),
                ("int", "val", 4, true),
                ("bool", "start", 1, false),
            ],
            "\"%s[%u] %s\", REC->action, (unsigned int)REC->val, (REC->start)?\"begin\":\"end\"",
        ),
        (
            "power",
            "device_pm_callback_start",
            151,
            vec![
                (dynamic, "device", 4, false),
                (dynamic, "driver", 4, false),
                (dynamic, "parent", 4, false),
                (dynamic, "pm_ops", 4, false),
                ("int", "event", 4, true),
            ],
            get(
                "\"%s %s, parent: %s, %s[%s]\", __get_str(driver), __get_str(device), __get_str(parent), __get_str(pm_ops), __print_symbolic(REC->event, { 0x0002, \"suspend\" }, { 0x0010, \"resume\" }, { 0x0001, \"freeze\" }, { 0x0008, \"quiesce\" }, { 0x0004, \"hibernate\" }, { 0x0020, \"thaw\" }, { 0x0040, \"restore\" }, { 0x0080, \"recover\" })",
                "\"%s %s, parent: %s, %s[%s]\", __get_rel_str(driver), __get_rel_str(device), __get_rel_str(parent), __get_rel_str(pm_ops), __print_symbolic(REC->event, { 2, \"suspend\" }, { 16, \"resume\" })",
            ),
        ),
        (
            "power",
            "device_pm_callback_end",
            150,
            vec![
                (dynamic, "device", 4, false),
                (dynamic, "driver", 4, false),
                ("int", "error", 4, true),
            ],
            get(
                "\"%s %s, err=%d\", __get_str(driver), __get_str(device), REC->error",
                "\"%s %s, err=%d\", __get_rel_str(driver), __get_rel_str(device), REC->error",
            ),
        ),
        (
            "sched",
            "sched_switch",
            95,
            vec![
                ("char", "prev_comm[16]", 16, false),
                ("pid_t", "prev_pid", 4, true),
                ("int", "prev_prio", 4, true),
                ("long", "prev_state", l, true),
                ("char", "next_comm[16]", 16, false),
                ("pid_t", "next_pid", 4, true),
                ("int", "next_prio", 4, true),
            ],
            "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & ((((0x0000 | 0x0001 | 0x0002) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002) + 1) << 1) - 1), \"|\", { 0x0001, \"S\" }, { 0x0002, \"D\" }) : \"R\", REC->prev_state & 4096 ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio",
        ),
        (
            "workqueue",
            "workqueue_queue_work",
            73,
            vec![
                ("void *", "work", l, false),
                ("void *", "function", l, false),
                ("void *", "workqueue", l, false),
                ("unsigned int", "req_cpu", 4, false),
                ("unsigned int", "cpu", 4, false),
            ],
            "\"function=%pf req_cpu=%u cpu=%u\", REC->function, REC->req_cpu, REC->cpu",
        ),
        (
            "workqueue",
            "workqueue_execute_start",
            71,
            vec![("void *", "work", l, false), ("void *", "function", l, false)],
            "\"function %ps\", REC->function",
        ),
        (
            "power",
            "cpu_idle",
            155,
            vec![("u32", "state", 4, false), ("u32", "cpu_id", 4, false)],
            "\"state=%lu cpu_id=%lu\", (unsigned long)REC->state, (unsigned long)REC->cpu_id",
        ),
        (
            "rpm",
            "rpm_suspend",
            159,
            vec![(dynamic, "name", 4, false), ("int", "usage_count", 4, true)],
            get(
                "\"%s cnt-%-2d dep-%-2d|\", __get_str(name), REC->usage_count, REC->usage_count",
                "\"%s cnt-%-2d dep-%-2d|\", __get_rel_str(name), REC->usage_count, REC->usage_count",
            ),
        ),
        (
            "block",
            "block_rq_issue",
            394,
            vec![
                ("dev_t", "dev", 4, false),
                ("sector_t", "sector", 8, false),
                ("unsigned int", "nr_sector", 4, false),
                ("char", "rwbs[8]", 8, false),
                ("char", "comm[16]", 16, false),
            ],
            "\"%d,%d %s %llu + %u [%s]\", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, (unsigned long long)REC->sector, REC->nr_sector, REC->comm",
        ),
    ]
}

/// Aligns a field as C does; 64-bit numbers too (as on every machine but x86-32).
fn aligned(at: usize, size: usize, declaration: &str) -> usize {
    let to = if declaration == "char" { 1 } else { size.clamp(1, 8) };
    at.next_multiple_of(to)
}

fn format_text(name: &str, id: u16, fields: &[F], print: &str) -> String {
    let mut t = format!("name: {name}\nID: {id}\nformat:\n");
    t += "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
    t += "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n";
    t += "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n";
    t += "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
    let mut at = 8;
    for (decl, name, size, signed) in fields {
        at = aligned(at, *size, decl);
        t += &format!(
            "\tfield:{decl} {name};\toffset:{at};\tsize:{size};\tsigned:{};\n",
            u8::from(*signed)
        );
        at += size;
    }
    t + "\nprint fmt: " + print + "\n"
}

/// A value of a field.
enum V<'a> {
    N(u64),
    S(&'a str),
}

/// The record of an event.
fn record(e: &Ev, s: &Shape) -> Vec<u8> {
    let n = |v: i32| V::N(v as u32 as u64);
    let (name, values): (&str, Vec<V<'_>>) = match &e.what {
        What::SuspendResume { action, val, start } => {
            ("suspend_resume", vec![V::N(action_address(action)), n(*val), V::N(u64::from(*start))])
        }
        What::Start { driver, device, parent, ops, event } => (
            "device_pm_callback_start",
            vec![V::S(device), V::S(driver), V::S(parent), V::S(ops), n(*event)],
        ),
        What::End { driver, device, error } => {
            ("device_pm_callback_end", vec![V::S(device), V::S(driver), n(*error)])
        }
        What::Switch { prev, state, next } => (
            "sched_switch",
            vec![
                V::S(&prev.0),
                n(prev.1),
                n(prev.2),
                V::N(*state),
                V::S(&next.0),
                n(next.1),
                n(next.2),
            ],
        ),
        What::QueueWork { work, workqueue, cpu } => (
            "workqueue_queue_work",
            vec![V::N(*work), V::N(FUNCTION), V::N(*workqueue), V::N(64), V::N((*cpu).into())],
        ),
        What::Execute { work } => ("workqueue_execute_start", vec![V::N(*work), V::N(FUNCTION)]),
        What::Idle { state, cpu } => ("cpu_idle", vec![V::N((*state).into()), V::N((*cpu).into())]),
        What::Rpm { name, usage } => ("rpm_suspend", vec![V::S(name), n(*usage)]),
        What::Issue { dev, sector, nr, rwbs, comm } => (
            "block_rq_issue",
            vec![V::N((*dev).into()), V::N(*sector), V::N((*nr).into()), V::S(rwbs), V::S(comm)],
        ),
        What::Written { text } => ("print", vec![V::N(FUNCTION), V::S(text)]),
    };
    let formats = formats(s);
    let (_, _, id, fields, _) = formats.iter().find(|f| f.1 == name).unwrap();
    let mut out = Out { bytes: Vec::new(), big: s.big };
    out.n((*id).into(), 2).n(0, 1).n(0, 1).n(e.pid as u32 as u64, 4);
    let mut fixed = 8;
    for (decl, _, size, _) in fields {
        fixed = aligned(fixed, *size, decl) + size;
    }
    let mut tail: Vec<u8> = Vec::new();
    for ((decl, _, size, _), value) in fields.iter().zip(&values) {
        let at = aligned(out.bytes.len(), *size, decl);
        out.bytes.resize(at, 0);
        match value {
            V::N(v) => out.n(*v, *size),
            V::S(text) if *decl == "char" && *size == 0 => {
                tail.extend_from_slice(text.as_bytes());
                tail.extend_from_slice(b"\n\0");
                &mut out
            }
            V::S(text) if *decl == "char" => out.chars(text, *size),
            V::S(text) => {
                let start = fixed + tail.len();
                let offset = if s.relative { start - at - 4 } else { start };
                tail.extend_from_slice(text.as_bytes());
                tail.push(0);
                out.n((offset as u64) | ((text.len() as u64 + 1) << 16), 4)
            }
        };
    }
    assert_eq!(out.bytes.len(), fixed);
    out.s(&tail);
    out.bytes
}

/// The pages of one CPU.
fn pages(events: &[&Ev], s: &Shape) -> Vec<u8> {
    let data_at = 8 + s.long;
    let mut all = Vec::new();
    let mut body = Out { bytes: Vec::new(), big: s.big };
    let (mut first, mut last) = (0, 0);
    let mut number = 0;
    let mut close = |body: &mut Out, first: u64| {
        let mut page = Out { bytes: Vec::new(), big: s.big };
        let used = body.bytes.len();
        let mut commit = used as u64;
        let room = s.page - data_at - used >= s.long;
        if let (1, Some(lost)) = (number, s.lost) {
            commit |= 1 << 31;
            if let (Some(n), true) = (lost, room) {
                commit |= 1 << 30;
                body.n(n, s.long);
            }
        }
        page.n(first, 8).n(commit, s.long).s(&body.bytes);
        page.bytes.resize(s.page, 0);
        all.extend_from_slice(&page.bytes);
        body.bytes.clear();
        number += 1;
    };
    for (i, e) in events.iter().enumerate() {
        let mut r = record(e, s);
        r.resize(r.len().next_multiple_of(4), 0);
        // Word, extend, length word, record, discarded event.
        let need = 4 + 8 + 4 + r.len() + 12;
        if body.bytes.is_empty() || data_at + body.bytes.len() + need > s.page {
            if !body.bytes.is_empty() {
                close(&mut body, first);
            }
            (first, last) = (e.time, e.time);
        }
        let mut delta = e.time - last;
        let head = |body: &mut Out, kind: u64, delta: u64| {
            let word = if s.big { kind << 27 | delta } else { delta << 5 | kind };
            body.n(word, 4);
        };
        if s.discard != 0 && i % s.discard == s.discard - 1 && delta > 5 && delta < 1 << 27 {
            head(&mut body, 29, 5);
            body.n(8, 4).n(0xdead_beef, 4).n(0xdead_beef, 4);
            // The length word counts itself but not the event word.
            let at = body.bytes.len() - 4;
            body.bytes.truncate(at);
            delta -= 5;
        }
        if delta >= 1 << 27 {
            if s.absolute {
                head(&mut body, 31, e.time & 0x7ff_ffff);
                body.n(e.time >> 27 & 0xffff_ffff, 4);
            } else {
                head(&mut body, 30, delta & 0x7ff_ffff);
                body.n(delta >> 27, 4);
            }
            delta = 0;
        }
        if r.len() <= 112 {
            head(&mut body, r.len() as u64 / 4, delta);
        } else {
            head(&mut body, 0, delta);
            body.n(r.len() as u64 + 4, 4);
        }
        body.s(&r);
        last = e.time;
    }
    if !body.bytes.is_empty() {
        close(&mut body, first);
    }
    all
}

fn compress(codec: &str, data: &[u8]) -> Vec<u8> {
    match codec {
        "zlib" => {
            let mut e = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            e.write_all(data).unwrap();
            e.finish().unwrap()
        }
        "zstd" => {
            ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
        }
        _ => data.to_vec(),
    }
}

fn header_info(s: &Shape) -> Vec<u8> {
    let mut o = Out { bytes: Vec::new(), big: s.big };
    let (l, data) = (s.long, 8 + s.long);
    let page = format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{l};\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:{data};\tsize:{};\tsigned:0;\n",
        s.page - data
    );
    let event = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
    o.z("header_page").n(page.len() as u64, 8).s(page.as_bytes());
    o.z("header_event").n(event.len() as u64, 8).s(event.as_bytes());
    o.bytes
}

fn ftrace_formats(s: &Shape) -> Vec<u8> {
    let mut o = Out { bytes: Vec::new(), big: s.big };
    let formats = formats(s);
    let (_, name, id, fields, print) = formats.iter().find(|f| f.0 == "ftrace").unwrap();
    let t = format_text(name, *id, fields, print);
    o.n(1, 4).n(t.len() as u64, 8).s(t.as_bytes());
    o.bytes
}

fn event_formats(s: &Shape) -> Vec<u8> {
    let mut o = Out { bytes: Vec::new(), big: s.big };
    let all = formats(s);
    let systems = ["power", "sched", "workqueue", "rpm", "block"];
    o.n(systems.len() as u64, 4);
    for system in systems {
        let of: Vec<_> = all.iter().filter(|f| f.0 == system).collect();
        o.z(system).n(of.len() as u64, 4);
        for (_, name, id, fields, print) in of {
            let t = format_text(name, *id, fields, print);
            o.n(t.len() as u64, 8).s(t.as_bytes());
        }
    }
    o.bytes
}

fn sized(s: &Shape, size: usize, text: &str) -> Vec<u8> {
    let mut o = Out { bytes: Vec::new(), big: s.big };
    o.n(text.len() as u64, size).s(text.as_bytes());
    o.bytes
}

fn kallsyms() -> String {
    format!(
        "{:016x} T _stext\n{FUNCTION:016x} t async_run_entry_fn\n{:016x} T after\n",
        FUNCTION - 4096,
        FUNCTION + 512
    )
}

fn printk() -> String {
    ACTIONS.iter().map(|a| format!("0x{:x} : \"{a}\"\n", action_address(a))).collect()
}

fn cmdlines(threads: &[(i32, String)]) -> String {
    threads.iter().map(|(p, c)| format!("{p} {c}\n")).collect()
}

/// The events of every CPU, and which instance they go to.
fn by_cpu<'a>(events: &'a [Ev], s: &Shape) -> Vec<(u32, Vec<&'a Ev>, bool)> {
    let cpus = events.iter().map(|e| e.cpu).max().unwrap_or(0) + 1;
    (0..cpus)
        .map(|c| {
            let of = events.iter().filter(|e| e.cpu == c).collect();
            (c, of, s.instance && c >= cpus / 2)
        })
        .collect()
}

/// The whole file.
pub(crate) fn write(events: &[Ev], s: &Shape) -> Vec<u8> {
    write_named(events, s, &own_threads())
}

/// The whole file, with these thread names.
pub(crate) fn write_named(events: &[Ev], s: &Shape, threads: &[(i32, String)]) -> Vec<u8> {
    let mut o = Out { bytes: b"\x17\x08\x44tracing".to_vec(), big: s.big };
    o.z(if s.version == 6 { "6" } else { "7" });
    o.n(s.big.into(), 1).n(s.long as u64, 1).n(s.page as u64, 4);
    let cpus = by_cpu(events, s);
    if s.version == 6 {
        write_v6(&mut o, &cpus, s, threads)
    } else {
        write_v7(&mut o, &cpus, s, threads)
    }
    o.bytes
}

fn write_v6(o: &mut Out, cpus: &[(u32, Vec<&Ev>, bool)], s: &Shape, threads: &[(i32, String)]) {
    o.s(&header_info(s)).s(&ftrace_formats(s)).s(&event_formats(s));
    o.s(&sized(s, 4, &kallsyms())).s(&sized(s, 4, &printk())).s(&sized(s, 8, &cmdlines(threads)));
    o.n(cpus.len() as u64, 4).z("options  ");
    let mut instance_at = None;
    if s.instance {
        o.n(3, 2).n(8 + 4, 4);
        instance_at = Some(o.bytes.len());
        o.n(0, 8).z("pm2");
    }
    if let Some(text) = s.offset {
        o.n(7, 2).n(text.len() as u64 + 1, 4).z(text);
    }
    if let Some((mult, shift, offset)) = s.tsc {
        o.n(14, 2).n(16, 4).n(mult.into(), 4).n(shift.into(), 4).n(offset, 8);
    }
    o.n(4, 2).n(0, 4);
    o.n(0, 2).z("flyrecord");
    let mut table = o.bytes.len();
    for _ in cpus {
        o.n(0, 8).n(0, 8);
    }
    let clock = format!("{} [{}] mono", if s.clock == "local" { "boot" } else { "local" }, s.clock);
    o.n(clock.len() as u64 + 1, 8).z(&clock);
    for of_instance in [false, true] {
        if of_instance {
            let Some(at) = instance_at else { break };
            o.align(8);
            let here = o.bytes.len() as u64;
            patch(o, at, here, 8);
            o.z("flyrecord");
            table = o.bytes.len();
            for _ in cpus {
                o.n(0, 8).n(0, 8);
            }
            o.n(clock.len() as u64 + 1, 8).z(&clock);
        }
        for (i, (_, events, instance)) in cpus.iter().enumerate() {
            let data = if *instance == of_instance { pages(events, s) } else { Vec::new() };
            o.align(s.page);
            let at = o.bytes.len() as u64;
            o.s(&data);
            patch(o, table + 16 * i, at, 8);
            patch(o, table + 16 * i + 8, data.len() as u64, 8);
        }
    }
}

fn patch(o: &mut Out, at: usize, value: u64, size: usize) {
    let mut n = Out { bytes: Vec::new(), big: o.big };
    n.n(value, size);
    o.bytes[at..at + size].copy_from_slice(&n.bytes);
}

fn write_v7(o: &mut Out, cpus: &[(u32, Vec<&Ev>, bool)], s: &Shape, threads: &[(i32, String)]) {
    o.z(s.codec).z(if s.codec == "none" { "" } else { "1" });
    let first_options = o.bytes.len();
    o.n(0, 8);
    let mut options = Out { bytes: Vec::new(), big: s.big };
    for (id, body) in [
        (16u64, header_info(s)),
        (17, ftrace_formats(s)),
        (18, event_formats(s)),
        (19, sized(s, 4, &kallsyms())),
        (20, sized(s, 4, &printk())),
        (21, sized(s, 8, &cmdlines(threads))),
    ] {
        options.n(id, 2).n(8, 4).n(o.bytes.len() as u64, 8);
        section(o, id, &body, s);
    }
    options.n(8, 2).n(4, 4).n(cpus.len() as u64, 4);
    if let Some(text) = s.offset {
        options.n(7, 2).n(text.len() as u64 + 1, 4).z(text);
    }
    if let Some((mult, shift, offset)) = s.tsc {
        options.n(14, 2).n(16, 4).n(mult.into(), 4).n(shift.into(), 4).n(offset, 8);
    }
    options.n(0, 2).n(8, 4);
    let here = o.bytes.len() as u64;
    patch(o, first_options, here, 8);
    let header = 16;
    let next_at = o.bytes.len() + header + options.bytes.len();
    options.n(0, 8);
    plain_section(o, 0, &options.bytes, 0);

    // Buffers, then a second options section that describes them.
    let mut described = Out { bytes: Vec::new(), big: s.big };
    for instance in [false, true] {
        if instance && !s.instance {
            break;
        }
        let at = o.bytes.len();
        let packed = u64::from(s.codec != "none");
        o.n(3, 2).n(packed, 2).n(0, 4).n(0, 8);
        let of: Vec<_> = cpus.iter().filter(|c| c.2 == instance).collect();
        let mut body = Out { bytes: Vec::new(), big: s.big };
        body.n(at as u64, 8).z(if instance { "pm2" } else { "" }).z(s.clock);
        body.n(s.page as u64, 4).n(of.len() as u64, 4);
        for (cpu, events, _) in of {
            let mut data = pages(events, s);
            o.align(s.page);
            if packed == 1 {
                let mut c = Out { bytes: Vec::new(), big: s.big };
                let chunk = 2 * s.page;
                c.n(data.chunks(chunk).len() as u64, 4);
                for piece in data.chunks(chunk) {
                    let p = compress(s.codec, piece);
                    c.n(p.len() as u64, 4).n(piece.len() as u64, 4).s(&p);
                }
                data = c.bytes;
            }
            // Like trace-cmd: the word that counts the chunks is not counted.
            let size = data.len() as u64 - if packed == 1 { 4 } else { 0 };
            body.n((*cpu).into(), 4).n(o.bytes.len() as u64, 8).n(size, 8);
            o.s(&data);
        }
        let size = (o.bytes.len() - at - header) as u64;
        patch(o, at + 8, size, 8);
        described.n(3, 2).n(body.bytes.len() as u64, 4).s(&body.bytes);
    }
    described.n(0, 2).n(8, 4).n(0, 8);
    let here = o.bytes.len() as u64;
    patch(o, next_at, here, 8);
    plain_section(o, 0, &described.bytes, 0);
    plain_section(o, 15, b"sections\0", 0);
}

fn section(o: &mut Out, id: u64, body: &[u8], s: &Shape) {
    if s.codec == "none" {
        return plain_section(o, id, body, 0);
    }
    let packed = compress(s.codec, body);
    let mut c = Out { bytes: Vec::new(), big: s.big };
    c.n(packed.len() as u64, 4).n(body.len() as u64, 4).s(&packed);
    plain_section(o, id, &c.bytes, 1);
}

fn plain_section(o: &mut Out, id: u64, body: &[u8], flags: u64) {
    o.n(id, 2).n(flags, 2).n(0, 4).n(body.len() as u64, 8).s(body);
}
