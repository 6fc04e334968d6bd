"""A dataset of several runs, read by DuckDB, gives what the companion gives."""

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
def run_times(dataset):
    return duckdb.sql(RUN_TIMES.format(folder=dataset)).to_arrow_table()


@pytest.fixture(scope="session")
def calls(dataset):
    files = f"{dataset}/operation=*/run=*/ranks=*/*.parquet"
    return duckdb.sql(f"FROM read_parquet('{files}', hive_partitioning = true)").to_arrow_table()


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


def test_the_account_of_groups_is_that_of_the_trace(calls, trace):
    expected = {(row["operation"], row["rank"]): row for row in trace.account().to_pylist()}
    assert expected
    for (operation, rank), of_trace in expected.items():
        query = f"FROM calls WHERE run = 'one' AND operation = {operation} AND rank = {rank} ORDER BY random()"
        [found] = mpitrace.account_group(duckdb.sql(query).to_arrow_table()).to_pylist()
        assert found.pop("run") == "one"
        assert found == {name: value for name, value in of_trace.items() if name != "caused_ns"}
        caused = duckdb.sql(f"""
            SELECT coalesce(sum(waiting_ns), 0) FROM calls
            WHERE run = 'one' AND operation = {operation} AND waited_for = {rank} AND category IS NOT NULL
        """).fetchall()
        assert caused[0][0] == pytest.approx(of_trace["caused_ns"], rel=1e-9)


def test_an_operation_without_a_complete_repetition_has_no_account(calls):
    without = calls.slice(0, 3).set_column(
        calls.column_names.index("category"), "category", pyarrow.nulls(3, pyarrow.string())
    )
    found = mpitrace.account_group(without)
    assert found.num_rows == 0
    assert found.schema == mpitrace.account_group(calls.slice(0, 1)).schema


def test_groups_that_cannot_be_categorized_are_refused():
    twice = pyarrow.table({"repetition": [3, 3], "run_time_ns": [1.0, 2.0]})
    with pytest.raises(mpitrace.TraceError, match="not in ascending order"):
        mpitrace.categorize_group(twice)
    for method in ("robust", "roth"):
        with pytest.raises(mpitrace.TraceError, match="a run time is missing"):
            missing = pyarrow.table({"repetition": [3, 4], "run_time_ns": [1.0, None]})
            mpitrace.categorize_group(missing, method=method)
    with pytest.raises(KeyError):
        mpitrace.categorize_group(pyarrow.table({"repetition": [1]}))
