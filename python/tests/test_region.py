"""Regions of a program in Python; with the tracer: tests/whole_programs/languages.rs."""

import pytest

import mpitrace


def test_without_the_tracer_a_region_does_nothing():
    @mpitrace.region("double")
    def double(value):
        return 2 * value

    with mpitrace.region("step"):
        assert double(3) == 6
    with pytest.raises(ValueError), mpitrace.region("fails"):
        raise ValueError
