#!/usr/bin/env python3
"""Reads the sentences about the traces of the tests, and holds them against the JSON of the same traces:
tests/sentences.py MPITRACE FOLDER [ONE OF]

Of each trace below the folder, or of one of so many, it reads what `summary`, `diagnose` and `categorize` print, and of
some the page. It fails where

* a time, share or count of a sentence is none of the numbers of the JSON, rounded to the digits shown
* a share is above 100 %, or the shares of the parts of the time are together
* a reason for which a rank is late has more seconds than the rank has of it for each rank that can have waited
* the rank that the others wait for waited longer itself than it was waited for
* a command to go on with is the present one, or a shell would not run it

tests/run.sh calls it when the whole programs have run."""

import bisect
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# Seconds that one command may take.
LIMIT = 60
# Of so many traces one has its page read.
PAGES = 8
NS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
# How far the parts of a time may be from adding up: errors of clocks.
SLACK = 1.02
OFF = ("preempted_s", "asleep_s", "throttled_s", "unknown_s")


class Numbers:
    """The numbers of a JSON document by what they count: times in ns, shares, and all others."""

    def __init__(self, document):
        self.times, self.shares, self.others = [], [], []
        self.add("", document)
        self.sort()

    def add(self, key, value):
        if isinstance(value, dict):
            if value.get("unit") == "ns":
                self.times += [value["median"], value["median_others"]]
            for name, inner in value.items():
                # The parts of a time are keyed by their names.
                self.add(key if key in ("parts", "lost_s") else name, inner)
        elif isinstance(value, list):
            self.others.append(len(value))
            for inner in value:
                self.add(key, inner)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            if key.endswith("_ns"):
                self.times.append(value)
            elif key.endswith("_s") or key in ("seconds", "parts", "seconds_most", "lost_s"):
                self.times.append(1e9 * value)
            elif isinstance(value, float):
                self.shares.append(value)
            self.others.append(value)

    def sort(self):
        self.times.sort()
        self.shares.sort()
        self.others.sort()


def is_among(value, half, numbers):
    """True if one of the sorted numbers rounds to this value, which is shown with an error of at most `half`."""
    half = 1.001 * half + 1e-9 * abs(value)
    at = bisect.bisect_left(numbers, value - half)
    return at < len(numbers) and numbers[at] <= value + half


def shown(text):
    """The value of a printed number, and half of its last digit."""
    digits = text.split("e")[0]
    decimals = len(digits.partition(".")[2])
    exponent = int(text.partition("e")[2] or 0)
    return float(text), 0.5 * 10.0 ** (exponent - decimals)


def without_names(line):
    """The line without what is a name and may have digits: functions with their sizes, calls, operations, places in the
    program, signals, tags, communicators, and ranks by their numbers."""
    line = re.sub(r"MPI_\w+(?: of \d+ bytes?)?", "CALL", line)
    line = re.sub(r"call \d+ of \S+|exit code \d+|signal \d+ \(\w+\)|tag -?\d+|comm-\d+", "NAME", line)
    line = re.sub(r"\S+:\d+\b|\S+\+0x[0-9a-f]+", "NAME", line)
    line = re.sub(r"\(operation \d+\)", "", line)
    return re.sub(r"\branks? \d+(?:(?:-|, | and )\d+)*", "RANK", line)


def numbers_of(line):
    """The times (ns), shares and counts of a line, each as (text, value, half of the last digit)."""
    times, shares, counts = [], [], []

    def take(pattern, into, scale):
        nonlocal line
        for match in list(re.finditer(pattern, line)):
            factor = scale(match.groupdict().get("unit"))
            for text in (match["one"], match.groupdict().get("two")):
                if text:
                    value, half = shown(text)
                    into.append((match[0], factor * value, factor * half))
        line = re.sub(pattern, "N", line)

    # Limits of the companion's own, a rate that would be enough, and modes by their run times.
    line = re.sub(r"No loss of [\d.]+ %|`mpitrace run --sample \d+`", "NAME", line)
    line = re.sub(rf"\baround {NUMBER} (?:ns|µs|ms|s)\b", "around NAME", line)
    take(rf"(?P<one>{NUMBER}) to (?P<two>{NUMBER}) (?P<unit>ns|µs|ms|s)\b", times, NS.get)
    take(rf"(?P<one>{NUMBER}) (?P<unit>ns|µs|ms|s)\b", times, NS.get)
    take(r"less than (?P<one>0\.1) %", [], lambda _: 0.01)
    take(rf"(?P<one>{NUMBER}) to (?P<two>{NUMBER}) %", shares, lambda _: 0.01)
    take(rf"(?P<one>{NUMBER}) %", shares, lambda _: 0.01)
    line = without_names(line)
    take(r"(?<![\w.+-])(?P<one>\d+)(?![\w.%])", counts, lambda _: 1.0)
    return times, shares, counts


class Trace:
    """One trace, and what is wrong with the sentences about it."""

    def __init__(self, mpitrace, path):
        self.mpitrace, self.path, self.wrong, self.sentences = mpitrace, path, [], 0
        self.with_page = False

    def run(self, *arguments):
        ran = subprocess.run(
            [self.mpitrace, *arguments], capture_output=True, text=True, errors="surrogateescape", timeout=LIMIT
        )
        return ran.stdout if ran.returncode in (0, 1) else None

    def json(self, *arguments):
        text = self.run(*arguments, "--json")
        return json.loads(text) if text else None

    def say(self, why, line):
        self.wrong.append(f"{self.path}: {why}: {line}")

    def hold(self, line, numbers, more=()):
        """Holds the numbers of a line against those of the JSON, and of `more` of the same kinds."""
        self.sentences += 1
        times, shares, counts = numbers_of(line)
        for text, value, half in times:
            if value and not is_among(value, half, numbers.times):
                self.say(f"no time of its JSON is {text}", line)
        # `12 of 59 (20 %)`: what it is a share of stands beside it.
        beside = [int(one) / int(all) for one, all in re.findall(r"(\d+) of (?:the |all )?(\d+)", line) if int(all)]
        for text, value, half in shares:
            if is_among(value, half, sorted(beside)):
                continue
            if value > 1.0 + half:
                self.say(f"{text} is more than all", line)
            if value and not is_among(value, half, numbers.shares):
                self.say(f"no share of its JSON is {text}", line)
        for text, value, half in counts:
            if not is_among(value, half, numbers.others):
                self.say(f"no number of its JSON is {text}", line)

    def check(self):
        summary = self.json("summary", self.path)
        if summary:
            self.check_summary(summary)
        diagnosed = self.json("diagnose", self.path)
        for row in diagnosed["rows"] if diagnosed else []:
            numbers = Numbers(row)
            extra = [time for time in row["times"] if time["extra_s"] > 0]
            numbers.others.append(sum(hot["samples"] for hot in row["hot"]))
            numbers.shares += [min(1.0, time["unexplained_s"] / time["extra_s"]) for time in extra]
            numbers.sort()
            for sentence in row["sentences"]:
                self.hold(sentence, numbers)
        categorized = self.json("categorize", self.path)
        notes = ("not_one_level", "slow_every", "late_change")
        if categorized and any(row[note] for row in categorized["rows"] for note in notes):
            # The notes stand behind the table, each with the number of its operation.
            rows = {row["operation"]: Numbers(row) for row in categorized["rows"]}
            for line in unwrapped(self.run("categorize", self.path)):
                match = re.match(r"operation (\d+): ", line)
                if match and int(match[1]) in rows:
                    self.hold(line[match.end() :], rows[int(match[1])])
        if summary and self.with_page:
            self.check_page(summary)

    def check_summary(self, summary):
        text = self.run("summary", self.path)
        lines = unwrapped(text)
        numbers = Numbers(summary)
        running, ranks = summary["running_s"], max(1, summary["ranks"])
        parts = summary["parts"]
        sums = [parts[name] for name in parts]
        off = sum(parts[name] for name in ("preempted", "asleep", "throttled"))
        sums += [off, off + parts["interrupted"], parts["init"] + parts["waiting_init"]]
        by = summary["off_processor_by"] or {"preempted_s": 0.0, "throttled_s": 0.0}
        sums += [by["preempted_s"] + by["throttled_s"], summary["off_processor_s"] or 0.0]
        sample = summary["sample"]
        sums += [sample["waiting_least_s"], sample["waiting_most_s"]] if sample else []
        if running:
            numbers.shares += [value / running for value in sums]
        # MPI_Init, MPI_Finalize and the tracer stand as the mean of the ranks, and as a share of the whole.
        numbers.times += [1e9 * value / ranks for value in sums]
        if summary["rank_seconds"]:
            beside = parts["init"] + parts["waiting_init"] + parts["finalize"]
            numbers.shares.append(beside / summary["rank_seconds"])
        not_kept = [(all["calls"] - all["kept"], all) for all in summary["all_calls"]]
        numbers.others += [
            sum(calls for calls, _ in not_kept),
            sum(calls for calls, _ in not_kept) - sum(all["timed"] for _, all in not_kept),
        ]
        late = summary["late_ranks"]
        reasons = {}
        for reason in (reason for of in late for reason in of["reasons"]):
            reasons[reason["because"]] = reasons.get(reason["because"], 0.0) + reason["seconds"]
        totals = [sum(of["seconds"] for of in every) for every in (late, summary["late_partners"])]
        totals += reasons.values()
        totals += [sum(of[name] for of in summary["off_ranks"]) for name in OFF]
        numbers.times += [1e9 * value for value in totals]
        by_rank = self.json("summary", self.path, "--by", "rank")
        rows = by_rank["rows"] if by_rank else []
        for row in (row for row in rows if row["parts"]):
            whole = sum(row["parts"].values())
            numbers.shares += [value / whole for value in row["parts"].values() if whole]
        defects = ("not_called", "not_completed", "amounts", "not_matched", "different_types", "left_out")
        numbers.others.append(summary["mismatched"] + sum(len(summary[name]) for name in defects) - 1)
        numbers.sort()
        info = None
        for line in lines:
            if summary["ended"] and line == summary["ended"]["sentence"]:
                # `info` has the verdict in full.
                info = info or Numbers([summary, self.json("info", self.path)])
                self.hold(line, info)
            elif not line.startswith("Next: "):
                self.hold(line, numbers)
        self.check_parts(lines)
        self.check_late(summary, rows)
        self.check_next(summary, lines)

    def check_parts(self, lines):
        """The shares of the parts of the time stand in one line."""
        for line in lines:
            if re.match(r"(at least )?[\d.]+ % (computing|waiting|off|in|communicating|since|for|delayed)", line):
                shares = [value for _, value, _ in numbers_of(line.partition(";")[0])[1]]
                if sum(shares) > SLACK:
                    self.say("the parts are more than all", line)

    def check_late(self, summary, rows):
        rows = {int(row["name"].split()[1]): row for row in rows}
        others = max(0, len(rows) - 1)
        for late in summary["late_ranks"]:
            row = rows.get(late["rank"])
            if not row or not row["parts"]:
                continue
            off = row["off_processor_by"]
            for reason in late["reasons"]:
                limit = None
                if reason["because"] == "computing" and row["parts"]["computing"] > 0:
                    limit = row["parts"]["computing"]
                elif reason["because"] == "asleep" and off:
                    limit = off["asleep_s"] + off["unknown_s"]
                if limit is not None and reason["seconds"] > SLACK * others * limit + 1e-9:
                    self.say(
                        f"rank {late['rank']} is late by {reason['seconds']} s of {reason['because']}, of which it has "
                        f"{limit} s, for {others} ranks",
                        summary["verdict"],
                    )
        match = re.match(r"The others wait for rank (\d+) ", summary["verdict"])
        if match:
            rank = int(match[1])
            late = next((late for late in summary["late_ranks"] if late["rank"] == rank), None)
            if not late or late["share"] < 0.5:
                self.say("the rank is not the one that the others wait for", summary["verdict"])
            elif rank in rows and rows[rank]["parts"] and late["seconds"] * SLACK < rows[rank]["parts"]["waiting"]:
                self.say("the rank waits longer than the others wait for it", summary["verdict"])

    def check_page(self, summary):
        """The page says first what the summary says first."""
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            if self.run("report", self.path, "-o", page) is None:
                return
            text = html.unescape(re.sub(r"<[^>]*>", "", open(page, encoding="utf-8").read()))
        first = summary["ended"]["sentence"] if summary["ended"] else summary["verdict"]
        self.sentences += 1
        if " ".join(first.split()) not in " ".join(text.split()):
            self.say("the page does not say it", first)

    def check_next(self, summary, lines):
        command = next((line[6:] for line in lines if line.startswith("Next: ")), None)
        if command != summary["next"]:
            self.say(f"the JSON has another command, {summary['next']}", command)
        if not command:
            return
        # As a shell reads it.
        read = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True)
        if read.returncode:
            return self.say("no shell reads it", command)
        words = [word.decode(errors="surrogateescape") for word in read.stdout.split(b"\0")[:-1]]
        if words[0] != "mpitrace" or words[1:] == ["summary", self.path]:
            self.say("no command to go on with", command)
        elif self.run(*words[1:]) is None:
            self.say("the command fails", command)


def unwrapped(text):
    """The lines of a page, whose continued lines begin with blanks."""
    lines = []
    for line in text.splitlines():
        if line.startswith("  ") and lines:
            lines[-1] += " " + line.strip()
        elif line:
            lines.append(line)
    return lines


def main():
    mpitrace, folder, *rest = sys.argv[1:]
    one_of = int(rest[0]) if rest else 1
    found = sorted(
        os.path.join(place, name)
        for place, folders, names in os.walk(folder)
        for name in [*names, *folders]
        if name.endswith(".mpitrace")
    )
    traces = [Trace(os.path.abspath(mpitrace), os.path.abspath(path)) for path in found[::one_of]]

    for trace in traces[::PAGES]:
        trace.with_page = True

    def check(trace):
        try:
            trace.check()
        except subprocess.TimeoutExpired as error:
            trace.say(f"took more than {LIMIT} s", " ".join(error.cmd))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(check, traces))
    wrong = [line for trace in traces for line in trace.wrong]
    print("\n".join(wrong).encode(errors="backslashreplace").decode())
    print(f"{sum(trace.sentences for trace in traces)} sentences about {len(traces)} traces, {len(wrong)} wrong")
    return 1 if wrong or not traces else 0


if __name__ == "__main__":
    sys.exit(main())
