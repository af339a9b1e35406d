"""Many machines, one question: recordings and logs in Delta Lake tables, asked by DuckDB.

    >>> from dormouse import fleet
    >>> print(fleet.ingest("captures", "target/fleet"))          # doctest: +SKIP
    >>> fleet.regressions("target/fleet", between=("6.12", "7.3"))  # doctest: +SKIP

It needs the extra ``fleet`` of the package; docs/fleet.md of the project has more.
"""

try:
    from .ask import costs, findings, outliers, pairs, regressions, sql
    from .intake import Ingested, ingest
    from .page import page
    from .tables import Dataset, FleetError
except ImportError as e:
    raise ImportError(f"dormouse.fleet needs {e.name}: install the wheel with its extra, dormouse-….whl[fleet] (docs/fleet.md)") from e

__all__ = ["Dataset", "FleetError", "Ingested", "costs", "findings", "ingest", "outliers", "page", "pairs", "regressions", "sql"]
