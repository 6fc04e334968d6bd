"""The traces that the tests read, and the companion."""

import json
import pathlib
import subprocess

import mpitrace
import pytest


def pytest_addoption(parser):
    parser.addoption("--traces", required=True, type=pathlib.Path, help="a folder with *.mpitrace")


def pytest_generate_tests(metafunc):
    if "path" in metafunc.fixturenames:
        paths = sorted(metafunc.config.getoption("--traces").glob("*.mpitrace"))
        assert paths, "no trace in the folder"
        metafunc.parametrize("path", paths, ids=[path.stem for path in paths], scope="session")


@pytest.fixture(scope="session")
def trace(path):
    return mpitrace.open(path)


@pytest.fixture(scope="session")
def companion():
    """What the companion that came with the package prints as JSON: the rows of a list, else the object."""

    def run(*arguments):
        command = [mpitrace.program(), *map(str, arguments), "--json"]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        return found.get("rows", found)

    return run
