# shellcheck shell=bash
# Where results are kept. Sourced by tests/run.sh and tests/measure.sh, in the root of the repository.

# The line before a result: date, processor, cores, load, commit, command.
result_head() {
    local cpu commit
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
    commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
    [ -z "$(git status --porcelain 2>/dev/null | head -n 1)" ] || commit="$commit with changes"
    echo "$(date -u +%Y-%m-%d), ${cpu:-unknown processor}, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)," \
        "commit $commit: \`$*\`"
}

# keep_result NAME FILE: puts the file between the marks of this name in docs/developers/measurements.md; without marks
# it becomes docs/developers/measurements/NAME.txt. In CI nothing is kept.
keep_result() {
    local page=docs/developers/measurements.md name=$1 file=$2
    if [ "${CI:-}" = true ] || [ ! -w "$page" ]; then return 0; fi
    if ! grep -q "^<!-- $name: begin -->" "$page"; then
        cat "$file" >"${page%.md}/$name.txt"
        return 0
    fi
    awk -v begin="<!-- $name: begin -->" -v end="<!-- $name: end -->" -v file="$file" '
        $0 == end { skip = 0 }
        !skip { print }
        $0 == begin { while ((getline line < file) > 0) print line; skip = 1 }
    ' "$page" >"$page.new" && cat "$page.new" >"$page"
    rm -f "$page.new"
}
