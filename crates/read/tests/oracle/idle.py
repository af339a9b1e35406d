"""Counts sleeps and dumps of real machines on its own, and dresses them anew.

    idle.py DATA OUT

Reads recordings below DATA/real, compares its own counts with truth.json, writes
the same recordings into OUT as other programs print them, and prints what each
holds as JSON. Shares no code with dormouse.
"""

import gzip
import io
import json
import os
import re
import sys
import tarfile

DATA, OUT = sys.argv[1], sys.argv[2]
EXIT = 4294967295
expected = {}


def text(name):
    with open(os.path.join(DATA, "real", name), "rb") as f:
        raw = f.read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    return raw.decode("utf-8", "replace")


LINE = re.compile(
    r"^\s*(?P<comm>.+)-(?P<pid>\d+)\s+(?:\(\s*(?P<tgid>[\d-]+)\)\s+)?\[(?P<cpu>\d+)\]\s+"
    r"(?:(?P<flags>\S{4,6})\s+)?(?P<sec>\d+)\.(?P<frac>\d+):\s+(?P<name>\w+):\s*(?P<text>.*)$"
)


def events(name):
    out = []
    for line in text(name).splitlines():
        m = LINE.match(line)
        if m:
            ns = int(m["sec"]) * 10**9 + int(m["frac"].ljust(9, "0"))
            out.append((m["comm"], int(m["pid"]), int(m["cpu"]), ns, m["name"], m["text"].rstrip()))
    return out


def fields(t):
    return dict(re.findall(r"(\w+)=(\S+)", t))


def count(evs):
    """Sleeps that begin and end, by CPU and state; `lost` entries tear open ones."""
    cpus, open_, unbegun, torn, over = {}, {}, {}, {}, {}
    miss = {}
    for comm, pid, cpu, ns, name, t in evs:
        if name == "lost":
            if cpu in open_:
                del open_[cpu]
                torn[cpu] = torn.get(cpu, 0) + 1
            continue
        f = fields(t)
        if name == "cpu_idle_miss":
            key = (int(f["cpu_id"]), int(f["state"]), f["type"])
            miss[key] = miss.get(key, 0) + 1
        if name != "cpu_idle":
            continue
        c, s = int(f["cpu_id"]), int(f["state"])
        if s == EXIT:
            if c not in open_:
                unbegun[c] = unbegun.get(c, 0) + 1
                continue
            state, begin = open_.pop(c)
            n, t0 = cpus.setdefault(c, {}).get(state, (0, 0))
            cpus[c][state] = (n + 1, t0 + ns - begin)
        else:
            if c in open_:
                over[c] = over.get(c, 0) + 1
            open_[c] = (s, ns)
    return {
        "cpus": {str(c): {str(s): list(v) for s, v in st.items()} for c, st in cpus.items()},
        "unbegun": sum(unbegun.values()),
        "open": len(open_),
        "torn": sum(torn.values()),
        "overlaps": sum(over.values()),
        "above": sum(n for k, n in miss.items() if k[2] == "above"),
        "below": sum(n for k, n in miss.items() if k[2] == "below"),
    }


def same_as_truth(name, evs, truth):
    got, want = count(evs), truth["idle/" + name]["idle"]
    for c, states in want["pairs"].items():
        for s, n in states.items():
            assert got["cpus"][c][s] == [n, want["time_ns"][c][s]], (name, c, s)
    assert sum(n for st in got["cpus"].values() for n, _ in st.values()) == want["total_pairs"]
    assert got["unbegun"] == sum(want["exit_without_enter"].values()), name
    assert got["open"] == len(want["open_at_end"]), name


def put(name, content, what):
    mode = "wb" if isinstance(content, bytes) else "w"
    with open(os.path.join(OUT, name), mode, **({} if mode == "wb" else {"newline": ""})) as f:
        f.write(content)
    expected[name] = what


def rounded(evs, unit=1000):
    return [(a, b, c, ns // unit * unit, n, t) for a, b, c, ns, n, t in evs]


# ---- traces

def us(ns):
    return f"{ns // 10**9}.{ns % 10**9 // 1000:06d}"


HEAD = "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"


def plain(e):
    comm, pid, cpu, ns, name, t = e
    if name == "lost":
        return f"CPU:{cpu} [LOST 12 EVENTS]\n"
    return f"{comm:>16}-{pid:<7} [{cpu:03d}] d..2. {us(ns):>12}: {name}: {t}\n"


def traces():
    truth = json.load(open(os.path.join(DATA, "real", "truth.json")))
    names = [
        "mt8196-612sleep.report.txt.gz",
        "s-pixel-listjank.txt.gz",
        "s-xiaomi-launcher.txt.gz",
        "s-trappy-sf.html",
    ]
    full = {n: events(n) for n in names}
    for n in names:
        same_as_truth(n, full[n], truth)
    evs = full[names[0]][:6000]
    other = full[names[2]][:6000]
    base = evs[0][3] // 10**9 * 10**9
    lines = rounded(evs)
    one = lambda e: {"trace": [count(e)]}

    put("ns.txt", text(names[0])[:600_000].rsplit("\n", 1)[0] + "\n",
        one([e for e in map_lines(text(names[0])[:600_000].rsplit("\n", 1)[0])]))
    put("ftrace.txt", HEAD + "".join(map(plain, lines)), one(lines))
    put("crlf.txt", (HEAD + "".join(map(plain, lines))).replace("\n", "\r\n"), one(lines))
    put("quoted.txt", "".join("> " + plain(e) for e in lines[:900]), one(lines[:900]))
    put("headless.txt", "".join(map(plain, lines)), one(lines))
    for label, tgid in [("tgid", "(-----)"), ("tgid2", "(  123)")]:
        put(f"{label}.txt", HEAD + "".join(
            f"{c:>16}-{p:<7} {tgid} [{cpu:03d}] d..2. {us(ns)}: {n}: {t}\n"
            for c, p, cpu, ns, n, t in lines), one(lines))
    put("trace-cmd-l.txt", "cpus=8\n" + "".join(
        f"{c[:8]:>8}-{p:<5} {cpu:3d}d..1. {us(ns)}: {n + ':':<21} {t}\n"
        for c, p, cpu, ns, n, t in lines), one(lines))
    mark = lambda i: " +!#*@$"[i % 7]
    relative = [(c, p, cpu, (ns - base) // 1000 * 1000, n, t) for c, p, cpu, ns, n, t in evs]
    put("latency.txt", "# tracer: nop\n#\n# nop latency trace v1.1.5 on 6.12.0\n" + "".join(
        f"{c[:8]:>8}-{p:<7} {cpu:3d}d..2. {ns // 1000:4d}us{mark(i)}: {n}: {t}\n"
        for i, (c, p, cpu, ns, n, t) in enumerate(relative)), one(relative))
    put("dumped.txt", "[    1.000000] Booting Linux on physical CPU 0x0\n"
        "[   30.1] Dumping ftrace buffer:\n[   30.1] ---------------------------------\n" + "".join(
        f"[   30.123456] {c[:8]:>8}-{p:<7} {cpu:3d}d..2. {ns // 1000:4d}us : {n}: {t}\n"
        for c, p, cpu, ns, n, t in relative), one(relative))
    put("dmesg-first.txt", "[    0.000000] Linux version 6.12\n[    0.5] cpuidle: using governor menu\n"
        + HEAD + "".join(map(plain, lines)), one(lines))
    system = lambda n: "power" if n.startswith("cpu_idle") else "irq"
    comm = lambda c, cpu: "swapper" if c == "<idle>" else c
    put("perf.txt", "".join(
        f"{comm(c, cpu):>16} {p:>5} [{cpu:03d}] {us(ns):>12}: {system(n) + ':' + n:>30}: {t}\n"
        for c, p, cpu, ns, n, t in lines), one(lines))
    put("perf-tid.txt", "".join(
        f"{comm(c, cpu):>16} {p:>5}/{p:<5} [{cpu:03d}] {us(ns):>12}: {system(n) + ':' + n:>30}: {t}\n"
        for c, p, cpu, ns, n, t in lines), one(lines))
    clock = lambda ns: f"{ns // 10**9 // 3600:02d}:{ns // 10**9 // 60 % 60:02d}:{ns // 10**9 % 60:02d}.{ns % 10**9:09d}"
    lttng = [e for e in evs if e[4] in ("cpu_idle", "irq_handler_entry")]
    put("babeltrace.txt", "".join(
        f"[{clock(ns)}] (+0.000001000) host {'power_cpu_idle' if n == 'cpu_idle' else n}: "
        f"{{ cpu_id = {cpu} }}, {{ {', '.join(f'{k} = {v}' for k, v in fields(t).items())} }}\n"
        for c, p, cpu, ns, n, t in lttng), one(lttng))
    put("minus.txt", HEAD + "".join(map(plain, lines)).replace("state=4294967295", "state=-1"), one(lines))
    # A systrace page has several blocks, and not each is a trace.
    block = '<script class="trace-data" type="application/text">\n'
    page = "<!DOCTYPE html>\n<html><body>\n" + block + "PROCESS DUMP\nUSER PID\nroot 1 state=1\n</script>\n" \
        + block + HEAD + "".join(map(plain, lines)) + "</script>\n" + block + "cgroup dump\n</script>\n</body></html>\n"
    put("blocks.html", page, one(lines))
    put("early.html", "<html><script>\nvar linuxPerfData = \"\\\n" + "".join(
        plain(e).rstrip("\n") + "\\n\\\n" for e in lines) + "\";\n</script></html>\n", one(lines))
    put("browser.json", json.dumps({"traceEvents": [], "systemTraceEvents": HEAD + "".join(map(plain, lines))}), one(lines))
    torn = []
    for i, e in enumerate(lines):
        if i % 400 == 399:
            torn.append(("", 0, e[2], e[3], "lost", ""))
        torn.append(e)
    put("lost.txt", HEAD + "".join(map(plain, torn)), one(torn))
    put("dropped.txt", "cpus=8\n" + "".join(map(plain, torn)).replace("[LOST 12 EVENTS]", "[12 EVENTS DROPPED]"), one(torn))
    gone = [e for i, e in enumerate(lines) if i % 37 or e[4] != "cpu_idle"]
    put("gaps.txt", HEAD + "".join(map(plain, gone)), one(gone))
    put("two.txt", HEAD + "".join(map(plain, lines)) + HEAD + "".join(map(plain, rounded(other))),
        {"trace": [count(lines), count(rounded(other))]})
    put("two-headless.txt", "".join(map(plain, rounded(other))) + "".join(map(plain, lines)),
        {"trace": [count(rounded(other)), count(lines)]})
    by_cpu = [[e for e in lines if e[2] == cpu] for cpu in range(8)]
    put("buffers.txt", "".join(HEAD + "".join(map(plain, b)) for b in by_cpu if b), one(sum(by_cpu, [])))


def map_lines(t):
    for line in t.splitlines():
        m = LINE.match(line)
        if m:
            ns = int(m["sec"]) * 10**9 + int(m["frac"].ljust(9, "0"))
            yield m["comm"], int(m["pid"]), int(m["cpu"]), ns, m["name"], m["text"].rstrip()


# ---- dumps

PATH = re.compile(r"^(/sys/devices/system/cpu/cpu(\d+)/cpuidle/state(\d+)/(\S+?)):(.*)$")
KEPT = {"name", "latency", "residency", "disable", "usage", "time", "above", "below", "rejected"}


def dumps():
    rows = [m.groups() for m in map(PATH.match, text("mt8196-cpuidle_6_6.txt.gz").splitlines()) if m]
    # A disabled state, by the user and by the driver.
    rows = [(p, c, s, a, "2" if a == "disable" and (c, s) == ("1", "2") else v) for p, c, s, a, v in rows]

    def holds(rows, cpus=None):
        out = {}
        for _, c, s, a, v in rows:
            if a in KEPT:
                out.setdefault(str(cpus[c] if cpus else int(c)), {}).setdefault(s, {})[a] = v
        return {"dump": out}

    def dress(name, rows, line, what=None, head=""):
        put(name, head + "".join(line(*r) for r in rows), what or holds(rows))

    dress("grep.txt", rows, lambda p, c, s, a, v: f"{p}:{v}\n")
    dress("reversed.txt", rows[::-1], lambda p, c, s, a, v: f"{p}:{v}\n")
    offline = [r for r in rows if r[1] not in ("0", "3")]
    dress("offline.txt", offline, lambda p, c, s, a, v: f"{p}:{v}\n", head="0,3\n")
    dress("numbered.txt", rows, lambda p, c, s, a, v: f"{p}:1:{v}\n")
    dress("coloured.txt", rows, lambda p, c, s, a, v:
          f"\x1b[35m\x1b[K{p}\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K{v}\n")
    dress("relative.txt", rows, lambda p, c, s, a, v: f"cpu{c}/cpuidle/state{s}/{a}:{v}\n")
    dress("dotted.txt", rows, lambda p, c, s, a, v: f"./sys/devices/system/cpu/cpu{c}/cpuidle/state{s}/{a}:{v}\n")
    dress("headed.txt", rows, lambda p, c, s, a, v: f"==> {p} <==\n{v}\n\n")
    dress("below.txt", rows, lambda p, c, s, a, v: f"{p}\n{v}\n")
    dress("colon-below.txt", rows, lambda p, c, s, a, v: f"{p}:\n{v}\n")
    dress("blank.txt", rows, lambda p, c, s, a, v: f"{p} {v}\n")
    dress("tab.txt", rows, lambda p, c, s, a, v: f"{p}\t{v}\n")
    dress("equals.txt", rows, lambda p, c, s, a, v: f"{p} = {v}\n")
    dress("spaced.txt", rows, lambda p, c, s, a, v: f"{p} : {v}\n")
    dress("typed.txt", rows, lambda p, c, s, a, v: f"$ cat {p}\n{v}\n")
    dress("windows.txt", rows, lambda p, c, s, a, v: f"{p}:{v}\r\n")
    dress("mailed.txt", rows, lambda p, c, s, a, v: f"> > {p}:{v}\n")
    dress("listed.txt", rows, lambda p, c, s, a, v: f"{p}:{v}\n", head="".join(
        f"-r--r--r-- 1 root root 4096 Nov  1 10:00 {p}\n" for p, *_ in rows[:40]))
    dress("refused.txt", rows, lambda p, c, s, a, v: f"{p}:{v}\n", head=
          "grep: /sys/devices/system/cpu/cpu9/cpuidle: Permission denied\n# echo 1 > "
          "/sys/devices/system/cpu/cpu1/cpuidle/state1/disable\n")
    first = [r for r in rows if r[1] == "0"]
    dress("unnamed.txt", first, lambda p, c, s, a, v: f"state{s}/{a}:{v}\n")
    poll = lambda v: {"WFI": "POLL"}.get(v, v)
    dress("power.txt", [(p, c, s, a, {"WFI": "snooze", "cpuoff-l": "Shared Cede"}.get(v, v)) for p, c, s, a, v in rows],
          lambda p, c, s, a, v: f"{p}:{v}\n")
    dress("zero.txt", [(p, c, s, a, "0" if a == "residency" else v) for p, c, s, a, v in rows],
          lambda p, c, s, a, v: f"{p}:{v}\n")
    # Bare values: no s2idle, in the order of names, as kernels of four ages have them.
    order = sorted({r[3] for r in rows if "/" not in r[3]})
    for label, without in [("new", ()), ("5.8", ("rejected",)), ("5.4", ("rejected", "default_status")),
                           ("4.19", ("rejected", "default_status", "above", "below"))]:
        kept = [r for r in rows if r[3] in order and r[3] not in without]
        kept.sort(key=lambda r: (int(r[1]), int(r[2]), r[3]))
        dress(f"bare-{label}.txt", kept, lambda p, c, s, a, v: f"{v}\n")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as t:
        for p, c, s, a, v in rows:
            info = tarfile.TarInfo(p.lstrip("/"))
            data = (v + "\n").encode()
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    put("tree.tar.gz", archive.getvalue(), holds(rows))


os.makedirs(OUT, exist_ok=True)
traces()
dumps()
print(json.dumps(expected))
