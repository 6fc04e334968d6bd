#!/usr/bin/env python3
"""Follows docs/developers/guide.md on a copy of the sources: tests/guide.py [NAME...]

NAME is the last word of a heading "Add a ..." (command, column, counter, collective, plot); without one all sections
are followed that have edits. Of each section the `diff` blocks are made in a fresh copy, then its `sh` block is run
there. A section fails where an edit does not fit the sources in one place alone, or a command fails. A column may take
no more than 3 files of the product and one line of documentation that is written by hand.

The copy lies in target/tests/guide, and is built there. Needs mpicc and mpirun.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
WORK = TARGET / "tests" / "guide"
COPY = WORK / "sources"
GUIDE = "docs/developers/guide.md"
# What has to be there: a section that was lost would be one that passes.
SECTIONS = ("collective", "counter", "column", "command", "plot")
MOST_FILES_OF_A_COLUMN = 3
IS_TEST = re.compile(r"(^|/)tests?/|tests?\.rs$")


class Failure(Exception):
    """Why a section cannot be followed."""


def sections(text: str) -> dict[str, str]:
    """The sections "Add a ..." that have edits, by the last word of their headings."""
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    added = {title.split()[-1]: body for title, body in zip(parts[1::2], parts[2::2]) if title.startswith("Add a")}
    return {name: body for name, body in added.items() if "```diff" in body}


def blocks(section: str, kind: str) -> list[str]:
    """The fenced blocks of a kind, without the indentation of the list that they are in."""
    return [textwrap.dedent(block) for block in re.findall(rf"^ *```{kind}\n(.*?)^ *```$", section, re.M | re.S)]


def edits(diff: str) -> list[tuple[str, list[list[str]]]]:
    """The files of a diff, each with the lines of its hunks."""
    found: list[tuple[str, list[list[str]]]] = []
    for line in diff.splitlines():
        if line.startswith("--- "):
            continue
        if line.startswith("+++ b/"):
            found.append((line.removeprefix("+++ b/"), []))
        elif line == "@@":
            found[-1][1].append([])
        else:
            found[-1][1][-1].append(line)
    return found


def changed(lines: list[str], hunk: list[str], path: str) -> list[str]:
    """The lines of a file with a hunk made in the one place where it fits."""
    old = [line[1:] for line in hunk if not line.startswith("+")]
    new = [line[1:] for line in hunk if not line.startswith("-")]
    if not old:
        return lines + new
    places = [at for at in range(len(lines) - len(old) + 1) if lines[at : at + len(old)] == old]
    if len(places) != 1:
        raise Failure(f"{path}: an edit fits in {len(places)} places, not in one:\n" + "\n".join(hunk))
    return lines[: places[0]] + new + lines[places[0] + len(old) :]


def edit(path: str, hunks: list[list[str]]) -> None:
    file = COPY / path
    lines = file.read_text().splitlines() if file.exists() else []
    for hunk in hunks:
        lines = changed(lines, hunk, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n")


def copy_sources() -> None:
    """Makes the copy what git knows of the sources. What is as it was keeps its time, so that cargo builds little."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        here, there = ROOT / name, COPY / name
        if there.exists() and there.read_bytes() == here.read_bytes():
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(here, there)
    for there in [path for path in COPY.rglob("*") if path.is_file()]:
        if str(there.relative_to(COPY)) not in names:
            there.unlink()


def check_column(made: list[tuple[str, list[list[str]]]]) -> None:
    product = {path for path, _ in made if not path.startswith("docs/") and not IS_TEST.search(path)}
    if len(product) > MOST_FILES_OF_A_COLUMN:
        raise Failure(f"a column takes {len(product)} files of the product: {sorted(product)}")
    pages = [hunk for path, hunks in made if path.startswith("docs/") for hunk in hunks]
    lines = [line for hunk in pages for line in hunk if line.startswith("+")]
    if len(lines) != 1:
        raise Failure(f"a column takes {len(lines)} lines of documentation, not one")


def environment() -> dict[str, str]:
    built = WORK / "target"
    mpi = {name: "1" for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")}
    mpi |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    # A build directory of its own: crates of the copy have the same file names as those of the sources.
    cargo = {"CARGO_TARGET_DIR": str(built)}
    return os.environ | mpi | cargo | {"PATH": f"{built / 'checked'}:{os.environ['PATH']}"}


def follow(name: str, section: str) -> None:
    made = [file for diff in blocks(section, "diff") for file in edits(diff)]
    commands = blocks(section, "sh")
    if not made or len(commands) != 1:
        raise Failure("it has no edits, or not one block of commands")
    if name == "column":
        check_column(made)
    copy_sources()
    for path, hunks in made:
        edit(path, hunks)
    program = ["mpicc", "-O1", "-o", COPY / "program", COPY / "LD_PRELOAD-examples/repetitions.c"]
    subprocess.run(program, check=True, env=environment())
    ran = subprocess.run(["bash", "-exo", "pipefail", "-c", commands[0]], cwd=COPY, env=environment(), check=False)
    if ran.returncode != 0:
        raise Failure(f"its commands ended with {ran.returncode}")
    print(f"-- {name}: {len({path for path, _ in made})} files, builds and passes", flush=True)


def main() -> int:
    found = sections((ROOT / GUIDE).read_text())
    missing = [name for name in SECTIONS if name not in found]
    if missing:
        print(f"{GUIDE} has no steps for: {', '.join(missing)}")
        return 1
    unknown = [name for name in sys.argv[1:] if name not in found]
    if unknown:
        print(f"{GUIDE} has no steps for {', '.join(unknown)}; it has {', '.join(found)}")
        return 2
    for tool in ("mpicc", "mpirun"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not on the path")
            return 1 if os.environ.get("NOTHING_SKIPPED") else 0
    failed = 0
    for name in sys.argv[1:] or found:
        print(f"-- {name}", flush=True)
        try:
            follow(name, found[name])
        except Failure as failure:
            print(f"-- {name}: {failure}", flush=True)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
