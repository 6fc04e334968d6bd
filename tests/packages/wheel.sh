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
notebook = nbclient.execute(nbformat.read("trace.ipynb", 4), kernel_name="python3")
outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
assert sum("image/png" in output.get("data", {}) for output in outputs) == 2, outputs
') || fail "the notebook does not run"
    passed=$((passed + 1))
}

# The wheel that is linked to an old C library: what it needs, and that its library traces a program.
glibc() {
    local folder=$work/glibc oldest=2.17 file needs newest found
    python3 -m venv "$folder" 2>/dev/null || {
        skip glibc "no python3 with its venv module"
        return
    }
    export PIP_DISABLE_PIP_VERSION_CHECK=1
    GLIBC=$oldest MATURIN_PEP517_ARGS="--profile $profile" \
        "$folder/bin/python" -m pip wheel -q --no-deps --wheel-dir "$folder" ./python >"$work/pip.log" 2>&1 ||
        fail "$(tail -n 30 "$work/pip.log")"
    has "the tag of the wheel" "$(echo "$folder"/mpitrace-*.whl)" "manylinux_2_17_"
    "$folder/bin/python" -m pip install -q "$folder"/mpitrace-*.whl >"$work/pip.log" 2>&1 ||
        fail "$(tail -n 30 "$work/pip.log")"
    for file in "$folder"/bin/mpitrace "$folder"/lib/mpitrace/*.so "$folder"/lib/*/site-packages/mpitrace/*.so; do
        needs=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
        newest=$(printf '%s\n' "$needs" "$oldest" | sort -V | tail -n 1)
        is "the newest glibc that ${file##*/} needs" "$oldest" "$newest"
    done
    is "it starts" "mpitrace $version" "$("$folder/bin/mpitrace" --version)"
    is "the package" "['first', 'good']" "$("$folder/bin/python" -c '
import mpitrace
print(list(mpitrace.categorize([5.0, 5.0]).category))')"
    # shellcheck source=/dev/null
    . LD_PRELOAD-examples/settings
    if mpicc -O1 -o "$folder/program" LD_PRELOAD-examples/repetitions.c 2>/dev/null; then
        "$folder/bin/mpitrace" run -o "$folder/app.mpitrace" -- mpirun -np 2 "$folder/program" >"$work/run.log" 2>&1 ||
            fail "$(cat "$work/run.log")"
        found=$("$folder/bin/mpitrace" info --json "$folder/app.mpitrace")
        has "its trace" "$found" '"complete": true'
    else
        skip "a trace by the old library" "no MPI library"
    fi
}
