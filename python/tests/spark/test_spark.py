"""A dataset of several runs, read by Spark on two workers, gives what the companion gives."""

import os
import sys

import mpitrace
import pytest
from pyspark.sql import SparkSession

CATEGORIES = "run string, operation long, repetition long, run_time_ns double, category string"
ACCOUNT = (
    "run string, operation int, rank long, repetitions long, run_time_ns double, waiting_ns double, "
    "interrupted_ns double, interrupted_most_ns double, perturbed_ns double, communication_ns double, "
    "unsplit_ns double"
)


@pytest.fixture(scope="session")
def spark():
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
    }
    # The workers' interpreter; else it is the first python3 on the path.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Two workers, each a process with one core and 1024 MiB.
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("mpitrace")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def calls(spark, dataset):
    return spark.read.parquet(str(dataset)).where("category IS NOT NULL")


def test_there_are_two_workers(spark, calls):
    calls.count()
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    assert executors == 2


def test_categories_are_those_of_categorize(calls, companion, path):
    run_times = calls.groupBy("run", "operation", "repetition").agg({"duration_ns": "max"})
    run_times = run_times.selectExpr(
        "run", "cast(operation AS long)", "cast(repetition AS long)", "`max(duration_ns)` AS run_time_ns"
    )
    found = run_times.groupBy("run", "operation").applyInArrow(mpitrace.categorize_group, CATEGORIES)
    found = found.orderBy("run", "operation", "repetition").toArrow().to_pylist()
    for of in companion("categorize", path):
        if of["repetitions"] == 0:
            continue
        for run in ("one", "two"):
            rows = [row for row in found if (row["run"], row["operation"]) == (run, of["operation"])]
            for name in ("repetition", "run_time_ns", "category"):
                assert [row[name] for row in rows] == of[name]


def test_the_account_is_that_of_the_trace(calls, trace):
    groups = calls.groupBy("run", "operation", "rank")
    found = groups.applyInArrow(mpitrace.account_group, ACCOUNT).toArrow().to_pylist()
    found = {(row.pop("run"), row["operation"], row["rank"]): row for row in found}
    expected = trace.account().drop_columns(["caused_ns"]).to_pylist()
    assert expected
    assert found == {(run, row["operation"], row["rank"]): row for run in ("one", "two") for row in expected}


def test_the_rank_that_was_waited_for_is_in_the_calls(calls, trace):
    sums = calls.where("waited_for IS NOT NULL AND run = 'two'").groupBy("operation", "waited_for").sum("waiting_ns")
    caused = {(row["operation"], row["waited_for"]): row["sum(waiting_ns)"] for row in sums.collect()}
    for row in trace.account().to_pylist():
        found = caused.get((row["operation"], row["rank"]), 0.0)
        assert found == pytest.approx(row["caused_ns"], rel=1e-9)
