"""dormouse-fleet: the same as the functions, for a shell."""

import argparse
import os
import sys

import duckdb
import pyarrow
from deltalake.exceptions import DeltaError

from . import ask
from .intake import ingest
from .page import answer, page, sentence
from .tables import Dataset, FleetError, Misused


def _words():
    words = argparse.ArgumentParser(prog="dormouse-fleet", description="Many machines, one question.")
    words.add_argument("--private", metavar="FOLDER", help="the key and the list of files (DATASET.private)")
    words.add_argument("--storage", action="append", default=[], metavar="NAME=VALUE", help="an option of the store, for s3://")
    verbs = words.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("ingest", help="bring recordings and logs in")
    verb.add_argument("paths", nargs="+", metavar="PATH")
    verb.add_argument("--into", required=True, metavar="DATASET")
    verb.add_argument("--workers", type=int)
    verb.add_argument("--engine", default="processes", choices=["processes", "ray"])
    verb.add_argument("--machine", default="host", choices=["host", "folder"])
    verb.add_argument("--again", action="store_true", help="try those again that could not be read")
    for name, text in (("ask", "answer a question"), ("page", "write a page")):
        verb = verbs.add_parser(name, help=text)
        if name == "ask":
            verb.add_argument("question", choices=["regressions", "costs", "outliers", "findings"])
        verb.add_argument("dataset")
        verb.add_argument("--between", nargs=2, metavar="KERNEL")
        verb.add_argument("--model")
        verb.add_argument("--months", nargs=2, metavar="YYYY-MM")
        if name == "ask":
            verb.add_argument("--limit", type=int, default=20)
            verb.add_argument("--sql", action="store_true", help="print the SQL and not the answer")
        else:
            verb.add_argument("-o", "--output", required=True, metavar="FILE")
    verb = verbs.add_parser("compact", help="join small files of the tables")
    verb.add_argument("dataset")
    return words


def _ask(dataset, given):
    narrowed = {"model": given.model, "months": given.months}
    if given.question == "regressions" and not given.between:
        raise Misused("say between which kernels: --between 6.12 7.3")
    if given.sql:
        print(ask.sql(given.question, dataset, given.between, limit=given.limit, **narrowed).strip())
        return
    if given.question == "regressions":
        rows = ask.regressions(dataset, given.between, **narrowed).to_pylist()
        first, trust = answer(rows, ask.pairs(dataset, given.between, **narrowed).to_pylist(), given.between)
        print(first, trust, *(["", *map(sentence, rows[: given.limit])] if rows else []), sep="\n")
        files = dataset.files(rows[0]["recordings"][:1]) if rows else {}
    else:
        rows = getattr(ask, given.question)(dataset, limit=given.limit, **narrowed).to_pylist()
        if not rows:
            print("Nothing of the kind is in the tables.")
        for r in rows:
            print({"costs": lambda: f"{r['ms_a_sleep']:.1f} ms a sleep: {r['device']} in {r['direction']} of {r['model']}, "
                                    + (f"on {r['seen']} of {r['machines']} machines" if r["machines"] else
                                       f"in {r['sleeps']} sleeps of recordings that name no machine"),
                   "outliers": lambda: f"{r['times']:.2f} times its like: machine {r['machine'][:12]}, {r['model']}, "
                                       f"{r['kernel']}, {r['direction']} {r['ms']:.1f} ms (of {r['machines']} machines)",
                   "findings": lambda: f"{r['times']} of {r['of']}: {r['what']} {r['name']}"
                                       f"{': ' + r['device'] if r['device'] else ''}, {r['model']}, {r['kernel'] or 'no one kernel'}",
                   }[given.question]())
        files = dataset.files(rows[0]["recordings"][:1]) if rows else {}
    print(f"\nNext: dormouse show {next(iter(files.values()))}" if files else
          f"\nNext: dormouse-fleet page {given.dataset} -o fleet.html")


def main(arguments=None):
    given = _words().parse_args(arguments)
    try:
        if any("=" not in word for word in given.storage):
            raise Misused("--storage wants NAME=VALUE")
        options = dict(word.split("=", 1) for word in given.storage) or None
        dataset = Dataset(given.into if given.verb == "ingest" else given.dataset, given.private, options)
        if given.verb == "ingest":
            done = ingest(given.paths, dataset, given.engine, given.workers, given.machine, given.again)
            print(done)
            print(f"\nNext: dormouse-fleet page {dataset.place} --between OLD NEW -o fleet.html")
            return 0 if done.read or done.known else 3
        if given.verb == "ask":
            _ask(dataset, given)
        elif given.verb == "page":
            page(dataset, given.output, given.between, given.model, given.months)
            print(f"Wrote {given.output}.")
        else:
            dataset.compact()
            print(f"Joined the small files of {dataset.place}.")
    except BrokenPipeError:
        os._exit(0)
    except (FleetError, OSError, DeltaError, duckdb.Error, pyarrow.ArrowException) as e:
        print(f"dormouse-fleet: {' '.join(str(e).split())}", file=sys.stderr)
        return 2 if isinstance(e, Misused) else 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
