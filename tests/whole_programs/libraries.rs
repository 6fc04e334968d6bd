//! The combinations of an MPI library and an ABI: how to compile for them and how to start a job.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, process};

use mpitrace_testing::binaries::TARGET;

/// One library with one ABI.
pub struct Mpi {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// The ABI as `mpitrace info` calls it.
    pub abi: &'static str,
    /// A part of what the library calls itself.
    pub library: &'static str,
    /// Compiles C.
    pub c: Compiler,
    /// Compiles Fortran, where there is one.
    pub fortran: Option<Compiler>,
    /// The launcher with the options that it needs here.
    pub launcher: Vec<OsString>,
    /// The variables that the launcher needs.
    pub environment: Vec<(&'static str, OsString)>,
    /// Python with an mpi4py for this library, after the variables that the ranks need.
    pub python: Option<Vec<OsString>>,
    /// Where a virtual environment holds the library.
    pub home: Option<PathBuf>,
}

/// A compiler with what goes before the source, and what goes after it.
#[derive(Hash)]
pub struct Compiler {
    /// The program and the options before the source.
    pub before: Vec<OsString>,
    /// The options after it.
    pub after: Vec<OsString>,
}

impl Compiler {
    fn new(before: Vec<OsString>) -> Self {
        Self { before, after: Vec::new() }
    }
}

/// All combinations.
pub const NAMES: [&str; 9] =
    ["ompi4", "mpich4", "mpich5", "mpich5-abi", "ompi5", "impi", "impi-abi", "ompi6", "ompi6-abi"];

/// Combinations that no installation brings onto Debian 12: tests/systems/run.sh has them, in a system of their own.
/// Elsewhere no test is for them.
pub const OF_OTHER_SYSTEMS: [&str; 2] = ["ompi6", "ompi6-abi"];

impl Mpi {
    /// The combination of this name.
    ///
    /// # Errors
    /// The reason why it cannot be had here.
    pub fn find(name: &'static str) -> Result<Self, String> {
        match name {
            "ompi4" => debian_open_mpi(name, 4),
            "mpich4" => debian_mpich(name, 4),
            "mpich5" => mpich(name, "mpich", "mpicc", "mpich5").or_else(|no_wheel| or(no_wheel, debian_mpich(name, 5))),
            "mpich5-abi" => mpich(name, "standard", "mpicc_abi", "standard"),
            "ompi5" => open_mpi().or_else(|no_wheel| or(no_wheel, debian_open_mpi(name, 5))),
            "ompi6" => debian_open_mpi(name, 6),
            "ompi6-abi" => open_mpi_of_standard_abi(),
            "impi" => intel(name, "mpich", &[], ("mpi", "mpifort")),
            "impi-abi" => intel(name, "standard", &["-DMPI_ABI"], ("mpi_abi", "mpifort_abi")),
            other => unreachable!("no combination is called {other}"),
        }
    }
}

/// The second one, or why neither can be had.
fn or(first: String, second: Result<Mpi, String>) -> Result<Mpi, String> {
    second.map_err(|second| format!("{first}; {second}"))
}

/// Debian's, whose major version is 4 in Debian 12, 5 in Debian 13 and 6 in the release after it.
fn debian_open_mpi(name: &'static str, version: u32) -> Result<Mpi, String> {
    let compiler = on_path("mpicc.openmpi")?;
    is_version(&compiler, "--showme:version", "Open MPI", version)?;
    Ok(Mpi {
        name,
        abi: "openmpi",
        library: "Open MPI",
        c: Compiler::new(words(&[compiler])),
        fortran: Some(Compiler::new(words(&[on_path("mpif90.openmpi")?]))),
        launcher: open_mpi_launcher(on_path("mpirun.openmpi")?),
        environment: Vec::new(),
        python: python("debian", &["MPI4PY_LIBMPI=libmpi.so.40".into()]),
        home: None,
    })
}

/// Debian's Open MPI 6 through its library of the standard ABI, for which Debian has no compiler script.
fn open_mpi_of_standard_abi() -> Result<Mpi, String> {
    let own = debian_open_mpi("ompi6-abi", 6)?;
    let folder = Path::new("/usr/lib").join(format!("{}-linux-gnu", env::consts::ARCH)).join("openmpi");
    let (include, lib) = (folder.join("include/standard_abi"), folder.join("lib"));
    // Debian's alternatives would give it this name.
    for path in [include.join("mpi.h"), lib.join("libmpi_abi.so.1")] {
        if !path.exists() {
            return Err(format!("no {}", path.display()));
        }
    }
    let link = ["-L", "-Wl,-rpath,"].map(|option| format!("{option}{}", lib.display()));
    Ok(Mpi {
        abi: "standard",
        c: Compiler {
            before: words(&["gcc".to_owned(), format!("-I{}", include.display())]),
            after: words(&[&link[..], &["-lmpi_abi".to_owned()]].concat()),
        },
        fortran: None,
        python: None,
        ..own
    })
}

fn debian_mpich(name: &'static str, version: u32) -> Result<Mpi, String> {
    let compiler = on_path("mpicc.mpich")?;
    is_version(&compiler, "-v", "MPICH version", version)?;
    // The wheel of mpi4py asks for libmpi.so.12: a link of that name leads to Debian's libmpich.so.12.
    let library = format!("LD_LIBRARY_PATH={}", TARGET.join("mpi/debian/mpich").display());
    Ok(Mpi {
        name,
        abi: "mpich",
        library: "MPICH",
        c: Compiler::new(words(&[compiler])),
        fortran: Some(Compiler::new(words(&[on_path("mpif90.mpich")?]))),
        launcher: words(&[on_path("mpirun.mpich")?]),
        environment: Vec::new(),
        python: python("debian", &[library, "MPI4PY_LIBMPI=libmpi.so.12".into()]),
        home: None,
    })
}

/// True if a library's compiler says, asked by this option, that it is of this major version.
fn is_version(compiler: &Path, option: &str, called: &str, version: u32) -> Result<(), String> {
    let asked = process::Command::new(compiler).arg(option).output();
    let said = asked.map_err(|error| format!("{}: {error}", compiler.display()))?;
    let said = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    let found = said.split_once(called).map(|(_, rest)| rest.trim_start().split('.').next().unwrap_or_default());
    if found == Some(&version.to_string()) {
        Ok(())
    } else {
        Err(format!("{} is of {called} {}, not {version}", compiler.display(), found.unwrap_or("unknown")))
    }
}

fn mpich(name: &'static str, abi: &'static str, compiler: &str, wheels: &str) -> Result<Mpi, String> {
    let home = environment("mpich5")?;
    Ok(Mpi {
        name,
        abi,
        library: "MPICH",
        c: Compiler::new(words(&[home.join("bin").join(compiler)])),
        fortran: None,
        launcher: words(&[home.join("bin/mpirun")]),
        environment: Vec::new(),
        python: python(wheels, &[]),
        home: Some(home),
    })
}

fn open_mpi() -> Result<Mpi, String> {
    let home = environment("ompi5")?;
    Ok(Mpi {
        name: "ompi5",
        abi: "openmpi",
        library: "Open MPI",
        c: Compiler::new(words(&[home.join("bin/mpicc")])),
        fortran: None,
        launcher: open_mpi_launcher(home.join("bin/mpirun")),
        environment: Vec::new(),
        python: python("ompi5", &[]),
        home: Some(home),
    })
}

/// Intel's wheel has no working `mpicc` and its `mpirun` takes an `mpiexec.hydra` off the PATH: both are done by hand.
fn intel(name: &'static str, abi: &'static str, define: &[&str], libraries: (&str, &str)) -> Result<Mpi, String> {
    let home = environment("impi")?;
    let lib = home.join("lib");
    let include = format!("-I{}", home.join("include").display());
    let link = |names: &[&str]| -> Vec<OsString> {
        let mut link = vec![format!("-L{}", lib.display()), format!("-Wl,-rpath,{}", lib.display())];
        link.extend(names.iter().map(|name| format!("-l{name}")));
        words(&link)
    };
    let mut compiler = words(&["gcc", &include]);
    compiler.extend(words(define));
    // The modules are MPICH's, in integers; libmpifort_abi turns those into the handles of the standard ABI.
    let fortran = intel_modules(&home).ok().map(|modules| Compiler {
        before: words(&["gfortran", &format!("-I{}", modules.display()), &include]),
        after: link(&[libraries.1, libraries.0]),
    });
    // The mpi4py of the standard ABI was linked to MPICH's library: LD_LIBRARY_PATH puts Intel's in its place.
    let wheels = if abi == "standard" { "standard" } else { "impi" };
    Ok(Mpi {
        name,
        abi,
        library: "Intel",
        c: Compiler { before: compiler, after: link(&[libraries.0]) },
        fortran,
        launcher: words(&[home.join("bin/mpiexec.hydra")]),
        environment: vec![
            ("I_MPI_ROOT", home.clone().into()),
            ("I_MPI_FABRICS", "shm".into()),
            // Tests that run side by side would be pinned to the same cores.
            ("I_MPI_PIN", "0".into()),
        ],
        python: python(wheels, &[format!("LD_LIBRARY_PATH={}", lib.display())]),
        home: Some(home),
    })
}

/// The modules for the gfortran at hand, by its major version, as Intel's own mpif90 picks them.
fn intel_modules(home: &Path) -> Result<PathBuf, String> {
    let version = process::Command::new("gfortran").arg("-dumpversion").output().map_err(|e| e.to_string())?;
    let version = String::from_utf8_lossy(&version.stdout);
    let major = version.trim().split('.').next().unwrap_or_default();
    let folder = fs::read_dir(home.join("include/mpi/gfortran")).map_err(|e| e.to_string())?;
    folder
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().split('.').next() == Some(major)))
        .ok_or_else(|| format!("no modules for gfortran {major}"))
}

fn open_mpi_launcher(launcher: PathBuf) -> Vec<OsString> {
    // Unbound, as tests that run side by side would share the first cores while others idle.
    words(&[
        launcher.as_path(),
        "--allow-run-as-root".as_ref(),
        "--oversubscribe".as_ref(),
        "--bind-to".as_ref(),
        "none".as_ref(),
    ])
}

fn python(wheels: &str, variables: &[String]) -> Option<Vec<OsString>> {
    // A link, whose interpreter an emulated machine lacks.
    let python = Some(environment(wheels).ok()?.join("bin/python")).filter(|python| python.exists())?;
    Some(words(variables).into_iter().chain([python.into()]).collect())
}

/// A virtual environment that tests/mpi/install.sh made; the stamp is the last thing that it writes.
fn environment(name: &str) -> Result<PathBuf, String> {
    let home = TARGET.join("mpi").join(name);
    if home.join("stamp").exists() { Ok(home) } else { Err(format!("no target/mpi/{name}, see tests/mpi/install.sh")) }
}

fn on_path(program: &str) -> Result<PathBuf, String> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("no {program} on the PATH, see tests/mpi/install.sh"))
}

/// A program on the PATH, or one below the target folder.
pub fn path_of(program: &str) -> Option<PathBuf> {
    let below = TARGET.join(program);
    if below.is_file() { Some(below) } else { on_path(program).ok() }
}

fn words<T: AsRef<std::ffi::OsStr>>(words: &[T]) -> Vec<OsString> {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}
