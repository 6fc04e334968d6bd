//! The page of a clock domain: a page of shared memory that the ranks of a node find by a name that the run alone has,
//! and on which they find out together how many they are, whose number is which, and that all have done their part.
//! No message is needed for it, and ranks that wait sleep.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mpitrace_format::layout::PAGE;
use mpitrace_platform::node_files;

use super::comparison::{self, Test};
use crate::base::memory::{Line, SharedPages};
use crate::base::own_file::OwnFile;
use crate::base::pause::Pause;
use crate::base::system;

/// How long a rank waits for the one that makes the page to have given it memory.
const PATIENCE_FOR_MEMORY: Duration = Duration::from_secs(20);

/// The lines of the page itself; behind them come those of calls that are compared.
const OWN_LINES: usize = PAGE as usize / size_of::<Line>();
/// As many calls are compared at once.
pub const CALLS: usize = 256;
const LENGTH: u64 = PAGE + (CALLS * size_of::<Line>()) as u64;

const ALL_CAME: u64 = 1;
const GIVEN_UP: u64 = 2;

mod line {
    pub const REGISTRATION: usize = 0;
    /// The exchanges of a test, and its result: in Init, and in Finalize.
    pub const TESTS: [(usize, usize); 2] = [(1, 2), (3, 4)];
}

mod word {
    /// Ranks that have the page, and those whose clocks agree.
    pub const REGISTERED: usize = 0;
    pub const FITTING: usize = 1;
    /// u32::MAX less the lowest world rank of these.
    pub const LOWEST: usize = 2;
    /// 1 more than the number of the leader's method, once it has done what it has to do in Init.
    pub const READY: usize = 3;
}

#[derive(Clone, Copy, Debug)]
pub enum When {
    Init,
    Finalize,
}

pub struct DomainPage {
    page: SharedPages,
    path: PathBuf,
}

impl DomainPage {
    /// Opens the page with this number of the run, or makes it. `None`: it can be neither made nor opened.
    pub fn open(folder: &Path, number: u64) -> Option<DomainPage> {
        let path = folder.join(format!("{}{number:016x}{}", node_files::prefix(system::user()), node_files::CLOCK));
        let file = match OwnFile::create_private(&path) {
            // A page without memory behind it would end the program with SIGBUS where the folder is full.
            Ok(mut file) => {
                let has_memory = file.allocate(0, LENGTH);
                if !has_memory {
                    let _ = std::fs::remove_file(&path);
                }
                has_memory.then_some(file)
            }
            Err(_) => OwnFile::open_existing(&path).ok().filter(is_whole),
        };
        SharedPages::of_file(&file?, LENGTH).map(|page| DomainPage { page, path })
    }

    /// Removes the name of the file: all ranks that could open it have done so.
    pub fn remove_name(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// The line of a call that the ranks of the domain compare, by a number of the call.
    pub fn call(&self, number: u64) -> &Line {
        self.page.line(OWN_LINES + number as usize % CALLS)
    }

    fn registration(&self, word: usize) -> &AtomicU64 {
        &self.page.line(line::REGISTRATION)[word]
    }

    /// Registers this rank: its number among those that have the page.
    pub fn register(&self) -> u32 {
        self.registration(word::REGISTERED).fetch_add(1, Ordering::AcqRel) as u32
    }

    /// How many ranks have registered: all of them, once the ranks of the world have met.
    pub fn registered(&self) -> u32 {
        self.registration(word::REGISTERED).load(Ordering::Acquire) as u32
    }

    /// Registers this rank among those whose clocks agree; its number among them.
    pub fn register_fitting(&self, rank: u32) -> u32 {
        self.registration(word::LOWEST).fetch_max(u64::from(u32::MAX - rank), Ordering::AcqRel);
        self.registration(word::FITTING).fetch_add(1, Ordering::AcqRel) as u32
    }

    /// How many ranks have clocks that agree, and the lowest world rank of them.
    pub fn fitting(&self) -> (u32, u32) {
        let [lowest, fitting] =
            [word::LOWEST, word::FITTING].map(|word| self.registration(word).load(Ordering::Acquire));
        (fitting as u32, u32::MAX - lowest as u32)
    }

    /// The leader has done what it has to do in Init, by the method of this number.
    pub fn set_ready(&self, method: u32) {
        self.registration(word::READY).store(u64::from(method) + 1, Ordering::Release);
    }

    /// Waits until the leader has, but not without an end: the method's number.
    pub fn wait_until_ready(&self, patience: Duration, meanwhile: &dyn Fn()) -> Option<u32> {
        let ready = self.registration(word::READY);
        let mut pause = Pause::default();
        while ready.load(Ordering::Acquire) == 0 && pause.pause() < patience {
            meanwhile();
        }
        ready.load(Ordering::Acquire).checked_sub(1).map(|method| method as u32)
    }

    /// Tests the clocks of this many ranks. `None`: it was not possible, on all of them alike.
    ///
    /// `fits` is called on each rank whose clock has not been seen to step back, before the others know that it is
    /// done.
    pub fn test(&self, when: When, number: u32, ranks: u32, fits: impl FnOnce(), meanwhile: &dyn Fn()) -> Option<Test> {
        let (exchanges, results) = line::TESTS[when as usize];
        let [arrived, outcome, failed, bound, ..] = self.page.line(results);
        let patience = match when {
            When::Init => comparison::PATIENCE,
            When::Finalize => comparison::PATIENCE_AT_THE_END,
        };
        let turn = &self.page.line(exchanges)[0];
        let found = comparison::test(self.page.line(exchanges), number, ranks, patience, meanwhile);
        match found {
            Some(test) => {
                bound.fetch_max(test.bound, Ordering::AcqRel);
                if test.step == 0 {
                    fits();
                }
            }
            None => drop(failed.fetch_add(1, Ordering::AcqRel)),
        }
        if arrived.fetch_add(1, Ordering::AcqRel) + 1 == u64::from(ranks) {
            settle(outcome, ALL_CAME);
        }
        // For as long as other pairs are at work.
        let at_work = || (turn.load(Ordering::Acquire), arrived.load(Ordering::Acquire));
        let mut pause = Pause::default();
        let (mut seen, mut since) = (at_work(), Duration::ZERO);
        while outcome.load(Ordering::Acquire) == 0 {
            let waited = pause.pause();
            meanwhile();
            if at_work() != seen {
                (seen, since) = (at_work(), waited);
            } else if waited - since > 2 * patience {
                break;
            }
        }
        let all_came = settle(outcome, GIVEN_UP) == ALL_CAME;
        let test = found.filter(|_| all_came && failed.load(Ordering::Acquire) == 0)?;
        // Any two differ by no more than both do from the first.
        let twice = if ranks > 2 { 2 } else { 1 };
        Some(Test { bound: bound.load(Ordering::Acquire) * twice, step: test.step })
    }
}

/// Sets the outcome, where there is none yet: the one that counts for all ranks.
fn settle(outcome: &AtomicU64, to: u64) -> u64 {
    match outcome.compare_exchange(0, to, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => to,
        Err(settled) => settled,
    }
}

/// Waits until a file that another rank makes has its memory. False: it is another user's, or has none in time.
fn is_whole(file: &OwnFile) -> bool {
    let started = Instant::now();
    loop {
        match file.length_if_own() {
            Some(length) if length >= LENGTH => return true,
            Some(_) if started.elapsed() < PATIENCE_FOR_MEMORY => std::thread::sleep(Duration::from_micros(200)),
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ticks;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("mpitrace-page-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn ranks_that_open_a_page_at_once_have_one_and_are_counted() {
        let folder = Folder::new("count");
        let number = ticks::now();
        let ranks = 8;
        let open = || DomainPage::open(&folder.0, number).unwrap();
        let pages: Vec<DomainPage> = std::thread::scope(|scope| {
            let opened: Vec<_> = (0..ranks).map(|_| scope.spawn(open)).collect();
            opened.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut numbers: Vec<u32> = pages.iter().map(DomainPage::register).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..ranks).collect::<Vec<_>>());
        assert!(pages.iter().all(|page| page.registered() == ranks));
        pages[0].remove_name();
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
    }

    #[test]
    fn all_ranks_read_one_outcome_of_a_test() {
        let folder = Folder::new("test");
        let page = DomainPage::open(&folder.0, 1).unwrap();
        let ranks = 4;
        let page = &page;
        let found: Vec<_> = std::thread::scope(|scope| {
            let rank = |number: u32| {
                move || {
                    let fits = || {
                        page.register_fitting(10 + number);
                    };
                    page.test(When::Init, number, ranks, fits, &|| {}).map(|test| (test.bound, test.step))
                }
            };
            let tested: Vec<_> = (0..ranks).map(|number| scope.spawn(rank(number))).collect();
            tested.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(found[0].is_some_and(|(bound, step)| bound > 0 && step == 0), "{found:?}");
        assert!(found.iter().all(|test| *test == found[0]), "{found:?}");
        assert_eq!(page.fitting(), (4, 10));
    }

    /// Once a rank has given up waiting, one that comes after all does not count the test as done.
    #[test]
    fn an_outcome_is_settled_once() {
        let outcome = AtomicU64::new(0);
        assert_eq!((settle(&outcome, GIVEN_UP), settle(&outcome, ALL_CAME)), (GIVEN_UP, GIVEN_UP));
    }

    #[test]
    fn a_file_that_is_another_s_is_not_mapped() {
        let folder = Folder::new("link");
        let name = format!("{}{:016x}{}", node_files::prefix(system::user()), 3, node_files::CLOCK);
        std::os::unix::fs::symlink(folder.0.join("elsewhere"), folder.0.join(name)).unwrap();
        assert!(DomainPage::open(&folder.0, 3).is_none());
    }
}
