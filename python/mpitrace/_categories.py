"""The categories of repetitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _mpitrace


@dataclass(frozen=True, repr=False)
class Categories:
    """The category of each number of a series, and what the rule found beside them."""

    category: Sequence[str]
    """``first``, ``warmup``, ``outlier`` or ``good``, one for each number."""
    method: str
    """The rule."""
    median: float | None
    """The median of all numbers, in their unit; None where there is none."""
    warmup_end: int | None
    """The repetition at which the warm-up ends; None where there is none."""
    overlaps: int
    """How many numbers fit more than one category."""
    class_: str | None
    """By ``robust``: ``flat``, ``warmup``, ``slowdown``, ``level-shift``, ``no-steady-state``, ``undecided`` or
    ``too-few``."""
    change_points: Sequence[int] | None
    """By ``robust``: the repetitions at which the level changes."""
    levels: Sequence[float] | None
    """By ``robust``: the medians between the changes, in the unit of the numbers."""

    @property
    def counts(self) -> dict[str, int]:
        """How many numbers each category has."""
        return {name: self.category.count(name) for name in ("first", "warmup", "outlier", "good")}

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        found = f"{self.class_}, " if self.class_ else ""
        end = "" if self.warmup_end is None else f", warm-up ends at {self.warmup_end}"
        median = "none" if self.median is None else f"{self.median:.6g}"
        return f"<mpitrace categories by {self.method}: {found}{counts}; median {median}{end}>"

    @classmethod
    def _of(cls, found: dict[str, Any]) -> Categories:
        return cls(
            category=found["category"],
            method=found["method"],
            median=found["median_ns"],
            warmup_end=found["warmup_end"],
            overlaps=found["overlaps"],
            class_=found.get("class"),
            change_points=found.get("change_points"),
            levels=found.get("level_ns"),
        )


def categorize(run_times: Iterable[float], method: str = "robust", first_repetition: int = 0) -> Categories:
    """Sorts a series of numbers into the categories of repetitions, as ``mpitrace categorize`` does.

    Args:
        run_times: The numbers in the order in which they were measured, in any unit: a list, an array of NumPy, a
            column of pandas, polars or pyarrow.
        method: The rule: ``robust``, ``roth``, ``tukey`` or ``none``.
        first_repetition: The repetition that the first number is of. The category ``first`` exists only for 0.

    Raises:
        TraceError: There is no such method, or a number is not finite, which ``robust`` needs.
        TypeError: Something in the series is not a number.
    """
    if hasattr(run_times, "to_pylist"):
        run_times = run_times.to_pylist()
    elif hasattr(run_times, "tolist"):
        run_times = run_times.tolist()
    elif hasattr(run_times, "to_list"):
        run_times = run_times.to_list()
    numbers = [float("nan") if number is None else number for number in run_times]
    return Categories._of(json.loads(_mpitrace.categorize(numbers, first_repetition, method)))
