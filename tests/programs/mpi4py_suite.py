"""Runs modules of mpi4py's own test-suite, and prints what must be the same with and without the tracer.

mpi4py_suite.py FOLDER PATTERN...: those modules in FOLDER whose names hold one of the patterns.
"""
import os
import sys
import unittest

folder, patterns = sys.argv[1], sys.argv[2:]
sys.path.insert(0, folder)
sys.argv[1:] = []

from mpi4py import MPI  # noqa: E402

names = sorted(file[:-3] for file in os.listdir(folder) if file.startswith("test_") and file.endswith(".py"))
names = [name for name in names if any(pattern in name for pattern in patterns)]
# Those that start processes or end some: not every launcher here can.
names = [name for name in names if not any(word in name for word in ("spawn", "dynproc", "ulfm"))]
tests = unittest.defaultTestLoader.loadTestsFromNames(names)
with open(os.devnull, "w") as nowhere:
    result = unittest.TextTestRunner(stream=nowhere, verbosity=0).run(tests)

lines = [f"{len(names)} modules, {result.testsRun} tests"]
lines += sorted(f"skipped: {test}: {reason}" for test, reason in result.skipped)
lines += sorted(f"failed: {test}\n{trace}" for test, trace in result.failures + result.errors)
for text in MPI.COMM_WORLD.gather("\n".join(lines)) or []:
    print(text)
