"""Categories of the run times of one operation of one run, as other engines group them."""

from __future__ import annotations

import json

import pyarrow
import pyarrow.compute

from . import _mpitrace


def categorize_group(table: pyarrow.Table, method: str = "robust") -> pyarrow.Table:
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
        TraceError: A repetition is there twice, or there is no such method.
    """
    table = table.take(pyarrow.compute.sort_indices(table["repetition"]))
    repetitions = [int(number) for number in table["repetition"].to_pylist()]
    numbers = table["run_time_ns"].to_pylist()
    found = json.loads(_mpitrace.categorize(numbers, 0, method, repetitions))
    return table.append_column("category", pyarrow.array(found["category"], pyarrow.string()))
