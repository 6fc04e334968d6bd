"""An open trace."""

from __future__ import annotations

import functools
import json
import operator
import os
import warnings
from collections.abc import Iterable
from typing import Any, Literal, overload

import pyarrow

from . import _html, _mpitrace
from ._categories import Categories
from ._companion import Picture, ask, run
from ._errors import TraceError, TraceWarning, error_of
from ._plot import run_times

Category = Literal["all", "first", "warmup", "outlier", "good", "steady"]


def open(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Trace:
    """Opens the trace of one run.

    A ``TraceWarning`` says what is missing in a trace that is incomplete or damaged.

    Args:
        paths: The file, or the files where one run has left several, or their folder.

    Raises:
        FileNotFoundError, PermissionError, ...: A file that cannot be read.
        TraceError: A file that is not a trace, is damaged, or is of another run than the first.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    trace = Trace(paths)
    if trace.problems:
        warnings.warn(f"{trace.paths[0]}: incomplete: {trace._missing(2)}", TraceWarning, stacklevel=2)
    return trace


def _of(operation: int | None) -> list[str]:
    return [] if operation is None else ["--operation", str(operation)]


class Summary(dict[str, Any]):
    """The keys of ``mpitrace summary --json``, and its lines."""

    def __init__(self, found: dict[str, Any], text: str) -> None:
        super().__init__(found)
        self.text = text
        """The summary as the companion prints it, at most seven lines."""

    def __repr__(self) -> str:
        return f"<mpitrace summary: {self.get('verdict') or self.text.partition(chr(10))[0]}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _html.lines(self.text.splitlines())


class Trace:
    """The trace of one run: its operations, their repetitions and their calls.

    The calls are matched and the clocks are estimated once, when it is opened. Its methods can be called by several
    threads at the same time; the interpreter is not locked while they compute.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths: list[str] = [os.fspath(path) for path in paths]
        """The files that it was opened from."""
        try:
            self._trace = _mpitrace.Trace(self.paths)
        except (OSError, TraceError) as error:
            raise error_of(str(error)) from None

    def __repr__(self) -> str:
        rest = f", {len(self.paths)} files" if len(self.paths) > 1 else ""
        incomplete = f", incomplete: {self._missing(1)}" if self.problems else ""
        return f"<mpitrace trace {self.paths[0]!r}{rest}{incomplete}>"

    def _repr_html_(self) -> str:
        columns = ["operation", "function", "communicator", "bytes", "ranks", "repetitions"]
        keys = list(columns)
        rows = self.operations().select([*keys, "call_site"]).to_pylist()
        if any(row["call_site"] for row in rows):
            keys.insert(0, "call_site")
            columns.insert(0, "called from")
        shown = [[row[key] for key in keys] for row in rows]
        return _html.lines(self.summary().text.splitlines()) + _html.table(columns, shown, "trace.operations()")

    @property
    def problems(self) -> list[str]:
        """What is missing in an incomplete or damaged trace, a line each; empty for one that is whole."""
        return self._trace.problems()

    def _missing(self, most: int) -> str:
        """The first problems, without the name of the only file, and how many more there are."""
        alone = f"{self.paths[0]}: " if len(self.paths) == 1 else ""
        first = "; ".join(problem.removeprefix(alone) for problem in self.problems[:most])
        more = len(self.problems) - most
        return f"{first}; {more} more in .problems" if more > 0 else first

    def _operation(self, number: int | None) -> int | None:
        return None if number is None else self._number(number)

    def _number(self, number: int) -> int:
        """Refuses what cannot be the number of an operation; whether there is one is for the library to say."""
        number = operator.index(number)
        if not 0 <= number < 2**32:
            count = pyarrow.table(self._trace.operations()).num_rows
            known = f"there are operations 0 to {count - 1}" if count else "there is none"
            raise TraceError(f"no operation {number}: {known}")
        return number

    @functools.cached_property
    def info(self) -> dict[str, Any]:
        """What the trace is: library, ranks, settings, operations; the keys of ``mpitrace info --json``."""
        info: dict[str, Any] = json.loads(self._trace.info())
        return info

    @overload
    def summary(self, by: None = None) -> Summary: ...
    @overload
    def summary(self, by: str) -> list[dict[str, Any]]: ...
    def summary(self, by: str | None = None) -> Summary | list[dict[str, Any]]:
        """Where the ranks' time went, what was lost and what to do next: a ``Summary``, with the keys of
        ``mpitrace summary --json`` and its text.

        Args:
            by: ``operation``, ``function``, ``communicator``, ``size``, ``site``, ``rank``, ``partner`` or ``region``:
                the rows of ``mpitrace summary --by`` instead, the longest first.

        Raises:
            TraceError: ``by`` is none of these.
        """
        if by is not None:
            rows: list[dict[str, Any]] = ask("summary", *self.paths, "--by", by)
            return rows
        return Summary(ask("summary", *self.paths), run("summary", *self.paths).text)

    def stats(
        self,
        operation: int | None = None,
        category: Category = "all",
        time: str = "local",
        method: str = "robust",
    ) -> list[dict[str, Any]]:
        """Quantiles with intervals, modes and dependence of each operation, or of one; the rows of ``mpitrace stats
        --json``.

        Args:
            operation: Its number; all operations without.
            category: The repetitions that are counted: ``all``, ``first``, ``warmup``, ``outlier``, ``good`` or
                ``steady`` (all after the warm-up).
            time: The run time: ``local``, ``global`` or ``last``.
            method: The rule of the categories: ``robust`` or ``roth``.

        Raises:
            TraceError: There is no such operation, category, time or method.
        """
        options = ["--category", category, "--time", time, "--method", method]
        rows: list[dict[str, Any]] = ask("stats", *self.paths, *_of(self._operation(operation)), *options)
        return rows

    def diagnose(self, operation: int | None = None) -> list[dict[str, Any]]:
        """Why repetitions are slow, and what each cause costs; the rows of ``mpitrace diagnose --json``.

        Raises:
            TraceError: There is no such operation.
        """
        rows: list[dict[str, Any]] = ask("diagnose", *self.paths, *_of(self._operation(operation)))
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
        of = self.info["operations"][operator.index(operation)]
        size = f" of {of['bytes']} bytes" if of["bytes"] else ""
        return run_times(table, f"{of['function']}{size} on {of['communicator']}", axes)

    def picture(self, plot: str, operation: int | None = None) -> Picture:
        """A picture of ``mpitrace report --plot``: ``timeline`` and ``sizes`` (medians by message size) of the run,
        ``histogram``, ``ecdf``, ``q-q``, ``box`` and others of an operation, the first one without its number.

        Raises:
            TraceError: There is no such plot or operation.
        """
        return Picture(plot, "report", [*self.paths, "--plot", plot, *_of(self._operation(operation))], "pictures")

    def clock(self) -> dict[str, Any]:
        """How good the global time is; the keys of ``mpitrace clock --json``."""
        clock: dict[str, Any] = ask("clock", *self.paths)
        return clock

    def operations(self) -> pyarrow.Table:
        """One row for each operation.

        Columns: ``operation`` (its number), ``function``, ``communicator``, ``communicator_id``, ``bytes``, ``root``,
        ``datatype``, ``reduction``, ``ranks``, ``repetitions`` (that every rank finished and kept), ``incomplete``,
        ``call_site`` (the line that calls it, as text; null without ``MPITRACE_CALLSITE=1``).
        """
        sites = [of["call_site"]["text"] if of.get("call_site") else None for of in self.info["operations"]]
        table = pyarrow.table(self._trace.operations())
        return table.append_column("call_site", pyarrow.array(sites, pyarrow.string()))

    def calls(self, operation: int | None = None, method: str = "robust") -> pyarrow.Table:
        """One row for each call of each rank, with the columns of ``mpitrace export --format parquet``.

        Args:
            operation: Only the calls of this operation.
            method: The rule of the column ``category``: ``robust`` or ``roth``.

        Raises:
            TraceError: There is no such operation or method.
        """
        return pyarrow.table(self._trace.calls(self._operation(operation), method))

    def repetitions(self, operation: int, method: str = "robust") -> pyarrow.Table:
        """One row for each repetition of an operation that every rank finished and kept.

        Columns: ``operation``, ``repetition`` (its number from the start of the program), its run time by each
        definition, ``local_ns``, ``global_ns`` and ``last_ns``, ``perturbed`` (the tracer may have delayed it) and
        ``category`` (by local run times).

        Raises:
            TraceError: There is no such operation or method.
        """
        return pyarrow.table(self._trace.repetitions(self._number(operation), method))

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
            return pyarrow.table(self._trace.categories(self._number(operation), method, time))
        tables = [self.categories(of["operation"], method, time) for of in self.info["operations"]]
        if not tables:
            raise TraceError("no operation was recorded: Trace.info shows what the trace holds")
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
