"""What the companion answers, as objects."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, NamedTuple, Union

from ._errors import TraceError, error_of
from ._installed import program

Path = Union[str, "os.PathLike[str]"]

PICTURES = (".svg", ".png", ".pdf", ".csv")


class Answer(NamedTuple):
    """What a command prints."""

    text: str
    """Its data."""
    notes: list[str]
    """What it says beside them, a line each."""


def run(command: str, *arguments: Path) -> Answer:
    """What ``mpitrace COMMAND`` prints.

    Raises:
        OSError: A file that cannot be read.
        TraceError: The companion refuses it; the text says why.
        FileNotFoundError: The package was installed without the companion.
    """
    line: list[str] = [str(program()), command, *(str(os.fspath(word)) for word in arguments)]
    finished = subprocess.run(line, capture_output=True, text=True, check=False)
    notes = [note.removeprefix("mpitrace: ") for note in finished.stderr.strip().splitlines()]
    # 1: the output is there, and the trace is incomplete, or has a finding.
    if finished.returncode not in (0, 1):
        raise error_of(notes[-1]) if notes else TraceError(f"{command} ended with exit code {finished.returncode}")
    return Answer(finished.stdout, notes)


def ask(command: str, *arguments: Path) -> Any:
    """What ``mpitrace COMMAND --json`` prints: the rows of a list, else the keys. Raises what ``run`` raises."""
    found = json.loads(run(command, *arguments, "--json").text)
    return found.get("rows", found)


class Picture:
    """A picture of the companion; a notebook shows it."""

    def __init__(self, name: str, command: str, arguments: list[Path], output: str) -> None:
        self.name = name
        self._command = command
        self._arguments = arguments
        self._output = output
        with tempfile.TemporaryDirectory() as folder:
            self.svg = self._draw(folder, ".svg").read_text(encoding="utf-8")

    def __repr__(self) -> str:
        return f"<mpitrace picture {self.name!r}: .save('{self.name}.pdf'), .svg>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Path) -> None:
        """Writes it as the end of the name says: ``.svg``, ``.png``, ``.pdf``, or its values as ``.csv``.

        Raises:
            TraceError: The name ends otherwise.
            OSError: The file cannot be written.
        """
        suffix = pathlib.Path(path).suffix.lower()
        if suffix not in PICTURES:
            raise TraceError(f"{os.fspath(path)}: a picture ends in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
        if suffix == ".svg":
            pathlib.Path(path).write_text(self.svg, encoding="utf-8")
            return
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(self._draw(folder, suffix), path)

    def _draw(self, folder: str, suffix: str) -> pathlib.Path:
        """The first file of this kind that the command writes into an empty folder. Raises what ``run`` raises."""
        run(self._command, *self._arguments, "-o", pathlib.Path(folder, self._output.format(suffix=suffix)))
        return min(pathlib.Path(folder).rglob(f"*{suffix}"))
