#!/bin/sh
# Makes the files of a release out of a tagged commit: packaging/release.sh 0.1.0
#
#   packaging/release.sh --prepare 0.1.0   writes version and date into the files that name them; look at them, commit
#                                          and tag: git commit -a -m "mpitrace 0.1.0" && git tag -s v0.1.0
#   packaging/release.sh --check 0.1.0     whether this commit can be released; builds nothing
#   packaging/release.sh 0.1.0             checks and builds
#
# Checks that nothing is uncommitted, that the tag v0.1.0 is this commit, that all files name the version, that
# CHANGELOG.md has a dated section for it, and that no link of the pages leads nowhere. Then builds, and leaves in
# target/packages the Debian package, the archive of the build, the wheel, the archive of the sources with all
# dependencies, the recipe of Spack, the list of what is in it (SBOM), and SHA256SUMS. It publishes nothing.
#
#   URL              the folder from which the sources will be fetched, for the recipe of Spack (a path of this machine)
#   GLIBC, PROFILE   as in archive.sh
set -eu
cd "$(dirname "$0")/.."

refuse() {
    echo "release: $*" >&2
    exit 2
}

task=build
case ${1:-} in
    --prepare | --check)
        task=${1#--}
        shift
        ;;
esac
version=${1:-}
case $version in
    "" | *[!0-9a-z.-]* | -*) refuse "usage: packaging/release.sh [--prepare | --check] VERSION" ;;
esac
target=${CARGO_TARGET_DIR:-target}
manifests='Cargo.toml python/Cargo.toml tests/fuzz/Cargo.toml tests/models/Cargo.toml'

if [ $task = prepare ]; then
    [ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed"
    if ! grep -q "^## \[$version\]" CHANGELOG.md; then
        sed -i "s/^## \[Unreleased\]\$/&\n\n## [$version] - $(date -u +%Y-%m-%d)/" CHANGELOG.md
    fi
    # The first version in each is its own.
    for manifest in $manifests; do
        sed -i "0,/^version = \".*\"/s//version = \"$version\"/" $manifest
        cargo update --quiet --workspace --offline --manifest-path $manifest
    done
    sed -i "s/^version: .*/version: $version/" CITATION.cff
    git diff --stat
    exit
fi

[ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed"
tagged=$(git rev-parse -q --verify "v$version^{commit}") || refuse "there is no tag v$version: git tag -s v$version"
[ "$tagged" = "$(git rev-parse HEAD)" ] || refuse "v$version is another commit: git checkout v$version"
for manifest in $manifests; do
    grep -qxF "version = \"$version\"" $manifest || refuse "$manifest does not have the version $version"
done
grep -qxF "version: $version" CITATION.cff || refuse "CITATION.cff does not have the version $version"
grep -qE "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}\$" CHANGELOG.md ||
    refuse "CHANGELOG.md has no section for $version with its date: packaging/release.sh --prepare $version"
mkdir -p "$target"
tests/documentation.sh links >&2 || refuse "a link of the pages leads nowhere"
[ $task = build ] || exit 0

profile=${PROFILE:-release}
rm -f "$target"/packages/mpitrace* "$target/packages/SHA256SUMS"
cargo build --locked --profile "$profile" -p mpitrace-interpose -p mpitrace-tools
BUILT=$target/$profile packaging/deb.sh
packaging/archive.sh
packaging/dist.sh
recipe=$(URL=${URL:+$URL/mpitrace-$version.tar.xz} packaging/spack.sh)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tar -C "${recipe%/*}" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "${recipe##*/}" |
    gzip -9n >"$target/packages/mpitrace-$version-spack.tar.gz"
packaging/sbom.py >"$target/packages/mpitrace-$version.cdx.json"
cd "$target/packages"
sha256sum mpitrace*.deb mpitrace*.tar.gz mpitrace*.tar.xz mpitrace*.whl mpitrace*.json >SHA256SUMS
cat SHA256SUMS
