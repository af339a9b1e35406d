"""Extracts the messages that kernels print around sleep, from their sources.

    python3 tools/formats.py TREE... > crates/doctor/src/formats/table.txt

A TREE is an unpacked source of Linux (`cargo run -p xtask -- source 7.3` names one). The
old table is read from the same place: meanings that it gives to formats are kept, and a
format of the core that is new gets `?`, which a test refuses.

How: comments go, calls of printing functions are found, macros of the file and of the
headers beside it that end in one are expanded, pieces of the format are joined, pr_fmt and
dev_fmt are put before it, and a format of several lines becomes one row a line.
A format that is no literal is counted and left out.

One row: versions, level, how it is printed, meaning, format. Levels are those of printk
(`0` to `7`; `-` for lines of files). How: `p` printk as it is, `d` with driver and device
before it, `n` the same and an interface, `w` below a WARNING, `+` the rest of a line,
`f` a file of sysfs or debugfs.
"""

import re
import sys
from pathlib import Path

TABLE = Path(__file__).parent.parent / "crates/doctor/src/formats/table.txt"

# Functions on the way down and up, of drivers that say much besides.
PATHS = re.compile(
    r"suspend|resume|freeze|thaw|hibern|poweroff|power_?(on|off|up|down)|_pm_|_pm$|pm_|s0ix|s2idle|lps0"
    r"|runtime|_d3|d0i|d3cold|reinit|recover|wake|wow|idle|shutdown|reset|ulp|gfxoff|quiesce|link_up|hw_init|hw_fini|fw_load|load_fw|firmware"
)

# Subject, core, every function or those of PATHS, files.
GROUPS = [
    ("sleep", True, None, ["kernel/power/*.c"]),
    ("device core", True, None, ["drivers/base/*.c", "drivers/base/firmware_loader/*.c"]),
    ("device power", True, None, ["drivers/base/power/*.c", "drivers/pmdomain/core.c", "drivers/pmdomain/governor.c"]),
    ("register maps", True, None, ["drivers/base/regmap/*.c"]),
    ("cpu", True, None, ["kernel/cpu.c"]),
    ("freezer", True, None, ["kernel/freezer.c"]),
    ("reboot", True, None, ["kernel/reboot.c"]),
    ("async", True, None, ["kernel/async.c"]),
    ("time", True, None, ["kernel/time/alarmtimer.c", "kernel/time/timekeeping*.c"]),
    ("interrupts", True, None, ["kernel/irq/pm.c"]),
    ("idle", True, None, ["kernel/sched/idle.c"]),
    ("acpi", True, None, ["drivers/acpi/sleep.c", "drivers/acpi/device_pm.c", "drivers/acpi/ec.c",
                          "drivers/acpi/acpi_lpit.c", "drivers/acpi/x86/s2idle.c"]),
    ("platform", True, None, ["drivers/platform/x86/amd/pmc*.c", "drivers/platform/x86/amd/pmc/*.c",
                              "drivers/platform/x86/amd-pmc.c", "drivers/platform/x86/intel/pmc/*.c"]),
    ("cpuidle", False, None, ["drivers/cpuidle/*.c", "drivers/cpuidle/governors/*.c", "drivers/idle/*.c"]),
    ("power domains", False, None, ["drivers/pmdomain/*.c", "drivers/pmdomain/*/*.c"]),
    ("devfreq", False, None, ["drivers/devfreq/*.c", "drivers/opp/*.c"]),
    ("clock", False, None, ["drivers/clk/clk.c"]),
    ("regulator", False, None, ["drivers/regulator/core.c"]),
    ("pci", False, None, ["drivers/pci/pci.c", "drivers/pci/pci-driver.c", "drivers/pci/pci-acpi.c",
                          "drivers/pci/pcie/*.c"]),
    ("usb", False, None, ["drivers/usb/core/*.c", "drivers/usb/host/xhci*.c"]),
    ("mmc", False, None, ["drivers/mmc/core/*.c", "drivers/mmc/host/sdhci.c"]),
    ("nvme", False, None, ["drivers/nvme/host/core.c", "drivers/nvme/host/pci.c"]),
    ("ufs", False, None, ["drivers/ufs/core/*.c"]),
    ("ata", False, None, ["drivers/ata/lib*.c", "drivers/ata/ahci.c"]),
    ("scsi", False, None, ["drivers/scsi/scsi*.c", "drivers/scsi/sd.c"]),
    ("i2c", False, None, ["drivers/i2c/i2c-core-*.c", "drivers/i2c/busses/i2c-designware-*.c",
                          "drivers/i2c/busses/i2c-i801.c", "drivers/i2c/busses/i2c-piix4.c",
                          "drivers/i2c/busses/i2c-imx.c", "drivers/i2c/busses/i2c-qcom-geni.c",
                          "drivers/i2c/busses/i2c-tegra.c", "drivers/i2c/busses/i2c-rk3x.c",
                          "drivers/i2c/busses/i2c-omap.c", "drivers/i2c/busses/i2c-bcm2835.c",
                          "drivers/i2c/busses/i2c-mt65xx.c", "drivers/i2c/busses/i2c-stm32f7.c"]),
    ("rtc", False, None, ["drivers/rtc/class.c", "drivers/rtc/interface.c", "drivers/rtc/rtc-cmos.c"]),
    ("rtc", False, PATHS, ["drivers/rtc/*.c"]),
    ("pins", False, None, ["drivers/pinctrl/pinctrl-amd.c"]),
    ("graphics", False, PATHS, ["drivers/gpu/drm/i915/*.c", "drivers/gpu/drm/i915/*/*.c",
                                "drivers/gpu/drm/xe/*.c", "drivers/gpu/drm/amd/amdgpu/amdgpu_*.c",
                                "drivers/gpu/drm/nouveau/*.c", "drivers/gpu/drm/nouveau/nvkm/core/*.c",
                                "drivers/gpu/drm/nouveau/nvkm/engine/device/*.c",
                                "drivers/gpu/drm/drm_*.c"]),
    ("wireless", False, PATHS, ["drivers/net/wireless/intel/iwlwifi/*/*.c",
                                "drivers/net/wireless/intel/iwlwifi/*.c",
                                "drivers/net/wireless/ath/*/*.c", "drivers/net/wireless/mediatek/mt76/*.c",
                                "drivers/net/wireless/mediatek/mt76/*/*.c"]),
    ("files", False, None, ["fs/sync.c", "fs/super.c"]),
    ("memory", False, None, ["mm/page_alloc.c", "mm/swapfile.c"]),
    ("block", False, None, ["block/blk-pm.c"]),
]

# Files of sysfs and debugfs that people quote.
QUOTED = re.compile(r"kernel/power/main|drivers/base/power/|drivers/base/dd|pmdomain/core|clk/clk|regulator/core"
                    r"|devfreq/devfreq|cpuidle/sysfs|platform/x86|acpi/sleep|acpi/x86|acpi_lpit|domain.c")

LEVELS = {"emerg": 0, "alert": 1, "crit": 2, "err": 3, "error": 3, "warn": 4, "warning": 4,
          "notice": 5, "info": 6, "dbg": 7, "debug": 7, "devel": 7, "vdbg": 7, "fatal": 2, "WARN": 4}
NAMES = "|".join(sorted(LEVELS, key=len, reverse=True))
TAIL = r"(?:_once|_ratelimited|_limited|_dump)?"
KERN = {"EMERG": 0, "ALERT": 1, "CRIT": 2, "ERR": 3, "WARNING": 4, "NOTICE": 5, "INFO": 6, "DEBUG": 7}

# Pattern of a name, place of the format, how it is printed, level, what stands before it.
PRINTERS = [(re.compile(p + r"\Z"), *rest) for p, *rest in [
    (r"_?printk(?:_once|_ratelimited|_deferred(?:_once)?)?|vprintk", 0, "p", None, ""),
    (r"pr_cont(?:_once)?", 0, "+", 6, "PRFMT-"),
    (rf"pr_({NAMES}){TAIL}", 0, "p", 0, "PRFMT"),
    (rf"(?:__)?pm_(?:deferred_)?pr_dbg", 0, "p", 7, "PMFMT"),
    (rf"_?dev_({NAMES}){TAIL}", 1, "d", 0, "DEVFMT"),
    (r"dev_printk(?:_ratelimited)?", 2, "d", None, "DEVFMT"),
    (r"dev_err_probe|dev_warn_probe", 2, "d", 3, '"error %pe: "'),
    (r"dev_err_ptr_probe|dev_err_cast_probe", 2, "d", 3, '"error %pe: "'),
    (r"dev_WARN", 1, "d", 4, ""),
    (r"dev_WARN_ONCE", 2, "d", 4, ""),
    (rf"(?:pci|pnp|wiphy|usb)_({NAMES}){TAIL}", 1, "d", 0, "DEVFMT"),
    (rf"netdev_({NAMES}){TAIL}", 1, "n", 0, ""),
    (rf"netif_({NAMES})", 3, "n", 0, ""),
    (r"WARN|WARN_ONCE|WARN_RATELIMIT", 1, "w", 4, ""),
    (r"WARN_TAINT(?:_ONCE)?", 2, "w", 4, ""),
    (r"panic", 0, "p", 0, '"Kernel panic - not syncing: "'),
    (r"drm_(?:dbg|dbg_core|dbg_kms|dbg_driver|dbg_atomic|dbg_prime|dbg_dp|dbg_state)" + TAIL, 1, "d", 7, '"[drm:%ps] "'),
    (rf"drm_(err|crit){TAIL}", 1, "d", 0, '"[drm] *ERROR* "'),
    (rf"drm_(warn|notice|info){TAIL}", 1, "d", 0, '"[drm] "'),
    (r"DRM_ERROR(?:_RATELIMITED)?", 0, "p", 3, '"[drm:%ps] *ERROR* "'),
    (r"DRM_(?:DEBUG|DEBUG_DRIVER|DEBUG_KMS|DEBUG_ATOMIC)(?:_RATELIMITED)?", 0, "p", 7, '"[drm:%ps] "'),
    (r"DRM_(INFO|WARN|NOTE)(?:_ONCE)?", 0, "p", 6, '"[drm] "'),
    (r"DRM_DEV_ERROR(?:_RATELIMITED)?", 1, "d", 3, '"[drm:%ps] *ERROR* "'),
    (r"DRM_DEV_(?:INFO|DEBUG)(?:_DRIVER)?", 1, "d", 6, '"[drm] "'),
    (r"drm_WARN(?:_ONCE)?", 2, "d", 4, '"[drm] "'),
    (rf"ata_port_({NAMES}){TAIL}", 1, "p", 0, '"ata%u: "'),
    (rf"ata_(?:dev|link)_({NAMES}){TAIL}", 1, "p", 0, '"ata%u.%02u: "'),
    (r"sd_printk|sd_first_printk", 2, "d", None, '"[%s] "'),
    (r"sdev_printk|starget_printk|shost_printk", 2, "d", None, ""),
    (r"scmd_printk", 2, "d", None, '"[%s] tag#%d "'),
    (rf"acpi_handle_({NAMES}){TAIL}", 1, "p", 0, '"ACPI: %s: "'),
    (r"ACPI_(ERROR|EXCEPTION|WARNING|INFO)", None, "p", 3, ""),
    (r"IWL_(?:ERR|ERR_LIMIT|CRIT|DEV_ERR)(?:_DEV)?", 1, "d", 3, ""),
    (r"IWL_(?:WARN|WARN_LIMIT)(?:_DEV)?", 1, "d", 4, ""),
    (r"IWL_INFO", 1, "d", 6, ""),
    (rf"ath(?:10k|11k|12k|6kl)_(err|warn|info|hal_warn)", 1, "d", 0, ""),
    (rf"ath_(err|warn|info|notice)", 1, "p", 0, '"ath: phy%d: "'),
    (r"wil_(err|info)" + TAIL, 1, "n", 0, ""),
    (r"wcn36xx_(err|warn|info)", 0, "p", 0, '"wcn36xx: "'),
    (r"seq_printf", 1, "f", "-", ""),
    (r"seq_puts", 1, "f", "-", ""),
    (r"sysfs_emit", 1, "f", "-", ""),
    (r"sysfs_emit_at", 2, "f", "-", ""),
]]

STRING = r'"(?:\\.|[^"\\])*"'
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
SKIP = re.compile(rf"{STRING}|'(?:\\.|[^'\\])+'|/\*.*?\*/|//[^\n]*", re.S)


def without_comments(text):
    """The same length is not kept, lines are."""
    def put(m):
        return m.group(0) if m.group(0)[0] in "\"'" else "\n" * m.group(0).count("\n") + " "
    return SKIP.sub(put, text)


def arguments(text, at):
    """Arguments of the call whose parenthesis opens at `at`, and where it ends."""
    depth, start, out, i = 0, at + 1, [], at
    while i < len(text):
        c = text[i]
        if c in "\"'":
            m = SKIP.match(text, i)
            if not m:
                return None, i + 1
            i = m.end()
            continue
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                out.append(text[start:i])
                return [a.strip() for a in out], i + 1
        elif c == "," and depth == 1:
            out.append(text[start:i])
            start = i + 1
        i += 1
    return None, len(text)


class File:
    """Macros that one file sees, and its name as a module."""

    def __init__(self, tree, path, shared):
        self.path, self.text = path, shared.text(path)
        self.constants, self.macros = {}, {}
        beside = sorted(path.parent.glob("*.h"))
        above = sorted(path.parent.parent.glob("*.h")) if len(path.relative_to(tree).parts) > 3 else []
        for p in above + beside + [path]:
            constants, macros = shared.defines(p)
            self.constants.update(constants)
            self.macros.update(macros)
        for p in EXTRA:
            for q in sorted(tree.glob(p)):
                for k, v in shared.defines(q)[1].items():
                    self.macros.setdefault(k, v)
        # What a header beside it calls pr_fmt is its own.
        own = shared.defines(path)
        for name in ("pr_fmt", "dev_fmt"):
            if name not in own[1] and name not in own[0]:
                self.macros.pop(name, None)
                self.constants.pop(name, None)
        self.constants["KBUILD_MODNAME"] = '"%s"' % shared.module(path)
        self.constants["PRIu64"] = '"llu"'
        self.printing = None

    def prints(self, name):
        """Whether a macro ends in a printing function."""
        if self.printing is None:
            known = {k for k, (_, body) in self.macros.items()
                     if any(printer(n) for n in CALL.findall(body)) or re.search(r"\w##_?\w+\s*\(|##\s*\w+\s*\(", body)}
            while True:
                more = {k for k, (_, body) in self.macros.items()
                        if k not in known and any(n in known for n in CALL.findall(body))}
                if not more:
                    break
                known |= more
            self.printing = known - {"pr_fmt", "dev_fmt"}
        return name in self.printing


EXTRA = ["drivers/gpu/drm/nouveau/include/nvkm/core/subdev.h", "drivers/gpu/drm/nouveau/include/nvkm/core/device.h",
         "drivers/gpu/drm/i915/gt/intel_gt_print.h", "drivers/net/wireless/ath/ath.h"]


class Shared:
    def __init__(self):
        self.texts, self.defined, self.makefiles = {}, {}, {}

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = without_comments(path.read_text(errors="replace"))
        return self.texts[path]

    def defines(self, path):
        if path not in self.defined:
            constants, macros = {}, {}
            joined = self.text(path).replace("\\\n", " ")
            for m in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^()]*\))?[ \t]+(.+)$", joined, re.M):
                name, params, body = m.groups()
                if params is not None:
                    macros.setdefault(name, ([p.strip() for p in params[1:-1].split(",")], body.strip()))
                elif '"' in body or re.fullmatch(r"[A-Za-z_]\w*", body.strip()):
                    constants.setdefault(name, body.strip())
            self.defined[path] = (constants, macros)
        return self.defined[path]

    def module(self, path):
        """KBUILD_MODNAME: the module that the object is a part of, or its own name."""
        folder = path.parent
        if folder not in self.makefiles:
            parts = {}
            make = folder / "Makefile"
            text = make.read_text().replace("\\\n", " ") if make.exists() else ""
            for m in re.finditer(r"^([\w-]+?)-(?:objs|y|m|\$\([\w]+\))\s*[:+]?=\s*(.+)$", text, re.M):
                if m.group(1) in ("obj", "ccflags", "subdir"):
                    continue
                for o in m.group(2).split():
                    parts.setdefault(o.removesuffix(".o"), m.group(1))
            self.makefiles[folder] = parts
        name = path.stem
        return self.makefiles[folder].get(name, name).replace("-", "_")


def printer(name):
    for row in PRINTERS:
        m = row[0].match(name)
        if m:
            return (m, *row[1:])
    return None


def unquoted(s):
    return (s[1:-1].replace('\\"', '"').replace("\\\\", "\\").replace("\\t", "\t").replace("\\r", "")
            .replace("\\n", "\n").replace("\\001", "\x01"))


def joined(expr, file, depth=0):
    """Every text that the format `expr` may be; nothing if it is no literal."""
    expr = expr.strip()
    while expr.startswith("(") and arguments(expr, 0)[1] == len(expr):
        expr = expr[1:-1].strip()
    if depth > 8:
        return []
    # cond ? "a" : "b"
    at = top(expr, "?")
    if at >= 0:
        rest = expr[at + 1:]
        colon = top(rest, ":")
        if colon < 0:
            return []
        return joined(rest[:colon], file, depth + 1) + joined(rest[colon + 1:], file, depth + 1)
    texts, i, some = [""], 0, False
    while i < len(expr):
        if expr[i].isspace():
            i += 1
            continue
        m = re.compile(STRING).match(expr, i)
        if m:
            texts, some, i = [t + unquoted(m.group(0)) for t in texts], True, m.end()
            continue
        m = re.compile(r"\w+").match(expr, i)
        if not m:
            return []
        name, i = m.group(0), m.end()
        if name.startswith("KERN_"):
            continue
        call = re.compile(r"\s*\(").match(expr, i)
        if call:
            args, end = arguments(expr, call.end() - 1)
            if args is None:
                return []
            # #define dev_fmt pr_fmt
            if name in file.constants and name not in file.macros:
                name = file.constants[name]
            if name in ("pr_fmt", "dev_fmt") and name not in file.macros:
                more = joined(args[0], file, depth + 1)
            elif name in file.macros:
                params, body = file.macros[name]
                more = joined(expand(params, body, args), file, depth + 1)
            else:
                return []
            i = end
        elif name in file.constants:
            more = joined(file.constants[name], file, depth + 1)
        else:
            return []
        if not more:
            return []
        texts, some = [t + m for t in texts for m in more], True
    return texts if some else []


def top(expr, what):
    """Where `what` stands outside of parentheses and strings."""
    depth, i = 0, 0
    while i < len(expr):
        c = expr[i]
        if c in "\"'":
            m = SKIP.match(expr, i)
            i = m.end() if m else i + 1
            continue
        depth += c in "([{"
        depth -= c in ")]}"
        if c == what and depth == 0:
            return i
        i += 1
    return -1


def expand(params, body, args):
    """`body` of a macro with its parameters put in."""
    bound = {}
    for k, p in enumerate(params):
        if p.endswith("..."):
            bound[p[:-3].strip() or "__VA_ARGS__"] = ", ".join(args[k:])
        else:
            bound[p] = args[k] if k < len(args) else ""

    def put(m):
        return m.group(0) if m.group(0)[0] == '"' else bound.get(m.group(0), m.group(0))
    body = re.sub(r",\s*##\s*", ", ", body)
    return re.sub(r"\s*##\s*", "", re.sub(rf"{STRING}|\w+", put, body))


def scan(text, file, found, lost, function=None, want=None, depth=0):
    """Adds every format that `text` prints."""
    at = 0
    while True:
        m = CALL.search(text, at)
        if not m:
            return
        at = m.end()
        name = m.group(1)
        known = printer(name)
        macro = name in file.macros and file.prints(name)
        if not known and not macro:
            continue
        if text[:m.start()].rstrip(" \t").endswith("define") or inside(text, m.start()):
            continue
        if want and function:
            where = function(m.start())
            if not where or not want.search(where):
                continue
        args, end = arguments(text, m.end() - 1)
        if args is None:
            continue
        if known:
            take(known, name, args, file, found, lost)
            at = end
        elif depth < 6:
            params, body = file.macros[name]
            scan(expand(params, body, args), file, found, lost, depth=depth + 1)


def inside(text, at):
    """Whether `at` stands in a string of its line."""
    start = text.rfind("\n", 0, at) + 1
    return re.sub(r"\\.", "", text[start:at]).count('"') % 2 == 1


def take(known, name, args, file, found, lost):
    m, place, how, level, before = known
    if place is None:
        # ((AE_INFO, "…")) and ((AE_INFO, status, "…"))
        inner, _ = arguments(args[0], 0)
        if not inner:
            return
        place = 2 if name == "ACPI_EXCEPTION" else 1
        args, before = inner, '"ACPI Error: "'
        if name == "ACPI_EXCEPTION":
            before = '"ACPI Error: %s, "'
        elif name in ("ACPI_WARNING", "ACPI_INFO"):
            before, level = ('"ACPI Warning: "', 4) if name == "ACPI_WARNING" else ('"ACPI: "', 6)
    if len(args) <= place:
        return
    expr = args[place]
    if level == 0 and m.groups():
        level = LEVELS.get(m.group(1).lower().split("_")[-1], 6)
    if level is None:
        kern = re.search(r"KERN_(\w+)", ", ".join(args[: place + 1]))
        if kern and kern.group(1) == "CONT":
            how, level = "+", 6
        else:
            level = KERN.get(kern.group(1), 6) if kern else 4
    if before in ("PRFMT", "DEVFMT"):
        macro = "pr_fmt" if before == "PRFMT" else "dev_fmt"
        expr = f"{macro}({expr})"
    elif before == "PMFMT":
        expr = f"pr_fmt({expr})" if "pr_fmt" in file.macros else f'"PM: " {expr}'
    elif before.startswith('"'):
        expr = f"{before} {expr}"
        if top(args[place], "?") >= 0:
            expr = f"{before} ({args[place]})"
    texts = joined(expr, file)
    if not texts:
        # A ternary behind a prefix.
        if re.search(r"^\s*\w+\s*$", args[place]):
            lost.append((name, args[place]))
            return
        lost.append((name, args[place][:60]))
        return
    for text in texts:
        lines = text.lstrip("\x01").split("\n")
        for k, line in enumerate(lines):
            line = line.rstrip()
            if k and how in "pwd" and line.strip():
                found.append((how if how == "w" else "p", level, line))
            elif line.strip():
                found.append((how, level, line))


FUNCTION = re.compile(r"^(?!\s|#|\}|struct\b|enum\b|typedef\b)[^\n;={}]*?\b(\w+)\s*\([^;{}]*?\)\s*(?:__\w+\s*)*\n\{", re.M)


def functions(text):
    starts = [(m.start(), m.group(1)) for m in FUNCTION.finditer(text)]

    def at(i):
        import bisect
        k = bisect.bisect_right(starts, (i, "\x7f")) - 1
        return starts[k][1] if k >= 0 else None
    return at


def extract(tree):
    """{(subject, core, how, text): (level, path)} of one tree."""
    shared, out, lost, done = Shared(), {}, [], set()
    for subject, core, want, globs in GROUPS:
        for g in globs:
            for path in sorted(tree.glob(g)):
                if re.search(r"test", path.stem) or re.search(r"/(tests?|selftests?)/", str(path)):
                    if path.stem != "suspend_test":
                        continue
                if path in done:
                    continue
                if want is None:
                    done.add(path)
                file = File(tree, path, shared)
                found = []
                body = re.sub(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*$", lambda m: "\n" * m.group(0).count("\n"), file.text, flags=re.M)
                scan(body, file, found, lost, functions(body), want)
                scanned = found
                if not core:
                    # What nobody sees who did not ask for it: of the ways down and up alone.
                    loud = []
                    scan(body, file, loud, [], functions(body), PATHS)
                    scanned = [f for f in found if f[1] != 7 or f in loud]
                for how, level, text in scanned:
                    if how == "f" and not QUOTED.search(str(path)):
                        continue
                    key = (subject, core, how, text)
                    old = out.get(key)
                    if old is None or level != "-" and level < old[0]:
                        out[key] = (level, str(path.relative_to(tree)))
    return out, lost


def version(tree):
    text = (tree / "Makefile").read_text()
    n = [re.search(rf"^{w} = (\d+)", text, re.M).group(1) for w in ("VERSION", "PATCHLEVEL")]
    return ".".join(n)


def old_meanings():
    out, core = {}, False
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        if line.startswith("="):
            core = line.split("|")[1] == "core"
        elif line and line[0] != "#":
            _, _, how, meaning, text = line.split(" ", 4)
            if core:
                out[(how, text)] = meaning
    return out


def main():
    trees = [Path(t) for t in sys.argv[1:]]
    trees.sort(key=lambda t: [int(n) for n in version(t).split(".")])
    rows, names = {}, [version(t) for t in trees]
    for tree, name in zip(trees, names):
        got, lost = extract(tree)
        print(f"{name}: {len(got)} formats, {len(lost)} that are no literal", file=sys.stderr)
        for key, (level, path) in got.items():
            row = rows.setdefault(key, [level, path, []])
            row[0], row[1] = level, path
            row[2].append(name)
    meanings = old_meanings()
    print("# Made by tools/formats.py of the sources of Linux; only meanings are written by hand.")
    print("# kernels:", " ".join(names))
    groups = {}
    for (subject, core, how, text), (level, path, versions) in rows.items():
        groups.setdefault((subject, core, path), []).append((how, level, versions, text))
    order = {}
    for k, g in enumerate(GROUPS):
        order.setdefault(g[0], k)
    for (subject, core, path), lines in sorted(groups.items(), key=lambda g: (order[g[0][0]], g[0][2])):
        print(f"={subject}|{'core' if core else 'rest'}|{path}")
        for how, level, versions, text in sorted(lines, key=lambda r: (r[3], r[0])):
            mask = "".join("1" if n in versions else "0" for n in names)
            meaning = meanings.get((how, text.replace("\t", "\\t")), "?" if core else "-")
            print(mask, level, how, meaning, text.replace("\t", "\\t"))


main()
