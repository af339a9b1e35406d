"""Files of many machines into the tables: read in worker processes, committed in batches."""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from dormouse import __version__, _findings, _native

from .tables import EMPTY, SCHEMAS, UNKNOWN, Dataset, FleetError, Misused, machine_by, machine_of

# A task of a worker: enough that handing it over costs little, few enough that what a dead
# worker loses is soon read again one by one.
FILES_A_TASK = 16
# A commit: the tables of it take some hundred MB at most.
ROWS_A_COMMIT, FILES_A_COMMIT = 1_000_000, 4_000
# A file that takes longer has hung its reader.
SECONDS_A_FILE = 120


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

# What the rows of a cycle repeat of it: a journal may be of several kernels, months and machines.
_OF_CYCLE = ("machine", "model", "month", "kernel")


def _month(seconds):
    # Before 2000 a clock was never set.
    return time.strftime("%Y-%m", time.gmtime(seconds)) if 946_684_800 < seconds < 7e9 else UNKNOWN


def _heads(cycles, hosts, month, named):
    """Of each cycle what its rows repeat; `named` says which machine a host is."""
    every = zip(hosts, *(cycles.column(n).to_pylist() for n in ("model", "kernel", "wall_clock_ns"))) if hosts else ()
    machines = {host: named(host) for host in set(hosts)}
    return [{"machine": machines[host], "model": model or UNKNOWN, "kernel": kernel,
             "month": month if clock is None else _month(clock / 1e9)} for host, model, kernel, clock in every]


def _shaped(name, rows, head, heads=None):
    """`rows` with the columns of a table: those of the recording are the same in each row, those
    of a cycle come by its number."""
    if not rows.num_rows:
        return EMPTY[name]
    schema = SCHEMAS[name]
    place = None if heads is None else pc.subtract(rows.column("number"), 1)
    there, columns = set(rows.column_names), []
    for field in schema:
        if place is not None and field.name in _OF_CYCLE:
            every = {h[field.name] for h in heads}
            columns.append(pa.repeat(pa.scalar(every.pop(), field.type), rows.num_rows) if len(every) == 1 else
                           pa.array([h[field.name] for h in heads], field.type).take(place))
        elif field.name in head:
            columns.append(pa.repeat(pa.scalar(head[field.name], field.type), rows.num_rows))
        elif field.name == "cycle":
            columns.append(rows.column("number"))
        elif field.name in there:
            columns.append(rows.column(field.name))
        else:
            columns.append(pa.nulls(rows.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _one(values, otherwise=None):
    """What all say, else nothing."""
    every = set(values)
    return every.pop() if len(every) == 1 else otherwise


def _read(recording, path, key, machine):
    """The tables of a file but that of recordings, and the columns of the recording itself. The
    command alone opens the file, once."""
    hosts, *rows, texts = _native.held(path, key)
    rows = dict(zip(("cycle", "phase", "callback"), map(pa.table, rows)))
    of_folder = os.path.basename(os.path.dirname(os.path.abspath(path)))
    month = _month(os.stat(path).st_mtime)
    heads = _heads(rows["cycle"], hosts, month,
                   lambda host: machine_of(key, of_folder) if machine == "folder" else machine_by(key, host))
    head = {"recording": recording, "batch": 0, "machine": _one(h["machine"] for h in heads),
            "model": _one((h["model"] for h in heads), UNKNOWN), "kernel": _one(h["kernel"] for h in heads),
            "month": heads[0]["month"] if heads else month}
    fixed = {k: head[k] for k in ("recording", "batch")}
    tables = {name: _shaped(name, of, fixed, heads) for name, of in rows.items()}
    inner = pa.schema([f for f in SCHEMAS["finding"] if f.name not in head])
    found = [{f.name: row.get(f.name) for f in inner} for row in _findings({"texts": json.loads(texts)})]
    tables["finding"] = _shaped("finding", pa.Table.from_pylist(found, schema=inner), head) if found else EMPTY["finding"]
    return tables, head


def read_file(recording, path, key, machine="host"):
    """The five tables of one file, as Arrow; of one that cannot be read, a row with its reason."""
    head, unread, size = _unknown(recording), None, None
    tables = dict(EMPTY)
    try:
        size = os.path.getsize(path)
        read, head = _read(recording, path, key, machine)
        tables |= read
    except Exception as e:  # whatever it is, it is the file's row and no stop
        unread = " ".join(str(e).replace(path, "it").replace(os.path.basename(path) or path, "it").split()) or repr(e)
    sleeps = tables["cycle"].num_rows
    tables["recording"] = _recording(head, size, sleeps, tables["callback"].num_rows, unread)
    return tables


def _unknown(recording):
    return {"recording": recording, "batch": 0, "machine": None, "model": UNKNOWN, "month": UNKNOWN, "kernel": None}


def _recording(head, size, sleeps, callbacks, unread):
    row = {**head, "bytes": size, "sleeps": sleeps, "callbacks": callbacks, "unread": unread, "reader": __version__}
    return pa.Table.from_pylist([row], schema=SCHEMAS["recording"])


def _dead(recording, path):
    """The rows of a file that ended its reader."""
    why = f"its reader died, or took longer than {SECONDS_A_FILE} s: a fault of dormouse, or memory ran out"
    size = os.path.getsize(path) if os.path.exists(path) else None
    return {**EMPTY, "recording": _recording(_unknown(recording), size, 0, 0, why)}


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


def serve():
    """What a reader process runs: tasks come in by standard input, tables go out by standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it says when it ends
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what else is printed in this process is no answer
    pickle.dump(None, answers)
    answers.flush()
    while True:
        try:
            task, *options = pickle.load(tasks)
        except EOFError:
            return
        pickle.dump(read_files(task, *options), answers)
        answers.flush()


# --- engines: tasks go in, (task, tables) come out, in any order

# Not multiprocessing: its processes begin with the caller's script, which may ask for an ingest as
# it is run. Nor by fork: threads of Arrow and of the store would not come along.
READER = [sys.executable, "-I", "-c", "import sys; sys.path[:] = sys.argv[1:]; "
          "from dormouse.fleet import intake; intake.serve()"]


class _Reader:
    """A process that reads the tasks of one thread, started again where a task ended it."""

    def __init__(self):
        self._process, self._closed = None, False

    def start(self):
        for left in reversed(range(3)):
            # Each reader is one of several: threads of its own would only wait for each other.
            self._process = subprocess.Popen([*READER, *(p or os.getcwd() for p in sys.path)], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, env={**os.environ, "RAYON_NUM_THREADS": "1"})
            try:
                pickle.load(self._process.stdout)
                return
            except EOFError:
                code = self.end()
            # One that a signal ended may start the next time.
            if code >= 0 or not left or self._closed:
                raise FleetError(f"a process that reads files does not start ({READER[0]} ended with {code}); "
                                 "nothing was written")

    def close(self):
        """Ends a task that nobody waits for any more."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()

    def end(self):
        process, self._process = self._process, None
        if process is None:
            return None
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return process.wait()

    def _asked(self, *words):
        """The tables of a task, or None if the process died over it."""
        if self._closed:
            return None
        if self._process is None:
            self.start()
        try:
            pickle.dump(words, self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            self.end()
            return None

    def read(self, task, *options):
        tables = self._asked(task, *options)
        if tables is None:
            # Whatever ended it may have been another's doing: a file is set aside if it ends a
            # second process, alone.
            tables = _joined([self._asked([file], *options) or _dead(*file) for file in task])
        return tables


def _by_processes(tasks, workers, key, machine):
    readers = queue.SimpleQueue()
    every = [_Reader() for _ in range(workers)]
    for reader in every:
        readers.put(reader)

    def read(task):
        reader = readers.get()
        try:
            return reader.read(task, key, machine)
        finally:
            readers.put(reader)

    every[0].start()
    waiting, tasks, threads = {}, iter(tasks), concurrent.futures.ThreadPoolExecutor(workers)
    try:
        while True:
            while len(waiting) < 2 * workers and (task := next(tasks, None)) is not None:
                waiting[threads.submit(read, task)] = task
            if not waiting:
                return
            done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), future.result()
    finally:
        for reader in every:
            reader.close()
        threads.shutdown(cancel_futures=True)
        for reader in every:
            reader.end()


def _by_ray(tasks, workers, key, machine):
    try:
        import ray
    except ImportError:
        raise FleetError('engine="ray" needs ray: install the wheel with its extra, dormouse-….whl[ray]') from None
    if not ray.is_initialized():
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    # Ray replaces workers and nodes that die; what it gives up after its retries is looked at
    # file by file.
    remote = ray.remote(max_retries=1)(read_files)
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
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError,
                    ray.exceptions.LocalRayletDiedError, ray.exceptions.ObjectLostError):
                if len(task) == 1:
                    yield task, _dead(*task[0])
                else:
                    again += [[file] for file in task]


ENGINES = {"processes": _by_processes, "ray": _by_ray}


# --- all of them


def _files(paths, dataset, unread):
    """Files, and folders that are recordings, below `paths`, by their whole paths; none of the
    tables themselves. Folders that cannot be looked into go to `unread`."""
    own = {os.path.realpath(p) for p in (None if dataset.remote else dataset.place, dataset.private) if p}

    def is_tables(folder, inside):
        return os.path.realpath(folder) in own or "_delta_log" in inside

    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = os.path.abspath(path)
        if not os.path.exists(path):
            raise FleetError(f"there is no {path}; name files and folders that are there")
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, names in os.walk(path, onerror=lambda e: unread.append((e.filename, e.strerror))):
            if is_tables(folder, folders):
                folders.clear()
            elif "capture.json" in names or _is_pm_graph(names):
                folders.clear()
                yield folder
            else:
                folders.sort()
                inside = (os.path.join(folder, name) for name in sorted(names))
                yield from (file for file in inside if os.path.isfile(file))


def _is_pm_graph(names):
    """Whether the files of a folder are a run of pm-graph: the log and the trace of one sleep."""
    of = {part: {n.split(part)[0] for n in names if n.removesuffix(".gz").endswith(part)} for part in _RUN}
    return bool(set.intersection(*of.values()))


_RUN = ("_dmesg.txt", "_ftrace.txt")


def _raise(error):
    raise error


def content_hash(path):
    """SHA-256 of a file, as sha256sum prints it; of a folder, that of its files and their names."""
    digest = hashlib.sha256()
    if not os.path.isdir(path):
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()
    for folder, folders, names in os.walk(path, onerror=_raise):
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
        raise Misused(f"there is no engine {engine!r}: it is one of {', '.join(ENGINES)}")
    if machine not in ("host", "folder"):
        raise Misused(f"machine is 'host' or 'folder', not {machine!r}")
    began = time.monotonic()
    dataset = dataset if isinstance(dataset, Dataset) else Dataset(dataset, private, storage_options)
    key, known = dataset.key(), dataset.known(unread=not again)
    read, there, unread = 0, 0, []

    def tasks():
        nonlocal there
        task = []
        for path in _files(paths, dataset, unread):
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
