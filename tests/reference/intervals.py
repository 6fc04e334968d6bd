"""Reference values for the intervals of dependent values and the whitening, from NumPy and SciPy.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy
    /tmp/venv/bin/python tests/reference/intervals.py > tests/reference/intervals.json

The formulas are written down again from the papers (Lazarus et al. 2018; Korn and Graubard 1998), over SciPy's discrete
cosine transform and distributions: nothing is shared with the program.
"""

import json

import numpy
import scipy
from scipy import fft, optimize, stats

random = numpy.random.default_rng(1952)


def autoregressive(n, coefficients):
    """A series with these coefficients."""
    z = list(random.normal(size=len(coefficients)))
    for _ in range(n - len(z)):
        z.append(sum(c * z[-1 - lag] for lag, c in enumerate(coefficients)) + random.normal())
    return numpy.round(z, 6)


def long_run():
    """The variance of the mean from the first B cosines."""
    for n, cosines in [(20, 3), (100, 5), (500, 20)]:
        z = autoregressive(n, [0.6])
        powers = fft.dct(z, type=2, norm="ortho")[1 : cosines + 1] ** 2
        yield {"values": list(z), "cosines": cosines, "variance_of_mean": powers.mean() / n}


def places():
    """Between which shares of n independent values a quantile lies, n being no whole number."""
    for n in [12.5, 40.0, 123.4, 1000.0, 54321.0]:
        for p in [0.5, 0.95, 0.99]:
            if n * min(p, 1 - p) < 4:
                continue
            # P(B <= k - 1) = I_{1 - p}(n - k + 1, k).
            lower = optimize.brentq(lambda k: stats.beta.cdf(1 - p, n - k + 1, k) - 0.025, 1, n)
            upper = optimize.brentq(lambda k: stats.beta.cdf(p, k, n - k + 1) - 0.025, 1, n)
            yield {"n": n, "p": p, "places": [(lower - 0.5) / n, (upper - 0.5) / n]}


def scores():
    """Normal scores."""
    for n in [3, 10, 50]:
        values = numpy.round(random.normal(size=n), 1)
        yield {"values": list(values), "scores": list(stats.norm.ppf(stats.rankdata(values) / (n + 1)))}


def document():
    """All of it."""
    versions = f"numpy {numpy.__version__}, scipy {scipy.__version__}"
    return {
        "made_by": f"tests/reference/intervals.py with {versions}",
        "long_run": list(long_run()),
        "places": list(places()),
        "scores": list(scores()),
    }


print(json.dumps(document()))
