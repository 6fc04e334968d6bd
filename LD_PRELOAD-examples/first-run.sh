#!/bin/bash
# From a fresh checkout to the first answer: builds mpitrace, and traces a program.
#
#   first-run.sh                      a small program that is built here
#   first-run.sh ./my_program ARGS    a program of yours, on two ranks
#   first-run.sh srun -n 8 ./my_program ARGS    the same under a launcher and its options
#
# It needs cargo and a C compiler. Where no MPI is installed, the small program gets MPICH in a virtual environment below
# target/, without root.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)

# A program of the user's is looked for before minutes are spent on the build.
if [ $# -gt 0 ]; then
    case ${1##*/} in
        mpirun | mpiexec | mpiexec.hydra | orterun | prterun | srun) launcher=() ;;
        *)
            launcher=(mpirun -np 2)
            if ! (cd "$here" && command -v "$1" >/dev/null); then
                echo "first-run.sh: $1: there is no such program (a program in this folder is ./$1)" >&2
                exit 2
            fi
            ;;
    esac
    if [ ${#launcher[@]} -gt 0 ] && ! command -v mpirun >/dev/null; then
        echo "first-run.sh: no mpirun in PATH: load your MPI, or give the launcher: first-run.sh srun -n 2 $*" >&2
        exit 2
    fi
fi

# Without the exports to Parquet and Arrow, which are most of a build: `cargo build --release --workspace` has them. Where
# that was done before, they stay.
features=(--no-default-features)
if compgen -G "$target/release/deps/libparquet-*.rlib" >/dev/null; then features=(); fi
cargo build --release -p mpitrace-interpose -p mpitrace-tools "${features[@]}"

if [ $# -gt 0 ]; then
    cd "$here"
    set -x
    exec "$target/release/mpitrace" run -- "${launcher[@]}" "$@"
fi

if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    compile() { mpicc "$@"; }
    mpirun=mpirun
else
    own=$target/first-run-mpich
    if [ ! -x "$own/bin/mpirun" ]; then
        echo "No mpicc and mpirun here: fetching MPICH from PyPI into $own"
        give_up() {
            echo "Python cannot install it: $1. Install python3-venv, or an MPI (on Debian: mpich libmpich-dev)." >&2
            exit 1
        }
        rm -rf "$own"
        command -v python3 >/dev/null || give_up "there is no python3"
        if python3 -m venv "$own" >/dev/null 2>&1; then
            "$own/bin/python" -m pip install --quiet --disable-pip-version-check mpich==5.0.2 || give_up "pip failed"
        else
            # Debian's Python without python3-venv: the pip outside can fill an environment that has none.
            rm -rf "$own"
            python3 -m venv --without-pip "$own" >/dev/null 2>&1 || give_up "it has no venv module"
            python3 -m pip --python "$own/bin/python" install --quiet --disable-pip-version-check mpich==5.0.2 ||
                give_up "there is neither ensurepip nor pip"
        fi
    fi
    own=$(cd "$own" && pwd)
    compile() { cc "$@" -I"$own/include" -L"$own/lib" -Wl,-rpath,"$own/lib" -lmpi; }
    mpirun=$own/bin/mpirun
fi

compile -O2 LD_PRELOAD-examples/repetitions.c -o "$target/first-run"

trace=$target/first-run.mpitrace
rm -f "$trace" # a trace is never overwritten
set -x
"$target/release/mpitrace" run -o "$trace" -- "$mpirun" -np 2 "$target/first-run"
"$target/release/mpitrace" info "$trace"
"$target/release/mpitrace" categorize "$trace"
