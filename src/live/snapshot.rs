//! Where the ranks of a job are at one moment, as plain data.

use mpitrace_functions::Function;
use mpitrace_statistics::names::names;
use mpitrace_trace::operations::Mismatch;
use mpitrace_trace::partners::Member;
use serde::{Deserialize, Deserializer, Serialize};

use super::{ErrorClass, ProcessEnd, can_get_message};

/// The function in which all ranks wait for each other, at the latest when they first exchange messages.
pub(super) const INIT: &str = "MPI_Init";
/// All ranks wait for each other in it, at the latest when they have left MPI.
pub(super) const FINALIZE: &str = "MPI_Finalize";

/// Where the ranks of a job are, and which of them have come to which call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// In the order of their ranks; those that are known.
    pub ranks: Vec<RankNow>,
    /// How many ranks MPI_COMM_WORLD has.
    pub world_size: u32,
    /// By number.
    pub communicators: Vec<CommunicatorNow>,
    /// Calls that may not belong together, among those that are known.
    pub mismatches: Vec<Mismatch>,
    /// The exit code of the launcher, as `mpitrace run` saw it; `None`: not known.
    pub exit_code: Option<u32>,
    /// What the MPI library says of itself; empty: not known.
    pub library: String,
    /// The program uses the library by the standard's ABI.
    pub has_standard_abi: bool,
}

/// Where a rank is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct RankNow {
    /// In MPI_COMM_WORLD.
    #[serde(skip)]
    pub rank: u32,
    /// Its state.
    pub state: State,
    /// The MPI function that it is in, its plain C name; `None`: in none, or it is not known.
    pub function: Option<String>,
    /// Where the program makes the call that it is in, or the collective one that it waits for; `None`: the run has not
    /// recorded call sites.
    pub call_site: Option<String>,
    /// It has not called `MPI_Init`.
    pub is_before_init: bool,
    /// Its process was not looked at: what it did outside of MPI is not known.
    #[serde(skip)]
    pub is_of_trace: bool,
    /// It is in a point-to-point call, or in one that waits for requests.
    pub in_point_to_point: bool,
    /// It is in an error handler of the program.
    pub in_error_handler: bool,
    /// Of a rank in `MPI_Finalize`, or through it: the last call before it that other ranks may wait in, and its place in
    /// the program where that is recorded.
    #[serde(skip)]
    pub last_call: Option<String>,
    /// The interpreter that a rank in `MPI_Finalize`, or through it, runs, by its file's name.
    #[serde(skip)]
    pub interpreter: Option<String>,
    /// The call that it is in has MPI_OP_NULL for an operator.
    #[serde(skip)]
    pub has_null_operator: bool,
    /// It has made calls on several threads: a stamp is of one of them.
    pub has_threads: bool,
    /// The collective calls that it waits in, or for: non-blocking ones only while it is in a Wait call that does not
    /// return before they are complete.
    pub waits: Vec<Wait>,
    /// The messages that it waits for in a point-to-point call, as far as they are known.
    pub messages: Vec<MessageWait>,
    /// It waits for more messages than are listed.
    pub has_more_messages: bool,
    /// Since it entered the call that it is in, or left its last recorded one, s.
    pub since_s: Option<f64>,
    /// For so long it is known not to have moved: to have begun or ended no MPI call, s.
    #[serde(deserialize_with = "or_infinity")]
    pub unmoved_s: f64,
    /// It was seen to move since the first look.
    pub has_moved: bool,
    /// The collective calls per second between the last two looks; `None`: there was one look.
    pub calls_per_s: Option<f64>,
    /// True if it was on a processor, or ready for one, at each look since it has not moved; `None`: not known.
    pub uses_processor: Option<bool>,
    /// If it is off its processor: the functions of the kernel that its threads wait in, where the kernel says them.
    pub waits_in: Vec<String>,
    /// The end of its process, as `mpitrace run` saw it; `None`: not known.
    #[serde(skip)]
    pub ended: Option<ProcessEnd>,
    /// Its launcher had ended before it, and so it was ended.
    #[serde(skip)]
    pub lost_launcher: bool,
    /// The stacks of its threads: functions, the outermost first, or why there are none. Empty: they were not asked
    /// for.
    #[serde(skip)]
    pub stacks: Vec<Result<Vec<String>, String>>,
}

/// JSON has null for what is not finite.
fn or_infinity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// The name of a known function. It is not borrowed from what is read.
type FunctionName = &'static str;

/// A collective call that a rank waits in, or for whose request it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct Wait {
    /// Its plain C name; `None`: not known.
    #[serde(deserialize_with = "known_function")]
    pub function: Option<FunctionName>,
    /// Index into [`Snapshot::communicators`]; `None`: `MPI_Init` or `MPI_Finalize`, which all ranks of the world call.
    pub communicator: Option<usize>,
    /// Calls on the communicator before it.
    pub sequence: Option<u64>,
}

fn known_function<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FunctionName>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    let of_all = [INIT, FINALIZE].into_iter().find(|known| Some(*known) == name.as_deref());
    Ok(of_all.or_else(|| Some(Function::named(&name?)?.name)))
}

/// A message that a rank waits for, or for whose request. One that is neither received nor sent is none: the rank waits
/// in a call on a window for its other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct MessageWait {
    /// With which rank.
    pub partner: Partner,
    /// As the program passed it; negative: any.
    pub tag: i32,
    /// Index into [`Snapshot::communicators`]; `None`: not known.
    pub communicator: Option<usize>,
    /// It is a message to this rank.
    pub receives: bool,
    /// It is a message of this rank.
    pub sends: bool,
    /// As many messages the partner has sent this rank on that communicator; `None`: not known.
    pub sent: Option<u64>,
}

/// The other rank of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Partner {
    /// This world rank.
    Rank(u32),
    /// The rank with this place in the communicator, which is on a node that was not looked at.
    Member(Member),
    /// Any member of the communicator.
    Any,
    /// Not known, or of another world.
    Unknown,
}

impl Partner {
    fn may_be(self, rank: u32) -> bool {
        matches!(self, Partner::Any) || self == Partner::Rank(rank)
    }
}

impl MessageWait {
    /// True if this message, which `rank` sends, can be the one that `receiver` receives by `other`.
    fn fits(&self, rank: u32, receiver: u32, other: &MessageWait) -> bool {
        let is_tag = other.tag < 0 || other.tag == self.tag;
        let are_ends = self.partner.may_be(receiver) && other.partner.may_be(rank);
        self.sends && other.receives && is_tag && are_ends && self.communicator == other.communicator
    }
}

/// How far the ranks of a communicator are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicatorNow {
    /// As [`mpitrace_trace::operations::Communicator::name`].
    pub name: String,
    /// Its ranks.
    pub size: u32,
    /// The members that are known: world rank, and how many calls it has begun on the communicator.
    pub members: Vec<(u32, u64)>,
}

/// The state of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Not in MPI, and on a processor or ready for one (or it is not known whether).
    #[default]
    Computing,
    /// In a collective call.
    InCall,
    /// In another call of MPI.
    OtherMpi,
    /// Not in MPI, and off its processor: it sleeps or waits for the system.
    OffProcessor,
    /// Stopped by a signal, or by a debugger.
    Stopped,
    /// Its process has ended without `MPI_Finalize`.
    Dead,
    /// In `MPI_Init`.
    Init,
    /// In `MPI_Finalize`.
    Finalize,
    /// In `MPI_Abort`.
    Abort,
    /// In a session, and in no call.
    Session,
    /// It has been through `MPI_Finalize`.
    Ended,
}

names!(State {
    Computing => "computing",
    InCall => "in_call",
    OtherMpi => "other_mpi",
    OffProcessor => "off_processor",
    Stopped => "stopped",
    Dead => "dead",
    Init => "init",
    Finalize => "finalize",
    Abort => "abort",
    Session => "session",
    Ended => "ended",
});

impl State {
    /// True if the rank can go on by itself.
    pub fn is_alive(self) -> bool {
        !matches!(self, State::Dead | State::Stopped | State::Ended)
    }

    /// True if the rank has a process that may be looked at.
    pub fn has_process(self) -> bool {
        !matches!(self, State::Dead | State::Ended)
    }
}

impl RankNow {
    /// A rank of which no more is known than its state.
    pub fn new(rank: u32, state: State) -> RankNow {
        RankNow { rank, state, unmoved_s: f64::INFINITY, ..RankNow::default() }
    }

    /// True if its process ended by itself before `MPI_Finalize` was through, not by a signal that ends jobs.
    pub fn has_died(&self) -> bool {
        let is_over = matches!(self.state, State::Ended | State::Abort);
        !is_over && !self.lost_launcher && self.ended.is_some_and(|end| !end.is_sent())
    }

    /// True if it is in a call that waits for other ranks, and it is not known for which ones.
    pub fn waits_for_some_rank(&self) -> bool {
        let is_one_sided = self.function.as_deref().is_some_and(|function| function.starts_with("MPI_Win_"));
        self.in_point_to_point || self.state == State::OtherMpi && is_one_sided
    }

    fn is_in_mpi(&self) -> bool {
        let is_in_mpi = matches!(self.state, State::InCall | State::OtherMpi | State::Init | State::Finalize);
        is_in_mpi && !self.in_error_handler
    }
}

/// Exit codes from this one on are not a job's own: those of `timeout` and of shells, and 128 + a signal.
const NOT_OWN: u32 = 124;

impl Snapshot {
    /// Marks the ranks that were ended since their launcher had ended: where each rank was ended so, or by a signal that
    /// ends jobs.
    pub(super) fn mark_lost_launcher(&mut self) {
        let ends = || self.ranks.iter().filter_map(|rank| rank.ended);
        if ends().all(|end| end.is_sent() || end.is_of_lost_launcher()) {
            for rank in &mut self.ranks {
                rank.lost_launcher = rank.ended.is_some_and(ProcessEnd::is_of_lost_launcher);
            }
        }
    }

    /// True if the MPI library ended this rank. It has died inside a call of MPI, by an exit code or, where the
    /// launcher's exit code is not that of its signal, on its way out after the launcher was told.
    pub fn was_ended_by_library(&self, rank: &RankNow) -> bool {
        let is_code = matches!(rank.ended, Some(ProcessEnd::Code(_)));
        rank.has_died() && rank.is_in_mpi() && (is_code || self.has_own_exit_code())
    }

    /// The exit code with which the launcher ended the job though no rank had died: it killed all of them. MPICH's does
    /// so when the MPI library of a rank aborts, Open MPI's where it is faster than the rank. With it the ranks that
    /// were in a call of MPI then that can end in an error of this class.
    pub fn ended_by_launcher(&self) -> Option<(u32, Vec<u32>)> {
        let code = self.exit_code.filter(|_| self.all_were_killed())?;
        let class = self.error_class(code);
        // MPICH's code for a wrong operator, 9, is the number of SIGKILL too: nothing else says that it is one.
        let is_of_operator = |rank: &RankNow| {
            let function = rank.function.as_deref().unwrap_or_default();
            rank.has_null_operator || function.starts_with("MPI_Op_") && rank.is_in_mpi()
        };
        let of_operator = class.is_some_and(|class| class.name == "MPI_ERR_OP") && !self.is_of_open_mpi();
        if of_operator && let Some(rank) = self.ranks.iter().find(|rank| is_of_operator(rank)) {
            return Some((code, vec![rank.rank]));
        }
        if !self.is_own_exit_code(code) {
            return None;
        }
        let can_be_of = |rank: &&RankNow| class.is_none_or(|class| self.can_be_of(rank, class));
        let in_mpi = || self.ranks.iter().filter(|rank| rank.is_in_mpi());
        let mut ranks: Vec<&RankNow> = in_mpi().filter(can_be_of).collect();
        // A call without data, as a barrier, gets too long a message only where no other call can have got it.
        let gets = |rank: &&RankNow| rank.function.as_deref().is_none_or(can_get_message);
        if class.is_some_and(|class| class.is_of_length()) && ranks.iter().any(gets) {
            ranks.retain(gets);
        }
        in_mpi().next().is_some().then(|| (code, ranks.iter().map(|rank| rank.rank).collect()))
    }

    /// The last calls that do not belong together, of which one of these ranks has made one, as the call that it was in
    /// at its end or the one before on that communicator.
    pub fn last_mismatch(&self, ranks: &[u32]) -> Option<&Mismatch> {
        let begun = |mismatch: &Mismatch, rank: u32| {
            let of = self.communicators.get(mismatch.communicator_id)?;
            of.members.iter().find(|(member, _)| *member == rank).map(|(_, begun)| *begun)
        };
        let is_last = |mismatch: &&Mismatch| {
            let has_made = mismatch.calls.iter().flat_map(|call| &call.ranks).filter(|rank| ranks.contains(rank));
            let mut begun = has_made.filter_map(|&rank| begun(mismatch, rank));
            begun.any(|begun| (1..=2).contains(&begun.saturating_sub(mismatch.sequence)))
        };
        self.mismatches.iter().filter(is_last).max_by_key(|mismatch| mismatch.sequence)
    }

    /// True if a signal ended each rank by which a launcher ends those of a job that was aborted. Of a rank that was in a
    /// call of MPI it need not be known: no other end of its own has the launcher's exit code.
    fn all_were_killed(&self) -> bool {
        self.ranks.iter().all(|rank| match rank.ended {
            Some(ProcessEnd::Signal(libc::SIGKILL)) => true,
            Some(end) => self.is_of_open_mpi() && end.is_sent(),
            None => rank.is_in_mpi(),
        })
    }

    fn is_of_open_mpi(&self) -> bool {
        self.library.starts_with("Open MPI")
    }

    /// True if the call that a rank is in can end in an error of this class. One of a communicator is none of a call on
    /// one that is known, but for those that free it.
    fn can_be_of(&self, rank: &RankNow, class: ErrorClass) -> bool {
        let function = rank.function.as_deref();
        let is_known = |wait: &Wait| {
            let communicator = wait.communicator.and_then(|index| self.communicators.get(index));
            communicator.is_some_and(|communicator| communicator.size > 0)
        };
        let frees = matches!(function, Some("MPI_Comm_free" | "MPI_Comm_disconnect"));
        let is_right = class.name == "MPI_ERR_COMM" && !frees && rank.waits.iter().any(is_known);
        !is_right && function.is_none_or(|function| class.can_be_of(function))
    }

    /// The error class that has this exit code in the library of the job.
    pub fn error_class(&self, exit_code: u32) -> Option<ErrorClass> {
        ErrorClass::new(&self.library, self.has_standard_abi, exit_code)
    }

    /// True if the launcher's exit code is known and follows from no rank's end.
    fn has_own_exit_code(&self) -> bool {
        self.exit_code.is_some_and(|code| self.is_own_exit_code(code))
    }

    /// True if this exit code of the launcher follows from no rank's end. MPICH's makes one number of all: it ors them.
    /// Open MPI's has 128 and the number for a signal, and 1 where it was ended itself.
    fn is_own_exit_code(&self, code: u32) -> bool {
        let number = |end: ProcessEnd| match end {
            ProcessEnd::Signal(number) if self.is_of_open_mpi() => 128 + number as u32,
            end => end.number() as u32,
        };
        let ends: Vec<u32> = self.ranks.iter().filter_map(|rank| rank.ended.map(number)).collect();
        let was_aborted = self.ranks.iter().any(|rank| rank.state == State::Abort);
        let least = if self.is_of_open_mpi() { 2 } else { 1 };
        let follows = ends.contains(&code) || ends.iter().fold(0, |all, end| all | end) == code;
        (least..NOT_OWN).contains(&code) && !was_aborted && !self.has_unseen() && !follows && !ends.is_empty()
    }

    /// Where a rank is, if it is known.
    pub fn rank(&self, rank: u32) -> Option<&RankNow> {
        self.ranks.get(self.ranks.binary_search_by_key(&rank, |now| now.rank).ok()?)
    }

    /// True if the other rank of a message is in a call for it too: it may be under way between them.
    pub fn is_matched(&self, rank: u32, message: &MessageWait) -> bool {
        let others = match message.partner {
            Partner::Rank(other) => self.rank(other).map_or(&[][..], std::slice::from_ref),
            Partner::Any => &self.ranks[..],
            Partner::Member(_) | Partner::Unknown => &[],
        };
        let others = others.iter().filter(|other| other.rank != rank);
        let mut theirs = others.flat_map(|other| other.messages.iter().map(|message| (other.rank, message)));
        theirs.any(|(other, theirs)| message.fits(rank, other, theirs) || theirs.fits(other, rank, message))
    }

    /// True if there are ranks of which nothing is known, as on nodes that were not looked at.
    pub fn has_unseen(&self) -> bool {
        self.ranks.len() < self.world_size as usize
    }

    /// True if a rank has not begun the call in which others wait.
    pub fn is_missing(&self, rank: u32, wait: Wait) -> bool {
        if self.is_of_a_group(wait) {
            return self.missing(rank, wait).contains(&rank);
        }
        match (wait.communicator, wait.sequence) {
            (Some(communicator), Some(sequence)) => self.communicators.get(communicator).is_some_and(|communicator| {
                let index = communicator.members.binary_search_by_key(&rank, |(member, _)| *member);
                index.is_ok_and(|index| communicator.members[index].1 <= sequence)
            }),
            _ => self.rank(rank).is_some_and(|now| match wait.function {
                Some(INIT) => now.is_before_init,
                _ => !matches!(now.state, State::Finalize | State::Ended),
            }),
        }
    }

    /// True of a call that the ranks of a group make, on a communicator that it is to make: which ranks these are is not
    /// known.
    pub fn is_of_a_group(&self, wait: Wait) -> bool {
        let makes =
            wait.function.and_then(Function::named).is_some_and(|function| function.communicator.starts_with("new"));
        makes && wait.communicator.and_then(|index| self.communicators.get(index)).is_some_and(|of| of.size == 0)
    }

    /// The ranks that have not begun the call in which this one waits, ascending. Of a call that the ranks of a group
    /// make any rank that is not in such a call may be one.
    pub fn missing(&self, rank: u32, wait: Wait) -> Vec<u32> {
        if self.is_of_a_group(wait) {
            let is_there = |now: &&RankNow| now.waits.iter().any(|other| other.function == wait.function);
            return self.ranks.iter().filter(|now| !is_there(now)).map(|now| now.rank).collect();
        }
        let begun = wait.communicator.and_then(|index| self.communicators.get(index)).zip(wait.sequence);
        let mut missing: Vec<u32> = match begun {
            Some((of, sequence)) => {
                of.members.iter().filter(|(_, begun)| *begun <= sequence).map(|(other, _)| *other).collect()
            }
            None => self.members(wait).into_iter().filter(|&other| self.is_missing(other, wait)).collect(),
        };
        missing.retain(|other| *other != rank);
        missing
    }

    /// The ranks that take part in a call, as far as they are known.
    pub fn members(&self, wait: Wait) -> Vec<u32> {
        match wait.communicator.and_then(|index| self.communicators.get(index)) {
            Some(communicator) => communicator.members.iter().map(|(rank, _)| *rank).collect(),
            None => self.ranks.iter().map(|rank| rank.rank).collect(),
        }
    }

    /// True if not all ranks that take part in a call are known.
    pub fn has_unknown_members(&self, wait: Wait) -> bool {
        let communicator = wait.communicator.and_then(|index| self.communicators.get(index));
        communicator.is_some_and(|communicator| communicator.members.len() < communicator.size as usize)
    }

    /// The name of a communicator of this snapshot.
    pub fn name(&self, communicator: Option<usize>) -> Option<&str> {
        communicator.and_then(|index| self.communicators.get(index)).map(|communicator| communicator.name.as_str())
    }
}
