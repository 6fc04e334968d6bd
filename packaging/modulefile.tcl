#%Module1.0
set prefix @PREFIX@

proc ModulesHelp {} {
    puts stderr "mpitrace @VERSION@ traces the collective calls of unmodified MPI programs:"
    puts stderr "  mpitrace run -o app.mpitrace -- mpirun -np 2 ./app"
}
module-whatis "traces the collective calls of unmodified MPI programs"

# Extrae brings another libmpitrace.so.
conflict mpitrace extrae
prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
# An empty part stands for the pages of the system, which man would not find otherwise.
append-path MANPATH {}
prepend-path PKG_CONFIG_PATH $prefix/share/pkgconfig
prepend-path CMAKE_PREFIX_PATH $prefix
setenv MPITRACE_ROOT $prefix
# For job scripts that preload it.
setenv MPITRACE_LIBRARY $prefix/lib/mpitrace/libmpitrace.so
