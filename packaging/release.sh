#!/bin/sh
# Makes the files of a release out of a tagged commit: packaging/release.sh 0.1.0
#
# Checks that nothing is uncommitted, that the tag v0.1.0 is this commit, and that manifests and CHANGELOG.md have the
# version. Then builds, and leaves in target/packages the Debian package, the archive of the build, the wheel, the archive
# of the sources with all dependencies, and SHA256SUMS. It publishes nothing.
#
#   GLIBC, PROFILE   as in archive.sh
set -eu
cd "$(dirname "$0")/.."

refuse() {
    echo "release: $*" >&2
    exit 2
}

version=${1:-}
case $version in
    "" | *[!0-9a-z.-]*) refuse "usage: packaging/release.sh VERSION" ;;
esac
target=${CARGO_TARGET_DIR:-target}
[ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed"
tagged=$(git rev-parse -q --verify "v$version^{commit}") || refuse "there is no tag v$version: git tag -s v$version"
[ "$tagged" = "$(git rev-parse HEAD)" ] || refuse "v$version is another commit: git checkout v$version"
for manifest in Cargo.toml python/Cargo.toml; do
    grep -qxF "version = \"$version\"" $manifest || refuse "$manifest does not have the version $version"
done
grep -qF "## [$version]" CHANGELOG.md || refuse "CHANGELOG.md has no section for $version"

profile=${PROFILE:-release}
rm -f "$target"/packages/mpitrace* "$target/packages/SHA256SUMS"
cargo build --locked --profile "$profile" -p mpitrace-interpose -p mpitrace-tools
BUILT=$target/$profile packaging/deb.sh
packaging/archive.sh
packaging/dist.sh
cd "$target/packages"
sha256sum mpitrace*.deb mpitrace*.tar.gz mpitrace*.tar.xz mpitrace*.whl >SHA256SUMS
cat SHA256SUMS
