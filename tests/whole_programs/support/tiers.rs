//! Which test is run on which libraries: in the first tier on few, in the second on all that it is for.

use super::library::{self, Mpi, path_of};
use super::{Case, First, On, TARGET, Test};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;
use std::{env, fs};

/// A file of tests.
pub type Theme = (&'static str, &'static [Test]);

type Libraries = BTreeMap<&'static str, Result<Arc<Mpi>, String>>;

/// Held by every test, and by one alone that loads the machine.
static MACHINE: RwLock<()> = RwLock::new(());

/// How long each trial took, s, and how much processor time the machine's programs had that it started, s.
static SECONDS: Mutex<Vec<(f64, f64, String)>> = Mutex::new(Vec::new());

/// The libraries with their shares of the first tier's tests, the most first: the launchers of MPICH start and end a
/// job of two ranks in 0.2 s, that of Open MPI 4 in 1 s, and those of Open MPI 5 and Intel in 2 s. A test that may run
/// on any runs on the first one.
const SHARES: [(&str, usize); 7] =
    [("mpich4", 6), ("mpich5", 6), ("mpich5-abi", 4), ("ompi4", 2), ("ompi5", 1), ("impi", 1), ("impi-abi", 1)];

fn share(library: &str) -> usize {
    SHARES.iter().find(|(name, _)| *name == library).map_or(1, |(_, share)| *share)
}

/// How much is run.
#[derive(Clone, Copy, PartialEq)]
pub enum Tier {
    First,
    All,
}

/// True if nothing else runs here, as `TESTS_IDLE=1` promises.
pub fn is_idle() -> bool {
    env::var_os("TESTS_IDLE").is_some()
}

impl Tier {
    /// The tier of `TESTS_TIER`. Without it, a test that is named runs wherever it can.
    pub fn chosen(arguments: &Arguments) -> Tier {
        match env::var("TESTS_TIER").ok().as_deref() {
            Some("first") => Tier::First,
            Some("all") => Tier::All,
            Some(other) => panic!("TESTS_TIER={other}: it can be first or all"),
            None if arguments.filter.is_some() || arguments.list => Tier::All,
            None => Tier::First,
        }
    }

    /// The trials of this tier; says how many each library has, and how many are left to the other tier.
    pub fn trials(self, themes: &[Theme]) -> Vec<Trial> {
        let libraries: Libraries = library::NAMES.map(|name| (name, Mpi::find(name).map(Arc::new))).into();
        let (mut trials, mut left) = (Vec::new(), 0);
        let mut shares: BTreeMap<&str, u32> = BTreeMap::new();
        for (theme, tests) in themes {
            for test in *tests {
                let name = format!("{theme}::{}", test.name);
                let all = combinations(test, &libraries);
                let chosen = if self == Tier::All { all.clone() } else { first(test, &name, &all, &libraries) };
                left += all.len() - chosen.len();
                for library in chosen {
                    *shares.entry(library).or_default() += 1;
                    trials.push(trial(&name, test, library, &libraries));
                }
            }
        }
        let shares: Vec<_> = shares.iter().map(|(library, count)| format!("{library} {count}")).collect();
        let counts = format!("{} trials ({}), {left} left to the second tier", trials.len(), shares.join(", "));
        // Not on stdout, where a list may be asked for.
        eprintln!("whole programs: {counts}");
        trials
    }
}

/// The libraries that a test is for. One that may run on any has the first that is there.
fn combinations(test: &Test, libraries: &Libraries) -> Vec<&'static str> {
    let is_for = |name: &&str| !library::OF_OTHER_SYSTEMS.contains(name) || libraries[name].is_ok();
    let names = library::NAMES.into_iter().filter(is_for);
    // Debian's libraries have it under each of their names.
    let fortran = |name: &str, always: &[&str]| {
        always.contains(&name) || libraries[name].as_ref().is_ok_and(|mpi| mpi.fortran.is_some())
    };
    match test.on {
        On::Any => {
            let by_share = SHARES.map(|(name, _)| name).into_iter().chain(names.clone());
            let there = by_share.into_iter().find(|name| libraries[name].is_ok());
            there.or(names.clone().next()).into_iter().collect()
        }
        On::Only(wanted) => names.filter(|name| wanted.contains(name)).collect(),
        On::Fortran => names.filter(|name| fortran(name, &["ompi4", "mpich4", "impi", "impi-abi"])).collect(),
        On::Fortran08 => {
            names.filter(|name| !name.starts_with("impi") && fortran(name, &["ompi4", "mpich4"])).collect()
        }
        On::Every | On::Python => names.collect(),
    }
}

/// The libraries that a test runs on in the first tier.
fn first(test: &Test, name: &str, all: &[&'static str], libraries: &Libraries) -> Vec<&'static str> {
    match test.first {
        First::None => Vec::new(),
        First::On(names) => all.iter().copied().filter(|library| names.contains(library)).collect(),
        First::One => {
            // Where nothing may be skipped a library that is missing keeps its share, which fails.
            let there = |library: &&str| nothing_skipped() || can_run(test, library, libraries).is_ok();
            let there: Vec<_> = all.iter().copied().filter(there).collect();
            let from = if there.is_empty() { all } else { &there };
            let from: Vec<_> = from.iter().flat_map(|library| std::iter::repeat_n(*library, share(library))).collect();
            from.get((hash(name) % from.len().max(1) as u64) as usize).copied().into_iter().collect()
        }
    }
}

/// FNV-1a (Fowler, Noll, Vo): the same at every build, so that a new test moves no other one to another library.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn nothing_skipped() -> bool {
    env::var_os("NOTHING_SKIPPED").is_some()
}

/// Why a test cannot run on a library.
enum Reason {
    /// It could be installed.
    Missing(String),
    Forbidden(String),
}

fn can_run(test: &Test, library: &str, libraries: &Libraries) -> Result<Arc<Mpi>, Reason> {
    let missing = |reason: &str| Err(Reason::Missing(reason.to_owned()));
    let mpi = libraries[library].as_ref().map_err(|reason| Reason::Missing(reason.clone()))?;
    match test.on {
        On::Fortran | On::Fortran08 if mpi.fortran.is_none() => {
            return missing("no Fortran compiler that its modules are for");
        }
        On::Python if mpi.python.is_none() => return missing("no mpi4py for it, see tests/mpi/install.sh"),
        _ => {}
    }
    if let Some(program) = test.needs.filter(|program| path_of(program).is_none()) {
        return missing(&format!("{program} is not installed"));
    }
    test.permitted.map_or(Ok(()), |permitted| permitted()).map_err(Reason::Forbidden)?;
    Ok(Arc::clone(mpi))
}

fn trial(name: &str, test: &'static Test, library: &str, libraries: &Libraries) -> Trial {
    let name = if matches!(test.on, On::Any) { name.to_owned() } else { format!("{name}::{library}") };
    match can_run(test, library, libraries) {
        Ok(mpi) => runs(name, test, mpi),
        Err(Reason::Missing(reason)) => ignored(&name, &reason, !nothing_skipped()),
        Err(Reason::Forbidden(reason)) => ignored(&name, &reason, true),
    }
}

fn runs(name: String, test: &'static Test, mpi: Arc<Mpi>) -> Trial {
    let folder = TARGET.join("tests/runs").join(name.replace("::", "/"));
    Trial::test(name.clone(), move || {
        let case = || {
            let (started, used) = (Instant::now(), children_s());
            let case = Case::new(&mpi, folder);
            (test.run)(&case);
            assert_eq!(case.segments.left(), Vec::<String>::new(), "live records are left behind");
            let mut seconds = SECONDS.lock().unwrap_or_else(PoisonError::into_inner);
            seconds.push((started.elapsed().as_secs_f64(), children_s() - used, name));
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

fn ignored(name: &str, reason: &str, ignored: bool) -> Trial {
    let reason = reason.to_owned();
    Trial::test(format!("{name} skipped: {reason}"), move || Err(Failed::from(reason))).with_ignored_flag(ignored)
}

/// Processor time of all that this process has started and waited for, and of what that has, s.
fn children_s() -> f64 {
    // SAFETY: a rusage of zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: getrusage writes to the structure that it is given.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// How long each trial that passed took, the slowest first, into target/tests/seconds.txt; behind it the processor
/// time, which is that of the trial alone with `--test-threads 1`.
pub fn write_seconds() {
    let mut seconds = SECONDS.lock().unwrap_or_else(PoisonError::into_inner);
    seconds.sort_by(|a, b| b.0.total_cmp(&a.0));
    let line = |(wall, processor, name): &(f64, f64, String)| format!("{wall:8.2} {processor:8.2} {name}\n");
    let lines: String = seconds.iter().map(line).collect();
    let _ = fs::write(TARGET.join("tests/seconds.txt"), lines);
}
