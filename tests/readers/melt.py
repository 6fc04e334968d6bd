"""Reads the thesis' four columns: for each repetition the maximum over the ranks, and the median of those, as JSON."""
import csv
import gzip
import json
import statistics
import sys

path = sys.argv[1]
longest, counters = {}, {}
with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as lines:
    for row in csv.DictReader(lines):
        iteration, rank, value = int(row["iteration"]), int(row["rank"]), float(row["value"])
        if row["metric"] == "runtime":
            longest[iteration] = max(value, longest.get(iteration, 0.0))
        else:
            counters.setdefault(row["metric"], {})[f"{iteration} {rank}"] = value
json.dump({"median_ns": statistics.median(longest.values()), "run_time_ns": longest, "counters": counters}, sys.stdout)
