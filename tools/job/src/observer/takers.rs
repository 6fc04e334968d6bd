//! The processes that ran on the processors of this node's ranks while these were ready to run (`MPITRACE_PROCESSES`),
//! by what /proc shows once a second. Nothing is asked of a rank.
//!
//! A task is taken to have run on the processor on which it was at both ends of a second. The kernel states for how
//! long a rank's thread was ready without a processor (schedstat); this time is shared out to the tasks that ran there,
//! by their processor time. A process that runs for less than two seconds is not seen at both ends.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use mpitrace_format::layout::NO_RANK;
use mpitrace_format::samples::{Preempted, Taker};
use mpitrace_live::process;
use mpitrace_words::names::user_name;

use super::standing::Standing;
use crate::stacks::threads_of;

/// The time between two looks at who runs on the ranks' processors.
pub const PAUSE: Duration = Duration::from_secs(1);
/// The threads of a process are looked at where it has used so much processor time since the last look.
const BUSY: Duration = Duration::from_millis(50);
/// A rank's thread that was ready without a processor for less since the last look was not preempted.
const NOTICED: u64 = 20_000_000;

/// The processes that take processors from ranks.
pub struct Takers {
    looked: Option<Instant>,
    tick: Duration,
    before: HashMap<u32, Task>,
    ranks: BTreeMap<u32, OfRank>,
}

/// A task as /proc/PID/stat has it.
#[derive(Clone, Copy, PartialEq)]
struct Task {
    /// Ticks of the system's clock since it started.
    started: u64,
    /// Processor time, in the same ticks.
    used: u64,
    processor: u32,
    threads: u64,
}

struct OfRank {
    job: [u8; 16],
    rank: u32,
    /// For each thread: how long it was ready without a processor up to the last look, ns.
    ready_ns: HashMap<u32, u64>,
    preempted_ns: u64,
    /// By process: its name and its user's number, and ns.
    takers: HashMap<u32, (String, u32, u64)>,
}

impl Takers {
    /// By the value of `MPITRACE_PROCESSES`. `None`: they are not looked at.
    pub fn new(setting: Option<&str>) -> Option<Takers> {
        // SAFETY: takes a number.
        let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
        let tick = Duration::from_secs(1) / hz as u32;
        (setting == Some("1")).then(|| Takers { looked: None, tick, before: HashMap::new(), ranks: BTreeMap::new() })
    }

    /// Looks at these ranks, each with its process number, unless the last look was just now.
    pub fn look<'r>(&mut self, running: impl Iterator<Item = (u32, &'r Standing)>) {
        // The observer wakes up a little early.
        if self.looked.is_some_and(|looked| looked.elapsed() < PAUSE.mul_f64(0.9)) {
            return;
        }
        let of_ranks: Vec<(u32, Vec<u32>)> = running.filter_map(|(pid, standing)| self.known(pid, standing)).collect();
        let (mut now, mut processes) = (HashMap::new(), HashMap::new());
        for pid in process::all() {
            let Some(process) = Task::read(&format!("/proc/{pid}/stat")) else { continue };
            let is_busy = |before: &Task| process.since(before).is_none_or(|used| used * self.tick >= BUSY);
            if process.threads == 1 {
                processes.insert(pid, pid);
            } else if of_ranks.iter().any(|(rank, _)| *rank == pid) || self.before.get(&pid).is_some_and(is_busy) {
                for tid in threads_of(pid) {
                    if let Some(task) = Task::read(&format!("/proc/{pid}/task/{tid}/stat")) {
                        now.insert(of_thread(tid), task);
                        processes.insert(of_thread(tid), pid);
                    }
                }
            }
            now.insert(pid, process);
        }
        let before = std::mem::replace(&mut self.before, now);
        for (pid, tids) in of_ranks {
            for tid in tids {
                self.share_out(pid, tid, &before, &processes);
            }
        }
        self.looked = Some(Instant::now());
    }

    fn known(&mut self, pid: u32, standing: &Standing) -> Option<(u32, Vec<u32>)> {
        let moved = standing.moved()?;
        let new =
            OfRank { job: [0; 16], rank: NO_RANK, ready_ns: HashMap::new(), preempted_ns: 0, takers: HashMap::new() };
        let of_rank = self.ranks.entry(pid).or_insert(new);
        if moved.rank != NO_RANK {
            (of_rank.job, of_rank.rank) = (moved.job, moved.rank);
        }
        Some((pid, if moved.tids.is_empty() { vec![pid] } else { moved.tids }))
    }

    /// The time for which a thread was ready without a processor since the last look, to the tasks that ran there.
    fn share_out(&mut self, pid: u32, tid: u32, before: &HashMap<u32, Task>, processes: &HashMap<u32, u32>) {
        let Some(of_rank) = self.ranks.get_mut(&pid) else { return };
        let stated = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).unwrap_or_default();
        let Some(ready) = stated.split_whitespace().nth(1).and_then(|text| text.parse().ok()) else { return };
        let Some(waited) = of_rank.ready_ns.insert(tid, ready).map(|earlier| ready.saturating_sub(earlier)) else {
            return;
        };
        if waited < NOTICED {
            return;
        }
        of_rank.preempted_ns += waited;
        let number = if processes.contains_key(&of_thread(tid)) { of_thread(tid) } else { tid };
        let (Some(then), Some(now)) = (before.get(&number), self.before.get(&number)) else { return };
        if then.processor != now.processor {
            return;
        }
        let ran_here = |(other, task): (&u32, &Task)| {
            let (process, earlier) = (*processes.get(other)?, before.get(other)?);
            let is_here = task.processor == now.processor && earlier.processor == now.processor && *other != number;
            let used = task.since(earlier)? * self.tick;
            (is_here && !used.is_zero()).then_some((process, used.as_nanos() as u64))
        };
        let others: Vec<(u32, u64)> = self.before.iter().filter_map(ran_here).collect();
        let sum: u64 = others.iter().map(|(_, used)| used).sum();
        for (process, used) in others {
            // No more than it has used, and of what several have used its share.
            let ns = used.min((waited as f64 * used as f64 / sum as f64) as u64);
            let folder = format!("/proc/{process}");
            let name = || fs::read_to_string(format!("{folder}/comm")).unwrap_or_default().trim_end().to_owned();
            let user = || fs::metadata(&folder).map_or(u32::MAX, |metadata| metadata.uid());
            of_rank.takers.entry(process).or_insert_with(|| (name(), user(), 0)).2 += ns;
        }
    }

    /// The time that was taken from the ranks of a run: of each the processes, those of one name and user together.
    pub fn finish(&self, job: [u8; 16]) -> Vec<Preempted> {
        let of_rank = |of_rank: &OfRank| {
            let mut takers: BTreeMap<(Option<u32>, &str, u32), u64> = BTreeMap::new();
            for (process, (name, user, ns)) in &of_rank.takers {
                let rank = self.ranks.get(process).filter(|other| other.job == job).map(|other| other.rank);
                *takers.entry((rank, name, *user)).or_default() += ns;
            }
            let taker = |((rank, name, user), ns): ((Option<u32>, &str, u32), u64)| Taker {
                rank,
                name: name.to_owned(),
                user: user_name(user),
                ns,
            };
            let mut takers: Vec<Taker> = takers.into_iter().map(taker).collect();
            takers.sort_by_key(|taker| std::cmp::Reverse(taker.ns));
            Preempted { rank: of_rank.rank, ns: of_rank.preempted_ns, takers }
        };
        self.ranks.values().filter(|rank| rank.job == job).map(of_rank).collect()
    }
}

impl Task {
    fn read(path: &str) -> Option<Task> {
        let line = fs::read_to_string(path).ok()?;
        // The name, in parentheses, may have any characters; fields 14, 15, 20, 22 and 39 of proc_pid_stat(5).
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Task {
            started: number(22)?,
            used: number(14)? + number(15)?,
            processor: number(39)? as u32,
            threads: number(20)?,
        })
    }

    /// The processor time since then; `None`: it was another task.
    fn since(&self, earlier: &Task) -> Option<u32> {
        (self.started == earlier.started).then(|| self.used.saturating_sub(earlier.used) as u32)
    }
}

/// The number of one of several threads: that of the first one is the process', whose numbers are the sums of all.
fn of_thread(tid: u32) -> u32 {
    u32::MAX - tid
}
