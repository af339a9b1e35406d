"""Prints what SciPy says of samples read from standard input.

Input: one JSON list of [a, b] pairs of samples. Output: one JSON list of
[welch t, df, p, low, high, mann-whitney u of b, p, exact?, holm-free d].
"""

import json
import sys

import numpy
from scipy import stats

out = []
for a, b in json.load(sys.stdin):
    t = stats.ttest_ind(b, a, equal_var=False)
    ci = t.confidence_interval(0.95)
    ties = len(set(a + b)) != len(a) + len(b)
    exact = not ties and len(a) <= 20 and len(b) <= 20
    u = stats.mannwhitneyu(b, a, method="exact" if exact else "asymptotic")
    pooled = ((len(a) - 1) * numpy.var(a, ddof=1) + (len(b) - 1) * numpy.var(b, ddof=1)) / (
        len(a) + len(b) - 2
    )
    d = (numpy.mean(b) - numpy.mean(a)) / numpy.sqrt(pooled)
    out.append([t.statistic, t.df, t.pvalue, ci.low, ci.high, u.statistic, u.pvalue, exact, d])
json.dump([[bool(x) if isinstance(x, (bool, numpy.bool_)) else float(x) for x in r] for r in out], sys.stdout)
