"""A dataset of several runs, read by DuckDB, gives what the companion gives."""

import subprocess

import duckdb
import mpitrace
import pyarrow
import pytest

RUN_TIMES = """
    SELECT run, operation, repetition, max(duration_ns) AS run_time_ns
    FROM read_parquet('{folder}/operation=*/run=*/ranks=*/*.parquet', hive_partitioning = true)
    WHERE category IS NOT NULL GROUP BY run, operation, repetition
"""


@pytest.fixture(scope="session")
def run_times(path, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    for run in ("one", "two"):
        options = ["--format", "parquet", "--rank-block", "1", "--dataset", run, "-o", folder]
        subprocess.run([mpitrace.program(), "export", path, *options], check=True)
    return duckdb.sql(RUN_TIMES.format(folder=folder)).to_arrow_table()


def test_medians_are_those_of_categorize(run_times, companion, path):
    rows = duckdb.sql("SELECT run, operation, median(run_time_ns) FROM run_times GROUP BY run, operation").fetchall()
    expected = [
        (run, of["operation"], of["median_ns"])
        for run in ("one", "two")
        for of in companion("categorize", path)
        if of["repetitions"] > 0
    ]
    assert sorted(rows) == expected


def test_categories_of_groups_are_those_of_categorize(run_times, companion, path):
    for of in companion("categorize", path):
        query = f"FROM run_times WHERE run = 'two' AND operation = {of['operation']} ORDER BY random()"
        found = mpitrace.categorize_group(duckdb.sql(query).to_arrow_table())
        assert found.column_names == ["run", "operation", "repetition", "run_time_ns", "category"]
        assert found["repetition"].to_pylist() == of["repetition"]
        assert found["run_time_ns"].to_pylist() == of["run_time_ns"]
        assert found["category"].to_pylist() == of["category"]


def test_groups_that_cannot_be_categorized_are_refused():
    twice = pyarrow.table({"repetition": [3, 3], "run_time_ns": [1.0, 2.0]})
    with pytest.raises(mpitrace.TraceError, match="not in ascending order"):
        mpitrace.categorize_group(twice)
    with pytest.raises(KeyError):
        mpitrace.categorize_group(pyarrow.table({"repetition": [1]}))
