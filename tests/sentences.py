#!/usr/bin/env python3
"""Reads the sentences about the traces of the tests, and holds them against the JSON of the same traces:
tests/sentences.py MPITRACE FOLDER [ONE OF]

Of each trace below the folder, or of one of so many, it reads what `summary`, `diagnose` and `categorize` print, and of
some the page; of two that lie in one folder what `compare` prints (tests/compared.py). It fails where

* a time, share or count of a sentence is none of the numbers of the JSON, rounded to the digits shown
* a share is above 100 %, or the shares of the parts of the time are together
* a reason for which a rank is late has more seconds than the rank has of it for each rank that can have waited
* the rank that the others wait for waited longer itself than it was waited for
* a command to go on with is the present one, or a shell would not run it

tests/run.sh calls it when the whole programs have run."""

import html
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from compared import Pair
from spoken import LIMIT, Numbers, Reader, is_among, numbers_of, unwrapped

# Of so many traces one has its page read.
PAGES = 8
# How far the parts of a time may be from adding up: errors of clocks.
SLACK = 1.02
OFF = ("preempted_s", "asleep_s", "throttled_s", "unknown_s")


class Trace(Reader):
    """One trace."""

    with_page = False

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
            return
        # It may write a picture.
        with tempfile.TemporaryDirectory() as folder:
            if self.run(*words[1:], folder=folder) is None:
                self.say("the command fails", command)


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
    beside = [both for both in zip(found, found[1:]) if os.path.dirname(both[0]) == os.path.dirname(both[1])]
    pairs = [Pair(os.path.abspath(mpitrace), [os.path.abspath(path) for path in both]) for both in beside[::one_of]]

    def check(trace):
        try:
            trace.check()
        except subprocess.TimeoutExpired as error:
            trace.say(f"took more than {LIMIT} s", " ".join(error.cmd))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(check, [*traces, *pairs]))
    wrong = [line for one in [*traces, *pairs] for line in one.wrong]
    print("\n".join(wrong).encode(errors="backslashreplace").decode())
    said, read = sum(one.sentences for one in [*traces, *pairs]), sum(pair.sentences > 0 for pair in pairs)
    print(f"{said} sentences about {len(traces)} traces and {read} pairs of them, {len(wrong)} wrong")
    return 1 if wrong or not traces else 0


if __name__ == "__main__":
    sys.exit(main())
