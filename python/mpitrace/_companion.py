"""The companion's results as objects."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Any, Union

from ._installed import program
from ._mpitrace import TraceError

Path = Union[str, "os.PathLike[str]"]


def run(command: str, *arguments: Path) -> str:
    """What ``mpitrace COMMAND`` prints.

    Raises:
        TraceError: The companion refuses it; its line says why.
        FileNotFoundError: The package was installed without the companion.
    """
    line: list[str] = [str(program()), command, *(str(os.fspath(word)) for word in arguments)]
    finished = subprocess.run(line, capture_output=True, text=True, check=False)
    # 1: the output is there, and the trace is incomplete, or has a finding.
    if finished.returncode not in (0, 1):
        last = finished.stderr.strip().splitlines()[-1:]
        raise TraceError(last[0].removeprefix("mpitrace: ") if last else f"mpitrace {command} failed")
    return finished.stdout


def ask(command: str, *arguments: Path) -> Any:
    """What ``mpitrace COMMAND --json`` prints: the rows of a list, else the keys. Raises what ``run`` raises."""
    found = json.loads(run(command, *arguments, "--json"))
    return found.get("rows", found)


class Picture:
    """A picture of the companion; a notebook shows it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Path) -> None:
        """Writes it as SVG."""
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")


def draw(command: str, *arguments: Path, output: str) -> Picture:
    """The first picture that the command writes to ``output`` in an empty folder. Raises what ``run`` raises."""
    with tempfile.TemporaryDirectory() as folder:
        run(command, *arguments, "-o", pathlib.Path(folder, output))
        return Picture(min(pathlib.Path(folder).rglob("*.svg")).read_text(encoding="utf-8"))


class Comparison(list[dict[str, Any]]):
    """The rows of ``mpitrace compare --json``, one for each operation."""

    def __init__(self, arguments: list[Path]) -> None:
        found = json.loads(run("compare", *arguments, "--json"))
        super().__init__(found["rows"])
        #: What changed in the time of the job, in parts that add up, with its sentence; None: not traced.
        self.job: dict[str, Any] | None = found["job"]
        self._arguments = arguments

    def picture(self, plot: str = "forest") -> Picture:
        """A picture of ``mpitrace compare --plot``: ``forest``, ``sizes``, ``normalised``, ``runs`` or
        ``distribution``.

        Raises:
            TraceError: There is no such plot, or nothing to show.
        """
        return draw("compare", *self._arguments, "--plot", plot, output="picture.svg")


def compare(a: Path | Iterable[Path], b: Path | Iterable[Path], *options: str) -> Comparison:
    """Which of two sets of runs is faster: the rows of ``mpitrace compare --json``, and its pictures.

    Args:
        a: The traces of the one set, a file for each run.
        b: Those of the other.
        options: Further options of ``mpitrace compare``, as ``"--alternative", "less"``, or ``"--c"`` and the traces of
            a third set.

    Raises:
        TraceError: A file is not a trace, or the sets have no operation in common.
    """
    sides = [[paths] if isinstance(paths, (str, os.PathLike)) else list(paths) for paths in (a, b)]
    return Comparison([*options, "--a", *sides[0], "--b", *sides[1]])
