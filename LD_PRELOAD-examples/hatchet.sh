#!/bin/bash
# A trace as a tree of Hatchet (pip install llnl-hatchet): call sites, below them their operations, with times in s and
# their parts, summed over the ranks. PYTHON names the interpreter that has Hatchet.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
target=$(realpath "${CARGO_TARGET_DIR:-target}")
mpitrace=$target/release/mpitrace
python=${PYTHON:-python3}
"$python" -c 'import hatchet' 2>/dev/null || skip "no Hatchet for $python (PYTHON names another interpreter)"
command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "no mpicc and mpirun"
folder=$(mktemp -d)
mpicc -O1 -g -o "$folder/program" LD_PRELOAD-examples/warm_up.c
cd "$folder"
"$mpitrace" run --call-sites -o app.mpitrace -- mpirun -np 2 ./program
"$mpitrace" info app.mpitrace --json >info.json
"$mpitrace" export app.mpitrace --format json -o calls.json

cat >tree.py <<'END'
import json
from collections import Counter

import hatchet

sums = {}
for call in json.load(open("calls.json"))["rows"]:
    if call["exit_ns"] is not None:
        of = sums.setdefault(call["operation"], Counter())
        of["calls"] += 1
        of["time"] += (call["exit_ns"] - call["enter_ns"]) * 1e-9
        for part in ["waiting_ns", "interrupted_ns"]:
            of[part.replace("_ns", "_s")] += (call.get(part) or 0) * 1e-9

sites = {}
for operation in json.load(open("info.json"))["operations"]:
    site = (operation["call_site"] or {"text": "program"})["text"]
    name = "{operation}: {function} of {bytes} bytes on {communicator}".format(**operation)
    metrics = dict.fromkeys(["calls", "time", "waiting_s", "interrupted_s"], 0) | sums.get(operation["operation"], {})
    node = {"frame": {"name": name, "type": "function"}, "metrics": metrics}
    sites.setdefault(site, []).append(node)
zero = dict.fromkeys(["calls", "time", "waiting_s", "interrupted_s"], 0)
roots = [
    {"frame": {"name": site, "type": "function"}, "metrics": zero, "children": nodes} for site, nodes in sites.items()
]
frame = hatchet.GraphFrame.from_literal(roots)
frame.exc_metrics = ["time", "calls", "waiting_s", "interrupted_s"]
frame.update_inclusive_columns()
print(frame.tree(metric_column="time (inc)"))
print(frame.dataframe.nlargest(3, "time")[["name", "calls", "time", "waiting_s"]].to_string(index=False))
END
"$python" tree.py
rm -r "$PWD"
