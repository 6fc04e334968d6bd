"""An open trace."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable
from typing import Any

import pyarrow

from . import _mpitrace
from ._categories import Categories
from ._companion import Picture, ask, draw
from ._plot import run_times


def open(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Trace:
    """Opens the trace of one run.

    Args:
        paths: The file, or the files where one run has left several.

    Raises:
        FileNotFoundError, PermissionError, ...: A file that cannot be read.
        TraceError: A file that is not a trace, is damaged, or is of another run than the first.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return Trace(paths)


def _of(operation: int | None) -> list[str]:
    return [] if operation is None else ["--operation", str(operation)]


class Trace:
    """The trace of one run: its operations, their repetitions and their calls.

    The calls are matched and the clocks are estimated once, when it is opened. Its methods can be called by several
    threads at the same time; the interpreter is not locked while they compute.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._paths = [os.fspath(path) for path in paths]
        self._trace = _mpitrace.Trace(self._paths)

    def __repr__(self) -> str:
        return f"mpitrace.open({self._paths!r})"

    @functools.cached_property
    def info(self) -> dict[str, Any]:
        """What the trace is: library, ranks, settings, operations; the keys of ``mpitrace info --json``."""
        info: dict[str, Any] = json.loads(self._trace.info())
        return info

    def summary(self, by: str | None = None) -> Any:
        """Where the ranks' time went, what was lost and what to do next; the keys of ``mpitrace summary --json``.

        Args:
            by: ``operation``, ``function``, ``communicator``, ``size``, ``site``, ``rank``, ``partner`` or ``region``:
                the rows of ``mpitrace summary --by`` instead, the longest first.

        Raises:
            TraceError: ``by`` is none of these.
        """
        return ask("summary", *self._paths, *([] if by is None else ["--by", by]))

    def stats(self, operation: int | None = None) -> list[dict[str, Any]]:
        """Quantiles with intervals, modes and dependence of each operation, or of one; the rows of ``mpitrace stats
        --json``."""
        rows: list[dict[str, Any]] = ask("stats", *self._paths, *_of(operation))
        return rows

    def diagnose(self, operation: int | None = None) -> list[dict[str, Any]]:
        """Why repetitions are slow, and what each cause costs; the rows of ``mpitrace diagnose --json``."""
        rows: list[dict[str, Any]] = ask("diagnose", *self._paths, *_of(operation))
        return rows

    def plot(self, operation: int = 0, method: str = "robust", time: str = "local", axes: Any = None) -> Any:
        """Draws the run time of each repetition of an operation, coloured by category; gives the axes of matplotlib.

        Args:
            axes: Where to draw; a new figure without.

        Raises:
            ImportError: matplotlib is not installed.
            TraceError: There is no such operation, method or time.
        """
        table = self.categories(operation, method, time)
        of = self.info["operations"][operation]
        size = f" of {of['bytes']} bytes" if of["bytes"] else ""
        return run_times(table, f"{of['function']}{size} on {of['communicator']}", axes)

    def picture(self, plot: str, operation: int | None = None) -> Picture:
        """A picture of ``mpitrace report --plot``: ``timeline`` and ``sizes`` (medians by message size) of the run,
        ``histogram``, ``ecdf``, ``q-q``, ``box`` and others of an operation, the first one without its number.

        Raises:
            TraceError: There is no such plot or operation.
        """
        return draw("report", *self._paths, "--plot", plot, *_of(operation), output="pictures")

    def clock(self) -> dict[str, Any]:
        """How good the global time is; the keys of ``mpitrace clock --json``."""
        clock: dict[str, Any] = ask("clock", *self._paths)
        return clock

    def operations(self) -> pyarrow.Table:
        """One row for each operation.

        Columns: ``operation`` (its number), ``function``, ``communicator``, ``communicator_id``, ``bytes``, ``root``,
        ``datatype``, ``reduction``, ``ranks``, ``repetitions`` (that every rank finished and kept), ``incomplete``.
        """
        return pyarrow.table(self._trace.operations())

    def calls(self, operation: int | None = None, method: str = "robust") -> pyarrow.Table:
        """One row for each call of each rank, with the columns of ``mpitrace export --format parquet``.

        Args:
            operation: Only the calls of this operation.
            method: The rule of the column ``category``: ``robust`` or ``roth``.

        Raises:
            TraceError: There is no such operation or method.
        """
        return pyarrow.table(self._trace.calls(operation, method))

    def repetitions(self, operation: int, method: str = "robust") -> pyarrow.Table:
        """One row for each repetition of an operation that every rank finished and kept.

        Columns: ``operation``, ``repetition`` (its number from the start of the program), its run time by each
        definition, ``local_ns``, ``global_ns`` and ``last_ns``, ``perturbed`` (the tracer may have delayed it) and
        ``category`` (by local run times).

        Raises:
            TraceError: There is no such operation or method.
        """
        return pyarrow.table(self._trace.repetitions(operation, method))

    def categories(
        self, operation: int | None = None, method: str = "robust", time: str = "local"
    ) -> pyarrow.Table:
        """The category of each repetition of an operation; without its number of all operations, in one table.

        Columns: ``operation``, ``repetition``, ``run_time_ns``, ``category``. All else that ``mpitrace categorize
        --json`` has of one operation is in the metadata of the schema, as JSON under the key ``mpitrace``.
        ``categorize`` gives it as an object.

        Args:
            operation: Its number.
            method: The rule: ``robust`` or ``roth``.
            time: The run time: ``local``, ``global`` or ``last``.

        Raises:
            TraceError: There is no such operation, method or time.
        """
        if operation is not None:
            return pyarrow.table(self._trace.categories(operation, method, time))
        tables = [self.categories(of["operation"], method, time) for of in self.info["operations"]]
        if not tables:
            raise _mpitrace.TraceError("no operation was recorded: `mpitrace info` shows what the trace holds")
        return pyarrow.concat_tables([table.replace_schema_metadata(None) for table in tables])

    def categorize(self, operation: int, method: str = "robust", time: str = "local") -> Categories:
        """The same as ``categories``, as an object with the class of the operation and its change points."""
        table = self.categories(operation, method, time)
        found = json.loads(table.schema.metadata[b"mpitrace"])
        return Categories._of({**found, "category": table["category"].to_pylist()})

    def account(self) -> pyarrow.Table:
        """Where the time of the ranks in the calls of complete repetitions went.

        One row for each rank of each operation: ``operation``, ``rank``, ``repetitions``, and in ns ``run_time_ns`` and
        its parts ``waiting_ns``, ``interrupted_ns``, ``perturbed_ns`` and ``communication_ns``, which add up to it;
        ``interrupted_most_ns`` (the most that may have been off the processor; null: not known), ``unsplit_ns`` (the
        part of ``communication_ns`` in calls of which it is not known for which ranks they wait) and ``caused_ns`` (the
        time that other ranks waited for this one).
        """
        return pyarrow.table(self._trace.account())
