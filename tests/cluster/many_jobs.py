"""many_jobs.py COMPANION FOLDER NODE: the answers of `mpitrace jobs` over what many_jobs.sh left, beside what was done."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

companion, folder, slow = sys.argv[1:]
os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"


def jobs(*options):
    done = subprocess.run([companion, "jobs", f"{folder}/traces", *options], capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    return done.stdout


truth = {}
for file in Path(folder).glob("*.truth"):
    for line in file.read_text().splitlines():
        name, library, kind, nodes, fate, code = line.split()
        truth[name] = {"library": library, "kind": kind, "nodes": nodes, "fate": fate, "code": int(code)}

rows = json.loads(jobs("--sort", "loss", "--json"))["rows"]
# A run of which not all could be written or recovered at once has a file NAME.rank2.mpitrace or NAME.2.mpitrace.
found = {Path(row["file"]).name.split(".")[0] + ".mpitrace": row for row in rows}
print(f"{len(truth)} jobs, {len(rows)} rows; without a row: {sorted(set(truth) - set(found))}")
print("how they ended, by what was done:")
for (fate, ended), count in sorted(Counter((truth[name]["fate"], row["ended"]) for name, row in found.items()).items()):
    print(f"  {fate:8} {ended:24} {count}")
wrong = [name for name, row in found.items() if (row["ended"] == "finished") != (truth[name]["code"] == 0)]
print(f"finished, but the launcher failed, or the other way round: {wrong}")
wrong = [
    name
    for name, row in found.items()
    if ",".join(sorted((host["host"] for host in row["hosts"]), key=lambda host: int(host[1:]))) != truth[name]["nodes"]
]
print(f"on other nodes than they ran on: {wrong}")
lost = [name for name, row in found.items() if truth[name]["fate"] == "lost" and row["ended"] == "finished"]
finished = [row for row in rows if row["ended"] == "finished"]
worst = finished[-len(lost) :]
print(f"of the {len(lost)} jobs in which a rank computes three times as much, among as many that lost most:",
      sum(Path(row["file"]).name in lost for row in worst))
named = [name for name in lost if (found[name]["largest_loss"] or {}).get("rank") == 1]
print(f"whose largest loss is that of this rank: {len(named)}")
print(f"the slow node is {slow}; stencil computes more from the middle on. `mpitrace jobs` ends with:")
lines = jobs().splitlines()
print("\n".join("  " + line for line in lines if line.startswith("Node ") or " takes " in line))
print("\n".join(jobs("--by", "node").splitlines()))
