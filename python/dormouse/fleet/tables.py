"""The tables of a fleet: what columns they have, how rows come in, how they are seen by SQL.

A batch of recordings goes into five Delta Lake tables. The table ``recording`` is written last
and says what counts: rows of the others whose batch is not in it are those of a run that was
ended, and no view shows them. If two writers bring the same file at once, the views show one.
"""

import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import re
import secrets
import tempfile

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError

# Of the tables; files of `export --to parquet` have a schema of their own.
FORMAT, VERSION = "dormouse-fleet-tables", 1

# What every row of the other tables repeats of its recording, so that no question needs a join.
_HEAD = [("recording", pa.string()), ("batch", pa.int64()), ("machine", pa.string()),
         ("model", pa.string()), ("month", pa.string()), ("kernel", pa.string())]
_CYCLE = [("mode", pa.string()), ("outcome", pa.string()), ("cycle", pa.int64()), ("first_after_boot", pa.bool_())]
SCHEMAS = {
    "cycle": pa.schema([*_HEAD, *_CYCLE, ("suspend_ns", pa.int64()), ("resume_ns", pa.int64()),
                        ("asleep_ns", pa.int64()), ("failed_device", pa.string()), ("failed_error", pa.int64()),
                        ("wakers", pa.string())]),
    "phase": pa.schema([*_HEAD, *_CYCLE, ("kind", pa.string()), ("phase", pa.string()), ("direction", pa.string()),
                        ("content", pa.string()), ("cpu", pa.int64()), ("start_ns", pa.int64()),
                        ("duration_ns", pa.int64()), ("counted_ns", pa.int64()), ("callbacks", pa.int64())]),
    "callback": pa.schema([*_HEAD, *_CYCLE, ("phase", pa.string()), ("direction", pa.string()),
                           ("device", pa.string()), ("device_index", pa.int64()), ("driver", pa.string()),
                           ("meaning", pa.string()), ("parent", pa.string()), ("async", pa.bool_()),
                           ("function", pa.string()), ("start_ns", pa.int64()), ("duration_ns", pa.int64()),
                           ("error", pa.int64()), ("complete", pa.bool_()), ("on_critical_path", pa.bool_()),
                           ("reason", pa.string()), ("after_device", pa.string())]),
    "finding": pa.schema([*_HEAD, *((name, pa.int64() if name in ("error", "times", "costs_ns", "saves_ns")
                                     else pa.string()) for name in (
        "id", "level", "confidence", "area", "sentence", "advice", "device", "function", "phase", "direction",
        "error", "times", "costs_ns", "saves_ns"))]),
    "recording": pa.schema([*_HEAD, ("bytes", pa.int64()), ("sleeps", pa.int64()), ("callbacks", pa.int64()),
                            ("unread", pa.string()), ("reader", pa.string())]),
}
# Made once: a table costs as much as reading a short log.
EMPTY = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
PARTITIONS = ["model", "month"]
UNKNOWN = "unknown"
# How often a commit is tried where another writer was faster; appends alone do not get in each other's way.
_TRIES = 5


class FleetError(Exception):
    """What is wrong with a dataset or a question, and what to do."""


class Misused(FleetError):
    """What is wrong with how it was asked."""


def _version(description, place):
    name, _, number = (description or "").partition("/")
    if name != FORMAT or not number.isdigit():
        raise FleetError(f"{place} is no table of a fleet (its description is {description!r}); name another folder")
    if int(number) > VERSION:
        raise FleetError(f"{place} has the schema {description}, and this dormouse knows {FORMAT}/{VERSION}: "
                         "take a newer dormouse")


class Dataset:
    """Five tables below one folder or URL, and a private folder beside it.

    The private folder holds what must not be passed on: the key of the machines' names, and which
    file a recording is. ``storage_options`` are those of deltalake.
    """

    def __init__(self, place, private=None, storage_options=None):
        self.place = os.fspath(place).rstrip("/")
        self.remote = "://" in self.place
        self.options = storage_options
        if private is None and not self.remote:
            private = self.place + ".private"
        self.private = None if private is None else pathlib.Path(private)

    def table(self, name):
        """The Delta table, or None if nothing was written yet."""
        place = f"{self.place}/{name}"
        try:
            table = DeltaTable(place, storage_options=self.options)
        except TableNotFoundError:
            return None
        _version(table.metadata().description, place)
        return table

    def known(self, unread=True):
        """The hashes of the recordings that are in the dataset; without those that could not be
        read if not `unread`."""
        rows = self.connect(only=("recording",)).sql("select recording, unread is null from recording").fetchall()
        return {bytes.fromhex(recording) for recording, read in rows if read or unread}

    def append(self, tables):
        """One commit a table, `recording` last: until that one, nothing of the batch counts."""
        batch = secrets.randbits(62)
        for name, schema in SCHEMAS.items():
            rows = tables[name]
            if not rows.num_rows:
                continue
            rows = rows.set_column(1, "batch", pa.repeat(pa.scalar(batch, pa.int64()), rows.num_rows))
            for left in reversed(range(_TRIES)):
                new = self.table(name) is None
                try:
                    write_deltalake(f"{self.place}/{name}", rows, mode="append", partition_by=PARTITIONS if new else None,
                                    description=f"{FORMAT}/{VERSION}" if new else None, schema_mode="merge",
                                    storage_options=self.options, writer_properties=WriterProperties(compression="ZSTD"))
                    break
                except CommitFailedError:
                    # Another writer made the table meanwhile, or widened it: nothing of this commit is there.
                    if not left:
                        raise

    def compact(self):
        """Joins small files of a partition. The old ones stay until deltalake's vacuum, so that
        readers at work go on."""
        for name in SCHEMAS:
            table = self.table(name)
            if table is not None:
                # Where another joins the same files, its are as good.
                with contextlib.suppress(CommitFailedError):
                    table.optimize.compact(writer_properties=WriterProperties(compression="ZSTD"))

    def scattered(self):
        """Whether partitions have many files each."""
        table = self.table("recording")
        if table is None:
            return False
        files = table.file_uris()
        return len(files) >= 8 * len({os.path.dirname(f) for f in files})

    def key(self):
        """The secret that machines' names are hashed with; made at the first ingest."""
        if self.private is None:
            raise FleetError(f"{self.place} is a URL: say with private=FOLDER where the key and the list of "
                             "files are kept; that folder is not passed on")
        self.private.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self.private / "key"
        if not file.exists():
            # Whole or not at all, and of two that make it at once the first counts.
            with tempfile.NamedTemporaryFile("w", dir=self.private, prefix="key-") as made:
                made.write(secrets.token_hex(32) + "\n")
                made.flush()
                os.fsync(made.fileno())
                with contextlib.suppress(FileExistsError):
                    os.link(made.name, file)
        with contextlib.suppress(ValueError):
            key = bytes.fromhex(file.read_text().strip())
            if len(key) == 32:
                return key
        raise FleetError(f"{file} is no key of 32 bytes: bring back the one that the tables were made with; if they "
                         "are new, remove it and them")

    def note_files(self, files):
        """Which file a recording is, for who may know it."""
        with open(os.open(self.private / "files.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as f:
            for recording, path in files:
                f.write(json.dumps([recording, path]) + "\n")

    def files(self, recordings):
        """The files of some recordings, as far as the private folder knows them."""
        wanted, found = set(recordings), {}
        list_of_files = self.private / "files.jsonl" if self.private else None
        if list_of_files and list_of_files.exists():
            with open(list_of_files) as f:
                for line in f:
                    recording, path = json.loads(line)
                    if recording in wanted:
                        found[recording] = path
        return found

    def connect(self, only=tuple(SCHEMAS)):
        """A DuckDB connection with a view a table."""
        con = duckdb.connect()
        con.sql("set preserve_insertion_order = false")
        con.sql("set enable_progress_bar = false")
        names = ("recording", *(n for n in only if n != "recording"))
        if len(only) > 1 and self.table("recording") is None:
            raise FleetError(f"there is no dataset at {self.place}; dormouse-fleet ingest makes one")
        for name in names:
            self._raw_view(con, name)
        # Of a recording that two batches brought, that counts which could read it.
        con.sql("""create table kept as select recording, arg_min(batch, (unread is not null, batch)) as batch,
                   count(*) > 1 as twice from all_recording group by recording""")
        con.sql("create table batches as select distinct batch from kept")
        twice = con.sql("select count(*) from kept where twice").fetchall()[0][0]
        for name in names:
            where = "batch in (select batch from batches)"
            if twice:
                where += " and (recording, batch) not in (select a.recording, a.batch from all_recording a " \
                         "join kept k on a.recording = k.recording and a.batch <> k.batch)"
            con.sql(f"create view {name} as select * from all_{name} where {where}")
        return con

    def _raw_view(self, con, name):
        table, schema = self.table(name), SCHEMAS[name]
        if table is None:
            con.register(f"all_{name}", schema.empty_table())
            return
        there = {f.name for f in table.schema().fields}
        if self.remote:
            con.register(f"stored_{name}", table.to_pyarrow_dataset())
            source = f"stored_{name}"
        else:
            files = ", ".join("'" + f.replace("'", "''") + "'" for f in table.file_uris())
            source = f"read_parquet([{files}], hive_partitioning = true, union_by_name = true, hive_types_autocast = 0)"
        # A column that a later dormouse added is left alone; one that an earlier one had not is null.
        columns = ", ".join(f'"{f.name}"' if f.name in there else
                            f'null::{"bigint" if f.type == pa.int64() else "boolean" if f.type == pa.bool_() else "varchar"} as "{f.name}"'
                            for f in schema)
        con.sql(f"create view all_{name} as select {columns} from {source}")


# Names that many machines have.
_NOBODY = ("(none)", "localhost", "none", "unknown", "android", "archiso", "livecd")


def machine_of(key, name):
    """A machine as the tables name it, by a name of its own: as `--redact=KEY` names hosts."""
    return hmac.new(key, name.encode(), hashlib.sha256).hexdigest()[:32]


def machine_by(key, host):
    """A machine by the word that the command has for its host, which is the same for `box`, `Box`
    and `box.example.org`."""
    word = re.fullmatch("host-([0-9a-f]{32})", host or "")
    if not word or word[1] in (machine_of(key, name) for name in _NOBODY):
        return None  # what is no name of a machine is not replaced
    return word[1]
