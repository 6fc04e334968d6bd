"""How a script uses the package: `mypy --strict` reads it, with the types of the installed package."""

from __future__ import annotations

import pathlib
from typing import Any

import mpitrace


@mpitrace.region("step")
def step(value: int) -> int:
    return value + 1


def use(path: pathlib.Path) -> list[str]:
    trace: mpitrace.Trace = mpitrace.open(path)
    rows: list[dict[str, Any]] = trace.stats(category="good", time="local")
    summary: mpitrace.Summary = trace.summary()
    rows += trace.summary(by="rank")
    compared: mpitrace.Comparison = mpitrace.compare(trace, [path, str(path)], alternative="less")
    compared.picture("forest").save(path.with_suffix(".pdf"))
    found: mpitrace.Categories = mpitrace.categorize([1.0, 2.0])
    with mpitrace.region("halo"):
        number: int = step(len(rows))
    problems: list[str] = trace.problems
    return [*problems, *compared.notes, str(summary["verdict"]), str(found.counts["good"] + number)]
