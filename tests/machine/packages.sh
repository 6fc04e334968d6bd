# Debian's packages for the emulated machine, unpacked into folders: nothing is installed, and no right of root is needed.
# To be sourced; $machine is the folder in which all is kept.

mirror=http://deb.debian.org/debian

# quietly COMMAND...: its output is shown only if it fails.
quietly() {
    local log=$machine/quiet.log
    if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
    tail -n 20 "$log"
    echo "machine: failed: $*"
    return 1
}

# fetch NAME SUITE ARCHITECTURES PACKAGE...: these packages and all that they depend on, as files in $machine/NAME.debs;
# the first architecture is that of names without one.
fetch() {
    local name=$1 suite=$2 architectures=$3
    shift 3
    local state=$machine/apt/$name architecture options
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    : >"$state/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$state/sources.list"
    options=(
        -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
        -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::preferencesparts=-
        -o Debug::NoLocking=true -o APT::Sandbox::User= -o Acquire::Languages=none -o APT::Install-Recommends=false
        -o "APT::Architecture=${architectures%% *}"
    )
    for architecture in $architectures; do options+=(-o "APT::Architectures::=$architecture"); done
    quietly apt-get "${options[@]}" update || return 1
    quietly apt-get "${options[@]}" install --yes --download-only "$@" || return 1
    rm -rf "$machine/$name.debs"
    mv "$state/cache/archives" "$machine/$name.debs"
    rm -rf "$state"
}

# unpack NAME FOLDER: what was fetched under that name, with /bin, /lib and /sbin within /usr. What is not needed to run
# programs is left out.
unpack() {
    local name=$1 folder=$2 part package
    for part in bin lib sbin; do
        mkdir -p "$folder/usr/$part"
        ln -sfn "usr/$part" "$folder/$part"
    done
    for package in "$machine/$name.debs"/*.deb; do
        dpkg-deb --fsys-tarfile "$package" |
            tar -x -C "$folder" --keep-directory-symlink --no-same-owner --exclude='./usr/share/doc/*' \
                --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./usr/share/info/*' \
                --exclude='./usr/share/i18n/*' --exclude='./dev/*' || return 1
    done
}

# What tests of whole programs need of a Debian.
tested_packages='base-files base-passwd bash dash coreutils util-linux mount findutils grep sed mawk procps hostname
    binutils gcc g++ gfortran libc6-dev mpich libmpich-dev openmpi-bin libopenmpi-dev'

# system NAME FOLDER: what was fetched under that name as a system in which programs run: with what the scripts of the
# packages would do.
system() {
    local name=$1 folder=$2 library
    rm -rf "$folder"
    mkdir -p "$folder"/{dev,proc,sys,tmp,run,root,stage,etc,var/tmp}
    unpack "$name" "$folder" || return 1
    cp "$folder/usr/share/base-passwd/passwd.master" "$folder/etc/passwd"
    cp "$folder/usr/share/base-passwd/group.master" "$folder/etc/group"
    printf '127.0.0.1 localhost machine\n' >"$folder/etc/hosts"
    echo machine >"$folder/etc/hostname"
    ln -sfn mawk "$folder/usr/bin/awk"
    for library in "$folder"/usr/lib/*/openmpi/lib/libmpi.so; do
        ln -sfn openmpi/lib/libmpi.so "${library%/openmpi/*}/libmpi.so"
    done
    ln -sfn gcc "$folder/usr/bin/cc"
    ln -sfn g++ "$folder/usr/bin/c++"
    chmod 1777 "$folder/tmp" "$folder/var/tmp"
    # Needed by no test.
    rm -rf "$folder"/usr/share/{perl,icons,bash-completion,gdb} "$folder"/usr/lib/gcc/*/*/{lto1,lto-wrapper}
}
