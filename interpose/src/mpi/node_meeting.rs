//! The ranks of a run that are all on one node exchange words in shared memory, in rounds to which all of them come.
//!
//! So the tracer sends no message there and lets the library make no progress, which can change what a program does:
//! MPICH 5 ends a program in MPI_Finalize if it has seen a message that the program has not received. A rank that waits
//! looks whether the others live. All ranks act alike in what follows a round: the first one that knows how it went
//! states it, once, in a word that all read.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use mpitrace_format::layout::{PAGE, round_up};
use mpitrace_platform::node_files;

use crate::base::memory::{Line, SharedPages};
use crate::base::own_file::OwnFile;
use crate::base::pause::Pause;
use crate::base::process::Process;
use crate::base::system;
use crate::mpi::Comm;

/// Words that a rank states in a round.
pub const WORDS: usize = 16;
/// The line of the page in which the outcome is.
const OUTCOME: usize = 0;
/// Lines of each rank behind it: one that says who it is and how far it has come, and its words of two rounds. A rank
/// states those of the next round but one only after all ranks have come to the next, and have read these.
const LINES_OF_RANK: usize = 1 + 2 * LINES_OF_WORDS;
const LINES_OF_WORDS: usize = WORDS / 8;

/// Between two looks whether a rank lives, from so long a wait on.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// In MPI_Init a library may need the progress of a rank that has left it already. No library was seen to: so a rank
/// helps only where a wait lasts longer than ranks need to come.
const HELPS_AFTER: Duration = Duration::from_millis(500);
/// How long the others wait in MPI_Init for a rank that has not opened the file, of which they do not know the process.
const PATIENCE_FOR_A_STRANGER: Duration = Duration::from_secs(60);
/// How long they wait in MPI_Finalize, once all have come, for one that lives and does not go on: for one that sleeps
/// all the time or was stopped, and for one that moves: that is ready to run, in input or output, or wakes up now and
/// then.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_FOR_A_BUSY_ONE: Duration = Duration::from_secs(60);
/// No more of a time between two looks counts as a wait: in a longer one the waiting rank did not run itself, as where
/// a machine or a whole job was suspended.
const MOST_BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// How far the program is: what a rank may be waited for.
mod stage {
    pub const INIT: u32 = 0;
    /// In MPI_Finalize, to which a rank may come as late as it likes.
    pub const COMING: u32 = 1;
    /// All ranks are known to have come to MPI_Finalize.
    pub const TOGETHER: u32 = 2;
}

/// The shared memory, as one rank sees it.
pub struct NodeMeeting {
    pages: SharedPages,
    path: PathBuf,
    number: u64,
    rank: u32,
    ranks: u32,
    rounds: AtomicU32,
    stage: AtomicU32,
}

/// How the rounds went, in one word: how many all ranks have come to, and above that 1 more than the rank for which no
/// further round takes place.
#[derive(Clone, Copy)]
struct Outcome(u64);

impl Outcome {
    fn complete(self) -> u32 {
        self.0 as u32
    }

    fn missing(self) -> Option<u32> {
        ((self.0 >> 32) as u32).checked_sub(1)
    }

    fn without(self, rank: u32) -> Outcome {
        Outcome(self.0 | u64::from(rank + 1) << 32)
    }
}

impl NodeMeeting {
    /// Makes the file of a run with this number and so many ranks. False: there is no memory for it.
    pub fn create(folder: &Path, number: u64, ranks: u32) -> bool {
        let path = path(folder, number);
        let made = OwnFile::create_private(&path);
        made.is_ok_and(|mut file| file.allocate(0, length(ranks))) || {
            let _ = std::fs::remove_file(path);
            false
        }
    }

    /// Removes a file that no rank uses.
    pub fn discard(folder: &Path, number: u64) {
        let _ = std::fs::remove_file(path(folder, number));
    }

    /// Opens it. `None`: it cannot be opened, which the other ranks see.
    pub fn open(folder: &Path, number: u64, rank: u32, ranks: u32) -> Option<NodeMeeting> {
        let path = path(folder, number);
        let file = OwnFile::open_existing(&path).ok();
        let file = file.filter(|file| file.length_if_own().is_some_and(|found| found >= length(ranks)));
        let Some(pages) = file.and_then(|file| SharedPages::of_file(&file, length(ranks))) else {
            let _ = symlink("refused", refusal(&path));
            return None;
        };
        let (rounds, stage) = (AtomicU32::new(0), AtomicU32::new(stage::INIT));
        let meeting = NodeMeeting { pages, path, number, rank, ranks, rounds, stage };
        let process = std::process::id();
        let [number, started, ..] = meeting.of_rank(rank);
        started.store(Process::read(process).map_or(0, |own| own.started), Ordering::Relaxed);
        number.store(process.into(), Ordering::Release);
        Some(meeting)
    }

    /// The number of the run by which it was opened.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Removes the names: all ranks that could open the file have done so.
    pub fn remove_names(&self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(refusal(&self.path));
    }

    /// From now on the ranks come to MPI_Finalize. The next round is the one in which all have come.
    pub fn finalizes(&self) {
        self.stage.store(stage::COMING, Ordering::Relaxed);
    }

    /// This rank comes to no further round: none takes place.
    pub fn leave(&self) {
        let outcome = self.outcome();
        let _ = outcome.fetch_update(Ordering::AcqRel, Ordering::Acquire, |found| {
            Outcome(found).missing().is_none().then(|| Outcome(found).without(self.rank).0)
        });
    }

    /// The rank for which no further round takes place, and whether it has ended.
    pub fn missing(&self) -> Option<(u32, bool)> {
        let rank = Outcome(self.outcome().load(Ordering::Acquire)).missing()?;
        Some((rank, self.state_of(rank).is_none()))
    }

    /// Does something that may take as long as a file system needs for it: the others wait for as long as this rank
    /// lives.
    pub fn at_files<R>(&self, work: impl FnOnce() -> R) -> R {
        let at_files = &self.of_rank(self.rank)[3];
        at_files.store(1, Ordering::Release);
        let done = work();
        at_files.store(0, Ordering::Release);
        done
    }

    /// The least of all ranks' integers in each place.
    pub fn least<const N: usize>(&self, here: &[i64; N]) -> Option<[i64; N]> {
        let stated = self.round(&here.map(|word| word as u64))?;
        Some(stated.fold(*here, |least, words| std::array::from_fn(|place| least[place].min(words[place] as i64))))
    }

    /// The sum of the integers of the ranks before this one.
    pub fn sum_before(&self, here: u64) -> Option<u64> {
        Some(self.round(&[here])?.take(self.rank as usize).map(|words| words[0]).sum())
    }

    /// The first words of all ranks, in the order of the ranks.
    pub fn gather<const N: usize>(&self, here: &[u64; N]) -> Option<Vec<[u64; N]>> {
        Some(self.round(here)?.map(|words| std::array::from_fn(|place| words[place])).collect())
    }

    /// Rank 0's bytes for all ranks, which come here with as many.
    pub fn broadcast(&self, bytes: &mut [u8]) -> Option<()> {
        for part in bytes.chunks_mut(size_of::<u64>() * WORDS) {
            let mut words = [0u64; WORDS];
            bytemuck::cast_slice_mut(&mut words)[..part.len()].copy_from_slice(part);
            let words = self.round(&words)?.next()?;
            part.copy_from_slice(&bytemuck::cast_slice(&words)[..part.len()]);
        }
        Some(())
    }

    /// States these words, waits until all ranks have come, and returns theirs in the order of the ranks. `None`: a
    /// rank has ended or does not come.
    fn round(&self, words: &[u64]) -> Option<impl Iterator<Item = [u64; WORDS]> + use<'_>> {
        let round = self.rounds.fetch_add(1, Ordering::Relaxed) + 1;
        for (place, word) in self.words_of(self.rank, round).zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
        self.of_rank(self.rank)[2].store(round.into(), Ordering::Release);
        self.wait_for(round)?;
        let _ = self.stage.compare_exchange(stage::COMING, stage::TOGETHER, Ordering::Relaxed, Ordering::Relaxed);
        Some((0..self.ranks).map(move |rank| {
            let mut words = [0; WORDS];
            let places = words.iter_mut().zip(self.words_of(rank, round));
            places.for_each(|(word, place)| *word = place.load(Ordering::Relaxed));
            words
        }))
    }

    fn wait_for(&self, round: u32) -> Option<()> {
        let outcome = self.outcome();
        let mut pause = Pause::default();
        // The ranks before this one have come. How long it has been waited for, when it was looked at, and how often it
        // had given its processor up then.
        let mut next = 0;
        let (mut waits, mut looked, mut switches) = (Duration::ZERO, Duration::ZERO, 0);
        loop {
            let found = Outcome(outcome.load(Ordering::Acquire));
            if found.complete() >= round {
                return Some(());
            }
            found.missing().is_none().then_some(())?;
            let waited = pause.pause();
            while next < self.ranks && self.of_rank(next)[2].load(Ordering::Acquire) >= u64::from(round) {
                next += 1;
                waits = Duration::ZERO;
            }
            let stated = if next == self.ranks {
                Outcome(round.into())
            } else if waited - looked < BETWEEN_LOOKS {
                continue;
            } else {
                waits += (waited - looked).min(MOST_BETWEEN_LOOKS);
                looked = waited;
                let before = std::mem::replace(&mut switches, self.switches_of(next));
                if self.may_come(next, waits, switches != before) {
                    continue;
                }
                found.without(next)
            };
            let _ = outcome.compare_exchange(found.0, stated.0, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// True if a rank for which the others have waited so long may still come. `woke`: it has run since the last look.
    fn may_come(&self, rank: u32, waited: Duration, woke: bool) -> bool {
        let [process, _, _, at_files, ..] = self.of_rank(rank);
        let stage = self.stage.load(Ordering::Relaxed);
        if stage == stage::INIT && waited >= HELPS_AFTER {
            Comm::world().progress();
        }
        if process.load(Ordering::Acquire) == 0 {
            return waited < PATIENCE_FOR_A_STRANGER && refusal(&self.path).symlink_metadata().is_err();
        }
        match self.state_of(rank) {
            None => false,
            Some(_) if stage != stage::TOGETHER || at_files.load(Ordering::Acquire) != 0 => true,
            Some(b'R' | b'D') => waited < PATIENCE_FOR_A_BUSY_ONE,
            Some(_) => waited < if woke { PATIENCE_FOR_A_BUSY_ONE } else { PATIENCE },
        }
    }

    /// The state of a rank's process. `None`: it has ended.
    fn state_of(&self, rank: u32) -> Option<u8> {
        let [process, started, ..] = self.of_rank(rank);
        Process::state(process.load(Ordering::Acquire) as u32, started.load(Ordering::Relaxed))
    }

    /// How often a rank's first thread has given its processor up; 0: not known.
    fn switches_of(&self, rank: u32) -> u64 {
        Process::switches(self.of_rank(rank)[0].load(Ordering::Acquire) as u32).unwrap_or(0)
    }

    fn outcome(&self) -> &AtomicU64 {
        &self.pages.line(OUTCOME)[0]
    }

    /// A rank's own line: its process, when that started, the round that it has come to, and whether it is at files.
    fn of_rank(&self, rank: u32) -> &Line {
        self.pages.line(OUTCOME + 1 + rank as usize * LINES_OF_RANK)
    }

    /// Where a rank's words of a round are.
    fn words_of(&self, rank: u32, round: u32) -> impl Iterator<Item = &AtomicU64> {
        let first = OUTCOME + 2 + rank as usize * LINES_OF_RANK + round as usize % 2 * LINES_OF_WORDS;
        (first..first + LINES_OF_WORDS).flat_map(|line| self.pages.line(line))
    }
}

fn length(ranks: u32) -> u64 {
    round_up(((OUTCOME + 1 + ranks as usize * LINES_OF_RANK) * size_of::<Line>()) as u64, PAGE)
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{}{number:016x}{}", node_files::prefix(system::user()), node_files::MEETING))
}

/// The link by which a rank states that it cannot open the file.
fn refusal(path: &Path) -> PathBuf {
    let mut name = path.with_extension("").into_os_string();
    name.push(node_files::REFUSED);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ticks;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("mpitrace-meeting-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// The results of so many ranks.
    fn met<R: Send>(name: &str, ranks: u32, work: impl Fn(u32, &NodeMeeting) -> R + Sync) -> Vec<R> {
        let folder = Folder::new(name);
        let number = ticks::now();
        assert!(NodeMeeting::create(&folder.0, number, ranks));
        std::thread::scope(|scope| {
            let (folder, work) = (&folder.0, &work);
            let rank = |rank| move || work(rank, &NodeMeeting::open(folder, number, rank, ranks).unwrap());
            let come: Vec<_> = (0..ranks).map(|number| scope.spawn(rank(number))).collect();
            come.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// The process of a rank becomes one that has ended.
    fn dies(meeting: &NodeMeeting) {
        meeting.of_rank(meeting.rank)[1].store(1, Ordering::Release);
    }

    #[test]
    fn all_ranks_find_the_same_round_after_round() {
        let found = met("rounds", 7, |rank, meeting| {
            let mut path = if rank == 0 { [b'x'; 300] } else { [0; 300] };
            path[299] = rank as u8;
            meeting.broadcast(&mut path).unwrap();
            let least = meeting.least(&[i64::from(rank) - 3, -i64::from(rank)]).unwrap();
            let sums: Vec<u64> = (0..50).map(|round| meeting.sum_before(u64::from(rank) + round).unwrap()).collect();
            let all = meeting.gather(&[rank.into(), 7]).unwrap();
            (path.to_vec(), least, sums, all)
        });
        for (rank, (path, least, sums, all)) in (0..).zip(found) {
            assert_eq!((&path[..299], path[299], least), (&[b'x'; 299][..], 0, [-3, -6]));
            let before = |round: u64| (0..rank).map(|rank| rank + round).sum::<u64>();
            assert_eq!(sums, (0..50).map(before).collect::<Vec<_>>());
            assert_eq!(all, (0..7).map(|rank| [rank, 7]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_waits_for_a_rank_that_has_ended_and_all_know_which_it_is() {
        let found = met("dead", 4, |rank, meeting| {
            meeting.least(&[1]).unwrap();
            meeting.finalizes();
            if rank == 2 {
                dies(meeting);
                return None;
            }
            assert_eq!(meeting.least(&[1]), None);
            assert_eq!(meeting.sum_before(1), None, "nor in any later round");
            meeting.missing()
        });
        assert_eq!(found, [Some((2, true)), Some((2, true)), None, Some((2, true))]);
    }

    #[test]
    fn a_rank_that_leaves_is_not_waited_for() {
        let found = met("leaves", 3, |rank, meeting| {
            meeting.finalizes();
            if rank == 1 {
                meeting.leave();
            }
            (meeting.least(&[1]), meeting.missing())
        });
        assert_eq!(found, [(None, Some((1, false))); 3]);
    }

    /// A rank that is alive may come to MPI_Finalize as late as it likes, and be at files for as long as it likes; else
    /// it is given up.
    #[test]
    fn who_is_waited_for_depends_on_how_far_the_ranks_are() {
        let folder = Folder::new("patience");
        assert!(NodeMeeting::create(&folder.0, 3, 1));
        let meeting = NodeMeeting::open(&folder.0, 3, 0, 1).unwrap();
        let (long, longest) = (PATIENCE_FOR_A_BUSY_ONE * 2, Duration::from_secs(1 << 30));
        meeting.finalizes();
        assert!(meeting.may_come(0, longest, false));
        meeting.least(&[1]).unwrap();
        assert!(meeting.may_come(0, Duration::ZERO, false) && !meeting.may_come(0, long, true));
        meeting.at_files(|| assert!(meeting.may_come(0, longest, false)));
        // Processes that sleep: one all the time, the other wakes up now and then.
        for (command, moves) in [("exec sleep 1000", false), ("while sleep 0.01; do :; done", true)] {
            let mut process = std::process::Command::new("sh").arg("-c").arg(command).spawn().unwrap();
            meeting.of_rank(0)[0].store(process.id().into(), Ordering::Relaxed);
            meeting.of_rank(0)[1].store(0, Ordering::Relaxed);
            let before = meeting.switches_of(0);
            while moves && meeting.switches_of(0) == before {
                std::thread::yield_now();
            }
            while !moves && meeting.may_come(0, PATIENCE, false) {
                std::thread::yield_now();
            }
            assert!(meeting.may_come(0, PATIENCE / 2, false));
            assert!(meeting.may_come(0, PATIENCE, true));
            process.kill().unwrap();
            process.wait().unwrap();
        }
        meeting.stage.store(stage::INIT, Ordering::Relaxed);
        meeting.of_rank(0)[0].store(0, Ordering::Relaxed);
        assert!(meeting.may_come(0, Duration::ZERO, false));
        meeting.remove_names();
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
        assert!(NodeMeeting::open(&folder.0, 3, 0, 1).is_none());
        assert!(!meeting.may_come(0, Duration::ZERO, false), "a rank has stated that it cannot open the file");
    }
}
