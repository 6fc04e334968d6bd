"""Builds the wheel: what maturin makes of this folder, and beside it the program `mpitrace` and `libmpitrace.so`.

A build backend (PEP 517) around maturin's. It builds the companion and the tracer with cargo, installs them into the
wheel's data folder as `make install` does, and lets maturin do the rest. So a virtual environment gets the folders of
an installation: bin/mpitrace, lib/mpitrace/libmpitrace.so, include/, share/.

MATURIN_PEP517_ARGS="--profile checked" builds all parts with another profile of cargo. GLIBC=2.17 links all of them to
that version of the C library, with zig as the linker, which pip then installs for the build (cargo-zigbuild, ziglang).
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import maturin

REPOSITORY = Path(__file__).resolve().parents[2]
# Named in pyproject.toml, too.
DATA = REPOSITORY / "target" / "python" / "mpitrace.data"
# The version of the C library that the wheel is for; none: that of this machine.
GLIBC = os.environ.get("GLIBC", "")


def get_requires_for_build_wheel(config_settings=None):
    return ["cargo-zigbuild", "ziglang"] if GLIBC else []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    _check()
    # maturin asks for it here already, though nothing is in it before the build.
    DATA.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _check()
    arguments = maturin.get_maturin_pep517_args(config_settings)
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
    built = _build(target, _profile(arguments))
    _fill(built)
    if GLIBC:
        arguments = [*arguments, "--zig", "--target", _triple()]
    if not {"--compatibility", "--manylinux"} & set(arguments):
        arguments = [*arguments, "--compatibility", _compatibility(built)]
    # The extension is of another workspace: beside the first it would build the same packages in other ways.
    os.environ["CARGO_TARGET_DIR"] = str(target / "python")
    return maturin.build_wheel(wheel_directory, {"build-args": shlex.join(arguments)}, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("mpitrace: the Python package is built from the repository (pip install ./python); "
             "`make dist` makes an archive of its sources with all dependencies")


def _check():
    """Ends with one line where the wheel cannot be built."""
    if not (REPOSITORY / "interpose" / "Cargo.toml").is_file():
        sys.exit(f"mpitrace: {REPOSITORY} is not the repository of mpitrace: `pip install ./python` needs the clone")
    if not shutil.which("cargo"):
        sys.exit("mpitrace: cargo is not on the PATH: install Rust 1.88 or later (https://rustup.rs)")
    if GLIBC and not re.fullmatch(r"2\.\d+", GLIBC):
        sys.exit(f"mpitrace: GLIBC={GLIBC}: expected a version of glibc, as 2.17")


def _profile(arguments):
    """The profile of cargo that maturin is asked for."""
    for option, value in zip(arguments, [*arguments[1:], ""]):
        if option == "--profile":
            return value
        if option.startswith("--profile="):
            return option.partition("=")[2]
    return "release"


def _triple():
    """The target of Rust for the wheel: this machine's architecture, and glibc."""
    return f"{platform.machine()}-unknown-linux-gnu"


def _build(folder, profile):
    """Builds the companion and the tracer in this folder of cargo's; the folder that they are in."""
    target = folder
    command = ["cargo", "zigbuild" if GLIBC else "build", "--locked", "--profile", profile]
    command += ["-p", "mpitrace-interpose", "-p", "mpitrace-tools"]
    if GLIBC:
        command += ["--target", f"{_triple()}.{GLIBC}"]
        target = target / _triple()
    print("Running", shlex.join(command), flush=True)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder)}
    if subprocess.run(command, cwd=REPOSITORY, env=environment, check=False).returncode != 0:
        sys.exit("mpitrace: the companion and the tracer could not be built")
    return target / ("debug" if profile == "dev" else profile)


def _fill(built):
    """Lays out the wheel's data folder: programs as scripts, all else below the prefix."""
    shutil.rmtree(DATA, ignore_errors=True)
    environment = {**os.environ, "BUILT": str(built), "DESTDIR": str(DATA / "data"), "PREFIX": "", "STRIP": "1"}
    script = REPOSITORY / "packaging" / "install.sh"
    subprocess.run([str(script)], env=environment, check=True, stdout=subprocess.DEVNULL)
    (DATA / "data" / "bin").rename(DATA / "scripts")


def _compatibility(built):
    """The oldest glibc that has all symbols which the program and the library take from it, as maturin's option."""
    versions = [
        int(version)
        for name in ("mpitrace", "libmpitrace.so")
        for version in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", (built / name).read_bytes())
    ]
    # The standard library needs 2.17 at least.
    return f"manylinux_2_{max([17, *versions])}"
