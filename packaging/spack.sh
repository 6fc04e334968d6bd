#!/bin/sh
# Lays out a Spack repository with the recipe of mpitrace, for the archive of the sources: `make spack`.
#
#   URL   where Spack fetches the archive (file:// and its path below target/packages). Its name must stay
#
# The archive is made where it is missing (packaging/dist.sh). The repository is left in target/packages/spack:
# `spack repo add` it, then `spack install mpitrace`. Tried with Spack 0.23 (tests/packages.sh spack).
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/packages"
target=$(cd "$target" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
archive=$target/packages/mpitrace-$version.tar.xz
[ -e "$archive" ] || packaging/dist.sh >/dev/null
url=${URL:-file://$archive}
case $url in
    */"${archive##*/}") ;;
    *)
        echo "spack: URL=$url: does not end in /${archive##*/}, the name of the archive" >&2
        exit 2
        ;;
esac
sum=$(sha256sum <"$archive" | cut -d ' ' -f 1)

repository=$target/packages/spack
rm -rf "$repository"
mkdir -p "$repository/packages/mpitrace"
cat >"$repository/repo.yaml" <<END
repo:
  namespace: mpitrace
  api: v1.0
END
sed "1s/.*/\"\"\"A Spack recipe for mpitrace./; s|@URL@|$url|; s|@VERSION@|$version|; s|@SHA256@|$sum|" \
    packaging/spack/package.py >"$repository/packages/mpitrace/package.py"
echo "$repository"
