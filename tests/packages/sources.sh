# shellcheck shell=bash
# Checks of what is made of the sources as a whole: part of tests/packages.sh.

# Cargo finds every package of both workspaces, with a home of its own and without a network, and builds one crate.
dist() {
    local archive folder=$work/mpitrace-$version manifest
    archive=$(packaging/dist.sh)
    tar -x -C "$work" -f "$archive"
    for manifest in Cargo.toml python/Cargo.toml; do
        (cd "$folder" && CARGO_HOME=$work/cargo cargo metadata --frozen --format-version 1 --manifest-path $manifest) \
            >"$work/metadata.json" || fail "$manifest lacks packages"
        passed=$((passed + 1))
    done
    (cd "$folder" && CARGO_HOME=$work/cargo CARGO_TARGET_DIR=$work/dist cargo check -q --frozen -p mpitrace-format)
    passed=$((passed + 1))
}

# The recipe of Spack: Python, filled in, and of this archive of the sources.
recipe() {
    local file=$1/packages/mpitrace/package.py archive=$2
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" || fail "$file is no Python"
    is "what is not filled in, in the recipe" "" "$(grep -n '@[A-Z0-9]*@' "$file" || true)"
    has "the sum of the sources in the recipe" "$(cat "$file")" "$(sha256sum <"$archive" | cut -d ' ' -f 1)"
    if type -P spack >/dev/null; then in_spack style --tool import,flake8 "$file"; fi
}

# The script that makes a release, as the workflow calls it, in a clone with a tag; cargo's folder is the same, so
# dependencies are there.
release() {
    local clone=$work/release kept=$work/kept found
    debian dpkg-dev binutils || {
        skip release "no dpkg-dev, and no right to install it"
        return
    }
    build
    # What the other checks and the tests use has the same names in cargo's folder.
    mkdir -p "$kept"
    cp -p "$built/mpitrace" "$built/libmpitrace.so" "$kept"
    git clone -q --no-tags . "$clone"
    (
        cd "$clone"
        git config user.name tests
        git config user.email tests@localhost
        export CARGO_TARGET_DIR=$target PROFILE=$profile GLIBC=
        sed -i "/^## \[$version\]/d" CHANGELOG.md
        sed -i 's/^version: .*/version: 0.0.1/' CITATION.cff
        git commit -q -a --allow-empty -m "Before the release"
        refuses 2 "usage" packaging/release.sh
        refuses 2 "there is no tag v$version" packaging/release.sh "$version"
        git tag "v$version"
        refuses 2 "CITATION.cff does not have the version $version" packaging/release.sh --check "$version"
        packaging/release.sh --prepare "$version" >"$work/release.log" 2>&1 || fail "$(tail -n 30 "$work/release.log")"
        is "the date of the release" "## [$version] - $(date -u +%Y-%m-%d)" "$(grep -F "## [$version]" CHANGELOG.md)"
        is "what a release changes" "CHANGELOG.md CITATION.cff" "$(git diff --name-only | tr '\n' ' ' | sed 's/ $//')"
        refuses 2 "not committed" packaging/release.sh "$version"
        sed -i "/^## \[$version\]/s/ - .*//" CHANGELOG.md
        git commit -q -a -m "A release without its date"
        git tag -f "v$version" >/dev/null
        refuses 2 "has no section for $version with its date" packaging/release.sh "$version"
        sed -i "/^## \[$version\]/s/$/ - 2026-12-01/" CHANGELOG.md
        git commit -q -a -m "A release"
        refuses 2 "v$version is another commit" packaging/release.sh "$version"
        git tag -f "v$version" >/dev/null
        packaging/release.sh --check "$version" >"$work/release.log" 2>&1 || fail "$(tail -n 30 "$work/release.log")"
        tests/packages/workflows.py .github/workflows/release.yml Release >"$work/step"
        GITHUB_REF_NAME=v$version bash -e "$work/step" >"$work/release.log" 2>&1 ||
            fail "$(tail -n 30 "$work/release.log")"
        git tag v9.9.9
        refuses 2 "Cargo.toml does not have the version 9.9.9" packaging/release.sh 9.9.9
    )
    cp -p "$kept/mpitrace" "$kept/libmpitrace.so" "$built"
    found=$(cd "$target/packages" && sha256sum -c SHA256SUMS)
    is "files of the release" 6 "$(wc -l <<<"$found")"
    for file in "mpitrace_${version}_" "mpitrace-$version.tar.xz: OK" "mpitrace-$version-spack.tar.gz: OK" \
        "mpitrace-$version.cdx.json: OK" \
        "mpitrace-$version-$(uname -m)-glibc" "mpitrace-$version-cp39-abi3-"; do
        has "files of the release" "$found" "$file"
    done
    recipe "$target/packages/spack" "$target/packages/mpitrace-$version.tar.xz"
    bill "$target/packages/mpitrace-$version.cdx.json"
}

# The list of what is in a release: all packages of cargo's that are linked, with licence and checksum.
bill() {
    python3 - "$1" Cargo.lock <<'END' || fail "the list of what is in the release ($1)"
import json, sys, tomllib
bill = json.load(open(sys.argv[1]))
lock = tomllib.load(open(sys.argv[2], "rb"))["package"]
locked = {(one["name"], one["version"]): one.get("checksum") for one in lock}
parts = {one["bom-ref"]: one for one in bill["components"]}
assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
assert {"libc", "clap", "mpitrace-interpose", "pyo3"} <= {one["name"] for one in parts.values()}
# What the build alone uses, and what is a macro, is not in it.
assert not {"syn", "prettyplease", "serde_derive", "proptest"} & {one["name"] for one in parts.values()}
for one in parts.values():
    assert one["licenses"][0]["expression"], one
    if not one["name"].startswith("mpitrace-"):
        (checksum,) = one["hashes"]
        assert locked.get((one["name"], one["version"]), checksum["content"]) == checksum["content"], one
for one in bill["dependencies"]:
    assert set(one["dependsOn"]) <= set(parts), one
assert {one["ref"] for one in bill["dependencies"]} == {"mpitrace", *parts}
END
    passed=$((passed + 1))
}

# The workflows of .github: each command of theirs is run in a clone, but for those that are this run and the release.
workflows() {
    local clone=$work/workflows file name step found=0
    git clone -q --no-tags . "$clone"
    for file in "$clone"/.github/workflows/*.yml; do
        has "the system of ${file##*/}" "$(cat "$file")" "debian:12"
        while read -r name; do
            tests/packages/workflows.py "$file" "$name" >"$work/step"
            step=$(cat "$work/step")
            case $step in
                *tests/run.sh*)
                    # These tests are a part of it.
                    bash -n "$clone/tests/run.sh"
                    found=$((found + 1))
                    ;;
                *packaging/release.sh*) found=$((found + 1)) ;; # the check `release` runs it
                *)
                    if [ "$(id -u)" != 0 ]; then
                        skip "the step $name of ${file##*/}" "needs root"
                        continue
                    fi
                    (cd "$clone" && GIT_CONFIG_GLOBAL=$work/gitconfig bash -e "$work/step") >"$work/step.log" 2>&1 ||
                        fail "the step $name of ${file##*/}: $(tail -n 20 "$work/step.log")"
                    ;;
            esac
            passed=$((passed + 1))
        done < <(tests/packages/workflows.py "$file")
    done
    is "workflows that call the tests and the release" 2 "$found"
}
