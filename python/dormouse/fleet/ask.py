"""Questions to a fleet: SQL on the views of `tables.Dataset`, and what chance does taken out.

Every answer is an Arrow table whose rows name recordings behind them; `sql` has the text of the
SQL alone.
"""

import math
import re

import numpy as np
import pyarrow as pa
from scipy import optimize, stats

from .tables import UNKNOWN, Dataset, FleetError, Misused

# Share of false ones among what is told, at most.
FALSE_SHARE = 0.01
# Changes below half a per cent are true of any two builds of a kernel.
LEAST_CHANGE = 0.005
# Devices that take less are not asked about: their times are the clock's grain.
LEAST_MS = 0.1
# With fewer pairs no change of every one of them can be told from chance, whatever its size.
LEAST_MACHINES = 6
# A machine stands out of its like beyond this many robust standard deviations.
FAR = 4.0
_LOOKS = (2.0, 3.0, FAR)
# Of a millisecond, the clock of logs tells no smaller part.
_GRAIN = 0.001


def _text(value):
    return "'" + str(value).replace("'", "''") + "'"


def _words(values):
    return "(" + ", ".join(_text(v) for v in values) + ")"


def _where(model=None, months=None, table=""):
    """Both are partitions: files of other models and months are not opened."""
    parts = []
    if model is not None:
        parts.append(f"{table}model = {_text(model)}")
    if months is not None:
        first, last = (months, months) if isinstance(months, str) else months
        for month in (first, last):
            if month != UNKNOWN and not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month):
                raise Misused(f"{month!r} is no month; write it as 2026-09")
        parts.append(f"{table}month between {_text(first)} and {_text(last)}")
    return "".join(f" and {part}" for part in parts)


def _opened(dataset):
    return (dataset if isinstance(dataset, Dataset) else Dataset(dataset)).connect()


def kernels(con, version):
    """Releases of a version: of "6.12" also 6.12.9-acme, and not 6.120."""
    there = [k for (k,) in con.sql("select distinct kernel from cycle where kernel is not null").fetchall()]
    found = sorted(k for k in there if re.match(re.escape(version) + r"(?![0-9])", k))
    if not found:
        raise Misused(f"no recording is of kernel {version}; there are: {', '.join(sorted(there)) or 'none'}")
    return found


# --- regressions

# Of each machine as many sleeps before as after, so that a median of many is not held against one
# of few: the tails of times are on one side. First sleeps after boot and modes are kept apart.
_PAIRED = """
with cycles as (
    select recording, cycle, model, machine, coalesce(mode, '') as way, coalesce(first_after_boot, false) as first,
        kernel in {after} as after,
        row_number() over (partition by machine, coalesce(mode, ''), coalesce(first_after_boot, false),
            kernel in {after} order by recording, cycle) as nth
    from cycle
    where outcome = 'slept' and machine is not null and kernel in {both} {where}
), pairs as (
    select model, machine, way, first, least(count(*) filter (after), count(*) filter (not after)) as n,
        row_number() over () as pair
    from cycles group by all having n > 0
), chosen as materialized (
    select recording, cycle, pair, after from cycles join pairs using (model, machine, way, first) where nth <= n
), slow as materialized (
    select model, phase, direction, device, any_value(driver) as driver, row_number() over () as place
    from callback where kernel in {both} {where}
    group by model, phase, direction, device having max(duration_ns) >= {least_ns}
    union all
    select model, phase, direction, null, null, -row_number() over ()
    from phase where kind = 'phase' and cpu is null and kernel in {both} {where}
    group by model, phase, direction
), times as (
    select pair, after, place, median(duration_ns) as t, count(*) as n
    from callback join slow using (model, phase, direction, device) join chosen using (recording, cycle)
    where duration_ns > 0 and complete is not false and kernel in {both} {where}
    group by pair, after, place
    union all
    select pair, after, place, median(duration_ns), count(*)
    from phase p join slow s on p.model = s.model and p.phase = s.phase and p.direction = s.direction and s.place < 0
        join chosen using (recording, cycle)
    where duration_ns > 0 and kind = 'phase' and cpu is null and kernel in {both} {phase_where}
    group by pair, after, place
), halves as (
    select pair, place, max(t) filter (not after) as before_ns, max(t) filter (after) as after_ns, min(n) as n
    from times group by pair, place
), differences as (
    select machine, place, sum(h.n * ln(after_ns / before_ns)) / sum(h.n) as change, avg(before_ns) as before_ns,
        avg(after_ns) as after_ns, sum(h.n)::bigint as sleeps
    from halves h join pairs using (pair)
    where before_ns is not null and after_ns is not null and greatest(before_ns, after_ns) >= {least_ns}
    group by machine, place
)
select model, device, driver, phase, direction,
    median(before_ns) / 1e6 as before_ms, median(after_ns) / 1e6 as after_ms,
    list(change order by machine) as changes, list(machine order by machine) as machines,
    list(sleeps order by machine) as sleeps
from differences join slow using (place) group by place, model, device, driver, phase, direction
having count(*) >= {machines}
order by model, direction, phase, device
"""


def _signed_rank(changes):
    """p of Wilcoxon's signed-rank test of each that it lies above zero, those of one length at once."""
    p = np.ones(len(changes))
    lengths = np.array([len(c) for c in changes])
    for n in np.unique(lengths):
        places = np.flatnonzero(lengths == n)
        rows = np.stack([changes[i] for i in places])
        moved = (rows != 0).any(axis=1)
        if moved.any():
            with np.errstate(all="ignore"):
                p[places[moved]] = stats.wilcoxon(rows[moved], axis=1, alternative="greater").pvalue
    return np.nan_to_num(p, nan=1.0)


def _spread(changes, sleeps):
    """How far each machine's change wanders by itself: what differs between boots, and what
    between sleeps, which many sleeps even out."""
    wide = 1.4826 * np.median(np.abs(changes))
    squares = np.minimum(changes**2, (5 * wide) ** 2)
    fit, _ = optimize.nnls(np.stack([np.ones(len(changes)), 1 / sleeps], axis=1), squares)
    shape = np.sqrt(np.maximum(fit[0] + fit[1] / sleeps, 1e-12))
    # The fit says how spreads compare; their size is that of the middle, which no outlier moves.
    size = 1.4826 * np.median(np.abs(changes) / shape)
    return np.maximum(size * shape, _GRAIN)


def _tails(up, down, n):
    """p that of `n` machines so many are far up if chance puts as many there as are far `down`.

    Without a change the two sides of a device are alike, so the share on one foretells that on the
    other. How much shares differ between devices is taken from all of them (a beta distribution by
    its moments): a device that is far off now and then on either side has to show more.
    """
    share = (down.sum() + 0.5) / (n.sum() + 1)
    # Variance of shares beyond that of counting, as 1 / (a + b + 1) of the beta.
    counted = share * (1 - share)
    beyond = ((down - n * share) ** 2).sum() - counted * n.sum()
    between = beyond / max(counted * (n.astype(float) * (n - 1)).sum(), 1e-12)
    weight = 1 / between - 1 if between > 0 else math.inf
    weight = float(np.clip(weight, 1.0, n.sum() / 10 + 1))
    a, b = share * weight + down, (1 - share) * weight + n - down
    return np.where(up > 0, stats.betabinom.sf(up - 1, n, a, b), 1.0)


def _moved_up(changes, spreads, least):
    """p of each device that machines moved up by more than `least`: most of them, or some.

    The bound is asked here and not of what is told in the end: who picks among that which was
    told to be no chance has another share of chance among it.
    """
    ranks = _signed_rank([(c - least) / s for c, s in zip(changes, spreads)])
    n = np.array([len(c) for c in changes])
    # What few machines have is seen where it is large by how many are far off, and where it is
    # not by how many are somewhat off.
    tails = np.min([_tails(*(np.array([(side * c - least > far * s).sum() for c, s in zip(changes, spreads)])
                             for side in (1, -1)), n) for far in _LOOKS], axis=0)
    # The least p of several looks, times their number, holds for all of them.
    return np.minimum(1, np.minimum(ranks, tails) * (1 + len(_LOOKS)))


def _shifted(changes, spread):
    """The share of machines that moved up, by how much, a rough range of it, and of each machine how
    likely it is among them: most likely values of a mixture of those that did not move and those
    that did, alike spread with the tails of Student's t."""
    if len(changes) > 2000:
        every = np.linspace(0, len(changes) - 1, 2000).astype(int)
        share, middle, low, high, _ = _shifted(changes[every], spread[every])  # the rest alike
    else:
        top = max(np.quantile(changes, 0.98), 2 * np.median(changes), 4 * _GRAIN) * 1.5
        steps = np.linspace(top / 120, top, 120)
        best, shares, none = np.full((2, len(steps)), -np.inf), np.zeros(len(steps)), -np.inf
        for size in np.geomspace(0.3, 1.6, 8):
            wide = spread * size
            for side, c in enumerate((changes, -changes)):
                still = _student(c / wide)
                share, likely = _mixed(_student((c - steps[:, None]) / wide) / still)
                alone = np.log(still / wide).sum()
                better = likely + alone > best[side]
                best[side][better] = likely[better] + alone
                if side == 0:
                    shares[better] = share[better]
            none = max(none, alone)
        if best[1].max() - none > 8:
            return _typical(changes)
        i = best[0].argmax()
        within = np.flatnonzero(best[0] >= best[0].max() - 1.92)
        # Half a step of the grid belongs to either end.
        share, middle, low, high = shares[i], steps[i], steps[within[0]] - top / 240, steps[within[-1]] + top / 240
    wide = spread if share < 0.5 else np.maximum(1.4826 * np.median(np.abs(changes - middle)), _GRAIN)
    moved, still = _student((changes - middle) / wide) * share, _student(changes / wide) * (1 - share)
    return share, middle, low, high, np.where(changes > middle, 1.0, moved / (moved + still))


def _mixed(ratios):
    """The likeliest share of machines that moved, for each row of their likelihoods by those of
    machines that did not, and the logarithm of its likelihood. It has one peak, because that
    logarithm is concave in the share."""
    excess = ratios - 1
    low, high = np.full(len(ratios), 0.02), np.ones(len(ratios))
    for _ in range(7):  # to less than a hundredth
        share = (low + high) / 2
        rises = (excess / (1 + share[:, None] * excess)).sum(axis=1) > 0
        low, high = np.where(rises, share, low), np.where(rises, high, share)
    # What every machine or next to none has, is at an end.
    share = np.where(high == 1, 1, np.where(low == 0.02, 0.02, (low + high) / 2))
    return share, np.log1p(share[:, None] * excess).sum(axis=1)


def _typical(changes):
    """The same of a device that wanders between levels on both sides, where no mixture tells what
    moved: the median of all with the order statistics that hold it with 95 %."""
    ordered = np.sort(changes)
    k = int(stats.binom.ppf(0.025, len(ordered), 0.5))
    share = max(0.0, (changes > 0).mean() - (changes < 0).mean())
    likely = (changes > 0).astype(float)
    return share, float(np.median(ordered)), ordered[max(k - 1, 0)], ordered[len(ordered) - max(k, 1)], likely


def _far_up(changes, far, least):
    """The same where the middle machine did not move: of those that are far up, as far as there
    are more of them than far down."""
    up = changes > far
    if not up.any():
        return 1.0, least, least, least, (changes > least).astype(float)
    moved = np.sort(changes[up])
    k = int(stats.binom.ppf(0.025, len(moved), 0.5))
    share = max(up.mean() - (changes < -far).mean(), 1 / len(changes))
    return share, float(np.median(moved)), moved[max(k - 1, 0)], moved[len(moved) - max(k, 1)], up.astype(float)


def _student(x):
    """Student's t with four degrees of freedom, without its constant."""
    y = 1 + x * x / 4
    return 1 / (y * y * np.sqrt(y))


def judged(rows, false_share=FALSE_SHARE, least_change=LEAST_CHANGE, improvements=False):
    """Of the differences of machines, what chance does not do: a list of rows. What is slower and
    what is faster are two questions, each with its own share of chance."""
    if not rows:
        return []
    least = math.log1p(least_change)
    changes = [np.asarray(r["changes"]) for r in rows]
    spreads = [_spread(c, np.asarray(r["sleeps"], float)) for c, r in zip(changes, rows)]
    told = []
    for sign in (1, -1) if improvements else (1,):
        signed = [sign * c for c in changes]
        p = _moved_up(signed, spreads, least)
        q = stats.false_discovery_control(p)
        for i in np.flatnonzero(q <= false_share):
            c, row = signed[i], rows[i]
            share, change, low, high, likely = _shifted(c, spreads[i])
            if change < least:
                share, change, low, high, likely = _far_up(c, least + _LOOKS[0] * spreads[i], least)
            worst = np.argsort(-likely * c, kind="stable")[:5]
            ends = sorted(math.expm1(sign * v) for v in (low, high))
            told.append({**{k: row[k] for k in ("model", "device", "driver", "phase", "direction", "before_ms", "after_ms")},
                         "worse": sign > 0, "on": "most" if share >= 0.5 else "some", "seen": max(1, round(share * len(c))),
                         "machines": len(c), "change": math.expm1(sign * change), "change_low": ends[0],
                         "change_high": ends[1], "p": float(p[i]), "q": float(q[i]),
                         "worst_machines": [row["machines"][j] for j in worst]})
    told.sort(key=lambda r: (-abs(r["change"]) * (r["before_ms"] or 0) * r["seen"], r["model"], str(r["device"])))
    return told


_REGRESSION = pa.schema([
    ("model", pa.string()), ("device", pa.string()), ("driver", pa.string()), ("phase", pa.string()),
    ("direction", pa.string()), ("worse", pa.bool_()), ("on", pa.string()), ("seen", pa.int64()),
    ("machines", pa.int64()), ("change", pa.float64()), ("change_low", pa.float64()), ("change_high", pa.float64()),
    ("before_ms", pa.float64()), ("after_ms", pa.float64()), ("p", pa.float64()), ("q", pa.float64()),
    ("worst_machines", pa.list_(pa.string())), ("recordings", pa.list_(pa.string()))])


def regressions(dataset, between, model=None, months=None, improvements=False, false_share=FALSE_SHARE,
                least_change=LEAST_CHANGE, least_ms=LEAST_MS):
    """Devices and phases that are slower with the second kernel than with the first.

    Paired within machines that slept under both. ``device`` is null for a phase as a whole.
    ``change`` is that of the machines it is ``seen`` on, which are most of them or some (``on``);
    0.1 is 10 per cent. Of the rows told at most ``false_share`` are chance. ``improvements=True`` also gives what is faster.
    """
    con = _opened(dataset)
    text, before, after = _paired(con, between, model, months, least_ms)
    rows = judged(con.sql(text).to_arrow_table().to_pylist(), false_share, least_change, improvements)
    machines = {m for r in rows for m in r["worst_machines"]}
    behind = dict(con.sql(
        f"select machine, list(recording order by kernel, recording) from (select distinct machine, kernel, recording "
        f"from cycle where machine in {_words(machines)} and kernel in {_words(before + after)}) group by machine"
    ).fetchall()) if machines else {}
    for row in rows:
        row["recordings"] = [r for m in row["worst_machines"] for r in behind.get(m, [])][:20]
    return pa.Table.from_pylist(rows, schema=_REGRESSION)


def _paired(con, between, model, months, least_ms=LEAST_MS):
    before, after = (kernels(con, v) for v in between)
    if set(before) & set(after):
        raise Misused(f"{between[0]} and {between[1]} are both {sorted(set(before) & set(after))[0]}; "
                         "name two kernels that are not the same")
    return _PAIRED.format(after=_words(after), both=_words(before + after), where=_where(model, months),
                          phase_where=_where(model, months, table="p."), least_ns=int(least_ms * 1e6), machines=LEAST_MACHINES), before, after


def pairs(dataset, between, model=None, months=None):
    """How many machines slept alike under both kernels, by model: (model, machines, recordings)."""
    con = _opened(dataset)
    before, after = (kernels(con, v) for v in between)
    return con.sql(f"""
        with ways as (select model, machine, list(distinct recording) as recordings,
                bool_or(kernel in {_words(before)}) and bool_or(kernel in {_words(after)}) as paired
            from cycle where outcome = 'slept' and machine is not null and kernel in {_words(before + after)}
                {_where(model, months)}
            group by model, machine, coalesce(mode, ''), coalesce(first_after_boot, false)),
        m as (select model, machine, bool_or(paired) as paired, len(list_distinct(flatten(list(recordings)))) as recordings
            from ways group by all)
        select model, count(*) filter (paired) as machines, sum(recordings)::bigint as recordings
        from m group by model order by machines desc, model""").to_arrow_table()


# --- the others are SQL alone

# A sleep that no callback is known of says nothing of what devices cost.
_COSTS = """
with sleeps as (
    select model, count(*) as sleeps, count(distinct machine) as machines,
        sum(suspend_ns) as suspend, sum(resume_ns) as resume
    from cycle semi join (select distinct recording, cycle from callback where outcome = 'slept' {where})
        using (recording, cycle)
    where outcome = 'slept' {where} group by model
), costs as (
    select model, device, any_value(driver) as driver, direction, sum(duration_ns) as ns,
        count(distinct machine) as seen, list_distinct(arg_max(recording, duration_ns, 3)) as recordings
    from callback where on_critical_path and outcome = 'slept' {where}
    group by model, device, direction
)
select model, device, driver, direction, ns / 1e9 as seconds, ns / sleeps / 1e6 as ms_a_sleep,
    ns / if(direction = 'suspend', suspend, resume) as share, seen, machines, sleeps, recordings
from costs join sleeps using (model)
order by seconds desc, model, device, direction limit {limit}
"""

_OUTLIERS = """
with each as (
    unpivot (select model, kernel, machine, coalesce(mode, '') as mode, recording,
        suspend_ns as suspend, resume_ns as resume from cycle
        where outcome = 'slept' and machine is not null {where})
    on suspend, resume into name direction value ns
), medians as (
    select model, kernel, mode, direction, machine, median(ns) as ns, count(*) as sleeps,
        list_distinct(arg_max(recording, ns, 3)) as recordings
    from each where ns > 0 group by all
), alike as (
    select model, kernel, mode, direction, median(ln(ns)) as middle, greatest(mad(ln(ns)) * 1.4826, 0.02) as spread,
        count(*) as machines
    from medians group by all having count(*) >= 8
)
select model, kernel, mode, direction, machine, ns / 1e6 as ms, exp(middle) / 1e6 as like_ms,
    exp(ln(ns) - middle) as times, (ln(ns) - middle) / spread as deviations, sleeps, machines, recordings
from medians join alike using (model, kernel, mode, direction)
where abs(ln(ns) - middle) > greatest({far} * spread, ln(1.2))
order by abs(ln(ns) - middle) desc, machine, direction limit {limit}
"""

# The interval is Wilson's, 95 % if each sleep were alone in the world; those of one machine are
# alike, so where `machines` is much less than `of` it is too narrow.
_FINDINGS = """
with of_recordings as (
    select model, kernel, count(*) as n from recording where unread is null {where} group by all
), of_sleeps as (
    select model, kernel, count(*) as n, count(wakers) as tell_wakers from cycle where true {where} group by all
), told as (
    select 'finding' as what, model, kernel, id as name, device, count(distinct recording) as k,
        count(distinct machine) as machines, any_value(sentence) as sentence, min(recording) as recording
    from finding where level <> 'note' {where} group by model, kernel, id, device
    union all
    select 'failure', model, kernel, outcome, failed_device, count(*), count(distinct machine),
        null, min(recording)
    from cycle where outcome <> 'slept' {where} group by model, kernel, outcome, failed_device
    union all
    select 'waker', model, kernel, waker, null, count(distinct (recording, cycle)), count(distinct machine), null,
        min(recording)
    from (select *, unnest(string_split(wakers, ', ')) as waker from cycle where wakers <> '' {where})
    group by model, kernel, waker
), rated as (
    select told.*, case what when 'finding' then r.n when 'waker' then s.tell_wakers else s.n end as n
    from told
    left join of_recordings r on told.model = r.model and told.kernel is not distinct from r.kernel
    left join of_sleeps s on told.model = s.model and told.kernel is not distinct from s.kernel
)
select what, model, kernel, name, device, k as times, n as "of", k / n as rate,
    greatest(0, (k / n + 1.92073 / n - 1.95996 * sqrt(k / n * (1 - least(k / n, 1)) / n + 0.960365 / n / n)) / (1 + 3.84146 / n)) as rate_low,
    least(1, (k / n + 1.92073 / n + 1.95996 * sqrt(k / n * (1 - least(k / n, 1)) / n + 0.960365 / n / n)) / (1 + 3.84146 / n)) as rate_high,
    machines, sentence, [recording] as recordings
from rated
order by k desc, what, model, kernel, name, device limit {limit}
"""

QUESTIONS = {"costs": _COSTS, "outliers": _OUTLIERS, "findings": _FINDINGS}


def sql(question, dataset=None, between=None, model=None, months=None, limit=100):
    """The SQL of a question. `Dataset.connect()` gives a connection that answers it; with Delta's
    own readers the views are the tables of the same names."""
    if question == "regressions":
        return _paired(_opened(dataset), between, model, months)[0]
    if question not in QUESTIONS:
        raise Misused(f"there is no question {question!r}: it is one of regressions, {', '.join(QUESTIONS)}")
    return QUESTIONS[question].format(where=_where(model, months), limit=int(limit), far=FAR)


def _asked(question, dataset, options):
    return _opened(dataset).sql(sql(question, **options)).to_arrow_table()


def costs(dataset, **options):
    """Devices on whose account machines wait for sleep and wake longest: time on the critical path."""
    return _asked("costs", dataset, options)


def outliers(dataset, **options):
    """Machines that differ from others of their model, kernel and mode."""
    return _asked("outliers", dataset, options)


def findings(dataset, **options):
    """What `check` found, attempts that failed, and what woke machines, by model and kernel: how often."""
    return _asked("findings", dataset, options)
