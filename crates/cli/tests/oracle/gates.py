"""Reads what `dormouse check --as FORM` prints with the program that others read it with,
and says what that understood: a JSON list of {name, result, said, value} in order.

usage: gates.py FORM [FOLDER of the kernel's kunit_parser.py] < OUTPUT
       gates.py action|definition < FILE: whether GitHub and LAVA can take the file
Exit code 77: the reader is not installed."""

import contextlib
import inspect
import io
import json
import re
import sys

form = sys.argv[1]
text = sys.stdin.buffer.read().decode()
tests = []


def junit():
    from junitparser import Failure, JUnitXml, Skipped

    xml = JUnitXml.fromstring(text.encode())
    for suite in xml:
        counted = (suite.tests, suite.failures, suite.skipped)
        suite.update_statistics()
        assert counted == (suite.tests, suite.failures, suite.skipped), counted
        for case in suite:
            result, said = "pass", case.system_out
            for r in case.result:
                kind = {Failure: "fail", Skipped: "skip"}[type(r)]
                result, said = kind, r.message
            tests.append({"name": case.name, "result": result, "said": said})


def ktap():
    sys.path.insert(0, sys.argv[2])
    # What it prints is not asked for; up to 6.12 it takes no printer.
    with contextlib.redirect_stdout(io.StringIO()):
        import kunit_parser
        from kunit_printer import Printer

        takes = "printer" in inspect.signature(kunit_parser.parse_run_tests).parameters
        quiet = [Printer(print=False)] if takes else []
        whole = kunit_parser.parse_run_tests(text.split("\n"), *quiet)
    assert whole.counts.errors == 0, whole.log
    words = {"SUCCESS": "pass", "FAILURE": "fail", "SKIPPED": "skip"}
    for t in whole.subtests:
        tests.append({"name": t.name, "result": words[t.status.name], "said": "\n".join(t.log)})


def kcidb():
    from kcidb_io.schema import V5_3

    report = json.loads(text)
    V5_3.validate(report)
    assert not V5_3.count(report) == 0
    words = {"PASS": "pass", "FAIL": "fail", "SKIP": "skip"}
    for t in report["tests"]:
        name = t["path"].rsplit(".", 1)[1]
        said = {"name": name, "result": words[t["status"]], "said": t["comment"]}
        if "number" in t:
            said["value"] = t["number"]["value"]
        tests.append(said)


def lava():
    # The expression and the split of lava_dispatcher/actions/test/shell.py.
    signals = re.findall(r"<LAVA_SIGNAL_(\S+) ([^>]+)>", text)
    assert "<LAVA_TEST_RUNNER" not in text
    for kind, params in signals:
        assert kind == "TESTCASE", kind
        said = {}
        for p in params.split():
            key, value = p.split("=")
            said[key.lower()] = value
        t = {"name": said["test_case_id"], "result": said["result"], "said": ""}
        if "measurement" in said:
            t["value"] = float(said["measurement"])
            assert said["units"]
        tests.append(t)


def github():
    # As actions/runner reads a line (src/Runner.Common/ActionCommand.cs, TryParseV2).
    def plain(text, marks):
        for mark, char in marks:
            text = text.replace(mark, char)
        return text

    data = [("%0D", "\r"), ("%0A", "\n"), ("%25", "%")]
    for line in text.split("\n"):
        if not line.strip():
            continue
        assert line.startswith("::"), line
        head, _, rest = line[2:].partition("::")
        command, _, properties = head.partition(" ")
        of = dict(p.split("=", 1) for p in properties.split(","))
        of = {k: plain(v, data[:2] + [("%3A", ":"), ("%2C", ",")] + data[2:]) for k, v in of.items()}
        words = {"notice": "pass", "error": "fail", "warning": "skip"}
        name = of["title"].removeprefix("dormouse ")
        t = {"name": name, "result": words[command], "said": plain(rest, data)}
        tests.append(t | ({"file": of["file"]} if "file" in of else {}))


def action():
    import yaml

    of = yaml.safe_load(text)
    assert of["name"] and of["description"] and of["runs"]["using"] == "composite"
    for step in of["runs"]["steps"]:
        assert step["run"] and step["shell"]
        # What a user types is a variable, and never a part of a script.
        assert "${{" not in step["run"]
        for value in step.get("env", {}).values():
            [name] = re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value).groups()
            assert name in of["inputs"], name
    assert all(i["description"] for i in of["inputs"].values())


def definition():
    import yaml

    of = yaml.safe_load(text)
    assert of["metadata"]["format"] == "Lava-Test Test Definition 1.0"
    assert of["metadata"]["description"]
    assert re.fullmatch(r"[-\w]+", of["metadata"]["name"])
    steps = of["run"]["steps"]
    assert steps and all(isinstance(s, str) for s in steps), steps
    for name in re.findall(r"\$\"?([A-Z]+)", " ".join(steps)):
        assert name in of["params"], name


try:
    {"action": action, "definition": definition, "junit": junit, "ktap": ktap, "kcidb": kcidb, "lava": lava, "github": github}[form]()
except ModuleNotFoundError as e:
    print(e, file=sys.stderr)
    sys.exit(77)
json.dump(tests, sys.stdout)
