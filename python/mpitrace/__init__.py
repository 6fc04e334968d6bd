"""Traces of MPI programs as tables.

``open`` reads a trace that ``mpitrace run`` has written::

    import mpitrace

    trace = mpitrace.open("app.mpitrace")
    trace.info["library"]
    trace.operations()                 # a pyarrow.Table
    trace.calls().to_pandas()          # one row for each call of each rank
    trace.categories(0).to_pandas()    # first, warmup, outlier or good
    trace.summary()["verdict"]
    trace.plot(0)                      # by matplotlib
    trace.picture("sizes")             # by the companion; .save("sizes.pdf")
    mpitrace.compare(trace, "other.mpitrace")

``categorize`` sorts any series of numbers into the same categories. ``with region("halo"):`` marks a part of a program
that runs under the tracer. ``python -m mpitrace`` is the program ``mpitrace``.

Tables are `pyarrow.Table`. They take the memory that the Rust library has filled, without a copy, and everything that
reads the Arrow PyCapsule interface takes them without a copy too: ``polars.from_arrow(calls)``, ``duckdb.sql("FROM
calls")``. Numbers are those of the program ``mpitrace``: the same code computes both. Names that end in ``_ns`` are
nanoseconds, those that end in ``_s`` are seconds; times of calls are global and count from the start of the trace.
"""

from ._categories import Categories, categorize
from ._companion import Picture
from ._compare import Comparison, compare
from ._errors import TraceError, TraceWarning
from ._installed import library, program
from ._mpitrace import __version__
from ._region import region
from ._trace import Summary, Trace, open

__all__ = [
    "Categories",
    "Comparison",
    "Picture",
    "Summary",
    "Trace",
    "TraceError",
    "TraceWarning",
    "__version__",
    "categorize",
    "compare",
    "library",
    "open",
    "program",
    "region",
]
