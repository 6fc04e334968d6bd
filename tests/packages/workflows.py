#!/usr/bin/env python3
"""The steps of a workflow of GitHub Actions that are commands: their names, or the commands of one of them.

    tests/packages/workflows.py FILE [NAME]

It reads the part of YAML that the workflows of this repository use, and refuses what it does not know.
"""

import pathlib
import sys
import textwrap


def steps(path):
    """(name, commands) of each step that has commands; a step that uses an action has the action's name, and None."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    assert not any("\t" in line for line in lines), f"{path}: a tab"
    found, name, number = [], None, 0
    inside = [index for index, line in enumerate(lines) if line.strip() == "steps:"]
    assert inside, f"{path}: no steps"
    for start in inside:
        number = start + 1
        while number < len(lines) and (not lines[number].strip() or lines[number].startswith(" " * 6)):
            key, _, value = lines[number].strip().removeprefix("- ").partition(": ")
            if lines[number].startswith("      - "):
                name = value if key == "name" else None
                assert key in ("name", "uses"), f"{path}:{number + 1}: a step begins with name or uses"
                if key == "uses":
                    found.append((value, None))
            elif key == "run" and value == "|":
                block = []
                while number + 1 < len(lines) and (lines[number + 1][:10].strip() == ""):
                    number += 1
                    block.append(lines[number])
                found.append((name, textwrap.dedent("\n".join(block))))
            elif key == "run":
                found.append((name, value))
            number += 1
    assert all(name for name, _ in found), f"{path}: a step without a name"
    return found


def main():
    path, *names = sys.argv[1:]
    if not names:
        print("\n".join(name for name, run in steps(path) if run is not None))
        return
    commands = [run for name, run in steps(path) if name == names[0] and run is not None]
    if len(commands) != 1:
        sys.exit(f"{path}: {len(commands)} steps are called {names[0]}")
    print(commands[0])


if __name__ == "__main__":
    main()
