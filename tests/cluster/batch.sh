#!/bin/bash
# tests/cluster/batch.sh [OPTIONS OF sbatch] -- COMMAND...: the command as a batch job; waits for it, prints what it printed, and
# ends as it does. (`sbatch --wait` looks every 10 s only.)
set -euo pipefail
options=()
while [ "$1" != -- ]; do
    options+=("$1")
    shift
done
shift
folder=$(mktemp -d "$PWD/batch.XXXXXX")
printf '#!/bin/bash\n%s >%q/stdout 2>%q/stderr\necho $? >%q/code.new\nmv %q/code.new %q/code\n' \
    "$(printf '%q ' "$@")" "$folder" "$folder" "$folder" "$folder" "$folder" >"$folder/job"
sbatch --parsable -o /dev/null "${options[@]}" "$folder/job" >"$folder/number"
until [ -e "$folder/code" ]; do sleep 0.05; done
cat "$folder/stdout"
cat "$folder/stderr" >&2
exit "$(cat "$folder/code")"
