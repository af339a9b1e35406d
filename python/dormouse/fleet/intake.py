"""Files of many machines into the tables: read in worker processes, committed in batches."""

import concurrent.futures
import hashlib
import json
import multiprocessing
import os
import re
import signal
import tarfile
import tempfile
import time
import zlib
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from dormouse import __version__, _findings, _native, _refused

from .tables import SCHEMAS, UNKNOWN, Dataset, FleetError, machine_of

# A task of a worker: enough that handing it over costs little, few enough that what a dead
# worker loses is soon read again one by one.
FILES_A_TASK = 16
# A commit: the tables of it take some hundred MB at most.
ROWS_A_COMMIT, FILES_A_COMMIT = 1_000_000, 4_000
# A file that takes longer has hung its reader.
SECONDS_A_FILE = 120
_HEAD_BYTES = 1 << 16
_ADDRESS = re.compile(r"(?<![0-9a-f])[0-9a-f]{2}([:-]?)(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}(?![0-9a-f])", re.I)


class Ingested(NamedTuple):
    """What a run of `ingest` did: files that came in, were there already, could not be read."""

    read: int
    known: int
    unread: list
    seconds: float

    def __str__(self):
        lines = [f"Read {self.read} files in {self.seconds:.1f} s; {self.known} were there already; "
                 f"{len(self.unread)} could not be read."]
        lines += [f"  {path}: {why}" for path, why in self.unread[:20]]
        if len(self.unread) > 20:
            lines.append(f"  and {len(self.unread) - 20} more: select * from recording where unread is not null")
        return "\n".join(lines)


# --- one file, in a worker


def _own_words(path):
    """Host, month and wakers (by cycle) as the file itself says them.

    A redacted answer has no host any more, and no answer has a month. Where a file says none, as
    a log whose lines have no year, the month is that of the file's time.
    """
    host = month = None
    wakers = {}
    head = b""
    try:
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                for name in names:
                    if name in ("capture.json", "stats.json"):
                        with open(os.path.join(folder, name), "rb") as file:
                            found = _of_member(name, json.load(file), wakers)
                        host, month = found[0] or host, found[1] or month
        else:
            with open(path, "rb") as file:
                head = file.read(_HEAD_BYTES)
            if head.startswith(b"\x1f\x8b"):
                with tarfile.open(path, "r|gz") as archive:
                    for member in archive:
                        name = os.path.basename(member.name)
                        if name in ("capture.json", "stats.json"):
                            found = _of_member(name, json.load(archive.extractfile(member)), wakers)
                            host, month = found[0] or host, found[1] or month
    except (OSError, ValueError, TypeError, AttributeError, KeyError, EOFError, tarfile.TarError):
        pass  # the reader says what is wrong with it
    if head.startswith(b"\x1f\x8b") and host is None:  # a log that is packed
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
        except zlib.error:
            pass
    text = head.decode(errors="replace")
    if host is None:
        found = re.search(r"^_HOSTNAME=(\S+)", text, re.M) or re.search(
            r"^(?:[A-Z][a-z]{2} [ \d]\d [\d:.]{8,15}|\d{4}-\d\d-\d\dT\S+) (\S+) kernel[:\[]", text, re.M)
        host = found and found[1]
    if month is None:
        found = re.search(r"^(\d{4}-\d\d)-\d\dT\d\d:", text, re.M)
        stamp = re.search(r"^__REALTIME_TIMESTAMP=(\d{6,17})$", text, re.M)
        month = found[1] if found else _month(int(stamp[1]) / 1e6 if stamp else os.stat(path).st_mtime)
    return host, month, wakers


def _of_member(name, value, wakers):
    if name == "capture.json":
        return value["machine"].get("host"), None
    # Batteries of keyboards and mice have their address in their name.
    names = [_ADDRESS.sub("mac", name) for name in value.get("wakeup_sources") or []]
    wakers[value["number"]] = ", ".join(names) or None
    return None, _month(value["clocks"]["realtime_after"] / 1e9)


def _month(seconds):
    # Before 2000 a clock was never set.
    return time.strftime("%Y-%m", time.gmtime(seconds)) if 946_684_800 < seconds < 7e9 else UNKNOWN


def _export(path, table, folder):
    file = os.path.join(folder, "table.parquet")
    words = ["export", "--redact", "--to", "parquet", "--set", f"table={table}", "-o", file, "--", path]
    code, _, err = _native.run(words)
    if code:
        raise _refused(code, err.decode(errors="replace").strip())
    rows = pq.read_table(file)
    os.remove(file)
    return rows


def _shaped(schema, rows, head):
    """`rows` with the columns of `schema`; those of the recording are the same in each row."""
    columns = []
    for field in schema:
        if field.name in head:
            columns.append(pa.repeat(pa.scalar(head[field.name], field.type), rows.num_rows))
        elif field.name in rows.column_names:
            columns.append(rows.column(field.name).cast(field.type))
        else:
            columns.append(pa.nulls(rows.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _answer(path):
    """What the command shows of a file, redacted; or why it cannot."""
    code, out, err = _native.run(["show", "--json", "--redact", "--", path])
    try:
        return json.loads(out)
    except ValueError:
        raise _refused(code, err.decode(errors="replace").strip()) from None


def read_file(recording, path, key, machine="host"):
    """The five tables of one file, as Arrow; of one that cannot be read, a row with its reason."""
    head = {"recording": recording, "batch": 0, "machine": None, "model": UNKNOWN, "month": UNKNOWN, "kernel": None}
    tables = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    unread, sleeps, size = None, 0, None
    try:
        size = os.path.getsize(path)
        host, head["month"], wakers = _own_words(path)
        shown = _answer(path)
        with tempfile.TemporaryDirectory(prefix="dormouse-") as folder:
            callbacks, phases = _export(path, "callbacks", folder), _export(path, "phases", folder)
        cycles = shown["cycles"]
        head["kernel"] = next((c["kernel"] for c in cycles if c["kernel"]), None)
        for rows in (phases, callbacks):
            models = [m for m in rows.column("model").slice(0, 1).to_pylist() if m]
            head["model"] = models[0] if models and head["model"] == UNKNOWN else head["model"]
        if machine == "folder":
            host = os.path.basename(os.path.dirname(os.path.abspath(path)))
        head["machine"] = machine_of(key, host, head["model"])
        devices = shown["devices"]
        rows = [{"mode": c["mode"], "outcome": c["outcome"], "cycle": c["number"],
                 "first_after_boot": c["first_after_boot"], "suspend_ns": c["suspend_ns"],
                 "resume_ns": c["resume_ns"], "asleep_ns": c["asleep_ns"],
                 "failed_device": None if c["outcome_device"] is None else devices[c["outcome_device"]][0],
                 "failed_error": c["outcome_errno"], "wakers": wakers.get(c["number"])} for c in cycles]
        sleeps = len(rows)
        inner = pa.schema([f for f in SCHEMAS["cycle"] if f.name not in head])
        tables["cycle"] = _shaped(SCHEMAS["cycle"], pa.Table.from_pylist(rows, schema=inner), head)
        tables["callback"] = _shaped(SCHEMAS["callback"], callbacks, head)
        tables["phase"] = _shaped(SCHEMAS["phase"], phases, head)
        inner = pa.schema([f for f in SCHEMAS["finding"] if f.name not in head])
        rows = [{f.name: row.get(f.name) for f in inner} for row in _findings(shown)]
        tables["finding"] = _shaped(SCHEMAS["finding"], pa.Table.from_pylist(rows, schema=inner), head)
    except Exception as e:  # whatever it is, it is the file's row and no stop
        unread = " ".join(str(e).replace(path, "it").replace(os.path.basename(path), "it").split()) or repr(e)
        tables = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    tables["recording"] = _recording(head, size, sleeps, tables["callback"].num_rows, unread)
    return tables


def _recording(head, size, sleeps, callbacks, unread):
    row = {**head, "bytes": size, "sleeps": sleeps, "callbacks": callbacks, "unread": unread, "reader": __version__}
    return pa.Table.from_pylist([row], schema=SCHEMAS["recording"])


def _dead(recording, path):
    """The rows of a file that ended its reader."""
    why = f"its reader died, or took longer than {SECONDS_A_FILE} s: a fault of dormouse, or memory ran out"
    head = {"recording": recording, "batch": 0, "machine": None, "model": UNKNOWN, "month": UNKNOWN, "kernel": None}
    size = os.path.getsize(path) if os.path.exists(path) else None
    return {**{n: s.empty_table() for n, s in SCHEMAS.items()}, "recording": _recording(head, size, 0, 0, why)}


def _joined(many):
    return {name: pa.concat_tables([t[name] for t in many]) for name in SCHEMAS}


def read_files(files, key, machine):
    """The tables of a task. The alarm ends the process where a file hangs it, native code too."""
    many = []
    for recording, path in files:
        signal.alarm(SECONDS_A_FILE)
        many.append(read_file(recording, path, key, machine))
        signal.alarm(0)
    return _joined(many)


# --- engines: tasks go in, (task, tables) come out, in any order


def _by_processes(tasks, workers, key, machine, read=read_files):
    # Not by fork: threads of Arrow and of the store would not come along.
    context = multiprocessing.get_context("spawn")

    def pool(n):
        return concurrent.futures.ProcessPoolExecutor(n, mp_context=context)

    executor, waiting = pool(workers), {}
    tasks = iter(tasks)
    try:
        while True:
            while len(waiting) < 2 * workers and (task := next(tasks, None)) is not None:
                waiting[executor.submit(read, task, key, machine)] = task
            if not waiting:
                return
            done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            broken = []
            for future in done:
                task = waiting.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    broken.append(task)
                else:
                    yield task, future.result()
            if broken:
                # One died, and with it all that wait: read them one by one, to know which.
                broken += waiting.values()
                waiting.clear()
                executor.shutdown()
                executor = pool(1)
                for recording, path in (file for task in broken for file in task):
                    try:
                        yield [(recording, path)], executor.submit(read, [(recording, path)], key, machine).result()
                    except BrokenProcessPool:
                        executor.shutdown()
                        executor = pool(1)
                        yield [(recording, path)], _dead(recording, path)
                executor.shutdown()
                executor = pool(workers)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _by_ray(tasks, workers, key, machine, read=read_files):
    try:
        import ray
    except ImportError:
        raise FleetError('engine="ray" needs ray: pip install "dormouse[ray]"') from None
    if not ray.is_initialized():
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    # Ray replaces workers and nodes that die; what it gives up after its retries is looked at
    # file by file.
    remote = ray.remote(max_retries=1)(read)
    waiting = {}
    tasks = iter(tasks)
    again = []
    while True:
        while len(waiting) < 2 * workers and (task := again.pop() if again else next(tasks, None)) is not None:
            waiting[remote.remote(task, key, machine)] = task
        if not waiting:
            return
        for done in ray.wait(list(waiting), num_returns=1)[0]:
            task = waiting.pop(done)
            try:
                yield task, ray.get(done)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError):
                if len(task) == 1:
                    yield task, _dead(*task[0])
                else:
                    again += [[file] for file in task]


ENGINES = {"processes": _by_processes, "ray": _by_ray}


# --- all of them


def _files(paths):
    """Files, and folders that are recordings, below `paths`."""
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = os.fspath(path)
        if not os.path.exists(path):
            raise FleetError(f"there is no {path}; name files and folders that are there")
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, names in os.walk(path):
            if "capture.json" in names:
                folders.clear()
                yield folder
            else:
                folders.sort()
                inside = (os.path.join(folder, name) for name in sorted(names))
                yield from (file for file in inside if os.path.isfile(file))


def content_hash(path):
    """SHA-256 of a file, as sha256sum prints it; of a folder, that of its files and their names."""
    digest = hashlib.sha256()
    if not os.path.isdir(path):
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = os.path.join(folder, name)
            digest.update(f"{os.path.relpath(file, path)}\0{content_hash(file)}\n".encode())
    return digest.hexdigest()


def ingest(paths, dataset, engine="processes", workers=None, machine="host", again=False, private=None,
           storage_options=None):
    """Brings captures and logs into the dataset, each once, however often it is asked.

    ``machine="folder"`` takes the folder that a file lies in for its machine, where logs have no
    host name. ``again=True`` tries those again that could not be read. A run that was ended goes
    on where its last commit was.
    """
    if engine not in ENGINES:
        raise FleetError(f"there is no engine {engine!r}: it is one of {', '.join(ENGINES)}")
    if machine not in ("host", "folder"):
        raise FleetError(f"machine is 'host' or 'folder', not {machine!r}")
    began = time.monotonic()
    dataset = dataset if isinstance(dataset, Dataset) else Dataset(dataset, private, storage_options)
    key, known = dataset.key(), dataset.known(unread=not again)
    read, there, unread = 0, 0, []

    def tasks():
        nonlocal there
        task = []
        for path in _files(paths):
            try:
                recording = content_hash(path)
            except OSError as e:
                unread.append((path, str(e)))  # without content there is no row
                continue
            if bytes.fromhex(recording) in known:
                there += 1
                continue
            known.add(bytes.fromhex(recording))
            task.append((recording, path))
            if len(task) == FILES_A_TASK:
                yield task
                task = []
        if task:
            yield task

    pending, files = [], []

    def commit():
        dataset.note_files(files)
        dataset.append(_joined(pending))
        pending.clear()
        files.clear()

    for task, tables in ENGINES[engine](tasks(), workers or os.cpu_count() or 1, key, machine):
        paths_of = dict(task)
        whys = zip(tables["recording"].column("recording").to_pylist(), tables["recording"].column("unread").to_pylist())
        reasons = [(paths_of[recording], why) for recording, why in whys if why]
        unread += reasons
        read += len(task) - len(reasons)
        pending.append(tables)
        files += task
        if len(files) >= FILES_A_COMMIT or sum(t["callback"].num_rows for t in pending) >= ROWS_A_COMMIT:
            commit()
    if pending:
        commit()
    if dataset.scattered():
        dataset.compact()
    return Ingested(read, there, unread, time.monotonic() - began)
