"""The categories of any numbers."""

import array

import mpitrace
import numpy
import pandas
import polars
import pyarrow
import pytest

SERIES = [50.0] * 20 + [10.0 + index % 3 for index in range(200)]


def test_a_warm_up_is_found():
    found = mpitrace.categorize(SERIES)
    assert (found.class_, found.warmup_end, found.method) == ("warmup", 20, "robust")
    assert found.counts == {"first": 1, "warmup": 19, "outlier": 0, "good": 200}
    assert found.levels == [50.0, 11.0]


@pytest.mark.parametrize(
    "numbers",
    [
        tuple(SERIES),
        iter(SERIES),
        array.array("d", SERIES),
        numpy.array(SERIES),
        pandas.Series(SERIES),
        polars.Series(SERIES),
        pyarrow.array(SERIES),
        pyarrow.chunked_array([SERIES[:7], SERIES[7:]]),
    ],
    ids=["tuple", "iterator", "array", "numpy", "pandas", "polars", "pyarrow", "chunked"],
)
def test_any_series_will_do(numbers):
    assert mpitrace.categorize(numbers) == mpitrace.categorize(SERIES)


def test_it_is_the_rule_of_the_companion(companion, tmp_path):
    rows = "".join(f"{index},0,runtime,{value}\n" for index, value in enumerate(SERIES))
    file = tmp_path / "series.csv"
    file.write_text(rows)
    for method in ("robust", "roth"):
        [printed] = companion("categorize", "--from", "csv", file, "--method", method)
        found = mpitrace.categorize(SERIES, method=method)
        assert list(found.category) == printed["category"]
        assert (found.median, found.warmup_end, found.counts) == (
            printed["median_ns"],
            printed["warmup_end"],
            printed["counts"],
        )


def test_a_series_that_begins_later_has_no_first():
    assert mpitrace.categorize(SERIES[20:], first_repetition=20).counts["first"] == 0


def test_an_empty_series_has_no_median():
    found = mpitrace.categorize([])
    assert (list(found.category), found.median, found.warmup_end) == ([], None, None)


def test_what_is_no_number_is_refused():
    with pytest.raises(mpitrace.TraceError):
        mpitrace.categorize([1.0, float("nan")])
    with pytest.raises(mpitrace.TraceError):
        mpitrace.categorize([1.0, None])
    with pytest.raises(TypeError):
        mpitrace.categorize(["fast"])
    with pytest.raises(mpitrace.TraceError, match="expected robust, roth, tukey, none"):
        mpitrace.categorize(SERIES, method="guess")
