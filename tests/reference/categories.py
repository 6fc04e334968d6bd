#!/usr/bin/env python3
"""Reference values for src/statistics/categories/robust, by NumPy and SciPy.

Renews tests/reference/categories.json:

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install numpy==2.4.6 scipy==1.17.1
    /tmp/reference/bin/python tests/reference/categories.py > tests/reference/categories.json

The series are made here and stored with the values, so that reading them needs no Python. Tests only read.

changes     The division of least cost under the biweight loss (Fearnhead and Rigaill 2019), exact: every segment with
            its best level, which is the mean of those values within a window of 8 standard deviations, for the best
            such window; dynamic programming over all segments.
outliers    How many the procedure of Benjamini and Hochberg (1995) rejects: scipy.stats.false_discovery_control.
student     Quantiles of Student's distribution: scipy.stats.t.
memory      The variance of the difference of the means of two neighbouring windows of an AR(1) process, from the
            covariance matrix; and the sum of the autocorrelations, cut off by Geyer's initial monotone sequence.
"""

import json
import sys

import numpy
import scipy
from scipy import stats

LARGEST = 16.0
CHANGE = 12.0


def segment_cost(values, deviation):
    """The least sum of min(((x - level) / deviation)^2, LARGEST) over all levels."""
    x = numpy.sort(values) / deviation
    width = numpy.sqrt(LARGEST)
    # Which values are within the window changes only where a value enters or leaves it.
    edges = numpy.sort(numpy.concatenate([x - width, x + width]))
    best = LARGEST * len(x)
    for level in (edges[1:] + edges[:-1]) / 2:
        near = x[numpy.abs(x - level) < width]
        if len(near):
            best = min(best, ((near - near.mean()) ** 2).sum() + LARGEST * (len(x) - len(near)))
    return best


def changes(values, deviation):
    n = len(values)
    least = numpy.full(n + 1, numpy.inf)
    least[0] = -CHANGE
    last = numpy.zeros(n + 1, dtype=int)
    for end in range(1, n + 1):
        for start in range(end):
            cost = least[start] + CHANGE + segment_cost(values[start:end], deviation)
            if cost < least[end] - 1e-9:
                least[end], last[end] = cost, start
    found, end = [], n
    while last[end] > 0:
        end = last[end]
        found.append(int(end))
    return found[::-1], float(least[n])


def series(random):
    noise = random.standard_normal
    yield "one level", noise(60)
    cliff = noise(60)
    cliff[:20] += 8
    yield "a cliff", cliff
    burst = noise(60)
    burst[:15] += 8
    burst[22:26] += 30
    burst[40] += 50
    yield "a cliff, a burst and an outlier", burst
    steps = noise(80)
    steps[:25] += 12
    steps[25:50] += 6
    yield "two steps", steps
    heavy = random.standard_t(2, 70)
    heavy[35:] += 9
    yield "heavy tails", heavy


def monotone_sum(values):
    """The sum of the autocorrelations from lag 1 on (Geyer 1992), as far as they are above 2 / sqrt(n) in pairs."""
    x = numpy.asarray(values) - numpy.mean(values)
    n = len(x)
    rho = numpy.array([float((x[: n - lag] * x[lag:]).sum()) for lag in range(n // 3 + 2)]) / float((x * x).sum())
    total, least = rho[1], numpy.inf
    if total <= 0:
        return 0.0
    for lag in range(2, min(n // 3, 1024), 2):
        least = min(least, rho[lag] + rho[lag + 1])
        if least <= 2 / numpy.sqrt(n):
            break
        total += least
    return float(total + 0.5 * (1 + 2 * total) ** 2 / n)


def window_variance(phi, a, b):
    lags = numpy.abs(numpy.subtract.outer(numpy.arange(a + b), numpy.arange(a + b)))
    weights = numpy.concatenate([numpy.full(a, 1 / a), numpy.full(b, -1 / b)])
    return float(weights @ (phi**lags) @ weights)


def main():
    random = numpy.random.Generator(numpy.random.PCG64(20261122))
    divided = []
    for name, values in series(random):
        found, cost = changes(values, 1.0)
        divided.append({"name": name, "values": values.tolist(), "changes": found, "cost": cost})
    outliers = []
    for share in [0.0, 0.01, 0.05, 0.1]:
        z = random.standard_normal(1000)
        z[: int(1000 * share)] = random.uniform(4, 9, int(1000 * share))
        rejected = stats.false_discovery_control(stats.norm.sf(z)) <= 0.03
        outliers.append({"z": numpy.sort(z)[::-1].tolist(), "rejected": int((rejected & (z >= 3)).sum())})
    student = [
        {"degrees": degrees, "z": z, "t": float(stats.t.isf(stats.norm.sf(z), degrees))}
        for degrees in [3, 6, 10, 30, 300]
        for z in [2.0, 3.0, 4.0]
    ]
    walks = []
    for phi in [0.0, 0.5, 0.9]:
        values = [0.0]
        for step in random.standard_normal(600):
            values.append(phi * values[-1] + step)
        values = numpy.array(values[101:])
        walks.append({"values": values.tolist(), "time": monotone_sum(values)})
    windows = [
        {"phi": phi, "a": a, "b": b, "variance": window_variance(phi, a, b)}
        for phi in [0.0, 0.3, 0.9, 0.98]
        for a, b in [(2, 2), (3, 12), (32, 128)]
    ]
    json.dump(
        {
            "versions": {"numpy": numpy.__version__, "scipy": scipy.__version__},
            "changes": divided,
            "outliers": outliers,
            "student": student,
            "walks": walks,
            "windows": windows,
        },
        sys.stdout,
    )
    print()


main()
