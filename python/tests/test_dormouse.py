"""The package against the command: `tools/wheel --test` sets DORMOUSE to one of the same tree."""

import doctest
import html
import json
import os
import pathlib
import re
import subprocess
import threading
import time
import unittest

import duckdb
import pandas
import polars
import pyarrow

import dormouse

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ["DORMOUSE"]
FIXTURES = ROOT / "crates/cli/tests/fixtures"
BOARD = "captures/am335x-6.12.tar.gz"
LAPTOP = "captures/laptop-6.12.tar.gz"


def command(*words):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr.decode()


def inputs():
    """Recordings, logs, traces and mails of the tree."""
    yield from sorted(map(str, (ROOT / "captures").glob("*.gz")))
    for folder in (FIXTURES, ROOT / "crates/read/tests/fixtures", ROOT / "fuzz/corpus"):
        yield from sorted(str(p) for p in folder.rglob("*") if p.is_file())


class Package(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)

    def same(self, words, ask):
        """`ask` gives what the command says to `words`: JSON, exit code, or its error."""
        code, out, err = command(*words)
        try:
            answer = ask()
        except dormouse.Error as e:
            self.assertEqual(e.code, code, words)
            said = " ".join(err.removeprefix("dormouse: ").split())
            self.assertEqual(str(e), said, words)
            return False
        self.assertEqual((answer.code, answer.json), (code, out), words)
        self.assertEqual(answer.to_dict(), json.loads(out))
        return True

    def test_an_answer_of_bytes_prints_as_long_as_it_is_there(self):
        with open("captures/am335x-6.12.tar.gz", "rb") as f:
            content = f.read()
        for answer in (dormouse.read(content).check(), dormouse.compare(content, content)):
            self.assertGreater(len(str(answer)), 40)
        answer = dormouse.read("captures/am335x-6.12.tar.gz").show()
        answer._words[-1] = "gone"
        with self.assertRaisesRegex(dormouse.Error, "gone"):
            str(answer)

    def test_every_input_is_answered_as_the_command_does(self):
        answered = 0
        for path in inputs():
            for verb in ("show", "check", "predict"):
                ask = getattr(dormouse.read(path), verb)
                answered += self.same([verb, "--json", path], ask)
        self.assertGreater(answered, 100)
        print(f"{answered} answers are the command's bytes", flush=True)

    def test_options_are_the_commands(self):
        board = dormouse.read(BOARD)
        self.same(
            ["predict", "--kernel=7.3", "--without=usb1", "--set=pm-async=0", "--json", BOARD],
            lambda: board.predict(kernel="7.3", without=["usb1"], set={"pm-async": False}),
        )
        self.same(["tune", "--resume=1ms", "--json", BOARD], lambda: board.tune(resume="1ms"))
        self.same(["compare", "--json", BOARD, LAPTOP], lambda: board.compare(LAPTOP))

    def test_parts_are_objects_with_their_devices_and_reasons(self):
        answer = dormouse.read(BOARD).show()
        resume = [p for p in answer.cycles[1].phases if p.name == "resume"][0]
        steps = [s for s in resume.critical_path if s.device is not None]
        self.assertIn("usb1", [s.device.name for s in steps])
        self.assertTrue(all(isinstance(s.reason, str) for s in steps if s.reason is not None))
        with self.assertRaisesRegex(AttributeError, "no 'cycle' here; there are: schema"):
            answer.cycle
        self.assertEqual(answer["cycles"][0]["number"], answer.cycles[0].number)

    def test_it_is_of_the_commands_version(self):
        said = command("--version")[1].decode().split()
        self.assertEqual(said[1], dormouse.__version__)

    def test_it_prints_as_the_command_does(self):
        answer = dormouse.read(BOARD).show(cycle=2)
        self.assertEqual(str(answer), command("show", "--cycle=2", BOARD)[1].decode())
        self.assertIn(html.escape(str(answer)), answer._repr_html_())
        self.assertTrue(repr(answer).startswith("<dormouse.Answer of show: Resume 113.1 ms"))

    def test_bytes_are_read_as_the_file_is(self):
        of_file = dormouse.read(BOARD).show()
        of_bytes = dormouse.read((ROOT / BOARD).read_bytes(), name="board.tar.gz").show()
        self.assertEqual([c.total_ns for c in of_file.cycles], [c.total_ns for c in of_bytes.cycles])

    def test_errors_have_the_commands_text_and_code(self):
        with self.assertRaises(dormouse.Error) as e:
            dormouse.read("/no/such/file").show()
        self.assertEqual(e.exception.code, 3)
        self.assertIn("cannot read /no/such/file: No such file", str(e.exception))
        with self.assertRaises(dormouse.Error) as e:
            dormouse.read(BOARD).show(no_such_option=1)
        self.assertEqual(e.exception.code, 2)

    def test_a_path_that_looks_like_an_option_is_a_path(self):
        with self.assertRaises(dormouse.Error) as e:
            dormouse.read("--help").show()
        self.assertEqual(e.exception.code, 3)

    def test_tables_are_those_that_the_command_exports(self):
        said = (ROOT / "docs/parquet-schema.md").read_text()
        for name in ("callbacks", "phases", "cycles"):
            table = getattr(dormouse.read(BOARD), name)()
            file = ROOT / "target" / f"python-{name}.parquet"
            command("export", "--to", "parquet", "--set", f"table={name}", "-o", file, BOARD)
            self.assertTrue(polars.DataFrame(table).equals(polars.read_parquet(file)))
            page = said.split(f"## Table {name}")[1].split("## ")[0]
            self.assertEqual(re.findall(r"^\| `(\w+)`", page, re.M), table.column_names)
            rows = table
            counted = duckdb.sql("select count(*) from rows").fetchall()[0][0]
            others = [pyarrow.table(table).num_rows, len(pandas.DataFrame.from_arrow(table)), counted]
            self.assertEqual(others, [len(rows)] * 3)

    def test_nobody_copies_a_column(self):
        table = dormouse.read(BOARD).callbacks()
        column = pyarrow.table(table).column(0).chunk(0)
        self.assertEqual(column.buffers()[-1].address, table.address)

    def test_findings_idle_and_requests_are_tables(self):
        findings = polars.DataFrame(dormouse.read(LAPTOP).findings())
        of_check = dormouse.read(LAPTOP).check().texts[0].findings
        self.assertEqual(findings["id"].to_list(), [f.id for f in of_check])
        self.assertEqual(findings["times"].to_list(), [f.about.times for f in of_check])
        idle = polars.DataFrame(dormouse.read(FIXTURES / "idle-trace.txt").idle())
        self.assertEqual(idle.select("cpu", "state", "sleeps", "time_ns").row(0), (0, 3, 20, 78_800_000))
        requests = polars.DataFrame(dormouse.read(FIXTURES / "storage-trace.txt").requests())
        every = requests.filter(polars.col("situation") == "all")
        self.assertEqual(every.select("requests", "max_ns").row(0), (4, 2_352_000))

    def test_no_requests_have_no_times(self):
        first = b"".join((FIXTURES / "storage-trace.txt").read_bytes().splitlines(keepends=True)[:8])
        requests = polars.DataFrame(dormouse.read(first, name="first.txt").requests())
        none = requests.filter(polars.col("requests") == 0)
        self.assertGreater(len(none), 0)
        self.assertEqual(none["mean_ns"].null_count(), len(none))

    def test_an_empty_table_has_its_columns(self):
        quiet = b"[    1.000000] PM: suspend entry (deep)\n[    1.500000] PM: suspend exit\n"
        table = polars.DataFrame(dormouse.read(quiet, name="quiet.txt").findings())
        self.assertIn("sentence", table.columns)

    def test_other_threads_go_on(self):
        ticks, stop = [0], threading.Event()

        def tick():
            while not stop.is_set():
                ticks[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        before = ticks[0]
        dormouse.read(LAPTOP).predict()
        after = ticks[0]
        stop.set()
        thread.join()
        self.assertGreater(after - before, 3)

    def test_examples_of_the_documents(self):
        for module in (dormouse,):
            self.assertEqual(doctest.testmod(module).failed, 0)
        for page in ("python/README.md", "docs/python.md"):
            result = doctest.testfile(str(ROOT / page), module_relative=False)
            self.assertEqual(result.failed, 0, page)
            self.assertGreater(result.attempted, 3, page)


if __name__ == "__main__":
    unittest.main()
