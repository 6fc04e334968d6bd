"""A plot of run times."""

from __future__ import annotations

from typing import Any

import pyarrow

# The same colours as in the pictures and on the page of `mpitrace report`.
COLOURS = {"good": "#0072b2", "warmup": "#e69f00", "outlier": "#d55e00", "first": "#cc79a7"}
MARKS = {"good": ".", "warmup": "^", "outlier": "x", "first": "D"}


def run_times(table: pyarrow.Table, title: str, axes: Any) -> Any:
    """Draws the run time of each repetition, by category."""
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("a plot needs matplotlib: `pip install matplotlib`") from error
        axes = pyplot.figure(layout="constrained").add_subplot()
    columns = [table[name].to_pylist() for name in ("category", "repetition", "run_time_ns")]
    rows = list(zip(*columns))
    for category, colour in COLOURS.items():
        points = [(repetition, ns / 1e3) for of, repetition, ns in rows if of == category]
        if points:
            label = f"{category} {len(points)}"
            axes.plot(*zip(*points), MARKS[category], color=colour, markersize=4, linestyle="none", label=label)
    run_time = [ns for _, _, ns in rows if ns > 0]
    if run_time and max(run_time) > 10 * min(run_time):
        axes.set_yscale("log")
    axes.set(xlabel="repetition", ylabel="run time, µs", title=title)
    if rows:
        # Above the axes, where it covers no point.
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, frameon=False, fontsize="small")
        axes.set_title(title, pad=22)
    return axes
