"""A fleet on one page: HTML that opens without a network and holds no names of machines."""

import html

from . import ask

_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent);
  --soft: color-mix(in srgb, currentColor 62%, transparent); --worse: #c4432b; --better: #2f7d4f }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.35rem; margin: 0 0 .3rem } h2 { font-size: 1.05rem; margin: 2.2rem 0 .3rem }
p { margin: .3rem 0; color: var(--soft) } h1 + p { color: inherit }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th { text-align: left; font-weight: 600; color: var(--soft) } th, td { padding: .3rem .7rem .3rem 0; vertical-align: top }
tr { border-bottom: 1px solid var(--line) } .n { text-align: right } .worse { color: var(--worse) } .better { color: var(--better) }
summary { cursor: pointer; color: var(--soft) } code { font-size: .85em; word-break: break-all }
"""


def _ms(value):
    return "" if value is None else f"{value:,.1f} ms" if value < 1000 else f"{value / 1000:,.2f} s"


def _percent(value):
    return f"{value:+.1%}".replace("%", " %")


def _behind(recordings, files):
    """The recordings of a row, by their files where those who ask know them."""
    names = list(dict.fromkeys(recordings))
    lines = "<br>".join(f"<code>{html.escape(files.get(r, r))}</code>" for r in names)
    return f"<details><summary>{len(names)}</summary>{lines}</details>"


def _table(heads, rows):
    """`heads` end with a > where the column is of figures; cells are HTML."""
    def cells(tag, values):
        return "".join(f'<{tag}{" class=n" if h.endswith(">") else ""}>{v}</{tag}>' for h, v in zip(heads, values))
    head = cells("th", [h.rstrip(">") for h in heads])
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def sentence(row):
    """A regression in words."""
    what = f"{row['device']} ({row['driver']})" if row["driver"] else row["device"] or "the whole phase"
    way = "slower" if row["worse"] else "faster"
    ends = sorted(abs(row[k]) for k in ("change_low", "change_high"))
    return (f"{row['model']}: {what} in {row['direction']}, phase {row['phase']}, is {abs(row['change']):.1%} {way} "
            f"({ends[0]:.1%} to {ends[1]:.1%}) on {row['seen']} of {row['machines']} machines.").replace("%", " %")


def answer(rows, paired, between):
    """The first line, and how far to trust it."""
    able = [p for p in paired if p["machines"] >= ask.LEAST_MACHINES]
    machines = sum(p["machines"] for p in able or paired)
    # A device says more than the phase that waits for it.
    worse = sorted((r for r in rows if r["worse"]), key=lambda r: r["device"] is None)
    if not able:
        return (f"Unknown: no model has {ask.LEAST_MACHINES} machines that slept under both {between[0]} and {between[1]}.",
                f"{machines} machines did. Record the same machines under both kernels; where recordings name no machine, put "
                "those of each in a folder and ingest with --machine folder.")
    first = (f"{len(worse)} {'time is' if len(worse) == 1 else 'times are'} longer with {between[1]} than with {between[0]}, on {len({r['model'] for r in worse})} "
             f"of {len(able)} models; first of all {sentence(worse[0])}" if worse else
             f"With {between[1]} nothing is proven to be slower than with {between[0]}.")
    trust = (f"Each of {machines} machines is held against itself, and at most {ask.FALSE_SHARE:.0%} of what is told is chance. "
             .replace("%", " %") +
             "What few machines have, or what is small beside how times wander, may be there unseen.")
    return first, trust


def page(dataset, file, between=None, model=None, months=None, limit=50):
    """Writes the page. The files in it are known to who has the private folder of the dataset; for
    others they are hashes. Without `between` there are no regressions in it."""
    dataset = dataset if isinstance(dataset, ask.Dataset) else ask.Dataset(dataset)
    given = {"model": model, "months": months}
    tables = {name: getattr(ask, name)(dataset, limit=limit, **given).to_pylist() for name in ("costs", "outliers", "findings")}
    rows, paired = [], []
    if between:
        rows = ask.regressions(dataset, between, improvements=True, **given).to_pylist()
        paired = ask.pairs(dataset, between, **given).to_pylist()
    files = dataset.files({r for t in (rows, *tables.values()) for row in t for r in row["recordings"]})
    text = html.escape
    con = dataset.connect()
    total = con.sql(f"""select count(*) filter (unread is null), count(*) filter (unread is not null), count(distinct machine),
        count(*) filter (unread is null and machine is null), count(distinct model)
        from recording where true {ask._where(model, months)}""").fetchall()[0]
    parts = []
    if between:
        first, trust = answer(rows, paired, between)
        parts += [f"<h1>{text(first)}</h1><p>{text(trust)}</p>"]
    else:
        parts += ["<h1>What sleep costs this fleet</h1>"]
    parts += [f"<p>{total[0]} recordings of {total[2]} machines and {total[4]} models; {total[3]} recordings name no machine, "
              f"{total[1]} files could not be read.</p>"]
    if between:
        parts += ["<h2>Slower and faster</h2>", _table(
            ["model", "device", "phase", "change>", "roughly from>", "to>", "machines>", "before>", "after>", "recordings"],
            [[text(r["model"]), text(f"{r['device'] or 'whole phase'}" + (f" ({r['driver']})" if r["driver"] else "")),
              text(f"{r['direction']}, {r['phase']}"),
              f"<span class={'worse' if r['worse'] else 'better'}>{_percent(r['change'])}</span>",
              _percent(r["change_low"]), _percent(r["change_high"]), f"{r['seen']} of {r['machines']}",
              _ms(r["before_ms"]), _ms(r["after_ms"]), _behind(r["recordings"], files)] for r in rows[:200]])]
        if len(rows) > 200:
            parts += [f"<p>And {len(rows) - 200} more: fleet.regressions gives all.</p>"]
    parts += ["<h2>Devices that cost most</h2><p>Their time on the critical path, over all sleeps.</p>", _table(
        ["model", "device", "way", "a sleep>", "share>", "machines>", "recordings"],
        [[text(r["model"]), text(r["device"] + (f" ({r['driver']})" if r["driver"] else "")), r["direction"], _ms(r["ms_a_sleep"]),
          "" if r["share"] is None else f"{r['share']:.0%}".replace("%", " %"), f"{r['seen']} of {r['machines']}",
          _behind(r["recordings"], files)] for r in tables["costs"]])]
    parts += ["<h2>Machines that differ from their like</h2><p>Of one model, kernel and mode, at least eight machines.</p>", _table(
        ["machine", "model", "kernel", "way", "takes>", "its like>", "times>", "recordings"],
        [[f"<code>{r['machine'][:12]}</code>", text(r["model"]), text(r["kernel"] or ""), r["direction"], _ms(r["ms"]),
          _ms(r["like_ms"]), f"{r['times']:.2f}", _behind(r["recordings"], files)] for r in tables["outliers"]])]
    parts += ["<h2>Findings, failures and wakers</h2>", _table(
        ["what", "name", "model", "kernel", "times>", "rate, roughly>", "machines>", "recordings"],
        [[r["what"], text(r["name"] + (f": {r['device']}" if r["device"] else "")), text(r["model"]), text(r["kernel"] or ""),
          f"{r['times']} of {r['of']}", f"{r['rate_low']:.1%} to {r['rate_high']:.1%}".replace("%", " %"), r["machines"],
          _behind(r["recordings"], files)] for r in tables["findings"]])]
    parts += ["<p>Next: dormouse show FILE, with a file of the last column.</p>"]
    with open(file, "w") as out:
        out.write("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
                  f"<title>dormouse: a fleet</title><style>{_STYLE}</style>{''.join(parts)}</html>\n")
