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

# The script that makes a release, in a clone with a tag; cargo's folder is the same, so dependencies are there.
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
        git commit -q -a --allow-empty -m "Before the release"
        refuses 2 "usage" packaging/release.sh
        refuses 2 "there is no tag v$version" packaging/release.sh "$version"
        git tag "v$version"
        refuses 2 "CHANGELOG.md has no section for $version" packaging/release.sh "$version"
        sed -i "s/^## \[Unreleased\]/&\n\n## [$version]/" CHANGELOG.md
        refuses 2 "not committed" packaging/release.sh "$version"
        git commit -q -a -m "A release"
        refuses 2 "v$version is another commit" packaging/release.sh "$version"
        git tag -f "v$version" >/dev/null
        packaging/release.sh "$version" >"$work/release.log" 2>&1 || fail "$(tail -n 30 "$work/release.log")"
        git tag v9.9.9
        refuses 2 "Cargo.toml does not have the version 9.9.9" packaging/release.sh 9.9.9
    )
    cp -p "$kept/mpitrace" "$kept/libmpitrace.so" "$built"
    found=$(cd "$target/packages" && sha256sum -c SHA256SUMS)
    is "files of the release" 4 "$(wc -l <<<"$found")"
    for file in "mpitrace_${version}_" "mpitrace-$version.tar.xz: OK" \
        "mpitrace-$version-$(uname -m)-glibc" "mpitrace-$version-cp39-abi3-"; do
        has "files of the release" "$found" "$file"
    done
}
