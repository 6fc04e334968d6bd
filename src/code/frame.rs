//! The frames of samples: what their texts say of a function.

/// Libraries of the system and of mathematics, by the beginning of their file's name: the code of the program is what
/// called them.
const LIBRARIES: &[&str] = &[
    "ld-",
    "libc-",
    "libc.",
    "libdl",
    "libm-",
    "libm.",
    "libmvec",
    "libnuma",
    "libpthread",
    "librt", // the system
    "libatomic",
    "libc++",
    "libgcc",
    "libgfortran",
    "libgomp",
    "libiomp",
    "libomp",
    "libquadmath",
    "libstdc++",
    "libatlas",
    "libblas",
    "libblis",
    "libfftw",
    "liblapack",
    "libmkl",
    "libopenblas",
    "libscalapack",
    "libadios",
    "libcrypto",
    "libhdf5",
    "libnetcdf",
    "libsz",
    "libz.",
    "libzstd",
];
/// The MPI library and what it stands on.
const MPI: &[&str] = &[
    "libmpi",
    "libpmpi",
    "libopen-",
    "mca_",
    "libfabric",
    "libpmix",
    "libprrte",
    "libucp",
    "libuct",
    "libucs",
    "libucm",
    "libpsm",
    "libibverbs",
    "libmlx",
    "libhwloc",
    "libevent",
];
/// The beginnings of names of functions of MPI, also where the library is part of the program.
const MPI_NAMES: &[&str] = &["MPI_", "PMPI_", "mpi_", "pmpi_", "MPIR_", "MPID", "ompi_", "opal_"];

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function of the program, or of a library of its own.
    Program,
    /// A function of the MPI library.
    Mpi,
    /// Any other library, the kernel, the interpreter of Python.
    Other,
}

/// A frame, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'t> {
    pub kind: Kind,
    pub function: &'t str,
    /// The source file, or the library without lines; `None`: not known.
    pub file: Option<&'t str>,
    pub line: Option<u32>,
}

impl<'t> Frame<'t> {
    /// Takes the text of a frame apart: `sum (app.c:3)`, `step (solver.py)`, `memcpy (libc.so.6)`, `main`.
    pub fn parse(text: &'t str) -> Frame<'t> {
        let place = text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        let (function, place) = place.map_or((text, None), |(function, place)| (function, Some(place)));
        let with_line = place.and_then(|place| {
            let (file, line) = place.rsplit_once(':')?;
            Some((file, line.parse().ok()?))
        });
        let (file, line) = with_line.map_or((place, None), |(file, line)| (Some(file), Some(line)));
        let begins = |text: &str, all: &[&str]| all.iter().any(|start| text.starts_with(start));
        // Without a symbol the text is the file and an offset.
        let module = file.filter(|_| line.is_none()).unwrap_or(text);
        let kind = if text.starts_with('[') || begins(module, LIBRARIES) || function.starts_with("__vdso") {
            Kind::Other
        } else if begins(module, MPI) || begins(function, MPI_NAMES) {
            Kind::Mpi
        } else {
            Kind::Program
        };
        Frame { kind, function, file, line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_frames_are_taken_apart() {
        let frame = |text: &'static str| {
            let Frame { kind, function, file, line } = Frame::parse(text);
            (kind, function, file, line)
        };
        assert_eq!(frame("sum (app.c:3)"), (Kind::Program, "sum", Some("app.c"), Some(3)));
        assert_eq!(frame("f(int, char) (a b.cpp:70)"), (Kind::Program, "f(int, char)", Some("a b.cpp"), Some(70)));
        assert_eq!(frame("step (solver.py)"), (Kind::Program, "step", Some("solver.py"), None));
        assert_eq!(frame("Pair::compute (liblammps.so.0)").0, Kind::Program);
        assert_eq!(frame("main"), (Kind::Program, "main", None, None));
        assert_eq!(frame("app+0x1c0"), (Kind::Program, "app+0x1c0", None, None));
        for text in ["memcpy (libc.so.6)", "libm.so.6+0x1c", "[kernel]", "[python]", "dgemm_ (libopenblas.so.0)"] {
            assert_eq!(frame(text).0, Kind::Other, "{text}");
        }
        for text in ["progress (libopen-pal.so.40)", "PMPI_Wait (libmpi.so.40)", "MPIR_Wait", "MPI_Send (comm.c:9)"] {
            assert_eq!(frame(text).0, Kind::Mpi, "{text}");
        }
    }
}
