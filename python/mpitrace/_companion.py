"""The companion's results as objects."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from typing import Any, Union

from ._installed import program
from ._mpitrace import TraceError

Path = Union[str, "os.PathLike[str]"]


def ask(command: str, *arguments: Path) -> Any:
    """What ``mpitrace COMMAND --json`` prints: the rows of a list, else the keys.

    Raises:
        TraceError: The companion refuses it; its line says why.
        FileNotFoundError: The package was installed without the companion.
    """
    line: list[str] = [str(program()), command, *(str(os.fspath(word)) for word in arguments), "--json"]
    finished = subprocess.run(line, capture_output=True, text=True, check=False)
    # 1: the output is there, and the trace is incomplete, or has a finding.
    if finished.returncode not in (0, 1):
        last = finished.stderr.strip().splitlines()[-1:]
        raise TraceError(last[0].removeprefix("mpitrace: ") if last else f"mpitrace {command} failed")
    found = json.loads(finished.stdout)
    return found.get("rows", found)


def compare(a: Path | Iterable[Path], b: Path | Iterable[Path], *options: str) -> list[dict[str, Any]]:
    """Which of two sets of runs is faster: the rows of ``mpitrace compare --json``, one for each operation.

    Args:
        a: The traces of the one set, a file for each run.
        b: Those of the other.
        options: Further options of ``mpitrace compare``, as ``"--alternative", "less"``.

    Raises:
        TraceError: A file is not a trace, or the sets have no operation in common.
    """
    sides = [[paths] if isinstance(paths, (str, os.PathLike)) else list(paths) for paths in (a, b)]
    rows: list[dict[str, Any]] = ask("compare", *options, "--a", *sides[0], "--b", *sides[1])
    return rows
