//! What the tests of whole programs stand on: the MPI libraries, building and launching a program, reading its trace.

pub mod browser;
pub mod build;
pub mod case;
pub mod companion;
pub mod library;
pub mod litter;
pub mod process;
pub mod trace;
pub mod want;

pub use case::{Case, Outcome};
pub use library::Mpi;
pub use trace::Trace;
pub use want::{Want, want};

use std::env;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Where the package lies.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Cargo's target folder, where the MPI libraries, the compiled programs and the traces go: this test runs from the `deps` of one of
/// its profiles.
pub static TARGET: LazyLock<PathBuf> = LazyLock::new(|| {
    let me = env::current_exe().expect("the path of this test");
    me.ancestors().nth(3).expect("a folder above the profile's").to_path_buf()
});

/// What `cargo build --release --workspace` has built, whichever profile this test has.
pub static BINARIES: LazyLock<PathBuf> = LazyLock::new(|| TARGET.join("release"));

/// The library under test.
pub fn tracer() -> PathBuf {
    BINARIES.join("libmpitrace.so")
}

/// On which libraries a test can be run.
#[derive(Clone, Copy)]
pub enum On {
    /// On each of the seven.
    Every,
    /// Where there is a Fortran compiler for it.
    Fortran,
    /// Where that compiler knows `mpi_f08`.
    Fortran08,
    /// Where there is an mpi4py for it.
    Python,
    /// On the ones named.
    Only(&'static [&'static str]),
    /// No matter which: the first there is.
    Any,
}

/// A test, to be run on one library after another.
pub struct Test {
    pub name: &'static str,
    pub on: On,
    /// It measures time, so nothing else may run beside it.
    pub alone: bool,
    /// A program that has to be installed.
    pub needs: Option<&'static str>,
    /// Whether this machine permits it, which no installation can help; the reason why not.
    pub permitted: Option<fn() -> Result<(), String>>,
    pub run: fn(&Case),
}

impl Test {
    pub const fn new(name: &'static str, run: fn(&Case)) -> Self {
        Self { name, on: On::Every, alone: false, needs: None, permitted: None, run }
    }

    pub const fn on(self, on: On) -> Self {
        Self { on, ..self }
    }

    pub const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    pub const fn needs(self, program: &'static str) -> Self {
        Self { needs: Some(program), ..self }
    }
    pub const fn where_permitted(self, permitted: fn() -> Result<(), String>) -> Self {
        Self { permitted: Some(permitted), ..self }
    }
}
