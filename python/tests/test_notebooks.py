"""The notebooks, run: once with recordings of real machines, if they are there, and once without.
`tools/wheel --test` sets DORMOUSE to the command of the same tree."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import nbclient
import nbformat

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "python/notebooks"
COMMAND = os.environ["DORMOUSE"]
DATA = pathlib.Path(os.environ.get("DORMOUSE_DATA", ROOT / "../shared/data"))
CAPTURES = ROOT / "captures"
S = 1_000_000_000


def command(*words):
    return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, cwd=FOLDER)


def first_part(*words):
    """The command's answer up to the first empty line, as the notebooks print it."""
    return command(*words).stdout.split("\n\n")[0]


def ran(notebook, data):
    """What the cells of a notebook printed and showed, one text a cell."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"DORMOUSE_DATA": str(data)}
    with mock.patch.dict(os.environ, environment, clear=True):
        resources = {"metadata": {"path": str(FOLDER)}}
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    texts = []
    for cell in notebook.cells:
        text = ""
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                raise AssertionError(f"a cell warns: {output.text}")
            text += output.text if output.output_type == "stream" else output.data["text/plain"] + "\n"
        texts.append(text)
    return texts


def notebook(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def history():
    """The made-up nights of history.sql: what hooks write, with another kernel after 16 of 28."""
    with tempfile.TemporaryDirectory() as root:

        def put(path, text):
            place = pathlib.Path(root + path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(str(text))

        def hook(*words):
            done = command("watch", "--root", root, *words, "--at", ",".join(map(str, now)))
            assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done

        def counters(count, hardware, energy):
            put("/sys/power/suspend_stats/success", count)
            put("/sys/power/suspend_stats/fail", 0)
            put("/sys/power/suspend_stats/total_hw_sleep", hardware)
            put("/sys/class/power_supply/BAT0/energy_now", energy)

        pathlib.Path(root, "var/lib").mkdir(parents=True)
        put("/proc/sys/kernel/random/boot_id", "5e1f")
        put("/sys/power/mem_sleep", "[s2idle]")
        put("/sys/class/power_supply/BAT0/type", "Battery")
        put("/sys/class/power_supply/BAT0/energy_full", 60_000_000)
        now = [80 * S, 80 * S, 1_967_058_000 * S]  # 2032-05-01, 21:00
        for night in range(28):
            kernel, used = ("6.14.9", 4_000) if night < 16 else ("6.15.0", 11_000)
            put("/proc/sys/kernel/osrelease", kernel)
            counters(night, 1_000_000, 50_000_000)
            hook("--before", "--here", ",".join(map(str, now)))
            now = [now[0] + S, now[1] + 28_801 * S, now[2] + 28_801 * S]
            asleep = 288_000_000 * (96 - night * 13 % 4)
            counters(night + 1, 1_000_000 + asleep, 50_000_000 - (used + night * 37 % 11 * 40) * 1000)
            hook("--after")
            now = [t + 57_599 * S for t in now]
        db = sqlite3.connect(f"{root}/var/lib/dormouse/history.db")
        pragmas = [f"PRAGMA {p} = {db.execute(f'PRAGMA {p}').fetchone()[0]};" for p in ("application_id", "user_version")]
        text = "\n".join([*db.iterdump(), *pragmas]) + "\n"
        db.close()
        return text


class Notebooks(unittest.TestCase):
    def both(self, name, real):
        """Runs a notebook twice: with recordings of real machines, which lie at `real`, and without."""
        without = ran(notebook(name), "/nowhere")
        self.assertIn("SKIPPED", "".join(without))
        if not (DATA / real).exists():
            print(f"SKIPPED: {name} with {real}, which is not there; set DORMOUSE_DATA")
            return without, None
        with_data = ran(notebook(name), DATA)
        self.assertNotIn("SKIPPED", "".join(with_data))
        return without, with_data

    def test_one_phase(self):
        without, with_data = self.both("one-phase", "logs/pm-graph/multitest-5.3")
        for texts, runs in ((without, 3), (with_data, 40)):
            if texts:
                found = re.search(r"^(.+) makes (\d+)% of the spread of (\d+) resumes$", "".join(texts), re.M)
                self.assertEqual(int(found[3]), runs)
                self.assertGreater(int(found[2]), 50)

    def test_two_kernels(self):
        text = "".join(ran(notebook("two-kernels"), DATA))
        old, new = CAPTURES / "laptop-6.12.tar.gz", CAPTURES / "laptop-7.3.tar.gz"
        self.assertIn(first_part("compare", old, new), text)
        self.assertIn(first_part("predict", "--kernel=7.3", old), text)
        foretold, measured = re.search(r"foretold ([\d.]+) ms, measured ([\d.]+) ms", text).groups()
        self.assertAlmostEqual(float(foretold), float(measured), delta=1)

    def test_phone_idle(self):
        phone = "idle/real/s-pixel-listjank.txt.gz"
        fixture = ROOT / "crates/cli/tests/fixtures/idle-trace.txt"
        for texts, trace, cpus in zip(self.both("phone-idle", phone), (fixture, DATA / phone), (2, 8)):
            if texts:
                self.assertIn(first_part("show", "--only=idle", trace), "".join(texts))
                self.assertRegex("".join(texts), rf"least of all {cpus}\n")

    def test_storage(self):
        text = "".join(ran(notebook("storage"), DATA))
        trace = ROOT / "crates/cli/tests/fixtures/storage-trace.txt"
        self.assertIn(first_part("show", "--only=storage", trace), text)
        self.assertIn(first_part("tune", "--only=storage", "--p99=1ms", trace), text)

    def test_nights(self):
        text = "".join(ran(notebook("nights"), DATA))
        self.assertIn("drain is worse since 2032-05-17; that day kernel went from 6.14.9 to 6.15.0\n", text)

    def test_the_nights_are_those_that_hooks_write(self):
        made = history()
        if made != (FOLDER / "history.sql").read_text():
            kept = ROOT / "target/history.sql"
            kept.write_text(made)
            self.fail(f"the hooks write other rows now: copy {kept} over python/notebooks/history.sql")

    def test_change(self):
        texts = ran(notebook("change"), DATA)
        board, text = CAPTURES / "am335x-6.12.tar.gz", "".join(texts)
        self.assertIn("4 " + first_part("tune", "--resume=60ms", board), text)
        self.assertIn("0 " + first_part("tune", "--resume=60ms", "--offer=usb1", board), text)
        self.assertIn("-- 91-dormouse-unbind.rules\n", text)
        foretold, planned = re.search(r"resume ([\d.]+) ms by `predict`; ([\d.]+) ms by `tune`", text).groups()
        self.assertAlmostEqual(float(foretold), float(planned), delta=1)

    def test_a_cell_that_fails_fails_the_test(self):
        broken = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import dormouse\ndormouse.no_such_name")])
        with self.assertRaisesRegex(nbclient.exceptions.CellExecutionError, "no_such_name"):
            ran(broken, DATA)


class Tool(unittest.TestCase):
    """What `make test` looks at, without running a cell."""

    def test_what_is_wrong_is_told(self):
        sys.dont_write_bytecode = True
        loader = importlib.machinery.SourceFileLoader("notebooks", str(ROOT / "tools/notebooks"))
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("notebooks", loader))
        loader.exec_module(tool)
        path = FOLDER / "storage.ipynb"
        good = json.loads(path.read_text())
        self.assertEqual(list(tool.wrong(path, good, *tool.offered())), [])
        for text, said in (
            ("x = (", "was never closed"),
            ("nobody", "nothing above makes nobody"),
            ("dormouse.nobody", "the package has no nobody"),
            ("reading.nobody()", "what dormouse.read gives has no nobody"),
            ('"../../nobody"', "../../nobody is not there"),
        ):
            bad = json.loads(path.read_text())
            bad["cells"].append({"cell_type": "code", "source": [text]})
            self.assertIn(said, "".join(tool.wrong(path, bad, *tool.offered())))
        good["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["4"]}]
        self.assertEqual(tool.kept(good), path.read_text())


if __name__ == "__main__":
    unittest.main()
