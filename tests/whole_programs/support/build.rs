//! Compiling the test programs, once for each library: what was built before is found again by what it was built from.

use super::library::{Compiler, Mpi};
use super::{TARGET, root};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The headers that sources include.
const INCLUDED: [&str; 10] = [
    "report.h",
    "checksum.h",
    "tally.c",
    "counts.c",
    "bitwise.inc",
    "../../include/mpitrace.h",
    "../../include/roth_tracing.h",
    "../../include/mpitrace.f90",
    "../../include/mpitrace_fortran.c",
    "../../include/mpitrace_bench.c",
];

/// The path of a file in tests/programs.
pub fn source(name: &str) -> PathBuf {
    root().join("tests/programs").join(name)
}

/// The program of that source for this library.
pub fn program(mpi: &Mpi, name: &str) -> PathBuf {
    if name.ends_with(".f90") || name.ends_with(".F90") {
        let fortran = mpi.fortran.as_ref().expect("a Fortran compiler, as the test asked for one");
        let options = ["-g", "-O1", "-w", "-fallow-argument-mismatch"];
        if !name.starts_with("inner") && !name.starts_with("enough") {
            return compile(mpi, name, fortran, &options);
        }
        let [module, functions] =
            ["mpitrace.f90", "mpitrace_fortran.c"].map(|file| root().join("include").join(file).display().to_string());
        let object = name.starts_with("enough").then(|| bench(mpi).display().to_string());
        let object = object.as_deref().map_or(Vec::new(), |object| vec![object]);
        compile(mpi, name, fortran, &[&options[..], &[&module, &functions], &object].concat())
    } else if name.ends_with(".cpp") {
        // Without the C++ bindings that MPI 3 has removed, which Debian's headers still have.
        let options = ["-x", "c++", "-std=c++17", "-g", "-O1", "-Wall", "-Wextra", "-Werror"];
        let bindings = ["-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX", "-Wno-cast-function-type"];
        compile(mpi, name, &mpi.c, &[&options[..], &bindings, &["-Wl,--no-as-needed", "-lstdc++"]].concat())
    } else {
        let include = format!("-I{}", root().join("include").display());
        let options = [&["-O1", "-pthread", &include], &WARNINGS[..]].concat();
        if !name.starts_with("enough") {
            return compile(mpi, name, &mpi.c, &options);
        }
        let object = bench(mpi).display().to_string();
        compile(mpi, name, &mpi.c, &[&options[..], &[&object, "-Wl,--no-as-needed", "-lm"]].concat())
    }
}

/// MPICH's MPI_STATUSES_IGNORE is the address 1, which the compiler takes for an array that is too short.
const WARNINGS: [&str; 5] = ["-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"];

/// The object of mpitrace_bench.c.
fn bench(mpi: &Mpi) -> PathBuf {
    let include = format!("-I{}", root().join("include").display());
    let options = [&["-O2", "-c", &include], &WARNINGS[..]].concat();
    compile(mpi, "../../include/mpitrace_bench.c", &mpi.c, &options)
}

/// The program, built with one more option than usual.
pub fn with_option(mpi: &Mpi, name: &str, option: &str) -> PathBuf {
    compile(mpi, name, &mpi.c, &["-g", "-fno-omit-frame-pointer", option])
}

/// Builds a program so that it checks its accesses to memory.
pub fn sanitized(mpi: &Mpi, name: &str) -> PathBuf {
    compile(mpi, name, &mpi.c, &["-g", "-O1", "-pthread", "-fsanitize=address"])
}

/// The source as a library to be preloaded.
pub fn shared_library(mpi: &Mpi, name: &str) -> PathBuf {
    compile(mpi, name, &mpi.c, &["-O1", "-Wall", "-shared", "-fPIC"])
}

/// The program, linked with a library that it finds in the library's folder.
pub fn linked_with(mpi: &Mpi, name: &str, library: &Path) -> PathBuf {
    let folder = library.parent().unwrap_or(Path::new("/")).display();
    let file = library.file_name().unwrap_or_default().to_string_lossy();
    let [search, link] = [format!("-L{folder}"), format!("-l:{file}")];
    let found = format!("-Wl,--no-as-needed,-rpath,{folder}");
    compile(mpi, name, &mpi.c, &["-O1", "-Wall", &found, &search, &link])
}

fn compile(mpi: &Mpi, name: &str, compiler: &Compiler, options: &[&str]) -> PathBuf {
    let source = source(name);
    let mut hasher = DefaultHasher::new();
    (&compiler, options).hash(&mut hasher);
    for path in std::iter::once(source.clone()).chain(INCLUDED.map(self::source)) {
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).hash(&mut hasher);
    }
    let folder = TARGET.join("tests/programs").join(mpi.name);
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let program = folder.join(format!("{stem}-{:016x}", hasher.finish()));
    if program.exists() {
        return program;
    }
    fs::create_dir_all(&folder).expect("a folder for programs");
    // Under another name first: a second test that wants the same program must not find half of it.
    static BUILDS: AtomicU32 = AtomicU32::new(0);
    let number = BUILDS.fetch_add(1, Ordering::Relaxed);
    let unfinished = folder.join(format!("{stem}.{}.{number}", std::process::id()));
    let Compiler { before, after } = compiler;
    let mut command = Command::new(&before[0]);
    command.args(&before[1..]).args(options).arg("-o").arg(&unfinished).arg(&source).args(after).current_dir(&folder);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    // The first one stays: a rank of another test may run it already, and would lose its file and with it the source
    // lines.
    match fs::hard_link(&unfinished, &program) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("{}: {error}", program.display()),
        _ => fs::remove_file(&unfinished).expect("the name that the compiler wrote"),
    }
    program
}
