#!/usr/bin/env python3
"""The first day of five users, by the pages alone: tests/first_days.py [NAME...]

Each step is a command that stands in README.md, CONTRIBUTING.md or a page of docs/, word for word but for names and
folders, which are replaced as the step says, and an expected answer: what its output has to contain. A page that no
longer has the command fails, and so does one whose command answers something else. The time from the beginning of a day
to its first answer is printed.

    engineer     tunes a program: from its first line to the repair
    developer    of collectives: categories, causes, settings
    operator     of a centre: installs for all users, reads the table of jobs
    python       traces a script of mpi4py, and reads the trace in Python
    contributor  changes the code: a unit test, the companion, a command by the guide

Needs what the tests install (tests/mpi/install.sh), and the build of `cargo build --release --workspace`.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
# A command that does not end is one without an answer.
LIMIT_S = 1800


class Failure(Exception):
    """Why a day did not go as the pages say."""


def squeezed(text: str) -> str:
    return " ".join(text.split())


class Day:
    """A user's session: a folder, and the time of the first answer."""

    def __init__(self, name: str, folder: pathlib.Path):
        self.name, self.folder = name, folder
        self.began = time.monotonic()
        self.first_s = None
        self.steps = 0
        self.environment = dict(os.environ)
        path = [str(TARGET / "release"), os.environ["PATH"]]
        self.environment.update(
            PATH=":".join(path),
            CARGO_TARGET_DIR=str(TARGET),
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1",
        )
        for name in [name for name in self.environment if name.startswith(("MPITRACE_", "LD_"))]:
            del self.environment[name]

    def do(self, page: str, command: str, *expected: str, here=None, runs_as=(), code=0, setup=False) -> str:
        """Makes the step: `command` as the page has it, each pair of `runs_as` replaced before it is run."""
        if squeezed(command) not in squeezed((ROOT / page).read_text()):
            raise Failure(f"{page} does not have: {command}")
        for old, new in runs_as:
            if old not in command:
                raise Failure(f"{old} is not in: {command}")
            command = command.replace(old, str(new))
        ran = subprocess.run(
            ["bash", "-ec", command], cwd=here or self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False,
        )
        said = ran.stdout
        if ran.returncode != code:
            raise Failure(f"{page}: {command}\nended with {ran.returncode}, not {code}:\n{said[-3000:]}")
        for wanted in expected:
            if not re.search(wanted, squeezed(said)):
                raise Failure(f"{page}: {command}\ndoes not say {wanted}:\n{said[-3000:]}")
        self.steps += 1
        if self.first_s is None and expected and not setup:
            self.first_s = time.monotonic() - self.began
        return said


def engineer(day: Day) -> None:
    day.do("README.md", "LD_PRELOAD-examples/first-run.sh", r"\d ranks, [\d.]+ m?s: [\d.]+ % in MPI", here=ROOT)
    page = "docs/how-to/from-start-to-end.md"
    day.do(page, "mpicc -O2 -g -o heat LD_PRELOAD-examples/heat.c")
    said = day.do(
        page, "MPITRACE_CALLSITE=1 mpitrace run --sample 1000 -o heat.mpitrace -- mpirun -np 2 ./heat",
        r"Rank 0 computes [\d.]+ m?s longer", r"gain", r"Next: mpitrace ",
    )
    if "write_row (heat.c:" not in squeezed(said):
        raise Failure(f"the line of the fault is not named:\n{said}")
    day.do(page, "mpitrace summary heat.mpitrace --by rank --sort caused", r"others wait ms rank 0 ")
    day.do(page, "mpitrace summary heat.mpitrace --by line", r"write_row \(heat.c:\d+\)", r"relax \(heat.c:\d+\)")
    day.do(page, "mpicc -O2 -g -DEVERY=100 -o heat-repaired LD_PRELOAD-examples/heat.c")
    day.do(
        page, "mpitrace run --runs 6 --shuffle --verbose 0 -o set.mpitrace -- mpirun -np 2 ./heat --and mpirun -np 2 "
        "./heat-repaired",
    )
    day.do(
        page, 'mpitrace compare --a set.a.*.mpitrace --b set.b.*.mpitrace || echo "exit code 1: B is slower in at least '
        'one operation"', r"B takes [\d.]+ m?s .*less",
    )
    slow = "docs/how-to/slow-job.md"
    day.do(slow, "mpitrace summary job.mpitrace --by site", r"main at heat.c:\d+", runs_as=[("job", "heat")])
    day.do(slow, "mpitrace diagnose counted.mpitrace", r"MPI_\w+", runs_as=[("counted", "heat")])


def developer(day: Day) -> None:
    program = [("./program", "./repetitions")]
    subprocess.run(
        ["mpicc", "-O1", "-g", "-o", day.folder / "repetitions", ROOT / "LD_PRELOAD-examples" / "repetitions.c"],
        check=True, env=day.environment,
    )
    day.do(
        "README.md", "mpitrace run -o app.mpitrace -- mpirun -np 2 ./program", r"\d ranks, .* in MPI", runs_as=program
    )
    day.do("README.md", "mpitrace categorize app.mpitrace", r"MPI_\w+", r"good")
    day.do("README.md", "mpitrace diagnose app.mpitrace", r"MPI_\w+")
    day.do("README.md", "mpitrace report app.mpitrace", r"MPI_\w+")
    day.do("README.md", "mpitrace info app.mpitrace", r"library Open MPI")
    day.do("README.md", "mpitrace dump app.mpitrace --csv", r"operation")
    day.do("README.md", "mpitrace export app.mpitrace --format perfetto -o calls.perfetto")
    page = "docs/how-to/which-setting.md"
    settings = 'algorithm="OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_allreduce_algorithm=1"'
    runs = (
        "mpitrace run --runs 4 --shuffle --verbose 0 -o set.mpitrace -- mpirun -np 2 ./program --and mpirun -np 2 env "
        "$algorithm ./program"
    )
    day.do(page, f"{settings}\n{runs}", runs_as=program)
    day.do(
        page, 'mpitrace compare --a set.a.*.mpitrace --b set.b.*.mpitrace || echo "exit code 1: B is slower in at least '
        'one operation"', r"MPI_\w+", r"verdict|decided|difference",
    )


def operator(day: Day) -> None:
    page = "docs/how-to/operators.md"
    prefix, logs = day.folder / "opt", day.folder / "logs"
    day.do(page, "make install PREFIX=/opt/mpitrace/0.1.0", here=ROOT, runs_as=[("/opt/mpitrace/0.1.0", prefix)])
    day.environment["PATH"] = f"{prefix}/bin:{os.environ['PATH']}"
    day.do(page, "mkdir -m 1777 /logs", runs_as=[("/logs", logs)])
    subprocess.run(
        ["mpicc", "-O1", "-o", day.folder / "solver", ROOT / "LD_PRELOAD-examples" / "repetitions.c"], check=True,
        env=day.environment,
    )
    # What a module or the prolog of a task sets, by the page's table.
    text = (ROOT / page).read_text()
    output = re.search(r"`MPITRACE_OUTPUT=/logs(/\S+)`", text)
    if "`MPITRACE_KEEP=account`" not in text or output is None:
        raise Failure(f"{page} has no settings")
    day.environment.update(
        MPITRACE_KEEP="account", MPITRACE_VERBOSE="0", MPITRACE_OUTPUT=f"{logs}{output.group(1)}",
        LD_PRELOAD=str(prefix / "lib" / "mpitrace" / "libmpitrace.so"),
    )
    for _ in range(3):
        subprocess.run(
            ["mpirun", "-np", "2", "./solver"], cwd=day.folder, env=day.environment, check=True, stdout=subprocess.PIPE
        )
    for name in ("MPITRACE_KEEP", "MPITRACE_VERBOSE", "MPITRACE_OUTPUT", "LD_PRELOAD"):
        del day.environment[name]
    where = [("/logs", logs)]
    day.do(page, "mpitrace jobs /logs --since 7d", r"solver", r"3 (runs|jobs)", runs_as=where)
    day.do(page, "mpitrace jobs /logs --since 7d --by node", os.uname().nodename, runs_as=where)
    day.do(page, "mpitrace jobs /logs --format parquet > jobs.parquet", runs_as=where)
    if (day.folder / "jobs.parquet").read_bytes()[:4] != b"PAR1":
        raise Failure("jobs.parquet is no Parquet file")
    archive = [("/archive/jobs.parquet", day.folder / "archive.parquet")]
    metrics = [("/var/lib/node_exporter/mpitrace.prom", day.folder / "mpitrace.prom")]
    day.do(
        page, "mpitrace jobs /logs --archive /archive/jobs.parquet --format openmetrics > "
        "/var/lib/node_exporter/mpitrace.prom", runs_as=where + archive + metrics,
    )
    if "# EOF" not in (day.folder / "mpitrace.prom").read_text():
        raise Failure("mpitrace.prom is no OpenMetrics text")
    day.do(page, "find /logs -name '*.mpitrace' -mtime +30 -delete", runs_as=where)
    day.do(page, "mpitrace jobs /logs --since 7d", r"solver", runs_as=where)


TRAIN = """\
from array import array
import time
from mpi4py import MPI

comm = MPI.COMM_WORLD
weights, total = array("d", bytes(8000)), array("d", bytes(8000))
for step in range(40):
    if comm.rank == 1:
        time.sleep(0.01)
    comm.Allreduce(weights, total, op=MPI.SUM)
"""


def python(day: Day) -> None:
    environment = day.folder / "venv"
    # Beside the system's launcher: Debian's Open MPI and the mpi4py that the tests have for it.
    shutil.copytree(TARGET / "mpi" / "debian", environment, symlinks=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, env=day.environment)
    day.environment["PATH"] = f"{environment}/bin:{day.environment['PATH']}"
    day.environment["MPI4PY_LIBMPI"] = "libmpi.so.40"
    day.do("docs/python.md", "pip install ./python", here=ROOT, runs_as=[("pip", "python -m pip")])
    (day.folder / "train.py").write_text(TRAIN)
    page = "docs/how-to/mpi4py.md"
    day.do(
        page, "MPITRACE_CALLSITE=1 mpitrace run -o train.mpitrace -- mpirun -np 2 python train.py", r"rank 1",
    )
    day.do(page, "mpitrace summary train.mpitrace --by site", r"<module> at train.py:10", )
    lines = [
        'trace = mpitrace.open("app.mpitrace")', "print(trace.summary())", 'trace.summary(by="rank")',
        'trace.info["library"]', "trace.diagnose(0)",
    ]
    for line in lines:
        if line not in (ROOT / "docs/python.md").read_text():
            raise Failure(f"docs/python.md does not have: {line}")
    script = "\n".join(["import mpitrace", *lines, "print(trace.operations().to_pylist()[0]['call_site'])"])
    (day.folder / "read.py").write_text(script.replace("app.mpitrace", "train.mpitrace") + "\n")
    read = subprocess.run(
        ["python", "read.py"], cwd=day.folder, env=day.environment, capture_output=True, text=True, check=False
    )
    if read.returncode != 0 or "train.py:10" not in read.stdout or "2 ranks" not in read.stdout:
        raise Failure(f"the trace as Python reads it:\n{read.stdout}{read.stderr}")
    day.steps += 1


def contributor(day: Day) -> None:
    page = "docs/developers/guide.md"
    day.do(page, "cargo test -p mpitrace-analysis --lib -- account::tests", r"test result: ok. [1-9]", here=ROOT)
    day.do("CONTRIBUTING.md", "tests/lines.py", r"interpose", here=ROOT)
    day.do(
        page, "CARGO_INCREMENTAL=1 cargo build --release -p mpitrace-tools --no-default-features --target-dir target/day",
        here=ROOT, runs_as=[("target/day", TARGET / "day")],
    )
    day.do(page, "tests/guide.py column", here=ROOT)


DAYS = {day.__name__: day for day in (engineer, developer, operator, python, contributor)}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in DAYS]
    if unknown:
        print(f"{', '.join(unknown)}: no such day; there are {', '.join(DAYS)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or DAYS:
        with tempfile.TemporaryDirectory(prefix=f"mpitrace-{name}-") as folder:
            day = Day(name, pathlib.Path(folder))
            (day.folder / "LD_PRELOAD-examples").symlink_to(ROOT / "LD_PRELOAD-examples")
            try:
                DAYS[name](day)
            except (Failure, subprocess.SubprocessError) as error:
                print(f"{name}: FAILED after {day.steps} steps: {error}")
                failed += 1
                continue
            print(f"{name}: {day.steps} steps, the first answer after {day.first_s:.0f} s")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
