#!/bin/sh
# What a bare Debian needs before tests/run.sh and packaging/release.sh, as root. What is there is kept.
set -eu
export DEBIAN_FRONTEND=noninteractive
# tests/run.sh installs the MPI libraries by itself.
wanted='binutils ca-certificates curl dpkg-dev gcc git libc6-dev make python3 python3-pip python3-venv xz-utils'
missing=
for package in $wanted; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] ||
        missing="$missing $package"
done
if [ -n "$missing" ]; then
    apt-get update
    # shellcheck disable=SC2086 # several words
    apt-get install -y --no-install-recommends $missing
fi
# The checkout is of another user than root.
git config --global --get-all safe.directory | grep -qxF "$PWD" || git config --global --add safe.directory "$PWD"
if ! command -v cargo >/dev/null && [ ! -x "$HOME/.cargo/bin/cargo" ]; then
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
        sh -s -- -y --profile minimal --component clippy --component rustfmt
fi
