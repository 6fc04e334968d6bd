//! Whole programs under the tracer, on real MPI libraries: each test on each library and ABI that there is.
//!
//! `tests/mpi/install.sh` installs the libraries. What cannot be run is listed as ignored, with the reason in its name;
//! with `NOTHING_SKIPPED=1` in the environment, as tests/run.sh sets it on Debian, it fails instead, unless it is the machine that
//! forbids it.

mod analysis;
mod applications;
mod benchmarks;
mod bitwise;
mod call_sites;
mod capacity;
mod clocks;
mod collectives;
mod command_line;
mod communicators;
mod counters;
mod counts;
mod damage;
mod death;
mod doctor;
mod errors;
mod export;
mod handles;
mod hosts;
mod inside;
mod languages;
mod messages;
mod output;
mod preload;
mod report;
mod requests;
mod runs;
mod sessions;
mod settings;
mod support;
mod threads;
mod variables;

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::{env, fs, thread};
use support::{Case, Mpi, On, TARGET, Test, companion, library, tracer};

type Libraries = BTreeMap<&'static str, Result<Arc<Mpi>, String>>;

/// Held by every test, and by one alone that measures time.
static MACHINE: RwLock<()> = RwLock::new(());

fn main() {
    let mut arguments = Arguments::from_args();
    // Much of a test is a launcher at work; the ranks of a job, up to four, wait by spinning.
    let cores = thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert((cores / 2).max(2));
    if !arguments.list {
        for path in [tracer(), companion::path()] {
            assert!(path.exists(), "no {}: run `cargo build --release --workspace` first", path.display());
        }
        let _ = fs::remove_dir_all(TARGET.join("tests/companion"));
    }

    let libraries: Libraries = library::NAMES.map(|name| (name, Mpi::find(name).map(Arc::new))).into();
    let themes = [
        ("counts", counts::TESTS),
        ("communicators", communicators::TESTS),
        ("collectives", collectives::TESTS),
        ("requests", requests::TESTS),
        ("sessions", sessions::TESTS),
        ("clocks", clocks::TESTS),
        ("report", report::TESTS),
        ("hosts", hosts::TESTS),
        ("messages", messages::TESTS),
        ("counters", counters::TESTS),
        ("call_sites", call_sites::TESTS),
        ("variables", variables::TESTS),
        ("handles", handles::TESTS),
        ("languages", languages::TESTS),
        ("bitwise", bitwise::TESTS),
        ("threads", threads::TESTS),
        ("inside", inside::TESTS),
        ("capacity", capacity::TESTS),
        ("death", death::TESTS),
        ("preload", preload::TESTS),
        ("settings", settings::TESTS),
        ("output", output::TESTS),
        ("errors", errors::TESTS),
        ("command_line", command_line::TESTS),
        ("doctor", doctor::TESTS),
        ("runs", runs::TESTS),
        ("damage", damage::TESTS),
        ("export", export::TESTS),
        ("benchmarks", benchmarks::TESTS),
        ("analysis", analysis::TESTS),
        ("applications", applications::TESTS),
    ];
    let mut trials = Vec::new();
    for (theme, tests) in themes {
        for test in tests {
            trials.extend(of_one_test(theme, test, &libraries));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A trial for each library that the test is for.
fn of_one_test(theme: &str, test: &'static Test, libraries: &Libraries) -> Vec<Trial> {
    if let On::Any = test.on {
        return match libraries.values().find_map(|library| library.as_ref().ok()) {
            Some(mpi) => vec![runs(format!("{theme}::{}", test.name), test, mpi)],
            None => vec![skipped(format!("{theme}::{}", test.name), "there is no MPI library")],
        };
    }
    let wanted = |name: &str| match test.on {
        On::Only(names) => names.contains(&name),
        On::Fortran => ["ompi4", "mpich4", "impi", "impi-abi"].contains(&name),
        On::Fortran08 => ["ompi4", "mpich4"].contains(&name),
        On::Every | On::Python | On::Any => true,
    };
    library::NAMES
        .into_iter()
        .filter(|name| wanted(name))
        .map(|name| {
            let trial = format!("{theme}::{}::{name}", test.name);
            match &libraries[name] {
                Ok(mpi) if matches!(test.on, On::Fortran | On::Fortran08) && mpi.fortran.is_none() => {
                    skipped(trial, "no Fortran compiler that its modules are for")
                }
                Ok(mpi) if matches!(test.on, On::Python) && mpi.python.is_none() => {
                    skipped(trial, "no mpi4py for it, see tests/mpi/install.sh")
                }
                Ok(mpi) => match test.needs {
                    Some(program) if library::path_of(program).is_none() => {
                        skipped(trial, &format!("{program} is not installed"))
                    }
                    _ => match test.permitted.map_or(Ok(()), |permitted| permitted()) {
                        Ok(()) => runs(trial, test, mpi),
                        Err(reason) => ignored(trial, &reason, true),
                    },
                },
                Err(reason) => skipped(trial, reason),
            }
        })
        .collect()
}

fn runs(name: String, test: &'static Test, mpi: &Arc<Mpi>) -> Trial {
    let mpi = Arc::clone(mpi);
    let folder = TARGET.join("tests/runs").join(name.replace("::", "/"));
    Trial::test(name, move || {
        let case = || {
            let case = Case::new(&mpi, folder);
            (test.run)(&case);
            assert_eq!(case.segments.left(), Vec::<String>::new(), "live records are left behind");
        };
        // A test that fails panics and poisons the lock, which guards nothing but the quiet.
        if test.alone {
            let _quiet = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
            case();
        } else {
            let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
            case();
        }
        Ok(())
    })
}

fn skipped(name: String, reason: &str) -> Trial {
    ignored(name, reason, env::var_os("NOTHING_SKIPPED").is_none())
}

fn ignored(name: String, reason: &str, ignored: bool) -> Trial {
    let reason = reason.to_owned();
    Trial::test(format!("{name} skipped: {reason}"), move || Err(Failed::from(reason))).with_ignored_flag(ignored)
}
