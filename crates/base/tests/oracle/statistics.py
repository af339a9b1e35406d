"""Prints what SciPy says of samples read from standard input.

Input: one JSON list of [a, b] pairs of samples. Output: one JSON list of
[welch t, df, p, low, high, mann-whitney u of b, p, exact?, holm-free d,
signed-rank sum, p below, p above] of the pairs that both samples have.
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
    n = min(len(a), len(b), 12)
    d_pairs = numpy.round(numpy.array(b[:n]) - numpy.array(a[:n]), 9)
    d_pairs = d_pairs[d_pairs != 0]
    ranks = stats.rankdata(abs(d_pairs))

    def rank_sum(x, axis=-1):
        return numpy.where(x > 0, ranks, 0).sum(axis=axis)

    # Every assignment of signs, one by one: nothing of Wilcoxon's tables.
    p_pairs = []
    for side in ["less", "greater"]:
        r = stats.permutation_test(
            (d_pairs,),
            rank_sum,
            permutation_type="samples",
            n_resamples=numpy.inf,
            alternative=side,
            vectorized=True,
        )
        p_pairs.append(r.pvalue)
    if len(set(abs(d_pairs))) == len(d_pairs):
        tabled = stats.wilcoxon(d_pairs, alternative="less", method="exact").pvalue
        assert abs(tabled - p_pairs[0]) < 1e-12
    pairs = [rank_sum(d_pairs), *p_pairs]
    out.append([t.statistic, t.df, t.pvalue, ci.low, ci.high, u.statistic, u.pvalue, exact, d, *pairs])
json.dump([[bool(x) if isinstance(x, (bool, numpy.bool_)) else float(x) for x in r] for r in out], sys.stdout)
