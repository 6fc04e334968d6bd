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


def test_the_name_of_a_region_is_text():
    with pytest.raises(TypeError, match="the name of a region is text, not int"):
        mpitrace.region(3)
