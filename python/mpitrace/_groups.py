"""Categories and account of a group of rows of a dataset, as other engines divide it."""

from __future__ import annotations

import json

import pyarrow
import pyarrow.compute

from . import _mpitrace

CATEGORIES = pyarrow.array(["first", "warmup", "outlier", "good"])
# What identifies a group.
KEYS = ("run", "operation", "rank")


def categorize_group(table: pyarrow.Table, *, method: str = "robust") -> pyarrow.Table:
    """Adds the column ``category`` to the run times of one operation of one run.

    For engines that divide a dataset of several runs into groups, such as Spark::

        run_times.groupBy("run", "operation").applyInArrow(
            mpitrace.categorize_group,
            "run string, operation long, repetition long, run_time_ns double, category string",
        )

    Args:
        table: One row for each repetition, in any order, with the columns ``repetition`` and ``run_time_ns``; other
            columns are kept.
        method: The rule: ``robust`` or ``roth``.

    Returns:
        The rows in the order of their repetitions, with ``category``, a string, as the last column.

    Raises:
        KeyError: A column is missing.
        TraceError: A repetition is there twice, a run time is missing, or there is no such method.
    """
    table = _in_order(table)
    repetition = _bytes(table["repetition"], pyarrow.uint64())
    found = _mpitrace.categorize_group(repetition, _bytes(table["run_time_ns"], pyarrow.float64()), method)
    index = pyarrow.Array.from_buffers(pyarrow.uint8(), table.num_rows, [None, pyarrow.py_buffer(found)])
    return table.append_column("category", CATEGORIES.take(index))


def account_group(table: pyarrow.Table) -> pyarrow.Table:
    """Where the time of one rank in the calls of one operation of one run went, as ``Trace.account`` has it.

    For engines that divide a dataset of several runs into groups, such as Spark::

        calls.groupBy("run", "operation", "rank").applyInArrow(
            mpitrace.account_group,
            "run string, operation int, rank long, repetitions long, run_time_ns double, waiting_ns double, "
            "interrupted_ns double, interrupted_most_ns double, perturbed_ns double, communication_ns double, "
            "unsplit_ns double",
        )

    Args:
        table: The calls of a dataset of ``mpitrace export --dataset`` that are of one run, operation and rank, in any
            order, with the columns ``repetition``, ``duration_ns``, ``init_ns``, ``test_ns``, ``wait_ns``,
            ``waiting_ns``, ``interrupted_ns``, ``interrupted_most_ns``, ``perturbed`` and ``category``.

    Returns:
        One row, or none where the operation has no complete repetition: ``run``, ``operation`` and ``rank`` as far as
        the table has them, ``repetitions``, and in ns the columns of ``Trace.account`` but ``caused_ns``, which is the
        sum of ``waiting_ns`` over the calls of all ranks whose ``waited_for`` is this rank.

    Raises:
        KeyError: A column is missing.
    """
    keys = table.select([name for name in table.column_names if name in KEYS])
    table = _in_order(table.filter(pyarrow.compute.is_valid(table["category"])))
    category = pyarrow.compute.index_in(table["category"].cast(pyarrow.string()), CATEGORIES)
    account = json.loads(
        _mpitrace.account_group(
            run_time_ns=_bytes(_in_mpi(table), pyarrow.float64()),
            waiting_ns=_bytes(table["waiting_ns"], pyarrow.float64()),
            interrupted_ns=_bytes(table["interrupted_ns"], pyarrow.float64()),
            interrupted_most_ns=_bytes(table["interrupted_most_ns"], pyarrow.float64()),
            perturbed=_bytes(table["perturbed"], pyarrow.uint8()),
            category=_bytes(category, pyarrow.uint8()),
        )
    )
    row = keys.slice(0, min(1, table.num_rows))
    for name, value in account.items():
        kind = pyarrow.int64() if name == "repetitions" else pyarrow.float64()
        row = row.append_column(name, pyarrow.array([value][: row.num_rows], kind))
    return row


def _in_order(table: pyarrow.Table) -> pyarrow.Table:
    """The rows in the order of their repetitions."""
    return table.take(pyarrow.compute.sort_indices(table["repetition"]))


def _in_mpi(table: pyarrow.Table) -> pyarrow.ChunkedArray:
    """The time of each call in MPI: of a call with a request, in its start, its tests and its waits."""
    compute = pyarrow.compute
    duration, init = table["duration_ns"], table["init_ns"].fill_null(0.0)
    wait = compute.min_element_wise(table["wait_ns"], duration)
    request = compute.add(compute.add(init, table["test_ns"]), wait)
    return compute.if_else(compute.greater(init, 0.0), request, duration)


def _bytes(column: pyarrow.ChunkedArray, kind: pyarrow.DataType) -> bytes:
    """The values of a column in the byte order of the machine, NaN for those that are null."""
    array = column.cast(kind).combine_chunks()
    if array.null_count:
        array = array.fill_null(float("nan") if pyarrow.types.is_floating(kind) else 0)
    width = kind.bit_width // 8
    values: bytes = array.buffers()[1].slice(array.offset * width, len(array) * width).to_pybytes() if len(array) else b""
    return values
