help([[
mpitrace @VERSION@ traces the collective calls of unmodified MPI programs:
  mpitrace run -o app.mpitrace -- mpirun -np 2 ./app
]])
whatis("Name: mpitrace")
whatis("Version: @VERSION@")
whatis("Description: traces the collective calls of unmodified MPI programs")

local prefix = "@PREFIX@"
-- It brings another libmpitrace.so.
conflict("extrae")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
-- An empty part stands for the pages of the system, which man would not find otherwise.
append_path("MANPATH", "")
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "share/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
setenv("MPITRACE_ROOT", prefix)
-- For job scripts that preload it.
setenv("MPITRACE_LIBRARY", pathJoin(prefix, "lib/mpitrace/libmpitrace.so"))
