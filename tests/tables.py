#!/usr/bin/env python3
"""Runs the commands of the tables of a page, in the folder of its traces: tests/tables.py TIER PAGE FOLDER.

A row of such a table is: item or step, what it is, a command, texts of its output. The command has to end with exit
code 0, or 1 where its help states this for a finding; all texts have to be in what it prints or writes with -o. In
place of a command a row says why there is none: `missing: ...` or `not here: ...`. On the page of the papers each item
that ITEMS counts has a row. In the tier `first` commands that start jobs or measure are left out.
tests/documentation.sh makes the traces and calls this."""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROMAN = ["I", "II", "III", "IV", "V", "VI"]
# What the texts number themselves, by the start of the heading.
ITEMS = {
    "Roth": [f"eq. 4.{i}" for i in range(1, 7)]
    + ["fig. 1.1", "fig. 1.2", "fig. 3.1", "table 3.1", "table 3.2", "table 4.1", "table 4.2", "table 4.3"]
    + [f"fig. 4.{i}" for i in range(1, 19)]
    + [f"listing 4.{i}" for i in range(1, 5)],
    "Hunold": [f"table {number}" for number in ROMAN]
    + [f"fig. {i}" for i in range(1, 45)]
    + [f"alg. {i}" for i in range(1, 23)],
    "Hoefler": [f"listing {i}" for i in range(1, 7)] + [f"fig. {i}" for i in range(1, 12)],
    "Lastovetsky": ["fig. 1", "fig. 2", "table 1"],
    "McCalpin": ["t0 to t3"],
}
# Seconds that one command may take.
LIMIT = 120


def rows(page):
    """The rows behind the mark, each with its heading."""
    heading, is_marked = "", False
    for line in open(page, encoding="utf-8"):
        if line.startswith("## "):
            heading = line[3:].strip()
        is_marked = is_marked or line.strip() == "<!-- run the commands of the tables -->"
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if is_marked and line.startswith("| ") and cells[0] not in ("item", "step"):
            yield heading, cells


def may_find(command, folder, known={}):
    """True if the help of the last command states exit code 1."""
    words = re.findall(r"mpitrace((?: [a-z]+)+)", command)[-1].split()
    words = words[:2] if words[0] == "benchmark" else words[:1]
    key = " ".join(words)
    if key not in known:
        text = subprocess.run(["mpitrace", *words, "--help"], cwd=folder, capture_output=True, text=True).stdout
        known[key] = "exit code 1" in " ".join(text.lower().split())
    return known[key]


def run(command, folder):
    """What a command printed and wrote, and what is wrong with its end."""
    try:
        ran = subprocess.run(
            ["bash", "-ec", command], cwd=folder, capture_output=True, text=True, errors="replace", timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return "", f"took more than {LIMIT} s"
    output = ran.stdout + ran.stderr
    wrong = None
    if ran.returncode and not (ran.returncode == 1 and may_find(command, folder)):
        wrong = f"ended with {ran.returncode}"
    for name in re.findall(r" -o (\S+\.(?:svg|csv|html|reprompi))", command):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            output += open(path, encoding="utf-8").read()
        else:
            wrong = wrong or f"did not write {name}"
    return output, wrong


def main():
    tier, page, folder = sys.argv[1:]
    wrong, wanted, counts = [], {}, {"commands": 0, "missing": 0, "not here": 0}
    table = list(rows(page))
    for heading, cells in table:
        item = f"{heading}, {cells[0]}"
        if len(cells) != 4:
            wrong.append(f"{item}: {len(cells)} cells, not 4")
            continue
        command = re.fullmatch(r"`([^`]+)`", cells[2])
        expected = re.findall(r"`([^`]+)`", cells[3])
        reason = re.match(r"(missing|not here): .", cells[2])
        if command and expected:
            counts["commands"] += 1
            wanted.setdefault(command[1], []).append((item, expected))
        elif reason and not cells[3]:
            counts[reason[1]] += 1
        else:
            wrong.append(f"{item}: neither a command with a text of its output, nor `missing: ` or `not here: `")
    # Another page has other tables.
    headings = [heading for heading, _ in table]
    is_of_papers = any(heading.startswith(start) for heading in headings for start in ITEMS)
    for start, items in ITEMS.items() if is_of_papers else ():
        known = [cells[0] for heading, cells in table if heading.startswith(start)]
        for item in items:
            if not any(re.match(re.escape(item) + r"(?![0-9.])", cell) for cell in known):
                wrong.append(f"{start}: no row of {item}")
    written = {}
    for command in wanted:
        for name in set(re.findall(r" -o (\S+)", command)):
            if written.setdefault(name, command) != command:
                wrong.append(f"two commands write {name}: {command} and {written[name]}")
    # Jobs one after the other: they want the processors for themselves. What reads a trace goes beside.
    jobs = [command for command in wanted if re.search(r"mpitrace (run|overhead|doctor)\b", command)]
    others = [command for command in wanted if command not in jobs]
    started = time.monotonic()
    results = {command: run(command, folder) for command in jobs if tier != "first"}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results.update(zip(others, pool.map(lambda command: run(command, folder), others)))
    for command, (output, failure) in results.items():
        for item, expected in wanted[command]:
            lost = [text for text in expected if text not in output]
            if failure or lost:
                why = failure or f"its output has no {', '.join(lost)}"
                wrong.append(f"{item}: {command}\n{why}; it was:\n{output[-1500:]}")
    for line in wrong:
        print(f"{page}: {line}")
    seconds = time.monotonic() - started
    print(
        f"{len(table)} rows: {counts['commands']} with a command, {counts['missing']} missing, {counts['not here']} not "
        f"here; {len(results)} of {len(wanted)} commands run in {seconds:.1f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
