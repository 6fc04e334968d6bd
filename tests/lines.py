#!/usr/bin/env python3
"""Watches over the rooms: tests/lines.py

A crate is a folder with a Cargo.toml. Fails where

* a crate has more product lines than 12,000; `interpose`, which is one crate for the sake of inlining, than 25,000;
* a folder of a crate's sources has more than 4,000 and holds files beside folders, other than lib.rs, main.rs, mod.rs and
  tests: each file then belongs into one of the folders;
* a crate lies inside another one's folder;
* the preloaded library links more than 36,300 (it had 31,554 when this was first counted, 36,000 before functions of
  one rank were seen and the parameters of all were known, 36,200 before it recorded when its process was started, and
  36,250 before counters had a value of the time between calls): say why, and raise it here;
* the subject of a commit behind the first one that this holds for has more than 72 characters; without that commit, as
  in an archive, none is looked at.

A product line is a line, comments and blank lines included, of Rust, JavaScript, a C header or Python that ships. Not
counted: tests, benchmarks, examples and inline test modules; packaging, the example scripts and the pages. Files are
those that git knows (`git ls-files`).
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = (".rs", ".js", ".h", ".py")
NOT_SHIPPED = re.compile(r"(^|/)(tests?|benches|examples)/|tests?\.rs$|^(LD_PRELOAD|packaging|docs)")
IS_TEST = re.compile(r"tests?\.rs$")

MOST_OF_A_CRATE = 12_000
MOST_OF = {"interpose": 25_000}
MOST_OF_A_FOLDER = 4_000
# What libmpitrace.so consists of, and how much that may be.
LINKED = ("interpose", "src/format", "src/functions", "src/platform", "src/synchronise")
MOST_LINKED = 36_300
MOST_OF_A_SUBJECT = 72
# Behind this commit.
WATCHED_BEHIND = "3a53f447d3c31414f8bbcf138b0706f25b7e0331"


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


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


def crate_of(name: str, crates: list[str]) -> str:
    """The crate that a file belongs to; a file of none counts for its top folder."""
    holding = [crate for crate in crates if name.startswith(crate + "/")]
    return max(holding, key=len, default=name.split("/")[0])


def folders_of(crate: str, files: dict[str, int]) -> list[tuple[str, int, list[str]]]:
    """Each folder of a crate's sources that has folders: its product lines, and the files that lie beside these."""
    inner = crate + "/src"
    top = inner if any(name.startswith(inner + "/") for name in files) else crate
    inside = [name for name in files if name.startswith(top + "/")]
    found = []
    parents = {str(parent) for name in inside for parent in pathlib.PurePosixPath(name).parents}
    for folder in sorted(parent for parent in parents if parent == top or parent.startswith(top + "/")):
        below = [name for name in inside if name.startswith(folder + "/")]
        loose = [name for name in below if "/" not in name[len(folder) + 1 :]]
        kept = ("lib.rs", "main.rs", "mod.rs", "build.rs")
        loose = [name for name in loose if name.split("/")[-1] not in kept and not IS_TEST.search(name)]
        if any("/" in name[len(folder) + 1 :] for name in below):
            found.append((folder, sum(files[name] for name in below), loose))
    return found


def long_subjects() -> list[str]:
    """The subjects of later commits that are too long."""
    known = subprocess.run(["git", "merge-base", "--is-ancestor", WATCHED_BEHIND, "HEAD"], cwd=ROOT, capture_output=True)
    if known.returncode != 0:
        return []
    subjects = git("log", "--no-merges", "--format=%s", f"{WATCHED_BEHIND}..HEAD").splitlines()
    return [subject for subject in subjects if len(subject) > MOST_OF_A_SUBJECT]


def main() -> int:
    names = [name for name in git("ls-files", "-z").split("\0") if name and (ROOT / name).exists()]
    crates = sorted(name.rpartition("/")[0] for name in names if name.endswith("/Cargo.toml"))
    shipped = [name for name in names if name.endswith(SUFFIXES) and not NOT_SHIPPED.search(name)]
    files = {name: product_lines((ROOT / name).read_text(errors="replace")) for name in shipped}
    counts: dict[str, int] = {}
    for name, count in files.items():
        crate = crate_of(name, crates)
        counts[crate] = counts.get(crate, 0) + count
    for crate, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:7} {crate}")
    linked = sum(counts[crate] for crate in LINKED)
    print(f"{linked:7} product lines that the preloaded library links, of {MOST_LINKED}")

    wrong = []
    for crate, count in counts.items():
        most = MOST_OF.get(crate, MOST_OF_A_CRATE)
        if count > most:
            wrong.append(f"{crate} has {count} product lines, more than {most}")
    if linked > MOST_LINKED:
        wrong.append(f"the preloaded library links {linked} product lines, more than {MOST_LINKED}")
    for outer in crates:
        wrong += [f"{inner} is a crate inside {outer}" for inner in crates if inner.startswith(outer + "/")]
    for crate in crates:
        for folder, count, loose in folders_of(crate, files):
            if count > MOST_OF_A_FOLDER and loose:
                held = ", ".join(name[len(folder) + 1 :] for name in loose)
                wrong.append(f"{folder} has {count} product lines and holds files beside folders: {held}")
    wrong += [f"a commit's subject has more than {MOST_OF_A_SUBJECT} characters: {subject}"
              for subject in long_subjects()]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
