"""Fleets: what goes into the tables, and what is asked of them."""

import functools
import glob
import gzip
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import pyarrow
from deltalake import DeltaTable, write_deltalake

from dormouse import fleet
from dormouse.fleet import intake, tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A made-up journal: its machine, its owner's things, and a device that ends the sleep.
LOG = """\
2026-10-0{day}T08:00:00.000001+0200 {host} kernel: Linux version 6.12.9-acme (build@acme) #1 SMP
2026-10-0{day}T08:00:00.000002+0200 {host} kernel: DMI: Acme Notebook 5/X1, BIOS 1.2 01/01/2025
2026-10-0{day}T08:00:01.000000+0200 {host} kernel: usb 3-4: SerialNumber: QZ7734PLK9931
2026-10-0{day}T08:00:01.500000+0200 {host} kernel: r8169 0000:02:00.0 enp2s0: renamed, 9c:5c:8e:41:d2:07
2026-10-0{day}T09:00:00.000000+0200 {host} kernel: PM: suspend entry (deep)
2026-10-0{day}T09:00:00.100000+0200 {host} kernel: usb 3-4: PM: dpm_run_callback(): usb_dev_suspend returns -16
2026-10-0{day}T09:00:00.100100+0200 {host} kernel: usb 3-4: PM: failed to suspend async: error -16
2026-10-0{day}T09:00:00.200000+0200 {host} kernel: PM: Some devices failed to suspend, or early wake event detected
2026-10-0{day}T09:00:00.900000+0200 {host} kernel: PM: suspend exit
"""
SECRETS = re.compile(r"turnip-of-jane|QZ7734PLK9931|9c[:-]5c[:-]8e|9c5c8e41d207|jane", re.I)


def poisoned(files, *more):
    """Reads files as a worker does; one of them ends it."""
    for _, path in files:
        if "poison" in path:
            os.kill(os.getpid(), signal.SIGKILL)
    return intake.read_files(files, *more)


def counts(place):
    con = fleet.Dataset(place).connect()
    return {name: con.sql(f"select count(*) from {name}").fetchall()[0][0] for name in tables.SCHEMAS}


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dormouse-fleet-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.inputs, self.place = os.path.join(self.folder, "in"), os.path.join(self.folder, "fleet")
        os.mkdir(self.inputs)

    def write(self, name, text):
        path = os.path.join(self.inputs, name)
        with open(path, "w") as f:
            f.write(text)
        return path


class Ingest(Folder):
    def logs(self, n):
        for i in range(n):
            self.write(f"turnip-of-jane-{i}.log", LOG.format(day=i % 9 + 1, host="turnip-of-jane") + f"# {i}\n")

    def test_the_same_files_twice_are_there_once(self):
        self.logs(3)
        shutil.copy(ROOT / "captures/am335x-6.12.tar.gz", self.inputs)
        first = fleet.ingest(self.inputs, self.place, workers=1)
        self.assertEqual((first.read, first.known, first.unread), (4, 0, []))
        before = counts(self.place)
        self.assertEqual({k: before[k] for k in ("recording", "cycle", "callback", "finding")},
                         {"recording": 4, "cycle": 7, "callback": 3576, "finding": 3})
        shutil.copy(os.path.join(self.inputs, "turnip-of-jane-0.log"), os.path.join(self.inputs, "again.log"))
        second = fleet.ingest(self.inputs, self.place, workers=1)
        self.assertEqual((second.read, second.known), (0, 5))
        self.assertEqual(counts(self.place), before)

    def test_what_cannot_be_read_is_a_row_with_its_reason(self):
        self.logs(1)
        path = self.write("letter.txt", "Dear Sir or Madam\n")
        done = fleet.ingest(self.inputs, self.place, workers=1)
        self.assertEqual((done.read, [p for p, _ in done.unread]), (1, [path]))
        why = fleet.Dataset(self.place).connect().sql("select unread from recording where unread is not null").fetchall()
        self.assertIn("nothing to analyse", why[0][0])
        self.assertEqual(fleet.ingest(self.inputs, self.place, workers=1).known, 2)
        # Asked to try again, it is read again, and still is one row.
        self.assertEqual(len(fleet.ingest(self.inputs, self.place, workers=1, again=True).unread), 1)
        self.assertEqual(counts(self.place)["recording"], 2)

    def test_a_file_that_kills_its_worker_is_named_and_the_others_are_there(self):
        self.logs(40)
        path = self.write("poison.log", "poison\n")
        killing = functools.partial(intake.ENGINES["processes"], read=poisoned)
        with mock.patch.dict(intake.ENGINES, processes=killing):
            done = fleet.ingest(self.inputs, self.place, workers=2)
        self.assertEqual((done.read, [p for p, _ in done.unread]), (40, [path]))
        self.assertIn("its reader died", done.unread[0][1])
        self.assertEqual((counts(self.place)["recording"], counts(self.place)["cycle"]), (41, 40))

    def test_tables_name_no_machine_and_no_owner(self):
        self.logs(2)
        fleet.ingest(self.inputs, self.place, workers=1)
        con = fleet.Dataset(self.place).connect()
        for name in tables.SCHEMAS:
            self.assertNotRegex(str(con.sql(f"select * from {name}").fetchall()), SECRETS)
        for file in glob.glob(self.place + "/**", recursive=True):
            if os.path.isfile(file):
                self.assertNotRegex(pathlib.Path(file).read_bytes().decode("latin-1"), SECRETS)
        machines = con.sql("select distinct machine from recording").fetchall()
        self.assertEqual(len(machines), 1)
        self.assertRegex(machines[0][0], "^[0-9a-f]{32}$")
        # Another dataset has another key: machines cannot be followed from one into the other.
        fleet.ingest(self.inputs, self.place + "2", workers=1)
        other = fleet.Dataset(self.place + "2").connect().sql("select distinct machine from recording").fetchall()
        self.assertNotEqual(machines, other)
        self.assertEqual(os.stat(self.place + ".private/key").st_mode & 0o077, 0)

    def test_packed_logs_and_folders_say_their_machine_and_wakers_no_address(self):
        path = os.path.join(self.inputs, "log.gz")
        with gzip.open(path, "wt") as f:
            f.write(LOG.format(day=3, host="turnip-of-jane"))
        self.assertEqual(intake._own_words(path), ("turnip-of-jane", "2026-10", {}))
        folder = os.path.join(self.inputs, "recording")
        os.makedirs(folder + "/cycle-0001")
        pathlib.Path(folder, "capture.json").write_text('{"machine": {"host": "turnip-of-jane"}}')
        pathlib.Path(folder, "cycle-0001/stats.json").write_text(
            '{"number": 1, "wakeup_sources": ["hid-9c:5c:8e:41:d2:07-battery", "rtc_cmos"], "clocks": {"realtime_after": 1791000000000000000}}')
        self.assertEqual(intake._own_words(folder), ("turnip-of-jane", "2026-10", {1: "hid-mac-battery, rtc_cmos"}))

    def test_the_files_behind_recordings_are_known_to_who_brought_them(self):
        self.logs(1)
        fleet.ingest(self.inputs, self.place, workers=1)
        dataset = fleet.Dataset(self.place)
        recording = dataset.connect().sql("select recording from recording").fetchall()[0][0]
        self.assertEqual(dataset.files([recording]), {recording: os.path.join(self.inputs, "turnip-of-jane-0.log")})

    def test_rows_of_a_run_that_was_ended_do_not_count(self):
        self.logs(2)
        dataset = fleet.Dataset(self.place)
        write = tables.write_deltalake

        def ends(place, *rest, **options):
            if place.endswith("recording"):
                raise KeyboardInterrupt
            write(place, *rest, **options)

        with mock.patch.object(tables, "write_deltalake", ends), self.assertRaises(KeyboardInterrupt):
            fleet.ingest(self.inputs, dataset, workers=1)
        self.assertEqual(DeltaTable(self.place + "/cycle").to_pyarrow_table().num_rows, 2)
        fleet.ingest(self.inputs, dataset, workers=1)
        self.assertEqual(counts(self.place)["cycle"], 2)

    def test_two_writers_of_one_file_leave_it_once(self):
        self.logs(3)
        with mock.patch.object(tables.Dataset, "known", lambda *_, **__: set()):  # both began before either ended
            for _ in range(2):
                fleet.ingest(self.inputs, self.place, workers=1)
        self.assertEqual(DeltaTable(self.place + "/cycle").to_pyarrow_table().num_rows, 6)
        self.assertEqual((counts(self.place)["recording"], counts(self.place)["cycle"]), (3, 3))

    def test_new_columns_do_not_disturb_and_columns_that_lack_are_null(self):
        self.logs(1)
        fleet.ingest(self.inputs, self.place, workers=1)
        rows = DeltaTable(self.place + "/cycle").to_pyarrow_table()
        newer = rows.append_column("moon", pyarrow.array(["full"])).drop_columns(["wakers"])
        write_deltalake(self.place + "/cycle", newer, mode="append", schema_mode="merge")
        con = fleet.Dataset(self.place).connect()
        self.assertEqual(con.sql("select wakers from cycle").fetchall(), [(None,), (None,)])
        self.write("later.log", LOG.format(day=9, host="other"))
        fleet.ingest(self.inputs, self.place, workers=1)
        self.assertEqual(counts(self.place)["cycle"], 3)

    def test_a_later_schema_is_refused_by_name(self):
        write_deltalake(self.place + "/recording", tables.SCHEMAS["recording"].empty_table(),
                        description="dormouse-fleet/2")
        with self.assertRaisesRegex(fleet.FleetError, "dormouse-fleet/2.*take a newer dormouse"):
            fleet.ingest(self.inputs, self.place)
        shutil.rmtree(self.place)
        write_deltalake(self.place + "/recording", tables.SCHEMAS["recording"].empty_table())
        with self.assertRaisesRegex(fleet.FleetError, "is no table of a fleet"):
            fleet.ingest(self.inputs, self.place)

    def test_a_url_is_read_as_a_folder_is(self):
        self.logs(2)
        url = "file://" + self.place
        with self.assertRaisesRegex(fleet.FleetError, "private=FOLDER"):
            fleet.ingest(self.inputs, url)
        fleet.ingest(self.inputs, url, workers=1, private=self.folder + "/mine")
        self.assertEqual(counts(url), counts(self.place))

    def test_one_model_and_month_is_a_folder(self):
        self.logs(2)
        fleet.ingest(self.inputs, self.place, workers=1)
        self.assertEqual([os.path.basename(p) for p in glob.glob(self.place + "/cycle/model=*/*")], ["month=2026-10"])

    def test_small_files_are_joined(self):
        for i in range(9):
            self.write(f"{i}.log", LOG.format(day=1, host="h") + f"# {i}\n")
            fleet.ingest(self.inputs, self.place, workers=1)
        self.assertLess(len(DeltaTable(self.place + "/recording").file_uris()), 9)
        self.assertEqual(counts(self.place)["recording"], 9)

    def test_a_folder_may_stand_for_a_machine(self):
        for name in ("a", "b"):
            os.mkdir(os.path.join(self.inputs, name))
            self.write(f"{name}/1.log", LOG.format(day=1, host="localhost") + name)
        fleet.ingest(self.inputs, self.place, workers=1)
        ask = "select count(distinct machine) from recording"
        self.assertEqual(fleet.Dataset(self.place).connect().sql(ask).fetchall(), [(0,)])
        fleet.ingest(self.inputs, self.place + "2", workers=1, machine="folder")
        self.assertEqual(fleet.Dataset(self.place + "2").connect().sql(ask).fetchall(), [(2,)])


def made_up(machines, slower=0.0, on=1.0, seed=5, model="Acme X1"):
    """Tables of a model: four sleeps of each machine under each of two kernels, ten devices, one slower."""
    rng = np.random.default_rng(seed)
    rows = {name: [] for name in tables.SCHEMAS}
    for m in range(machines):
        for after, kernel in enumerate(("6.12.9-acme", "7.3.1-acme")):
            head = {"recording": f"{model}-{m}-{after}", "machine": f"{m:032x}", "model": model, "month": "2026-10", "kernel": kernel}
            rows["recording"].append(head | {"sleeps": 4})
            for cycle in range(1, 5):
                total = 0
                for d in range(10):
                    t = (d + 1) * 5e6 * np.exp(rng.normal(0, 0.02)) * (1 + slower * (after and d == 3 and m < on * machines))
                    total += int(t)
                    rows["callback"].append(head | {
                        "mode": "deep", "outcome": "slept", "cycle": cycle, "first_after_boot": cycle == 1, "phase": "resume",
                        "direction": "resume", "device": f"dev{d}", "driver": "acme", "duration_ns": int(t), "complete": True,
                        "on_critical_path": True})
                wakers = "rtc_cmos" if cycle == 2 else None
                rows["cycle"].append(head | {
                    "mode": "deep", "outcome": "slept", "cycle": cycle, "first_after_boot": cycle == 1, "suspend_ns": 10**8,
                    "resume_ns": total * (3 if m == 7 else 1), "wakers": wakers})
    return {name: pyarrow.Table.from_pylist(of, schema=tables.SCHEMAS[name]) for name, of in rows.items()}


class Ask(Folder):
    def filled(self, *args, **options):
        dataset = fleet.Dataset(self.place)
        dataset.append(made_up(*args, **options))
        return dataset

    def test_a_device_that_is_slower_is_named_with_its_machines_and_by_how_much(self):
        rows = fleet.regressions(self.filled(40, slower=0.10), ("6.12", "7.3")).to_pylist()
        self.assertEqual([(r["device"], r["phase"], r["worse"], r["on"], r["machines"]) for r in rows],
                         [("dev3", "resume", True, "most", 40)])
        self.assertGreaterEqual(rows[0]["seen"], 36)
        self.assertLess(abs(rows[0]["change"] - 0.10), 0.01)
        self.assertTrue(rows[0]["change_low"] < 0.10 < rows[0]["change_high"])
        self.assertEqual({r.rsplit("-", 1)[1] for r in rows[0]["recordings"]}, {"0", "1"})

    def test_what_a_fifth_of_the_machines_have_is_seen_on_a_fifth(self):
        rows = fleet.regressions(self.filled(100, slower=0.15, on=0.2), ("6.12", "7.3")).to_pylist()
        self.assertEqual([(r["device"], r["on"]) for r in rows], [("dev3", "some")])
        self.assertTrue(15 <= rows[0]["seen"] <= 25)
        self.assertTrue({int(m, 16) < 20 for m in rows[0]["worst_machines"]} == {True})

    def test_nothing_is_told_of_a_fleet_that_did_not_change(self):
        for seed in range(5):
            shutil.rmtree(self.place, ignore_errors=True)
            dataset = self.filled(40, seed=seed)
            self.assertEqual(fleet.regressions(dataset, ("6.12", "7.3"), improvements=True).num_rows, 0)

    def test_the_other_way_round_it_is_faster(self):
        dataset = self.filled(40, slower=0.10)
        self.assertEqual(fleet.regressions(dataset, ("7.3", "6.12")).num_rows, 0)
        rows = fleet.regressions(dataset, ("7.3", "6.12"), improvements=True).to_pylist()
        self.assertEqual([(r["device"], r["worse"]) for r in rows], [("dev3", False)])
        self.assertLess(abs(rows[0]["change"] + 0.0909), 0.01)

    def test_a_kernel_that_is_not_there_is_said_with_those_that_are(self):
        dataset = self.filled(8)
        with self.assertRaisesRegex(fleet.FleetError, "no recording is of kernel 6.1; there are: 6.12.9-acme, 7.3.1-acme"):
            fleet.regressions(dataset, ("6.1", "7.3"))
        with self.assertRaisesRegex(fleet.FleetError, "are both 7.3.1-acme"):
            fleet.regressions(dataset, ("7", "7.3"))

    def test_costs_outliers_and_wakers(self):
        dataset = self.filled(20)
        costs = fleet.costs(dataset, limit=1).to_pylist()[0]
        self.assertEqual((costs["device"], costs["direction"], costs["seen"], costs["machines"]), ("dev9", "resume", 20, 20))
        self.assertTrue(49 < costs["ms_a_sleep"] < 51)
        outliers = fleet.outliers(dataset).to_pylist()
        self.assertEqual({int(r["machine"], 16) for r in outliers}, {7})
        self.assertTrue(all(2.9 < r["times"] < 3.1 for r in outliers))
        waker = fleet.findings(dataset).to_pylist()[0]
        self.assertEqual((waker["what"], waker["name"], waker["times"], waker["of"]), ("waker", "rtc_cmos", 20, 80))
        self.assertTrue(0.16 < waker["rate_low"] < 0.25 < waker["rate_high"] < 0.36)
        self.assertEqual(fleet.costs(dataset, model="another").num_rows, 0)
        self.assertEqual(fleet.costs(dataset, months=("2026-11", "2026-12")).num_rows, 0)

    def test_sql_alone_gives_the_same(self):
        dataset = self.filled(20)
        for question in ("costs", "outliers", "findings"):
            by_sql = dataset.connect().sql(fleet.sql(question)).to_arrow_table().to_pylist()
            self.assertEqual(by_sql, getattr(fleet, question)(dataset).to_pylist())
        rows = dataset.connect().sql(fleet.sql("regressions", dataset, ("6.12", "7.3"))).to_arrow_table().to_pylist()
        self.assertEqual({r["device"] for r in rows}, {f"dev{d}" for d in range(10)})

    def test_a_page_needs_no_network_and_leads_to_files(self):
        dataset = self.filled(40, slower=0.10)
        file = os.path.join(self.folder, "fleet.html")
        dataset.key()
        dataset.note_files([("Acme X1-7-1", "/logs/<seven>")])
        fleet.page(dataset, file, ("6.12", "7.3"))
        text = pathlib.Path(file).read_text()
        self.assertIn("dev3 (acme)", text)
        self.assertIn("/logs/&lt;seven&gt;", text)
        self.assertNotRegex(text, "https?://|<script|<seven>")
        self.assertLess(len(text), 100_000)

    def test_the_shell_says_what_the_functions_do(self):
        def said(*words):
            done = subprocess.run([sys.executable, "-m", "dormouse.fleet", *words], capture_output=True, text=True)
            return done.returncode, done.stdout, done.stderr

        self.filled(40, slower=0.10)
        code, out, _ = said("ask", "regressions", self.place, "--between", "6.12", "7.3")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"dev3 \(acme\) in resume, phase resume, is (9|10)\.\d % slower .* on \d+ of 40 machines\.")
        code, _, err = said("ask", "costs", self.folder + "/none")
        self.assertEqual((code, err.count("\n")), (3, 1))
        self.assertIn("there is no dataset at", err)
        code, _, err = said("ask", "regressions", self.place)
        self.assertIn("say between which kernels: --between 6.12 7.3", err)


if __name__ == "__main__":
    unittest.main()
