"""Two sets of runs, compared."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, Union

from . import _html
from ._companion import Path, Picture, run
from ._errors import TraceError
from ._trace import Trace

Run = Union[Path, Trace]
Runs = Union[Run, Iterable[Run]]


class Comparison(list[dict[str, Any]]):
    """The rows of ``mpitrace compare --json``: the job, its time in MPI, all operations together, each operation."""

    def __init__(self, arguments: list[Path]) -> None:
        answer = run("compare", *arguments, "--json")
        found = json.loads(answer.text)
        super().__init__(found["rows"])
        self.job: dict[str, Any] | None = found["job"]
        """What changed in the time of the job, in parts that add up, with its sentence; None: not traced."""
        self.notes: list[str] = answer.notes
        """What limits the comparison, a line each."""
        self._arguments = arguments

    def __repr__(self) -> str:
        counts = Counter(_verdict(row) for row in self)
        return f"<mpitrace comparison of {len(self)} rows: {', '.join(f'{n} {words}' for words, n in counts.items())}>"

    def _repr_html_(self) -> str:
        sides = self[0]["sides"] if self else ["A", "B"]
        first, second = (f"median {side}" for side in sides[:2])
        columns = ["", f"runs {sides[0]}", f"runs {sides[1]}", first, second, f"{sides[1]} against {sides[0]}", "p", ""]
        rows = [
            [
                row["operation_key"],
                row["a"]["runs"],
                row["b"]["runs"],
                _html.seconds(_s(row["a"]["median_ns"])),
                _html.seconds(_s(row["b"]["median_ns"])),
                None if row["effect"] is None else f"{100 * row['effect']:+.1f} %",
                None if row["p"] is None else f"{row['p']:.3g} {row['stars']}",
                _verdict(row),
            ]
            for row in self
        ]
        sentence = self.job["sentence"] if self.job else ""
        return _html.lines([sentence]) + _html.table(columns, rows, "list(comparison)") + _html.lines(["", *self.notes])

    def picture(self, plot: str = "forest") -> Picture:
        """A picture of ``mpitrace compare --plot``: ``forest``, ``sizes``, ``normalised``, ``runs``, ``distribution``,
        ``histogram``, ``drift`` or ``trials``.

        Raises:
            TraceError: There is no such plot, or nothing to show.
        """
        return Picture(plot, "compare", [*self._arguments, "--plot", plot], "picture{suffix}")


def _verdict(row: dict[str, Any]) -> str:
    """The verdict in words, as the companion has them."""
    if row["p"] is None:
        return "too few runs"
    first, second = row["sides"]
    words = {"a": f"{first} is faster", "b": f"{second} is faster", "none": "no difference"}
    words["undecided"] = "not decided"
    verdict: str = row["verdict"]
    return words.get(verdict, verdict)


def _s(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e9


def _files(runs: Runs) -> list[Path]:
    """The file of each run."""
    several = [runs] if isinstance(runs, (str, os.PathLike, Trace)) else list(runs)
    files: list[Path] = []
    for one in several:
        if not isinstance(one, Trace):
            files.append(one)
        elif len(one.paths) == 1:
            files.append(one.paths[0])
        else:
            raise TraceError(f"{one.paths[0]}: one of {len(one.paths)} files of a run: give compare() their folder")
    if not files:
        raise TraceError("compare() needs at least one run on each side")
    return files


def compare(
    a: Runs,
    b: Runs,
    *more: Runs,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    test: Literal["permutation", "wilcoxon", "welch"] = "permutation",
    method: Literal["robust", "roth", "tukey", "none"] = "robust",
    time: Literal["local", "global", "last"] = "local",
) -> Comparison:
    """Which of two sets of runs is faster: the rows of ``mpitrace compare --json``, and its pictures.

    Args:
        a: The runs of the one set: open traces or their files, one or several.
        b: Those of the other.
        more: Up to four further sets; each is compared with each.
        alternative: What is tested; ``less``: the run times of ``a`` are less than those of ``b``.
        test: The test.
        method: The rule by which repetitions are left out of a run.
        time: The run time of a repetition.

    Raises:
        OSError: A file that cannot be read.
        TraceError: A file is not a trace, the sets have no operation in common, or an argument does not exist.
    """
    if len(more) > 4:
        raise TraceError(f"compare() takes up to six sets of runs, not {len(more) + 2}")
    arguments: list[Path] = ["--alternative", alternative, "--test", test, "--method", method, "--time", time]
    for name, runs in zip("abcdef", (a, b, *more)):
        arguments += [f"--{name}", *_files(runs)]
    return Comparison(arguments)
