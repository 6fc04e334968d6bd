//! The base of the tests of whole programs: the MPI libraries, building and launching a program, reading its trace.

pub mod browser;
pub mod build;
pub mod case;
pub mod companion;
pub mod litter;
pub mod process;
pub mod soak;
pub mod tiers;
pub mod trace;
pub mod truth;
pub mod want;

pub use case::{Case, Launch, Outcome};
pub use mpi_libraries::{self as library, Mpi};
pub use mpitrace_testing::binaries::{TARGET, tracer};
pub use mpitrace_testing::{binaries, root};
pub use trace::Trace;
pub use want::{Want, want};

/// On which libraries a test can be run.
#[derive(Clone, Copy)]
pub enum On {
    /// On each that is here or can be installed.
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

/// On which of its libraries a test is run in the first tier.
#[derive(Clone, Copy)]
pub enum First {
    /// On one, which follows from the test's name, so that each library has its share.
    One,
    /// On the ones named.
    On(&'static [&'static str]),
    /// On none: it takes long, or needs what the first tier does not install.
    None,
}

/// A test, to be run on one library after another.
pub struct Test {
    pub name: &'static str,
    pub on: On,
    pub first: First,
    /// It loads the machine so much that nothing else should run beside it, or is about what the machine has to spare.
    pub alone: bool,
    /// A program that has to be installed.
    pub needs: Option<&'static str>,
    /// The reason why this machine does not permit it, which no installation can help.
    pub permitted: Option<fn() -> Result<(), String>>,
    pub run: fn(&Case),
}

impl Test {
    pub const fn new(name: &'static str, run: fn(&Case)) -> Self {
        Self { name, on: On::Every, first: First::One, alone: false, needs: None, permitted: None, run }
    }

    pub const fn on(self, on: On) -> Self {
        Self { on, ..self }
    }

    /// In the first tier on these, and not on one by its name.
    pub const fn first_on(self, names: &'static [&'static str]) -> Self {
        Self { first: First::On(names), ..self }
    }

    /// Not in the first tier.
    pub const fn second_tier(self) -> Self {
        Self { first: First::None, ..self }
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
