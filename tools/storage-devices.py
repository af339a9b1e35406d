"""Joins reads of fio's latency logs with those of `dormouse show --only storage --json`, and
prints how far apart they are. Called by tools/storage-devices."""

import json
import pathlib
import sys

APART_NS = 2_000
SHARE = 0.99


def logged(path):
    """Latency in ns by sector, of reads that fio logged."""
    out = {}
    for line in path.read_text().splitlines():
        _, ns, direction, _, offset = [int(w, 0) for w in line.split(",")[:5]]
        if direction == 0:
            out[offset // 512] = ns
    return out


def main():
    folder, drives = pathlib.Path(sys.argv[1]), sys.argv[2:]
    shown = json.loads((folder / "show.json").read_text())["storage"]
    # The drives are read one after another, in this order; their random places are the same.
    disks = [d for t in shown["traces"] for d in t["disks"] if d["requests"]]
    in_turn = iter(sorted(disks, key=lambda d: min(r["queued"] for r in d["requests"])))
    print("| drive | reads logged | found | slices that do not add up | fio mean us | show mean us "
          "| fio above show us: least, middle, most | within 2 us of the middle | |")
    print("|---|---|---|---|---|---|---|---|---|")
    bad = False
    for drive in drives:
        path = folder / f"{drive}_clat.1.log"
        if not path.exists():
            print(f"| {drive} | - | - | - | - | - | - | - | not there |")
            continue
        log = logged(path)
        disk = next(in_turn, {"requests": []})
        found = {r["sector"]: r for r in disk["requests"]
                 if r["operation"] == "read" and r["sector"] in log and r["latency"]}
        broken = sum(1 for r in found.values()
                     if sum(s or 0 for s in r["slices"].values()) != r["completed"] - r["queued"])
        above = sorted(log[s] - r["latency"] for s, r in found.items())
        if not above:
            print(f"| {drive} | {len(log)} | 0 | - | - | - | - | - | MISSED |")
            bad = True
            continue
        middle = above[len(above) // 2]
        near = sum(1 for a in above if abs(a - middle) <= APART_NS) / len(above)
        ok = len(found) == len(log) and not broken and near >= SHARE
        bad |= not ok
        fio = sum(log[s] for s in found) / len(found) / 1e3
        show = sum(r["latency"] for r in found.values()) / len(found) / 1e3
        print(f"| {drive} | {len(log)} | {len(found)} | {broken} | {fio:.1f} | {show:.1f} "
              f"| {above[0] / 1e3:.1f}, {middle / 1e3:.1f}, {above[-1] / 1e3:.1f} "
              f"| {100 * near:.1f} % | {'right' if ok else 'MISSED'} |")
    counts = {}
    for trace in shown["traces"]:
        for name, n in trace["events"].items():
            counts[name] = counts.get(name, 0) + n
    print("\nEvents: " + ", ".join(f"{n} {counts[n]}" for n in sorted(counts)) + ".")
    return bad


sys.exit(main())
