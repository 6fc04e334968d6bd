"""What the wheel brings beside the package."""

import subprocess
import sys
from pathlib import Path

import mpitrace


def test_the_companion_is_of_the_same_version():
    printed = subprocess.run([mpitrace.program(), "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert printed == f"mpitrace {mpitrace.__version__}\n"
    assert mpitrace.program().parent == Path(sys.prefix).resolve() / "bin"


def test_the_tracer_can_be_preloaded():
    command = [sys.executable, "-c", "print('unchanged')"]
    environment = {"LD_PRELOAD": str(mpitrace.library())}
    ran = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    assert (ran.stdout, ran.stderr) == ("unchanged\n", "")


def test_headers_and_pages_are_there():
    prefix = Path(sys.prefix)
    for name in (
        "include/mpitrace.h",
        "include/roth_tracing.h",
        "share/mpitrace/fortran/mpitrace.f90",
        "share/pkgconfig/mpitrace.pc",
        "share/cmake/mpitrace/mpitrace-config.cmake",
        "share/man/man1/mpitrace.1",
    ):
        assert (prefix / name).is_file(), name
