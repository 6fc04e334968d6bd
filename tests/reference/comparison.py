"""Reference values for src/statistics/comparison, from SciPy and statsmodels.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy statsmodels
    /tmp/venv/bin/python tests/reference/comparison.py > tests/reference/comparison.json
"""

import json

import numpy
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests

ALTERNATIVES = ["two-sided", "less", "greater"]
random = numpy.random.default_rng(20_000)


def samples():
    """Pairs of samples: small and large, equal and unequal, apart and not, with ties and without."""
    sizes = [(2, 2), (3, 3), (4, 4), (2, 9), (5, 7), (10, 10), (30, 30), (49, 31), (49, 49), (50, 20), (200, 150)]
    for n, m in sizes:
        for shift in [0.0, 0.5, 5.0]:
            yield random.normal(25.0, 1.0, n), random.normal(25.0 + shift, 2.0, m)
        yield random.lognormal(3.0, 0.3, n), random.lognormal(3.2, 0.3, m)
    for n, m in [(8, 8), (12, 9), (30, 30), (100, 80)]:
        # Ties within the sides and between them.
        yield numpy.round(random.normal(25.0, 2.0, n)), numpy.round(random.normal(26.0, 2.0, m))
    yield numpy.full(10, 7.0), numpy.full(12, 7.0)


def rank_sum(a, b):
    ties = len(numpy.unique(numpy.concatenate([a, b]))) < len(a) + len(b)
    method = "asymptotic" if ties or max(len(a), len(b)) > 49 else "exact"
    test = {w: stats.mannwhitneyu(a, b, alternative=w, method=method) for w in ALTERNATIVES}
    constant = len(numpy.unique(numpy.concatenate([a, b]))) == 1
    return {
        "exact": method == "exact",
        "u": test["less"].statistic,
        # SciPy has no p where nothing differs; there is nothing to be surprised of.
        "p": {w: 1.0 if constant else test[w].pvalue for w in ALTERNATIVES},
    }


def shift(a, b):
    """Hodges and Lehmann; the interval by trying every shift in the test itself."""
    differences = numpy.sort((b[None, :] - a[:, None]).ravel())
    found = {"shift": numpy.median(differences), "interval": None}
    if len(numpy.unique(differences)) < len(differences) or len(differences) > 3000:
        return found
    between = (differences[1:] + differences[:-1]) / 2
    method = "exact" if max(len(a), len(b)) <= 49 else "asymptotic"
    kept = [stats.mannwhitneyu(a, b - d, method=method).pvalue > 0.05 for d in between]
    low, high = kept.index(True), len(kept) - 1 - kept[::-1].index(True)
    if low > 0:
        found["interval"] = [differences[low], differences[high + 1]]
    elif stats.mannwhitneyu(a, b - differences[0] + 1, method=method).pvalue <= 0.05:
        found["interval"] = [differences[0], differences[-1]]
    return found


def welch(a, b):
    if numpy.ptp(a) == 0 and numpy.ptp(b) == 0:
        return None
    tests = {w: stats.ttest_ind(a, b, equal_var=False, alternative=w) for w in ALTERNATIVES}
    two = tests["two-sided"]
    low, high = two.confidence_interval(0.95)
    return {
        "t": two.statistic,
        "freedom": two.df,
        "p": {w: tests[w].pvalue for w in ALTERNATIVES},
        # Of the mean of B less that of A.
        "interval": [-high, -low],
    }


def pairs():
    for a, b in samples():
        a, b = a.round(6), b.round(6)
        superiority = ((a[:, None] < b[None, :]).sum() + 0.5 * (a[:, None] == b[None, :]).sum()) / (len(a) * len(b))
        yield {
            "a": list(a),
            "b": list(b),
            "rank_sum": rank_sum(a, b),
            "shift": shift(a, b),
            "superiority": superiority,
            "welch": welch(a, b),
        }


def normality():
    draw = [
        lambda n: random.normal(25.0, 1.0, n),
        lambda n: random.exponential(1.0, n),
        lambda n: random.uniform(0.0, 1.0, n),
        lambda n: numpy.concatenate([random.normal(20.0, 1.0, n // 2), random.normal(30.0, 1.0, n - n // 2)]),
        lambda n: numpy.round(random.normal(5.0, 2.0, n)),
    ]
    for n in [3, 4, 5, 6, 7, 11, 12, 20, 30, 50, 200]:
        for one in draw:
            values = one(n).round(6)
            if numpy.ptp(values) > 0:
                found = stats.shapiro(values)
                yield {"values": list(values), "w": found.statistic, "p": found.pvalue}


def corrected():
    for n in [1, 2, 5, 20]:
        for _ in range(3):
            p = random.beta(0.3, 2.0, n)
            yield {"p": list(p), "holm": list(multipletests(p, method="holm")[1])}
    yield {"p": [0.01, 0.01, 0.5], "holm": list(multipletests([0.01, 0.01, 0.5], method="holm")[1])}


def quantiles():
    for n in [5, 6, 20, 31, 72, 100, 1000]:
        values = random.normal(25.0, 3.0, n).round(6)
        for share in [0.5, 0.95]:
            interval = stats.quantile_test(values, p=share).confidence_interval(0.95)
            finite = all(numpy.isfinite([interval.low, interval.high]))
            yield {
                "values": list(values),
                "share": share,
                "value": numpy.quantile(values, share),
                "interval": [interval.low, interval.high] if finite else None,
            }


def q_q():
    for n in [1, 5, 10, 11, 30]:
        shift = 3 / 8 if n <= 10 else 1 / 2
        positions = (numpy.arange(1, n + 1) - shift) / (n + 1 - 2 * shift)
        yield {"n": n, "theoretical": list(stats.norm.ppf(positions))}


versions = f"numpy {numpy.__version__}, scipy {scipy.__version__}, statsmodels {statsmodels.__version__}"
lists = {"pairs": pairs(), "normality": normality(), "holm": corrected(), "quantiles": quantiles(), "q_q": q_q()}
print(f'{{"made_by": "tests/reference/comparison.py with {versions}"', end="")
for name, elements in lists.items():
    print(f',\n"{name}": [')
    print(",\n".join(json.dumps(element, default=lambda value: value.item()) for element in elements), end="]")
print("}")
