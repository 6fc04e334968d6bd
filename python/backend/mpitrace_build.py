"""Builds the wheel: what maturin makes of this folder, and beside it the program `mpitrace` and `libmpitrace.so`.

A build backend (PEP 517) around maturin's. It takes the companion and the tracer that are built already, else builds
them with cargo, installs them into the wheel's data folder as `make install` does, and lets maturin do the rest. So a
virtual environment gets the folders of an installation: bin/mpitrace, lib/mpitrace/libmpitrace.so, include/, share/.

What it builds has no `export --format parquet` and `arrow`, most of a build, which the package can do without: its
tables are Arrow's. WHOLE=1, for wheels that are passed on, builds everything. MATURIN_PEP517_ARGS="--profile checked"
builds all parts with another profile of cargo. GLIBC=2.17 links all of them to that version of the C library, with zig
as the linker, which pip then installs for the build (cargo-zigbuild, ziglang).
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
# Everything is built, with all features.
WHOLE = bool(GLIBC or os.environ.get("WHOLE"))


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
    """The folder of the companion and the tracer below this folder of cargo's; they are built where they have to be."""
    target = folder / _triple() if GLIBC else folder
    built = target / ("debug" if profile == "dev" else profile)
    if not WHOLE and _up_to_date(built):
        _tell(f"takes the program and the library that are built in {built}; builds the Python part (1 to 3 minutes)")
        return built
    _tell("builds the program, the library and the Python part: about 4 minutes on two processors (pip -v shows more)")
    command = ["cargo", "zigbuild" if GLIBC else "build", "--locked", "--profile", profile]
    command += ["-p", "mpitrace-interpose", "-p", "mpitrace-tools"]
    # Where Parquet was built before, it stays.
    if not WHOLE and not list((built / "deps").glob("libparquet-*.rlib")):
        command += ["--no-default-features"]
    if GLIBC:
        command += ["--target", f"{_triple()}.{GLIBC}"]
    print("Running", shlex.join(command), flush=True)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder)}
    if subprocess.run(command, cwd=REPOSITORY, env=environment, check=False).returncode != 0:
        sys.exit("mpitrace: the companion and the tracer could not be built")
    return built


def _up_to_date(built):
    """Whether both are there, and no file that they were made of (the lists are cargo's) is newer or gone."""
    for name, listed in (("mpitrace", "mpitrace.d"), ("libmpitrace.so", "libmpitrace.d")):
        try:
            made = (built / name).stat().st_mtime
            _, _, sources = (built / listed).read_text(encoding="utf-8").partition(": ")
            # In these lists a blank in a name stands behind a backslash.
            files = [file.replace("\\ ", " ") for file in re.split(r"(?<!\\)\s+", sources.strip())]
            files += [REPOSITORY / "Cargo.toml", REPOSITORY / "Cargo.lock"]
            if any((REPOSITORY / file).stat().st_mtime > made for file in files):
                return False
            # A copy of another clone's folder lists files of that one.
            if not any((REPOSITORY / file).is_relative_to(REPOSITORY / "src") for file in files):
                return False
        except OSError:
            return False
    return True


def _tell(what):
    """Says what takes time: to the terminal, too, since pip keeps what a build prints to itself."""
    print("mpitrace:", what, flush=True)
    try:
        with open("/dev/tty", "w", encoding="utf-8") as terminal:
            terminal.write(f"\nmpitrace {what}\n")
    except OSError:
        pass  # no terminal


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
