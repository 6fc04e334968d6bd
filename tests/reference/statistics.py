#!/usr/bin/env python3
"""Reference values of SciPy, NumPy and statsmodels for src/statistics.

Renews tests/reference/statistics.json:

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install numpy==2.4.6 scipy==1.17.1 statsmodels==0.15.0
    /tmp/reference/bin/python tests/reference/statistics.py > tests/reference/statistics.json

The series are made here and stored with the values, so that reading them needs no Python. Tests only read.
"""

import json
import sys

import numpy
import scipy
from scipy import stats
import statsmodels
from statsmodels.stats.diagnostic import acorr_ljungbox
from statsmodels.tsa.stattools import acf

CONFIDENCE = 0.95


def series():
    random = numpy.random.Generator(numpy.random.PCG64(20261121))
    noise = random.standard_normal(300)
    autoregressive = [noise[0]]
    for value in noise[1:]:
        autoregressive.append(0.6 * autoregressive[-1] + value)
    settling = 26 + random.standard_normal(200)
    settling[:40] += 13
    yield "lognormal", 26_000 * random.lognormal(0, 0.2, 500)
    yield "ties", numpy.round(random.normal(50, 3, 101))
    yield "autoregressive", 100 + numpy.array(autoregressive)
    yield "heavy tail", 20 + random.pareto(1.5, 1000)
    yield "settling", settling
    yield "six", numpy.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])
    yield "even", random.uniform(0, 1, 64)


def interval(values, p):
    """The order-statistic interval; None where an end is not among the values."""
    found = stats.quantile_test(values, q=0.5, p=p).confidence_interval(CONFIDENCE)
    ends = [float(found.low), float(found.high)]
    return None if any(numpy.isnan(ends)) else ends


def mean_needed(values, half_width):
    """The least n whose interval by Student's t is narrow enough, for the deviation of these values."""
    ratio = float(numpy.std(values, ddof=1) / abs(numpy.mean(values)))
    n = 2
    while stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * ratio / n**0.5 > half_width:
        n += 1
    return n


def described(name, values):
    n = len(values)
    lags = min(10, n - 1)
    box = acorr_ljungbox(values, lags=[lags])
    mean = float(numpy.mean(values))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * numpy.std(values, ddof=1) / n**0.5)
    probabilities = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
    return {
        "name": name,
        "values": [float(value) for value in values],
        "minimum": float(numpy.min(values)),
        "maximum": float(numpy.max(values)),
        "mean": mean,
        "standard_deviation": float(numpy.std(values, ddof=1)),
        "mean_interval": [mean - half, mean + half],
        "median_absolute_deviation": float(stats.median_abs_deviation(values)),
        "quantiles": [
            {"p": p, "value": float(numpy.quantile(values, p)), "interval": interval(values, p)} for p in probabilities
        ],
        "autocorrelation": [float(r) for r in acf(values, nlags=lags, fft=False)[1:]],
        "ljung_box": {
            "lags": lags,
            "statistic": float(box["lb_stat"].iloc[0]),
            "p": float(box["lb_pvalue"].iloc[0]),
        },
        "mean_needed": mean_needed(values, 0.02),
    }


def ranks():
    """The ranks of the interval for sizes that no stored series has: quantile_test over 1, 2, ... n."""
    for n in [6, 7, 50, 999, 1000, 100_000]:
        for p in [0.05, 0.5, 0.95, 0.99]:
            found = interval(numpy.arange(1.0, n + 1), p)
            yield {"n": n, "p": p, "ranks": found and [int(end) for end in found]}


result = {
    "made_with": {"numpy": numpy.__version__, "scipy": scipy.__version__, "statsmodels": statsmodels.__version__},
    "series": [described(name, values) for name, values in series()],
    "ranks": list(ranks()),
}
json.dump(result, sys.stdout, indent=1)
print()
