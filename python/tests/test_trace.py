"""A trace in Python has the numbers that the companion prints, to the last digit."""

import errno
import json
import math
import subprocess
import sys
import warnings

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
    for row, of in zip(rows, trace.info["operations"]):
        assert row.pop("call_site") == (of["call_site"]["text"] if "call_site" in of else None)
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
    command = [mpitrace.program(), "export", path, "--format", "parquet", "-o", out]
    ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if "built without Parquet" in ran.stderr:
        pytest.skip("the companion of this wheel was built without Parquet")
    assert ran.returncode == 0, ran.stderr
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
    assert trace.stats(category="good", time="global") == companion(
        "stats", path, "--category", "good", "--time", "global"
    )
    expected = companion("compare", "--alternative", "less", "--a", path, "--b", path)
    assert mpitrace.compare(path, [path], alternative="less") == expected
    found = mpitrace.compare(trace, [trace], alternative="less")
    assert found == expected
    assert any("compared with itself" in note for note in found.notes)
    with pytest.raises(mpitrace.TraceError, match="alternative = 'more': expected two-sided, less, greater"):
        mpitrace.compare(trace, trace, alternative="more")
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
    options = ["--plot", "q-q", "--operation", "0", "-o", tmp_path]
    subprocess.run([mpitrace.program(), "report", path, *options], check=True)
    (file,) = tmp_path.glob("0-*-q-q.svg")
    assert trace.picture("q-q", 0).svg == file.read_text(encoding="utf-8")
    with pytest.raises(mpitrace.TraceError, match="no plot pie: there are run-time"):
        trace.picture("pie")
    for suffix, magic in ((".png", b"\x89PNG"), (".pdf", b"%PDF-"), (".csv", b"plot,"), (".svg", b"<svg")):
        trace.picture("timeline").save(tmp_path / f"timeline{suffix}")
        assert (tmp_path / f"timeline{suffix}").read_bytes().startswith(magic), suffix
    with pytest.raises(mpitrace.TraceError, match=r"timeline.jpg: a picture ends in .svg, .png, .pdf or .csv"):
        trace.picture("timeline").save(tmp_path / "timeline.jpg")
    compared = mpitrace.compare(path, path)
    assert compared.job["sentence"].startswith("B takes ") and len(compared.job["parts"]) > 0
    runs = compared.picture("runs")
    runs.save(tmp_path / "runs.svg")
    assert (tmp_path / "runs.svg").read_text(encoding="utf-8") == runs._repr_svg_()
    assert any(row["operation_key"] in runs.svg for row in compared)
    with pytest.raises(mpitrace.TraceError, match="plot = 'pie': expected forest"):
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
    # The call sites are added in Python.
    operations = trace.operations().drop_columns(["call_site"])
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
    with pytest.raises(mpitrace.TraceError, match="by = 'colour': expected operation, function"):
        trace.summary(by="colour")
    with pytest.raises(mpitrace.TraceError, match="no file is named"):
        mpitrace.open([])
    for number in (-1, 2**40):
        for method in (trace.calls, trace.stats, trace.categories, trace.repetitions):
            with pytest.raises(mpitrace.TraceError, match=f"no operation {number}: there are operations 0 to {last}"):
                method(number)
    with pytest.raises(TypeError):
        trace.calls("first")
    with pytest.raises(mpitrace.TraceError, match="category = 'slow': expected all, first"):
        trace.stats(category="slow")
    missing = tmp_path / "missing.mpitrace"
    for opens in (mpitrace.open, lambda name: mpitrace.compare(name, name)):
        with pytest.raises(FileNotFoundError, match="missing.mpitrace") as raised:
            opens(missing)
        assert (raised.value.errno, raised.value.filename) == (errno.ENOENT, str(missing))
    other = tmp_path / "other.mpitrace"
    other.write_text("This is not a trace.")
    with pytest.raises(mpitrace.TraceError, match="other.mpitrace"):
        mpitrace.open([path, other])


def test_no_text_is_of_the_command_line(trace):
    for wrong in (
        lambda: trace.summary(by="colour"),
        lambda: trace.stats(time="mean"),
        lambda: trace.stats(99),
        lambda: trace.picture("pie"),
        lambda: mpitrace.compare(trace, trace, test="guess"),
    ):
        with pytest.raises(mpitrace.TraceError) as raised:
            wrong()
        assert "--" not in str(raised.value) and "invalid" not in str(raised.value)
        assert f"{type(raised.value).__module__}.{type(raised.value).__name__}" == "mpitrace.TraceError"


def test_a_damaged_trace_is_no_quiet_trace(trace, path, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mpitrace.open(path).problems == []
    assert "incomplete" not in repr(trace)
    content = bytearray(path.read_bytes())
    damaged = tmp_path / "damaged.mpitrace"
    # Parts are filled up to a page with zeros, which nobody reads.
    begin = next(place for place in range(len(content) // 2, len(content)) if content[place] != 0)
    for place in range(begin, begin + 200):
        content[place] ^= 0xFF
    damaged.write_bytes(content)
    with pytest.warns(mpitrace.TraceWarning, match=r"damaged.mpitrace: incomplete: the part of rank \d+ "):
        opened = mpitrace.open(damaged)
    assert "damaged.mpitrace: the part of rank " in opened.problems[0]
    assert not opened.info["complete"] and opened.info["problems"] == opened.problems
    assert ", incomplete: the part of rank" in repr(opened)


def test_what_is_shown_is_short(trace, companion, path):
    summary = trace.summary()
    printed = subprocess.run([mpitrace.program(), "summary", path], stdout=subprocess.PIPE, check=True, text=True)
    assert str(summary) == summary.text == printed.stdout
    comparison = mpitrace.compare(trace, trace)
    shown = (trace, summary, comparison, trace.categorize(0), trace.picture("timeline"))
    for what in shown:
        assert len(repr(what)) < 500 and "\n" not in repr(what), repr(what)
    for what in shown[:3]:
        assert what._repr_html_().count("<") == what._repr_html_().count(">") > 4
    first = trace.info["operations"][0]
    assert first["function"] in trace._repr_html_()
    assert comparison[-1]["operation_key"] in comparison._repr_html_() or len(comparison) > 20
    # One run a side decides nothing.
    assert "too few runs" in repr(comparison) and "no difference" not in repr(comparison)


def test_the_package_is_the_program():
    command = [sys.executable, "-m", "mpitrace", "--version"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    assert ran.stdout == f"mpitrace {mpitrace.__version__}\n"
    assert subprocess.run([*command[:3], "no-such"], stderr=subprocess.PIPE, check=False).returncode == 2
