"""Reference values for src/analysis/diagnosis, from SciPy.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy
    /tmp/venv/bin/python tests/reference/diagnosis.py > tests/reference/diagnosis.json
"""

import json
import sys

import numpy
import scipy
from scipy import stats

random = numpy.random.default_rng(40_600)


def series():
    """Pairs of a metric and a run time, with how many of the first are of the group."""
    for n, group in [(5, 2), (12, 3), (40, 10), (80, 1), (300, 60)]:
        x = random.normal(100.0, 10.0, n)
        yield x, random.normal(25.0, 1.0, n), group
        yield x, 3.0 * x + random.normal(0.0, 20.0, n), group
        # Counts, with many ties; run times with a long tail; a group that has more of it.
        counts = random.poisson(2.0, n).astype(float)
        counts[:group] += random.poisson(1.5, group)
        yield counts, random.lognormal(3.0, 0.3, n) + counts, group
        # Mostly zero, as context switches are.
        yield (random.random(n) < 0.1).astype(float), random.normal(25.0, 1.0, n), group


def case(x, _, group):
    test = stats.mannwhitneyu(x[:group], x[group:], method="asymptotic")
    return {
        "x": list(x),
        "group": group,
        "auc": test.statistic / (group * (len(x) - group)),
    }


json.dump(
    {
        "versions": {"numpy": numpy.__version__, "scipy": scipy.__version__},
        "cases": [case(*one) for one in series()],
    },
    sys.stdout,
)
print()
