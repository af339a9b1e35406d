"""What a Linux machine's sleep costs, and why.

    >>> import dormouse
    >>> reading = dormouse.read("captures/am335x-6.12.tar.gz")
    >>> print(str(reading.show(cycle=2)).splitlines()[0])
    Resume 113.1 ms: usb1 (USB root hub) is the bottleneck, 109.0 ms (96 %).

Every answer is the command's own, to the digit: the same code runs in this process.
"""

import html
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping

from . import _native
from ._native import Table, __version__

__all__ = ["Answer", "Error", "Reading", "Table", "__version__", "compare", "read"]


class Error(Exception):
    """What the command says of an input or an option that it cannot use.

    ``code`` is its exit code (docs/exit-codes.md).
    """

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def _words(options):
    """Options as words of a command line: ``kernel="7.3"``, ``without=["usb*"]``,
    ``set={"pm-async": 0}``, ``events=True``."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if isinstance(value, Mapping):
            value = [f"{k}={int(v) if isinstance(v, bool) else v}" for k, v in value.items()]
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words += [f"{flag}={v}" for v in value]
        else:
            words.append(f"{flag}={value}")
    return words


def _run(words):
    code, out, err = _native.run(words)
    return code, out, err.decode(errors="replace").strip()


def _refused(code, err):
    return Error(" ".join(err.removeprefix("dormouse: ").split()), code)


class _Node(Mapping):
    """A part of an answer: ``part.name`` and ``part["name"]`` are the same."""

    __slots__ = ("_answer", "_path", "_value")

    def __init__(self, answer, path, value):
        self._answer, self._path, self._value = answer, path, value

    def __getitem__(self, key):
        path = f"{self._path}.{key}" if self._path else key
        return self._answer._part(path, key, self._value[key])

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"no {name!r} here; there are: {known}") from None

    def __iter__(self):
        return iter(self._value)

    def __len__(self):
        return len(self._value)

    def __dir__(self):
        return [*super().__dir__(), *self._value]

    def __repr__(self):
        return repr(self._value)


class Answer(_Node):
    """An answer of the command: its JSON as attributes, its screen as text.

    Rows are objects, devices in them are devices, reasons are words; times are in
    nanoseconds. ``json`` has the bytes of ``--json``, ``code`` the exit code, ``note``
    what the command remarked on standard error.
    """

    __slots__ = ("_columns", "_inputs", "_screen", "_words", "code", "json", "note")

    def __init__(self, words, inputs=()):
        self._inputs = inputs  # those of bytes are files as long as somebody holds them
        verb, *rest = words
        code, out, err = _run([verb, "--json", *rest])
        try:
            value = json.loads(out)
        except ValueError:
            raise _refused(code, err) from None
        super().__init__(self, "", value)
        self._columns, self._screen, self._words = value.get("columns", {}), None, words
        self.code, self.json, self.note = code, out, err

    def _part(self, path, key, value):
        if isinstance(value, dict):
            return _Node(self, path, value)
        if isinstance(value, list):
            names = self._columns.get(path)
            if names:
                value = [dict(zip(names, row)) for row in value]
            return [self._part(path, "", v) for v in value]
        if self._columns and isinstance(value, int) and not isinstance(value, bool):
            if key == "device":
                return self._device(value)
            if key == "reason":
                return self._value["reasons"][value]
        return value

    def _device(self, place):
        row = self._value["devices"][place]
        return _Node(self, "devices", dict(zip(self._columns["devices"], row)))

    def to_dict(self):
        """The JSON as it stands, rows and places unresolved."""
        return json.loads(self.json)

    def __str__(self):
        if self._screen is None:
            code, out, err = _run(self._words)
            if code != self.code:
                raise _refused(code, err)
            self._screen = out.decode()
        return self._screen

    def _repr_html_(self):
        return f"<pre>{html.escape(str(self))}</pre>"

    def __repr__(self):
        first = str(self).strip().split("\n", 1)[0]
        return f"<dormouse.Answer of {self._words[0]}: {first}>"


class Reading:
    """An input: a file or folder, or bytes. Nothing is read before it is asked for."""

    def __init__(self, source, name="input"):
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = bytes(source)
            folder = tempfile.mkdtemp(prefix="dormouse-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            source = os.path.join(folder, os.path.basename(name))
            with open(source, "wb") as file:
                file.write(data)
        self.path = os.fspath(source)

    def __repr__(self):
        return f"dormouse.read({self.path!r})"

    def _ask(self, verb, options):
        return Answer([verb, *_words(options), "--", self.path], (self,))

    def show(self, **options):
        """Everything about the input: ``only="idle"``, ``cycle=2``, …"""
        return self._ask("show", options)

    def check(self, **options):
        """A verdict: ``resume="1s"``, ``hardware_sleep="90%"``, … ``code`` is 4 if it is broken."""
        return self._ask("check", options)

    def predict(self, **options):
        """What a change would do: ``kernel="7.3"``, ``without=["usb*"]``, ``set={"pm-async": 0}``."""
        return self._ask("predict", options)

    def tune(self, **options):
        """The change that meets a budget: ``resume="250ms"``, …"""
        return self._ask("tune", options)

    def compare(self, other, **options):
        """This input against ``other``."""
        return compare(self, other, **options)

    def report(self, path, **options):
        """Writes the report, one HTML file."""
        code, _, err = _run(["report", *_words({**options, "output": os.fspath(path)}), "--", self.path])
        if code:
            raise _refused(code, err)

    def _exported(self, table):
        with tempfile.TemporaryDirectory(prefix="dormouse-") as folder:
            file = os.path.join(folder, "table.parquet")
            words = _words({"to": "parquet", "set": {"table": table}, "output": file})
            code, _, err = _run(["export", *words, "--", self.path])
            if code:
                raise _refused(code, err)
            with open(file, "rb") as f:
                return Table.of_parquet(f.read())

    def callbacks(self):
        """An Arrow table, a row a callback (docs/parquet-schema.md)."""
        return self._exported("callbacks")

    def phases(self):
        """An Arrow table, a row a phase (docs/parquet-schema.md)."""
        return self._exported("phases")

    def cycles(self):
        """An Arrow table, a row a cycle (docs/parquet-schema.md)."""
        return self._exported("cycles")

    def findings(self):
        """An Arrow table, a row a finding of ``check``."""
        return _table(_FINDINGS, _findings(self._ask("check", {}).to_dict()))

    def idle(self):
        """An Arrow table, a row an idle state of a CPU in a trace."""
        return _table(_IDLE, _idle(self._ask("show", {"only": "idle"}).to_dict()))

    def requests(self):
        """An Arrow table, a row a disk and a situation of its requests: all, busy, after_idle,
        after_sleep."""
        return _table(_REQUESTS, _requests(self._ask("show", {"only": "storage"}).to_dict()))


_FINDINGS = {
    "input": "text", "id": "text", "level": "text", "confidence": "text", "area": "text",
    "sentence": "text", "why": "text", "advice": "text", "device": "text", "function": "text",
    "task": "text", "phase": "text", "direction": "text", "error": "integer", "times": "integer",
    "costs_ns": "integer", "saves_ns": "integer", "line": "integer",
}
_IDLE = {"trace": "integer", "cpu": "integer", "state": "integer", "sleeps": "integer", "time_ns": "integer",
         "longest_ns": "integer", "p50_ns": "integer", "p99_ns": "integer"}
_REQUESTS = {"trace": "integer", "disk": "text", "situation": "text", "requests": "integer",
             "mean_ns": "integer", "p50_ns": "integer", "p99_ns": "integer", "max_ns": "integer"}


def _table(columns, rows):
    lines = "\n".join(json.dumps(row) for row in rows)
    return Table.of_rows(lines.encode(), list(columns.items()))


def _first(values):
    return values[0] if values else None


def _findings(document):
    for text in document["texts"]:
        for f in text["findings"]:
            about = f["about"]
            row = {"input": text["name"], **{k: f[k] for k in _FINDINGS if k in f and k != "advice"}}
            row |= {k: about[k] for k in ("function", "phase", "direction", "error", "times")}
            yield row | {
                "device": _first([d["name"] for d in about["devices"]]), "task": _first(about["tasks"]),
                "advice": "\n".join(a["text"] for a in f["advice"]),
                "line": f["evidence"][0]["line"] if f["evidence"] else None,
            }


def _idle(document):
    for i, trace in enumerate(document["idle"]["traces"]):
        for cpu in trace["cpus"]:
            for s in cpu["states"]:
                row = {k: s[k] for k in ("state", "sleeps", "time_ns", "longest_ns")}
                lengths = s["residency_ns"] or {}
                yield row | {"trace": i, "cpu": cpu["cpu"], "p50_ns": lengths.get("p50"), "p99_ns": lengths.get("p99")}


def _requests(document):
    for i, trace in enumerate(document["storage"]["traces"]):
        for disk in trace["disks"]:
            for situation in ("all", "busy", "after_idle", "after_sleep"):
                s = disk[situation]
                if s:
                    # Of no requests there are no times.
                    times = {f"{k}_ns": s[k] for k in ("mean", "p50", "p99", "max") if s["requests"]}
                    yield {"trace": i, "disk": str(disk["disk"]), "situation": situation, "requests": s["requests"], **times}


def read(source, name="input"):
    """A log, trace, recording, folder or archive, as a path or as bytes."""
    return source if isinstance(source, Reading) else Reading(source, name)


def compare(before, after, **options):
    """Two inputs: what changed, and how sure that is."""
    inputs = read(before), read(after)
    return Answer(["compare", *_words(options), "--", *(i.path for i in inputs)], inputs)
