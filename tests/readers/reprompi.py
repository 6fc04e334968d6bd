"""Reads ReproMPI's raw output by its titles, as R's read.table(header = TRUE, comment.char = "#") does: for each test
and message size the run time of each repetition, in seconds, as JSON.
"""
import json
import sys

settings, titles, jobs = {}, None, {}
for line in open(sys.argv[1]):
    if line.startswith("#"):
        key, _, value = line[2:].rstrip("\n").partition("=")
        if line.startswith("#@"):
            settings[key] = value
    elif titles is None:
        titles = line.split()
    else:
        fields = line.split()
        assert len(fields) == len(titles), line
        row = dict(zip(titles, fields))
        job = jobs.setdefault(f"{row['test']} {row['msize_bytes']}", {})
        if "runtime_sec" in row:
            assert row["nrep"] not in job, line
            time = float(row["runtime_sec"])
        else:
            time = float(row["loc_tend_sec"]) - float(row["loc_tstart_sec"])
            assert float(row["gl_tend_sec"]) >= float(row["gl_tstart_sec"]), line
        job[row["nrep"]] = max(time, job.get(row["nrep"], 0.0))
json.dump({"settings": settings, "titles": titles, "jobs": jobs}, sys.stdout)
