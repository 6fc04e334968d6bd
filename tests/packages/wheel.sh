# shellcheck shell=bash
# Checks of the wheel: part of tests/packages.sh.

# The wheel in a new virtual environment, and two traces: a real one, made by what the wheel has installed, where there
# is an MPI library, and one that was never run. Once for all checks; false where there is no Python.
environment() {
    if [ -x "$venv/bin/mpitrace" ]; then return 0; fi
    python3 -m venv --help >/dev/null 2>&1 || return 1
    python3 -m venv "$venv"
    export PIP_DISABLE_PIP_VERSION_CHECK=1
    MATURIN_PEP517_ARGS="--profile $profile" \
        "$venv/bin/python" -m pip install -q './python[test]' >"$work/pip.log" 2>&1 ||
        fail "$(tail -n 30 "$work/pip.log")"
    mkdir -p "$traces"
    # shellcheck source=/dev/null
    (
        . LD_PRELOAD-examples/settings
        mpicc -O1 -o "$traces/program" LD_PRELOAD-examples/repetitions.c &&
            "$venv/bin/mpitrace" run -o "$traces/real.mpitrace" -e messages -- mpirun -np 2 "$traces/program"
    ) >"$work/run.log" 2>&1 || skip "a real trace" "no MPI library"
    cargo run -q --profile "$profile" -p mpitrace-tools --example synthetic -- 4 20000 "$traces/synthetic.mpitrace" &&
        cp -r python/tests "$work/python-tests" || fail "no trace that was never run"
}

python() {
    environment || {
        skip python "no python3 with its venv module"
        return
    }
    cargo fmt --manifest-path python/Cargo.toml --check
    CARGO_TARGET_DIR=$target/python cargo clippy --manifest-path python/Cargo.toml --profile "$profile" -- -D warnings
    (cd python && "$venv/bin/mypy" --no-error-summary --cache-dir "$work/mypy" -p mpitrace)
    # A script, by the types that the wheel has installed.
    (cd "$work/python-tests" && "$venv/bin/mypy" --strict --no-error-summary --cache-dir "$work/mypy-user" typed.py)
    (cd "$work/python-tests" && "$venv/bin/python" -m pytest -q -p no:cacheprovider --traces "$traces" .)
    # The notebook, by a real trace where there is one.
    mkdir -p "$work/notebook"
    cp python/trace.ipynb "$work/notebook"
    cp "$traces/real.mpitrace" "$work/notebook/app.mpitrace" 2>/dev/null ||
        cp "$traces/synthetic.mpitrace" "$work/notebook/app.mpitrace"
    "$venv/bin/python" -m pip install -q nbclient ipykernel matplotlib >"$work/pip.log" 2>&1 ||
        fail "$(tail -n 30 "$work/pip.log")"
    (cd "$work/notebook" && PATH=$venv/bin:$PATH "$venv/bin/python" -c '
import nbclient, nbformat
shipped = nbformat.read("trace.ipynb", 4)
code = [cell for cell in shipped.cells if cell.cell_type == "code"]
assert all(cell.outputs for cell in code), "the notebook ships without its outputs"
notebook = nbclient.execute(nbformat.read("trace.ipynb", 4), kernel_name="python3")
outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
assert sum("image/png" in output.get("data", {}) for output in outputs) == 2, outputs
') || fail "the notebook does not run"
    passed=$((passed + 1))
}

# needs_at_most GLIBC FOLDER: what the files of an unpacked archive, and of its wheel, need of the C library.
needs_at_most() {
    local file newest
    (cd "$2" && python3 -m zipfile -e mpitrace-*.whl wheel)
    for file in "$2"/bin/mpitrace "$2"/lib/mpitrace/*.so "$2"/wheel/mpitrace/*.so; do
        newest=$( (echo "$1"; objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//') | sort -V | tail -n 1)
        is "the newest glibc that ${file##*/} needs" "$1" "$newest"
    done
}

# The archive that is linked to an old C library: what its files need. In Debian 11: a trace by its library, its summary,
# and its wheel.
glibc() {
    local folder=$work/glibc oldest=2.17 found
    mkdir -p "$folder"
    found=$(GLIBC=$oldest PROFILE=$profile packaging/archive.sh 2>"$work/pip.log") || fail "$(tail -n 30 "$work/pip.log")"
    has "the archive" "$found" "-glibc$oldest.tar.gz"
    tar -x -C "$folder" --strip-components 1 -f "$found"
    needs_at_most $oldest "$folder"
    # debootstrap does not find what provides automake-1.16.
    minimal_system bullseye openmpi-bin,libopenmpi-dev,automake,gcc,libc6-dev,python3-pip,python3-venv || return 0
    python3 -m pip download -q --only-binary=:all: --python-version 3.9 --platform "manylinux2014_$(uname -m)" \
        --dest "$folder" 'pyarrow>=15' >"$work/pip.log" 2>&1 || fail "$(tail -n 30 "$work/pip.log")"
    cp LD_PRELOAD-examples/repetitions.c "$folder"
    BOUND="$folder:/opt/mpitrace /dev/shm:/dev/shm"
    found=$(inside sh -euc '
        cd /tmp
        mpicc -O1 -o program /opt/mpitrace/repetitions.c
        /opt/mpitrace/bin/mpitrace run -o app.mpitrace -- mpirun --allow-run-as-root --oversubscribe -np 2 ./program
        /opt/mpitrace/bin/mpitrace summary app.mpitrace
        rm -rf venv
        python3 -m venv venv
        venv/bin/pip install --no-index --find-links /opt/mpitrace /opt/mpitrace/mpitrace-*.whl
        venv/bin/python -c "import mpitrace; print(mpitrace.open(\"app.mpitrace\").info[\"complete\"])"' 2>&1) || fail "$found"
    has "the summary" "$found" "in MPI between Init and Finalize"
    is "the trace in Python" True "${found##*$'\n'}"
}
