"""Measures and prints; called by tools/bench-read."""

import glob
import os
import re
import resource
import subprocess

THROUGHPUT = os.environ["THROUGHPUT"]
SHOW_JSON = os.environ["SHOW_JSON"]
WORK = os.environ["WORK"]
BASELINE = os.environ.get("BASELINE")
SLEEPGRAPH = os.path.abspath("target/venv/bin/sleepgraph")


def path(name):
    return os.path.join(WORK, name)


def throughput(repeats, *files, threads=None, binary=THROUGHPUT):
    """Milliseconds in the best run, and the line that says so."""
    more = ["-j", str(threads)] if threads else []
    out = subprocess.run(
        [binary, "-n", str(repeats), *more, *files], check=True, capture_output=True, text=True
    ).stdout
    first = out.splitlines()[0]
    peak = re.search(r"VmHWM:\s*(\d+)", out)
    callbacks = int(re.search(r"(\d+) callbacks", first).group(1))
    return float(re.search(r"([\d.]+) ms", first).group(1)), first, int(peak.group(1)), callbacks


def beside(repeats, file):
    """The same with the baseline, in words; empty without one."""
    if not BASELINE:
        return ""
    ours, theirs = [], []
    for _ in range(3):
        theirs.append(throughput(repeats, file, binary=BASELINE)[0])
        ours.append(throughput(repeats, file)[0])
    return f"; baseline {min(theirs):.1f} ms, {min(theirs) / min(ours):.2f} times as long"


def instructions(file, binary=THROUGHPUT):
    """Counted by callgrind; None if there is no valgrind."""
    try:
        err = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             binary, "-n", "1", file],
            check=True, capture_output=True, text=True,
        ).stderr
    except FileNotFoundError:
        return None
    return int(re.search(r"Collected : (\d+)", err).group(1))


def shown(name, *files):
    """Size and speed of show --json."""
    out = subprocess.run([SHOW_JSON, *files], check=True, capture_output=True, text=True).stdout
    print(f"show --json of {name}: {out.strip()}")


def cpu_of(command, cwd):
    """Seconds of CPU that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def made(devices, prepare=True):
    """A trace of one cycle of so many devices, with or without the phases
    prepare and complete."""
    lines, now = [], [100_000_000]

    def line(text):
        now[0] += 3
        lines.append(f"     rtcwake-500   [001] .... {now[0] // 10**6}.{now[0] % 10**6:06}: {text}\n")

    line("suspend_resume: suspend_enter[3] begin")
    down, up = range(devices), range(devices - 1, -1, -1)
    for action, order, ops, event in (
        ("dpm_prepare[2]", down, "", "suspend"),
        ("dpm_suspend[2]", up, "bus ", "suspend"),
        ("machine_suspend[3]", (), "", ""),
        ("dpm_resume[16]", down, "bus ", "resume"),
        ("dpm_complete[16]", up, "", "resume"),
        ("thaw_processes[0]", (), "", ""),
    ):
        if not prepare and action.startswith(("dpm_prepare", "dpm_complete")):
            continue
        line(f"suspend_resume: {action} begin")
        for d in order:
            parent = f"dev{(d - 1) // 4}" if d else "none"
            line(f"device_pm_callback_start: drv{d % 9} dev{d}, parent: {parent}, {ops}[{event}]")
            line(f"device_pm_callback_end: drv{d % 9} dev{d}, err=0")
        line(f"suspend_resume: {action} end")
    name = path(f"made-{devices}{'' if prepare else '-middle'}.txt")
    with open(name, "w") as f:
        f.writelines(lines)
    return name


def main():
    whole = path("all.txt")
    if os.path.exists(whole):
        _, line, peak, callbacks = throughput(7, whole)
        size = os.path.getsize(whole)
        print(f"40 runs of a laptop in one file, mapped to explained: {line}{beside(7, whole)}")
        limit = 64 * 1024 + 300 * callbacks // 1024
        print(f"  memory beyond the mapped input: {peak - size // 1024} KB (bound {limit} KB)")
        count = instructions(whole)
        if count:
            with open(whole, "rb") as f:
                lines = sum(1 for _ in f)
            before = instructions(whole, BASELINE) if BASELINE else None
            more = f"; baseline {before / lines:.0f}" if before else ""
            print(f"  {count / lines:.0f} instructions per line ({lines} lines){more}")
        runs = path("runs")
        one, two = (min(throughput(5, runs, threads=n)[0] for _ in range(2)) for n in ("1", "2"))
        print(
            f"  as 40 files: {one:.1f} ms of CPU on one core; {two:.1f} ms pass on two, "
            "which other programs make longer"
        )
        trace, log = path("ftrace.txt"), path("dmesg.txt")
        ours, _, _, _ = throughput(20, trace, log)
        if os.path.exists(SLEEPGRAPH):
            command = [SLEEPGRAPH, "-ftrace", "ftrace.txt", "-dmesg", "dmesg.txt"]
            theirs = min(cpu_of(command, WORK) for _ in range(3)) * 1e3
            print(f"largest run, trace and log: {ours:.1f} ms, sleepgraph {theirs:.0f} ms: {theirs / ours:.0f} times")
    for prepare in (True, False):
        few, many = made(40_000, prepare), made(400_000, prepare)
        # The best of runs that take turns, because caches are shared with others;
        # both sizes read once by a fresh process, because that maps its pages first.
        times = [(throughput(1, few)[0], throughput(1, many)[0]) for _ in range(5)]
        few_ms, many_ms = (min(t[i] for t in times) for i in (0, 1))
        size = os.path.getsize(many)
        print(
            f"40,000 devices {few_ms:.0f} ms, 400,000 ({size / 1e6:.0f} MB) {many_ms:.0f} ms, "
            f"{size / many_ms / 1e3:.0f} MB/s: {many_ms / few_ms:.2f} times (bound 11.5){beside(1, many)}"
        )
    for capture in sorted(glob.glob("captures/*.tar.gz")):
        shown(os.path.basename(capture), capture)
    if os.path.exists(whole):
        shown("40 runs of a laptop", whole)
    for devices in (40_000, 400_000):
        for prepare in (True, False):
            shown(f"{devices} devices", made(devices, prepare))
    small, large = made(500), made(10_000)
    a, b = instructions(small), instructions(large)
    if a and b:
        print(f"20 times the callbacks take {b / a:.2f} times the instructions (bound 21)")
    else:
        print("SKIPPED: valgrind is missing, so no instructions are counted")


main()
