//! Finds with files alone if all ranks are traced.
//!
//! `LD_PRELOAD` may have reached only some of the ranks: other nodes, other programs of a job, a statically linked
//! part. A rank without the tracer would never answer a message, and a collective call of the tracer's own would hang
//! the program. So no rank calls one before it is proven that all ranks are traced (docs/developers/cluster.md):
//!
//! 1. Each traced rank announces itself in a folder of its node before it enters `MPI_Init` ([`Starting`]). Afterwards it
//!    counts those that have.
//! 2. As many as the world has ranks: all are here, and traced. Else the ranks of the node look beyond it.
//!    Which of the two holds is settled by a symbolic link in the node's folder.
//! 3. One rank of each node writes the node's count into a folder beside the trace. The one that made the folder adds
//!    up the counts that are there; the others wait, and look into a second folder, which stays small: so N nodes list
//!    N names together, not N each. The sum reaches the size of the world: all ranks are traced. It does not in time:
//!    some are not. The answer is settled for the job by a symbolic link again, in the second folder.
//!
//! A symbolic link is made whole or not at all, and only once: so all ranks read one answer, whatever they saw
//! themselves. Where all ranks run on one kernel, the answer names the file in which they meet from then on
//! ([`NodeMeeting`]).

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mpitrace_format::layout::RankHeader;
use mpitrace_platform::node_files;
use mpitrace_platform::time::{Instant, sleep};

use crate::base::hash::FastMap;
use crate::base::hash::mix;
use crate::base::own_file::OwnFile;
use crate::base::ticks;
use crate::base::{kernel, own_file, system};
use crate::job::launcher::{Job, Nodes};
use crate::job::settlement::{is_listed, read, settle};
use crate::job::starting::{self, Starting};
use crate::mpi::node_meeting::NodeMeeting;

/// How long a rank waits for those of its node, where the launcher did not make them wait for each other in `MPI_Init`.
const PATIENCE_HERE: Duration = Duration::from_secs(2);
/// How long a node waits for the others: longer, since some of them may have waited for their own ranks first.
const PATIENCE: Duration = Duration::from_secs(3);

/// Answers, as the links hold them. Behind `some` there is a number of the run, behind `all` that of the file in which
/// the ranks meet, if there is one.
const ALL: &str = "all";
const SOME: &str = "some";
const BEYOND: &str = "beyond";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All ranks of the program are traced.
    All {
        /// The number of the file in which they meet, where they are on one node.
        meeting: Option<u64>,
    },
    /// Some are not, or could not be found.
    Some {
        /// A number that all ranks share that read one answer, and no other run.
        run: u64,
        /// The folder, and how many traced ranks were found: for the one rank that says so.
        found: Option<FoundRanks>,
    },
}

/// The finding of the rank that has settled the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRanks {
    pub ranks: u32,
    /// Where the nodes should have met; `None`: all ranks are on one node.
    pub folder: Option<PathBuf>,
}

/// Files that this process has left in folders, to be found by the others.
pub struct TracedRanks {
    pub job: Job,
    /// The folder in which it has announced itself. Ranks that have done so in one folder are of one node here.
    here: Option<PathBuf>,
    /// The owner of the file that does so. Other users may write to the folder, and can guess the names of these files:
    /// what is not of this owner does not count there.
    owner: Option<u32>,
    /// A name that no other process of the job has. It begins with the same number on all ranks that can meet in one
    /// file.
    name: String,
    kernel: u64,
    /// Files that this rank may have made; they go when no rank can ask any more. A folder comes before what is in it.
    settlements: Vec<PathBuf>,
    found: Option<FoundRanks>,
}

impl TracedRanks {
    /// Announces this process in the first of the folders that takes its file, before `MPI_Init` is entered. The file
    /// may go when all ranks are known to be traced, or not.
    pub fn announce(job: Job, header: RankHeader, run: u32, folders: &[PathBuf]) -> (TracedRanks, Option<Starting>) {
        // Containers may share a folder and have equal process numbers: the time differs.
        let kernel = kernel();
        let name = format!("{kernel:016x}-{}-{}-{:x}", system::host(), std::process::id(), ticks::now());
        let starting = Starting::announce(header, run, job.key, &name, folders);
        let here = starting.as_ref().and_then(Starting::folder).map(Path::to_owned);
        let owner = starting.as_ref().and_then(Starting::owner);
        (TracedRanks { job, here, owner, name, kernel, settlements: Vec::new(), found: None }, starting)
    }

    /// Finds if all ranks of the program are traced: called after `MPI_Init`. All ranks get the same answer, but for
    /// those whose folders fail in the middle of it.
    ///
    /// `shared` is a folder that the other nodes see too.
    pub fn all_traced(&mut self, world_size: u32, shared: &Path) -> Answer {
        if world_size == 1 {
            return Answer::All { meeting: None };
        }
        let text = self.look(world_size, shared);
        if let Some(number) = text.strip_prefix(ALL) {
            return Answer::All { meeting: u64::from_str_radix(number, 16).ok() };
        }
        let run = text.strip_prefix(SOME).and_then(|number| u64::from_str_radix(number, 16).ok());
        Answer::Some { run: run.unwrap_or(self.job.key), found: self.found.clone() }
    }

    /// Opens the file of this number, in which the ranks of the node meet. `None`: it cannot be opened.
    pub fn meeting(&self, number: u64, rank: u32, world_size: u32) -> Option<NodeMeeting> {
        NodeMeeting::open(self.here.as_deref()?, number, rank, world_size)
    }

    /// True if this rank says what is to be said of a program of which some ranks are not traced.
    pub fn speaks(&self) -> bool {
        self.found.is_some()
    }

    fn look(&mut self, world_size: u32, shared: &Path) -> String {
        if let Some(here) = self.here.clone() {
            let link = here.join(self.named(node_files::HERE));
            self.settlements.push(link.clone());
            let started = Instant::now();
            let mut made = None;
            let answer = loop {
                let count = self.count_here("");
                let answer = if count >= world_size {
                    made = self.make_meeting(&here, world_size);
                    made.map_or_else(|| ALL.to_owned(), |number| format!("{ALL}{number:016x}"))
                } else if self.job.nodes == Nodes::Several {
                    BEYOND.to_owned()
                } else if started.elapsed() > PATIENCE_HERE {
                    if self.job.nodes == Nodes::One { self.some() } else { BEYOND.to_owned() }
                } else if let Some(answer) = read(&link, self.owner) {
                    break answer;
                } else {
                    sleep(Duration::from_millis(1));
                    continue;
                };
                let (settled, first) = settle(&link, &answer, self.owner).unwrap_or_else(|| (BEYOND.to_owned(), false));
                if first && settled.starts_with(SOME) {
                    self.found = Some(FoundRanks { ranks: count, folder: None });
                }
                if settled != answer
                    && let Some(number) = made
                {
                    NodeMeeting::discard(&here, number);
                }
                break settled;
            };
            if answer != BEYOND {
                return answer;
            }
        }
        let folder = shared.join(format!(".{}", self.named("-ranks")));
        let link = shared.join(format!(".{}", self.named("-settled"))).join("answer");
        self.look_beyond_node(world_size, &folder, &link)
    }

    /// Makes the file in which the ranks meet, which are all here. `None`: they do not run on one kernel, with one
    /// numbering of processes, or there is no memory for it.
    fn make_meeting(&self, here: &Path, world_size: u32) -> Option<u64> {
        let kernel = format!("{:016x}-", self.kernel);
        let number = self.number();
        let on_one = self.kernel != 0 && self.count_here(&kernel) >= world_size;
        (on_one && NodeMeeting::create(here, number, world_size)).then_some(number)
    }

    /// A number that no other run has.
    fn number(&self) -> u64 {
        mix(&[self.job.key, ticks::now(), std::process::id().into()])[0]
    }

    /// That some ranks are not traced, with a number of the run.
    fn some(&self) -> String {
        format!("{SOME}{:016x}", self.number())
    }

    fn look_beyond_node(&mut self, world_size: u32, folder: &Path, job_link: &Path) -> String {
        let Some(here) = self.here.clone() else {
            // This rank alone is its node.
            return self.settle_job(world_size, folder, job_link);
        };
        let node_link = here.join(self.named(node_files::ANSWER));
        let leader = here.join(self.named(node_files::LEADER));
        if OwnFile::create_private(&leader).is_ok() {
            self.settlements.extend([leader, node_link.clone()]);
            let answer = self.settle_job(world_size, folder, job_link);
            let _ = symlink(&answer, &node_link);
            return answer;
        }
        let started = Instant::now();
        while started.elapsed() < 3 * PATIENCE {
            if let Some(answer) = read(&node_link, self.owner) {
                return answer;
            }
            sleep(Duration::from_millis(1));
        }
        // The rank that asks for this node is late. What is settled now it will read too.
        self.make_answers(job_link);
        self.settle_beyond(job_link, &self.some(), None).0
    }

    fn make_answers(&mut self, link: &Path) {
        let answers = link.parent().unwrap_or(Path::new("."));
        self.settlements.extend([answers.to_owned(), link.to_owned()]);
        if system::create_private_folder(answers).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            // The folder of the trace is not there yet.
            let _ = answers.parent().map(std::fs::create_dir_all);
            let _ = system::create_private_folder(answers);
        }
    }

    /// For the ranks of this node: adds this node's count to those of the others, until all are there, another node has
    /// settled it, or time is over.
    fn settle_job(&mut self, world_size: u32, folder: &Path, link: &Path) -> String {
        self.make_answers(link);
        self.settlements.push(folder.to_owned());
        let adds_up = system::create_private_folder(folder).is_ok();
        // The one that adds up says within its own patience what it has found.
        let (watched, patience) =
            if adds_up { (folder, PATIENCE) } else { (link.parent().unwrap_or(folder), 2 * PATIENCE) };
        let started = Instant::now();
        let mut counts: Vec<PathBuf> = Vec::new();
        let mut owner = None;
        let mut written = 0;
        let mut pause = Duration::from_millis(1);
        let (answer, ranks) = loop {
            let counted = self.count_here("").max(1);
            if counted > written {
                let file = folder.join(format!("{}.{counted}", self.name));
                let Ok(made) = OwnFile::create_private(&file) else {
                    // Nothing can be said to the other nodes; so none of them finds all ranks.
                    break (self.some(), counted);
                };
                owner = made.metadata().ok().map(|made| made.uid());
                self.settlements.push(file.clone());
                counts.push(file);
                written = counted;
            }
            let sum = if adds_up { sum_of(folder) } else { counted };
            if sum >= world_size {
                break (ALL.to_owned(), sum);
            }
            if started.elapsed() > patience || !adds_up && is_listed(link) {
                // Where there is an answer this one does not count.
                break (self.some(), sum);
            }
            sleep(pause);
            // A network file system may show an old listing of a folder for half a minute. A change by this rank makes
            // it read the folder again.
            pause = (2 * pause).min(Duration::from_millis(100));
            let look = watched.join(format!("{}.look", self.name));
            let _ = OwnFile::create_private(&look).and_then(|_| std::fs::remove_file(&look));
        };
        let (settled, first) = self.settle_beyond(link, &answer, owner);
        if settled == ALL {
            return settled;
        }
        if first {
            self.found = Some(FoundRanks { ranks, folder: folder.parent().map(Path::to_owned) });
        }
        // A rank that comes late must not add these ranks up, should it find the link gone.
        for file in counts {
            let _ = std::fs::remove_file(file);
        }
        settled
    }

    /// Settles the answer of the job, which is what it is, and whether this rank has made it.
    ///
    /// Another user may be able to write to the folder of the trace, and make the answer first. Whose it is shows
    /// beside the owner of a file that this rank has made in such a folder, whatever number the file system has for
    /// that: a network file system may have another one than this process.
    fn settle_beyond(&self, link: &Path, answer: &str, owner: Option<u32>) -> (String, bool) {
        let owner = owner.or_else(|| {
            let made = link.with_file_name(format!("{}.look", self.name));
            let owner = OwnFile::create_private(&made).ok()?.metadata().ok().map(|made| made.uid());
            let _ = std::fs::remove_file(&made);
            owner
        });
        // Where there is no link, or another user's, the ranks of this node still act alike.
        owner.and_then(|owner| settle(link, answer, Some(owner))).unwrap_or_else(|| (self.some(), true))
    }

    /// Removes what was settled, when no rank can ask any more.
    pub fn withdraw_settlements(&self) {
        for path in self.settlements.iter().rev() {
            // The folder goes with the last file in it.
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
        }
    }

    /// Traced ranks that have announced themselves in the same folder as this one, under names that begin so; 0: this
    /// one has not.
    fn count_here(&self, beginning: &str) -> u32 {
        self.here.as_ref().map_or(0, |here| starting::count(here, self.job.key, self.owner, beginning))
    }

    fn named(&self, ending: &str) -> String {
        format!("{}{:016x}{ending}", node_files::prefix(system::user()), self.job.key)
    }
}

/// A number that all processes share that run on this kernel and see each other's numbers; 0: not known.
fn kernel() -> u64 {
    let boot: [u64; 2] = bytemuck::cast(kernel::boot_id());
    let processes = std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino());
    if boot == [0; 2] || processes == 0 { 0 } else { mix(&[boot[0], boot[1], processes])[0] }
}

/// The sum of the ranks that the files in a folder state: each node has one `NAME.COUNT`, or several, of which the
/// largest counts.
fn sum_of(folder: &Path) -> u32 {
    let mut nodes = FastMap::default();
    for name in own_file::names_in(folder).unwrap_or_default() {
        let name = name.to_string_lossy();
        if let Some((node, count)) = name.rsplit_once('.')
            && let Ok(count) = count.parse::<u32>()
        {
            let known = nodes.entry(node.to_owned()).or_insert(0);
            *known = count.max(*known);
        }
    }
    nodes.values().sum()
}

#[cfg(test)]
#[path = "traced_ranks_tests.rs"]
mod tests;
