#!/usr/bin/env python3
"""Counts the product lines of the work tree: tests/lines.py

A product line is a line, comments and blank lines included, of Rust, JavaScript, a C header or Python that ships.
Not counted: tests, benchmarks, examples and inline test modules; packaging, the example scripts and the pages. The
crates `laboratory` and `testing` are listed apart. Files are those that git knows (`git ls-files`).
"""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = (".rs", ".js", ".h", ".py")
NOT_SHIPPED = re.compile(r"(^|/)(tests?|benches|examples)/|tests?\.rs$|^(LD_PRELOAD|packaging|docs)")
APART = ("laboratory", "testing")


def product_lines(text: str) -> int:
    """The lines of a file without its inline test modules (`#[cfg(test)] mod NAME { ... }`)."""
    lines = text.split("\n")
    count = i = 0
    while i < len(lines):
        opens_module = i + 1 < len(lines) and re.match(r"\s*(pub )?mod \w+ \{", lines[i + 1])
        if lines[i].strip() == "#[cfg(test)]" and opens_module:
            indent = len(lines[i + 1]) - len(lines[i + 1].lstrip())
            i += 2
            while i < len(lines) and not lines[i].startswith(" " * indent + "}"):
                i += 1
        else:
            count += 1
        i += 1
    return count


def part(name: str) -> str:
    """The part of the project that a file belongs to: a crate of src/, else the top folder."""
    folders = name.split("/")
    return "/".join(folders[:2]) if folders[0] == "src" else folders[0]


def is_apart(name: str) -> bool:
    return name.split("/")[-1] in APART


def main() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    counts: dict[str, int] = {}
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        # A file that was deleted and is still known to git has no lines.
        if not name.endswith(SUFFIXES) or NOT_SHIPPED.search(name) or not path.exists():
            continue
        lines = product_lines(path.read_text(errors="replace"))
        counts[part(name)] = counts.get(part(name), 0) + lines
    product = sum(count for name, count in counts.items() if not is_apart(name))
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:7} {name}" + (" (apart)" if is_apart(name) else ""))
    print(f"{product:7} product lines, without {' and '.join(APART)}")


if __name__ == "__main__":
    main()
