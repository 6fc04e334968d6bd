//! The page of a clock domain: a page of shared memory that the ranks of a node find by a name that the run alone has,
//! and on which they find out together how many they are, whose number is which, and that all have done their part.
//! No message is needed for it, and ranks that wait sleep.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mpitrace_format::layout::PAGE;
use mpitrace_platform::node_files;
use mpitrace_platform::time::{Instant, sleep};

use super::comparison::{self, Budget, Test};
use crate::base::memory::{Line, SharedPages};
use crate::base::own_file::OwnFile;
use crate::base::pause::Pause;
use crate::base::system;
use crate::base::ticks;

/// How long a rank waits in MPI_Init for the others to be done with the test, once each has used its time for it, which
/// is .1 s at most: then the bound of their meeting is taken, also for the one that does not answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long where one has not even read its clock behind the meeting, or some clock was seen to step back: then the
/// ranks count as having clocks of their own.
const PATIENCE_FOR_OTHERS: Duration = Duration::from_secs(20);
/// How long a rank waits for the one that makes the page to have given it memory.
const PATIENCE_FOR_MEMORY: Duration = Duration::from_secs(20);

/// The lines of the page itself; behind them come those of calls that are compared.
const OWN_LINES: usize = PAGE as usize / size_of::<Line>();
/// As many calls are compared at once.
pub const CALLS: usize = 256;
const LENGTH: u64 = PAGE + (CALLS * size_of::<Line>()) as u64;

const ALL_CAME: u64 = 1;
const GIVEN_UP: u64 = 2;
/// A rank has not come to the end of the comparison: what is known is known from the meeting before.
const MET: u64 = 3;

mod line {
    pub const REGISTRATION: usize = 0;
    /// The exchanges of a test, and its result: in Init, and in Finalize.
    pub const TESTS: [(usize, usize); 2] = [(1, 2), (3, 4)];
}

mod word {
    /// Ranks that have the page, and those whose clocks agree.
    pub const REGISTERED: usize = 0;
    pub const FITTING: usize = 1;
    /// u32::MAX less the lowest world rank of the latter, and of the former.
    pub const LOWEST: usize = 2;
    pub const LOWEST_REGISTERED: usize = 4;
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
    pub fn register(&self, rank: u32) -> u32 {
        self.registration(word::LOWEST_REGISTERED).fetch_max(u64::from(u32::MAX - rank), Ordering::AcqRel);
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
        self.counted(word::FITTING, word::LOWEST)
    }

    /// How many ranks have the page, and the lowest world rank of them.
    pub fn all(&self) -> (u32, u32) {
        self.counted(word::REGISTERED, word::LOWEST_REGISTERED)
    }

    fn counted(&self, count: usize, lowest: usize) -> (u32, u32) {
        let [count, lowest] = [count, lowest].map(|word| self.registration(word).load(Ordering::Acquire));
        (count as u32, u32::MAX - lowest as u32)
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

    /// States this rank's tick, before the ranks meet: behind the meeting it bounds how far their clocks are apart.
    pub fn state_tick(&self, when: When) {
        let [_, _, _, earliest, latest, ..] = self.results(when);
        let now = ticks::now();
        earliest.fetch_max(u64::MAX - now, Ordering::AcqRel);
        latest.fetch_max(now, Ordering::AcqRel);
    }

    /// The bound and the step of this rank's clock where the ranks have met: it is ahead of any other's by no more than
    /// the time since the first one stated its tick; it has stepped back where another stated a later one before.
    fn since_met(&self, when: When) -> Test {
        let now = ticks::now();
        let [_, _, _, earliest, latest, ..] = self.results(when).each_ref().map(|word| word.load(Ordering::Acquire));
        Test { bound: now.saturating_sub(u64::MAX - earliest), step: latest.saturating_sub(now) }
    }

    /// Arrived, outcome, bound, the complement of the earliest tick and the latest one; of the meeting how many have
    /// read their clocks behind it, and the bound; the largest step.
    fn results(&self, when: When) -> &Line {
        self.page.line(line::TESTS[when as usize].1)
    }

    /// Compares this rank's clock with those of so many ranks, which have met, within the time for it: the largest
    /// step back that this rank has seen. The bounds of all are known when all have come here.
    ///
    /// `fits` is called on each rank whose clock has not been seen to step back, before the others know that it is
    /// done.
    pub fn compare(&self, when: When, number: u32, ranks: u32, fits: impl FnOnce(), meanwhile: &dyn Fn()) -> u64 {
        let met = self.since_met(when);
        let [arrived, outcome, bound, _, _, met_by, met_bound, steps] = self.results(when);
        met_bound.fetch_max(met.bound, Ordering::AcqRel);
        steps.fetch_max(met.step, Ordering::AcqRel);
        met_by.fetch_add(1, Ordering::AcqRel);
        let exchanges = self.page.line(line::TESTS[when as usize].0);
        let pair = comparison::test(exchanges, number, ranks, Budget::for_ranks(ranks), meanwhile);
        bound.fetch_max(pair.bound.min(met.bound), Ordering::AcqRel);
        let step = pair.step.max(met.step);
        steps.fetch_max(step, Ordering::AcqRel);
        if step == 0 {
            fits();
        }
        if arrived.fetch_add(1, Ordering::AcqRel) + 1 == u64::from(ranks) {
            settle(outcome, ALL_CAME);
        }
        step
    }

    /// The bound that all ranks have found together; `None`: not all of them have done so yet.
    pub fn bound(&self, when: When, ranks: u32) -> Option<u64> {
        let [_, outcome, bound, _, _, _, met_bound, _] = self.results(when);
        let found = match outcome.load(Ordering::Acquire) {
            ALL_CAME => bound,
            MET => met_bound,
            _ => return None,
        };
        // Any two differ by no more than both do from the first.
        let twice = if ranks > 2 { 2 } else { 1 };
        Some(found.load(Ordering::Acquire).saturating_mul(twice))
    }

    /// True if the ranks have only met, and not all have come to the end of the comparison: all count as having one
    /// clock.
    pub fn have_only_met(&self, when: When) -> bool {
        self.results(when)[1].load(Ordering::Acquire) == MET
    }

    /// Compares clocks ([`DomainPage::compare`]) and bounds them ([`DomainPage::bound`]), with a wait in between.
    /// `None`: a rank did not come, on all of them alike. Where it came and does not answer the bound is the meeting's.
    pub fn test(&self, when: When, number: u32, ranks: u32, fits: impl FnOnce(), meanwhile: &dyn Fn()) -> Option<Test> {
        let step = self.compare(when, number, ranks, fits, meanwhile);
        let [arrived, outcome, _, _, _, met_by, _, steps] = self.results(when);
        let have_met = || met_by.load(Ordering::Acquire) == u64::from(ranks) && steps.load(Ordering::Acquire) == 0;
        let turn = &self.page.line(line::TESTS[when as usize].0)[0];
        // For as long as other pairs are at work.
        let at_work = || (turn.load(Ordering::Acquire), arrived.load(Ordering::Acquire));
        let mut pause = Pause::default();
        let (mut seen, mut since) = (at_work(), Duration::ZERO);
        while outcome.load(Ordering::Acquire) == 0 {
            let waited = pause.pause();
            meanwhile();
            if at_work() != seen {
                (seen, since) = (at_work(), waited);
            } else if waited - since > PATIENCE && have_met() {
                settle(outcome, MET);
            } else if waited - since > PATIENCE_FOR_OTHERS {
                break;
            }
        }
        settle(outcome, GIVEN_UP);
        self.bound(when, ranks).map(|bound| Test { bound, step })
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
            Some(_) if started.elapsed() < PATIENCE_FOR_MEMORY => sleep(Duration::from_micros(200)),
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut numbers: Vec<u32> = (10..).zip(&pages).map(|(rank, page)| page.register(rank)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..ranks).collect::<Vec<_>>());
        assert!(pages.iter().all(|page| page.registered() == ranks && page.all() == (ranks, 10)));
        pages[0].remove_name();
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
    }

    #[test]
    fn all_ranks_read_one_outcome_of_a_test() {
        let folder = Folder::new("test");
        let page = DomainPage::open(&folder.0, 1).unwrap();
        let ranks = 4;
        let page = &page;
        (0..ranks).for_each(|_| page.state_tick(When::Init));
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

    /// The ranks are known to be apart by no more than the time since they met, also where they exchanged nothing.
    #[test]
    fn ranks_that_exchange_nothing_have_the_bound_of_their_meeting() {
        let folder = Folder::new("met");
        let page = DomainPage::open(&folder.0, 1).unwrap();
        let before = ticks::now();
        (0..2).for_each(|_| page.state_tick(When::Finalize));
        assert_eq!(page.bound(When::Finalize, 2), None);
        // One after the other: neither finds the other there.
        let steps = [1, 0].map(|number| page.compare(When::Finalize, number, 2, || {}, &|| {}));
        let bound = page.bound(When::Finalize, 2).expect("both have come");
        assert_eq!(steps, [0, 0]);
        assert!(bound > 0 && bound <= ticks::now() - before, "{bound}");
    }

    /// A rank that reads less than another has stated before has another clock.
    #[test]
    fn a_tick_that_is_stated_too_late_is_a_step() {
        let folder = Folder::new("step");
        let page = DomainPage::open(&folder.0, 1).unwrap();
        page.state_tick(When::Init);
        let [_, _, _, _, latest, ..] = page.results(When::Init);
        latest.fetch_add(1 << 50, Ordering::Relaxed);
        let step = page.compare(When::Init, 1, 2, || panic!("it does not fit"), &|| {});
        assert!(step > 1 << 49, "{step}");
    }

    /// A rank that is silent while it waits for its turn, until the others have gone on: all have the bound of their
    /// meeting, it too.
    #[test]
    fn a_rank_that_does_not_answer_leaves_the_bound_of_the_meeting() {
        let folder = Folder::new("silent");
        let page = &DomainPage::open(&folder.0, 1).unwrap();
        let ranks = 4;
        (0..ranks).for_each(|_| page.state_tick(When::Init));
        // The pairs before it are at work until it has looked once.
        let (is_silent, through) = (std::sync::Barrier::new(2), std::sync::Barrier::new(ranks as usize));
        let test = |number: u32, meanwhile: &dyn Fn()| page.test(When::Init, number, ranks, || {}, meanwhile);
        let found: Vec<_> = std::thread::scope(|scope| {
            let (is_silent, through, test) = (&is_silent, &through, &test);
            let silent = scope.spawn(move || {
                let once = std::cell::Cell::new(true);
                test(3, &|| {
                    if once.replace(false) {
                        is_silent.wait();
                        through.wait();
                    }
                })
            });
            let rank = |number: u32| {
                scope.spawn(move || {
                    if number == 0 {
                        is_silent.wait();
                    }
                    let found = test(number, &|| {});
                    through.wait();
                    found
                })
            };
            let others: Vec<_> = (0..3).map(rank).collect();
            others.into_iter().chain([silent]).map(|thread| thread.join().unwrap()).collect()
        });
        assert!(page.have_only_met(When::Init));
        let bounds: Vec<_> = found.iter().map(|test| test.map(|test| test.bound)).collect();
        assert!(
            bounds[0].is_some_and(|bound| bound > 0) && bounds.iter().all(|bound| *bound == bounds[0]),
            "{bounds:?}"
        );
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
