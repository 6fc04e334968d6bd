"""A trace in Python has the numbers that the companion prints, to the last digit."""

import json
import math
import subprocess

import duckdb
import mpitrace
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest


def test_info_summary_and_clock_are_those_of_the_companion(trace, companion, path):
    assert trace.info == companion("info", path)
    assert trace.summary() == companion("summary", path)
    assert trace.clock() == companion("clock", path)


def test_operations_are_those_of_info(trace):
    rows = trace.operations().to_pylist()
    assert rows
    keys = set(rows[0])
    assert rows == [{key: of[key] for key in keys} for of in trace.info["operations"]]


def test_calls_are_those_of_dump(trace, companion, path):
    table = trace.calls()
    dumped = companion("dump", path)
    assert len(dumped) == table.num_rows == trace.info["records"]
    counters = trace.info["counters"]
    for row, expected in zip(table.to_pylist(), dumped):
        assert row.pop("category") in {"first", "warmup", "outlier", "good", None}
        values = {name: row.pop(name) for name in counters}
        assert {name: value for name, value in values.items() if value is not None} == {
            name: value for name, value in expected.pop("counters").items() if value is not None
        }
        for request in ("init_ns", "test_ns", "wait_ns", "tests"):
            assert row.pop(request) == expected.pop(request, None)
        assert row == expected


def test_calls_are_those_of_the_parquet_export(trace, path, tmp_path):
    out = tmp_path / "calls.parquet"
    subprocess.run([mpitrace.program(), "export", path, "--format", "parquet", "-o", out], check=True)
    exported = pyarrow.parquet.read_table(out)
    table = trace.calls()
    assert table.column_names == exported.column_names
    for name in table.column_names:
        assert table[name].to_pylist() == exported[name].to_pylist()


def test_calls_of_one_operation_are_a_part_of_all(trace):
    total = 0
    for number in range(len(trace.info["operations"])):
        rows = trace.calls(operation=number)
        assert set(rows["operation"].to_pylist()) <= {number}
        total += rows.num_rows
    assert total == trace.calls().num_rows


def test_categories_are_those_of_categorize(trace, companion, path):
    for method in ("robust", "roth"):
        for time in ("local", "global", "last"):
            for of in companion("categorize", path, "--method", method, "--time", time):
                table = trace.categories(of["operation"], method=method, time=time)
                assert table["category"].to_pylist() == of["category"]
                assert table["run_time_ns"].to_pylist() == of["run_time_ns"]
                assert table["repetition"].to_pylist() == of["repetition"]
                rest = json.loads(table.schema.metadata[b"mpitrace"])
                # The algorithm of each call is in `calls`.
                columns = {"category", "run_time_ns", "repetition", "algorithm"}
                assert rest == {key: value for key, value in of.items() if key not in columns}
                found = trace.categorize(of["operation"], method=method, time=time)
                assert (found.counts, found.median) == (of["counts"], of["median_ns"])
                assert found.warmup_end == of["warmup_end"]
                assert (found.class_, found.levels) == (of.get("class"), of.get("level_ns"))


def test_repetitions_have_all_run_times(trace):
    for of in trace.info["operations"]:
        number = of["operation"]
        table = trace.repetitions(number)
        assert table.num_rows == of["repetitions"]
        for time in ("local", "global", "last"):
            assert table[f"{time}_ns"] == trace.categories(number, time=time)["run_time_ns"]
        assert table["category"].to_pylist() == trace.categories(number)["category"].to_pylist()


def test_the_companion_answers(trace, companion, path):
    for by in ("operation", "rank", "region"):
        assert trace.summary(by=by) == companion("summary", path, "--by", by)
    assert trace.stats() == companion("stats", path)
    assert trace.stats(0) == trace.stats()[:1]
    assert trace.diagnose(0) == companion("diagnose", path, "--operation", 0)
    found = mpitrace.compare(path, [path], "--alternative", "less")
    assert found == companion("compare", "--alternative", "less", "--a", path, "--b", path)
    with pytest.raises(mpitrace.TraceError, match="no operation 99"):
        trace.stats(99)


def test_categories_of_all_operations_come_in_one_table(trace):
    table = trace.categories()
    repetitions = {of["operation"]: of["repetitions"] for of in trace.info["operations"]}
    assert table.num_rows == sum(repetitions.values())
    first = table.slice(0, repetitions[0])
    assert first["run_time_ns"].to_pylist() == trace.categories(0)["run_time_ns"].to_pylist()


def test_a_plot_has_all_repetitions(trace):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = trace.plot(0)
    table = trace.categories(0)
    assert sum(len(line.get_xdata()) for line in axes.lines) == table.num_rows
    assert axes.get_xlabel() == "repetition"


def test_pictures_are_those_of_the_companion(trace, path, tmp_path):
    subprocess.run([mpitrace.program(), "report", path, "--plot", "q-q", "--operation", "0", "-o", tmp_path], check=True)
    (file,) = tmp_path.glob("0-*-q-q.svg")
    assert trace.picture("q-q", 0).svg == file.read_text(encoding="utf-8")
    with pytest.raises(mpitrace.TraceError, match="no plot pie: there are run-time"):
        trace.picture("pie")
    compared = mpitrace.compare(path, path)
    assert compared.job["sentence"].startswith("B takes ") and len(compared.job["parts"]) > 0
    runs = compared.picture("runs")
    runs.save(tmp_path / "runs.svg")
    assert (tmp_path / "runs.svg").read_text(encoding="utf-8") == runs._repr_svg_()
    assert any(row["operation_key"] in runs.svg for row in compared)
    with pytest.raises(mpitrace.TraceError, match="possible values: forest"):
        compared.picture("pie")


def test_the_account_adds_up(trace):
    summary = trace.summary()
    rows = trace.account().to_pylist()
    for part in ("waiting", "interrupted", "perturbed", "communication"):
        assert math.isclose(sum(row[f"{part}_ns"] for row in rows) / 1e9, summary[f"{part}_s"], rel_tol=1e-9)
    for row in rows:
        parts = row["waiting_ns"] + row["interrupted_ns"] + row["perturbed_ns"] + row["communication_ns"]
        assert math.isclose(parts, row["run_time_ns"], rel_tol=1e-9)


def test_other_libraries_read_the_tables(trace, companion, path):
    calls = trace.calls()
    medians = {of["operation"]: of["median_ns"] for of in companion("categorize", path)}
    query = """
        SELECT operation, median(run_time_ns) AS median_ns FROM (
            SELECT operation, repetition, max(exit_ns - enter_ns) AS run_time_ns
            FROM calls WHERE category IS NOT NULL GROUP BY operation, repetition
        ) GROUP BY operation
    """
    # The times of calls are rounded, as they count from the start of the trace.
    for number, median in duckdb.sql(query).fetchall():
        assert math.isclose(median, medians[number], abs_tol=1.0)
    frame = polars.from_arrow(calls)
    assert frame.height == calls.num_rows
    assert frame["enter_ns"].to_list() == calls["enter_ns"].to_pylist()
    frame = calls.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == calls.num_rows


def test_the_stream_is_taken_by_everything_that_reads_arrow(trace):
    operations = trace.operations()
    assert pyarrow.table(trace._trace.operations()) == operations
    assert polars.DataFrame(trace._trace.operations()).height == operations.num_rows
    stream = trace._trace.operations()
    pyarrow.table(stream)
    with pytest.raises(ValueError, match="read already"):
        pyarrow.table(stream)


def test_wrong_arguments_are_refused_in_one_line(trace, path, tmp_path):
    last = len(trace.info["operations"]) - 1
    with pytest.raises(mpitrace.TraceError, match=f"no operation 99: there are operations 0 to {last}"):
        trace.calls(operation=99)
    with pytest.raises(mpitrace.TraceError, match="expected robust, roth"):
        trace.categories(0, method="guess")
    with pytest.raises(mpitrace.TraceError, match="expected local, global, last"):
        trace.categories(0, time="mean")
    with pytest.raises(mpitrace.TraceError, match="possible values: operation, function"):
        trace.summary(by="colour")
    with pytest.raises(mpitrace.TraceError, match="no file is named"):
        mpitrace.open([])
    with pytest.raises(FileNotFoundError, match="missing.mpitrace"):
        mpitrace.open(tmp_path / "missing.mpitrace")
    other = tmp_path / "other.mpitrace"
    other.write_text("This is not a trace.")
    with pytest.raises(mpitrace.TraceError, match="other.mpitrace"):
        mpitrace.open([path, other])
