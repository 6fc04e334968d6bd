"""How many calls a second one core takes: the export to a dataset, DuckDB and the Python functions over it, and Spark.

    python benches/datasets.py TRACE [RUNS]

TRACE is exported as RUNS runs (2) to a dataset in a temporary folder (TMPDIR), and each step is done once, on one core
(Linux' affinity) and without a limit of memory; a step's rate is that of the calls in the dataset. Spark has two workers
with a core each, where pyspark can be imported: its rate is for both of them, divided by two. Prints a table in Markdown.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import duckdb
import mpitrace

RUN_TIMES = """
    SELECT run, operation, repetition, max(duration_ns) AS run_time_ns
    FROM calls WHERE category IS NOT NULL GROUP BY run, operation, repetition
"""
QUANTILES = f"""
    SELECT run, operation, quantile_cont(run_time_ns, [0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    FROM ({RUN_TIMES}) GROUP BY run, operation
"""
WAITING = """
    SELECT run, rank, sum(waiting_ns), sum(interrupted_ns) FROM calls WHERE category IS NOT NULL GROUP BY run, rank
"""
ACCOUNT_COLUMNS = (
    "run, operation, rank, repetition, duration_ns, init_ns, test_ns, wait_ns, waiting_ns, interrupted_ns, "
    "interrupted_most_ns, perturbed, category"
)


def export(trace, folder, runs):
    for run in range(runs):
        options = ["--format", "parquet", "--dataset", f"run-{run}", "-o", folder]
        subprocess.run([mpitrace.program(), "export", trace, *options], check=True)


def duck(folder):
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    files = f"{folder}/operation=*/run=*/ranks=*/*.parquet"
    connection.execute(f"CREATE VIEW calls AS FROM read_parquet('{files}', hive_partitioning = true)")
    return connection


def categories(connection):
    """The categories of each operation of each run; the run times are found by DuckDB."""
    for run, operation in connection.execute("SELECT DISTINCT run, operation FROM calls").fetchall():
        of_group = f"FROM ({RUN_TIMES}) WHERE run = '{run}' AND operation = {operation}"
        mpitrace.categorize_group(connection.sql(of_group).to_arrow_table())


def account(connection):
    """The account of each rank of each operation of each run."""
    for run, operation, rank in connection.execute("SELECT DISTINCT run, operation, rank FROM calls").fetchall():
        of_group = f"FROM calls WHERE run = '{run}' AND operation = {operation} AND rank = {rank}"
        mpitrace.account_group(connection.sql(f"SELECT {ACCOUNT_COLUMNS} {of_group}").to_arrow_table())


def spark_session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,3072]").appName("mpitrace")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "3g",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def in_spark(folder):
    """Steps in Spark, by name."""
    session = spark_session()
    calls = session.read.parquet(str(folder)).where("category IS NOT NULL")
    run_times = calls.groupBy("run", "operation", "repetition").agg({"duration_ns": "max"})
    run_times = run_times.selectExpr(
        "run", "cast(operation AS long)", "cast(repetition AS long)", "`max(duration_ns)` AS run_time_ns"
    )
    row = "run string, operation long, repetition long, run_time_ns double, category string"
    categorized = run_times.groupBy("run", "operation").applyInArrow(mpitrace.categorize_group, row)
    parts = ", ".join(
        f"{part}_ns double"
        for part in (
            "run_time", "waiting", "interrupted", "interrupted_most", "perturbed", "communication", "unsplit"
        )
    )
    groups = calls.selectExpr(*ACCOUNT_COLUMNS.split(", ")).groupBy("run", "operation", "rank")
    accounts = groups.applyInArrow(
        mpitrace.account_group, f"run string, operation int, rank long, repetitions long, {parts}"
    )
    # The workers start with the first job.
    calls.limit(1).count()
    yield "categories of each operation, Spark", lambda: categorized.groupBy("category").count().collect()
    yield "account of each rank, Spark", lambda: accounts.collect()
    session.stop()


def main():
    trace, runs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 2
    info = json.loads(subprocess.run([mpitrace.program(), "info", "--json", trace], capture_output=True).stdout)
    records = info["records"] * runs
    core = max(os.sched_getaffinity(0))
    everything = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "runs"
        rows = []

        def measure(name, step, cores=1):
            started = time.perf_counter()
            step()
            rows.append((name, time.perf_counter() - started, cores))

        os.sched_setaffinity(0, {core})
        measure("export to the dataset", lambda: export(trace, folder, runs))
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
        connection = duck(folder)
        measure("quantiles of each operation, DuckDB", lambda: connection.execute(QUANTILES).fetchall())
        measure("waiting of each rank, DuckDB", lambda: connection.execute(WAITING).fetchall())
        measure("categories of each operation, DuckDB and `categorize_group`", lambda: categories(connection))
        measure("account of each rank, DuckDB and `account_group`", lambda: account(connection))
        os.sched_setaffinity(0, everything)
        try:
            for name, step in in_spark(folder):
                measure(name + ", for each core", step, cores=2)
        except ImportError:
            print("no pyspark: Spark is left out", file=sys.stderr)

    print(f"{records} calls, {info['ranks']} ranks, {len(info['operations'])} operations, {runs} runs; "
          f"{size / records:.1f} bytes a call in the dataset\n")
    print("| step | s | million calls/s | MB/s | core hours for 10^12 calls |")
    print("|---|--:|--:|--:|--:|")
    for name, seconds, cores in rows:
        rate = records / seconds / cores
        print(f"| {name} | {seconds:.1f} | {rate / 1e6:.2f} | {size / seconds / cores / 1e6:.1f} "
              f"| {1e12 / rate / 3600:.0f} |")


if __name__ == "__main__":
    main()
