"""An open trace."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import pyarrow

from . import _mpitrace
from ._categories import Categories


def open(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Trace:
    """Opens the trace of one run.

    Args:
        paths: The file, or the files where one run has left several. Packed traces are read as they are.

    Raises:
        FileNotFoundError, PermissionError, ...: A file that cannot be read.
        TraceError: A file that is not a trace, is damaged, or is of another run than the first.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return Trace(paths)


class Trace:
    """The trace of one run: its operations, their repetitions and their calls.

    The calls are matched and the clocks are estimated once, when it is opened. Its methods can be called by several
    threads at the same time; the interpreter is not locked while they compute.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._paths = [os.fspath(path) for path in paths]
        self._trace = _mpitrace.Trace(self._paths)
        self._info: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"mpitrace.open({self._paths!r})"

    @property
    def info(self) -> dict[str, Any]:
        """What the trace is: library, ranks, settings, operations; the keys of ``mpitrace info --json``."""
        if self._info is None:
            self._info = json.loads(self._trace.info())
        return self._info

    def summary(self) -> dict[str, Any]:
        """Where the ranks' time went, what was lost and what to do next; the keys of ``mpitrace summary --json``."""
        summary: dict[str, Any] = json.loads(self._trace.summary())
        return summary

    def clock(self) -> dict[str, Any]:
        """How good the global time is; the keys of ``mpitrace clock --json``."""
        clock: dict[str, Any] = json.loads(self._trace.clock())
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
        return self.read_calls(operation, method).read_all()

    def read_calls(self, operation: int | None = None, method: str = "robust") -> pyarrow.RecordBatchReader:
        """The same rows as of ``calls``, in batches of 65536 that are made while they are read.

        For traces whose calls do not fit into the memory together: only a few batches are in memory at a time.
        """
        return pyarrow.RecordBatchReader.from_stream(self._trace.calls(operation, method))

    def repetitions(self, operation: int, method: str = "robust") -> pyarrow.Table:
        """One row for each repetition of an operation that every rank finished and kept.

        Columns: ``operation``, ``repetition`` (its number from the start of the program), its run time by each
        definition, ``local_ns``, ``global_ns`` and ``last_ns``, ``perturbed`` (the tracer may have delayed it) and
        ``category`` (by local run times).

        Raises:
            TraceError: There is no such operation or method.
        """
        return pyarrow.table(self._trace.repetitions(operation, method))

    def categories(self, operation: int, method: str = "robust", time: str = "local") -> pyarrow.Table:
        """The category of each repetition of an operation.

        Columns: ``operation``, ``repetition``, ``run_time_ns``, ``category``. All else that ``mpitrace categorize
        --json`` has of the operation is in the metadata of the schema, as JSON under the key ``mpitrace``.
        ``categorize`` gives it as an object.

        Args:
            operation: Its number.
            method: The rule: ``robust`` or ``roth``.
            time: The run time: ``local``, ``global`` or ``last``.

        Raises:
            TraceError: There is no such operation, method or time.
        """
        return pyarrow.table(self._trace.categories(operation, method, time))

    def categorize(self, operation: int, method: str = "robust", time: str = "local") -> Categories:
        """The same as ``categories``, as an object with the class of the operation and its change points."""
        found = json.loads(self._trace.categorized(operation, method, time))
        return Categories._of(found)

    def account(self, by: str | None = None) -> pyarrow.Table:
        """Where the time of the ranks in the calls of complete repetitions went.

        One row for each rank of each operation: ``operation``, ``rank``, ``repetitions``, and in ns ``run_time_ns`` and
        its parts ``waiting_ns``, ``interrupted_ns``, ``perturbed_ns`` and ``communication_ns``, which add up to it;
        ``interrupted_most_ns`` (the most that may have been off the processor; null: not known), ``unsplit_ns`` (the
        part of ``communication_ns`` in calls of which it is not known for which ranks they wait) and ``caused_ns`` (the
        time that other ranks waited for this one).

        Args:
            by: ``operation``, ``function``, ``communicator``, ``size``, ``site`` or ``rank``: the rows of
                ``mpitrace summary --by`` instead, in seconds, the longest first.

        Raises:
            TraceError: ``by`` is none of these.
        """
        return pyarrow.table(self._trace.account(by))
