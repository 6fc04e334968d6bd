"""many_jobs.py COMPANION FOLDER NODE: the answers of `mpitrace jobs` over what many_jobs.sh left, beside what was done.

Exit code 1 if an answer is wrong: how each job ended, and on the first screen of 100 columns the job that lost most, the
jobs that hung, aborted and were killed, the slow node and no other one, and the program that became slower."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

# A screen, in lines and columns.
SCREEN = 40
COLUMNS = 100

companion, folder, slow = sys.argv[1:]
os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
os.environ["COLUMNS"] = str(COLUMNS)
wrong = []


def jobs(*options):
    done = subprocess.run([companion, "jobs", f"{folder}/traces", *options], capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    return done.stdout


def check(right, what):
    if not right:
        wrong.append(what)
        print(f"WRONG: {what}")


def read(ending):
    for file in sorted(Path(folder).glob(f"*.{ending}")):
        yield from (line.split() for line in file.read_text().splitlines())


truth = {}
for job, library, program, build, nodes, fate, began in read("truth"):
    truth[job] = {"library": library, "program": program, "build": build, "nodes": nodes.split(","), "fate": fate}
    truth[job]["began"] = int(began)
codes = {job: code for job, code, _ in read("codes")}
# A launcher that failed without being told to: on a busy machine Open MPI 4 fails to connect between nodes at times.
failed = {job for job, of in truth.items() if of["fate"] in ("-", "lost") and codes.get(job) != "0"}
fated = {fate: {job for job, of in truth.items() if of["fate"] == fate} for fate in ("hung", "aborted", "killed", "lost")}

rows = {row["job"]: row for row in json.loads(jobs("--json"))["rows"]}
print(f"{len(truth)} jobs, {len(rows)} rows; without a row: {sorted(set(truth) - set(rows))}; failed: {sorted(failed)}")
check(set(truth) - failed <= set(rows), "each job has a row")
print("how they ended, by what was done:")
for (fate, kind, ended), count in sorted(
    Counter((truth[job]["fate"], row["kind"], row["ended"]) for job, row in rows.items()).items()
):
    print(f"  {fate:8} {kind:10} {ended:24} {count}")
for job, row in rows.items():
    fate = truth[job]["fate"]
    if job in failed:
        continue
    check(row["kind"] == (fate if fate in ("hung", "aborted", "killed") else "finished"), f"{job}: {fate}, {row['kind']}")
    hosts = sorted((host["host"] for host in row["hosts"]), key=lambda host: int(host[1:]))
    check(hosts == truth[job]["nodes"], f"{job}: on {hosts}")
    check(not row["seconds_is_bound"], f"{job}: its end is dated")

screen = jobs().splitlines()
said = " ".join(" ".join(screen[:SCREEN]).split())
print(f"the first screen ({len(screen)} lines):")
print("\n".join("  " + line for line in screen[:SCREEN]))
check(len(screen) <= SCREEN and all(len(line) <= COLUMNS for line in screen), "it is one screen")


def named(kind):
    """The jobs that a line of this kind names."""
    line = re.search(rf"{kind.capitalize()}: (.*?) \(", said)
    return set(re.findall(r"job (\d+)", line[1] if line else ""))


for kind in ("hung", "aborted", "killed"):
    check(fated[kind] <= named(kind) <= fated[kind] | failed, f"{kind}: {named(kind)} and not {fated[kind]}")
longest = next((job for job in fated["hung"] if truth[job]["library"] == "ompi4"), None)
check(f"Most is lost by job {longest} (" in said and "hung, " in said, f"job {longest} lost most")
slow_nodes = re.findall(r"Node (\w+) is slow", said)
check(slow_nodes == [slow], f"slow nodes: {slow_nodes} and not {slow}")
slower = re.findall(r"(\w+) with 4 ranks on 4 nodes\b[^:]*? (?:computes|takes) [\d.]+ % longer since (\S+)", said)
check(slower and {program for program, _ in slower} == {"stencil"}, f"slower programs: {slower}")
check("when its build changed" in said, "the change of its build is named")

sides = [[f"--{side}", *sorted(map(str, Path(folder, "compared").glob(f"{side}.*")))] for side in "ab"]
compared = subprocess.run([companion, "compare", *sides[0], *sides[1], "--json"], capture_output=True, text=True)
sentence = json.loads(compared.stdout)["job"]["sentence"]
print(f"while {slow} is not slow and while it is: {sentence}")
check(f" on {slow}" in sentence and compared.returncode == 1, f"compare names {slow}")

try:
    import duckdb
except ImportError:
    duckdb = None
table = subprocess.run([companion, "jobs", f"{folder}/traces", "--since", "30d", "--format", "parquet"], capture_output=True)
if duckdb and table.returncode == 0:
    file = Path(folder, "jobs.parquet")
    file.write_bytes(table.stdout)
    page = Path(__file__).parent.parent.parent / "docs/jobs.md"
    query = next(line for line in page.read_text().splitlines() if line.startswith("FROM 'jobs.parquet' "))
    month = duckdb.sql(query.replace("jobs.parquet", str(file)))
    print(f"the month in one line of DuckDB ({query}):\n{month}")
    counts = Counter()
    for _, _, kind, jobs_of, _ in month.fetchall():
        counts[kind] += jobs_of
    check(counts == Counter(row["kind"] for row in rows.values()), f"the month: {counts}")
else:
    print(f"no table of a month: {table.stderr.decode().strip() or 'DuckDB is not here'}")

finished = sorted((row for row in rows.values() if row["kind"] == "finished"), key=lambda row: row["largest_loss"]["share"])
most = {row["job"] for row in finished[-len(fated["lost"]) :]}
print(f"of the {len(fated['lost'])} jobs in which a rank computes three times as much, among as many with the largest")
print(f"losses: {len(most & fated['lost'])}; whose largest loss is that of this rank:", end=" ")
print(sum((rows[job]["largest_loss"] or {}).get("rank") == 1 for job in fated["lost"] if job in rows))
print("\n".join(jobs("--by", "node").splitlines()))
print(f"{len(wrong)} wrong")
sys.exit(1 if wrong else 0)
