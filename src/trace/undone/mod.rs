//! Defects of a program that ended by itself: collective calls that not all ranks made, requests that were never
//! found complete, and messages without a receive.
//!
//! Each rank counts its calls on each communicator, kept or not, so that the counts of its members agree at the end.
//! They need not where the MPI library refused calls or calls could not be counted, on intercommunicators, on which the
//! ranks of another world call too, and where ranks had sessions, in which calls may follow MPI_Finalize. Nothing is
//! said of these.

mod alone;
mod amounts;
mod count;
mod left_open;
mod left_out;
mod message_types;
mod not_matched;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_format::layout::{CommunicatorEntry, OperationEntry, communicator_flags as flags, state};
use mpitrace_functions::{Function, Pattern};

use serde::Serialize;

pub use alone::CalledAlone;
pub use amounts::Amounts;
pub use left_open::LeftOpen;
pub use left_out::LeftOut;
pub use message_types::DifferentTypes;
pub use not_matched::NotMatched;

use alone::{Member, call_at};
use amounts::amounts;
use left_open::left_open;
use left_out::left_out;
use not_matched::not_matched;

use crate::operations::{CallSite, Communicator, Operations, Unfinished};
use crate::reader::{Part, Trace};

/// All that a program has left undone.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::{operations::Operations, reader::Trace};
///
/// let trace = Trace::open(&[path])?;
/// assert!(Operations::new(&trace).undone(&trace).not_called.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// For each communicator the first call that not all of its ranks made before all had come to `MPI_Finalize`.
    pub not_called: Vec<NotCalled>,
    /// The operations with requests that ranks had not completed when they had come to `MPI_Finalize`.
    pub not_completed: Vec<NotCompleted>,
    /// The ranks with requests of messages that they had neither completed nor freed when they had come to
    /// `MPI_Finalize`, ascending.
    pub left_open: Vec<LeftOpen>,
    /// Amounts and types of v- and w-variants that do not fit.
    pub amounts: Vec<Amounts>,
    /// Messages that were never received and receives that nothing matched.
    pub not_matched: Vec<NotMatched>,
    /// Messages that were sent as one data type and received as another one.
    pub different_types: Vec<DifferentTypes>,
    /// For each communicator the first call that is known to have been left out, or made in addition: why the calls
    /// above and mismatched ones do not fit. Also of a program that did not end by itself.
    pub left_out: Vec<LeftOut>,
    /// The objects that the program made and never freed: no defect where they are few.
    pub never_freed: NeverFreed,
}

/// Communicators, windows, files, data types and requests that some rank has not freed, closed or completed when all
/// had come to `MPI_Finalize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NeverFreed {
    /// Not those with ranks of another group, which may be the library's own.
    pub communicators: u64,
    /// Windows.
    pub windows: u64,
    /// Files.
    pub files: u64,
    /// Data types of all ranks.
    pub types: u64,
    /// Requests of all ranks, but those in [`Undone::not_completed`]; fewer where calls that are not wrapped made some.
    pub requests: u64,
}

/// The first call on a communicator that not all of its ranks made.
///
/// ```
/// # use mpitrace_testing::synthetic::{self, SyntheticRank};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// use mpitrace_trace::{operations::Operations, reader::Trace};
///
/// // Rank 0 makes a second barrier that rank 1 does not make.
/// let ranks = [2, 1].map(|calls| {
///     let mut rank = SyntheticRank::new(2 - calls, 2);
///     let barrier = rank.operation("MPI_Barrier", 0, 0);
///     (0..u64::from(calls)).for_each(|call| rank.call(barrier, 1000 * call + 1000, 1000 * call + 1500));
///     rank
/// });
/// synthetic::write(&path, &ranks)?;
///
/// let trace = Trace::open(&[path])?;
/// let undone = Operations::new(&trace).undone(&trace);
/// assert!(undone.has_defects());
/// assert_eq!((undone.not_called[0].sequence, &undone.not_called[0].ranks[..]), (1, &[1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCalled {
    /// The communicator's name.
    pub communicator: String,
    /// How many calls on the communicator came before.
    pub sequence: u64,
    /// The world ranks that did not make it, ascending.
    pub ranks: Vec<u32>,
    /// The others' calls there, those that called the same together; by their lowest rank.
    pub calls: Vec<CalledAlone>,
}

/// Requests of an operation that the program never found complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCompleted {
    /// The operation's number.
    pub operation: usize,
    /// The plain C name.
    pub function: String,
    /// The communicator's name.
    pub communicator: String,
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
    /// Repetitions of which a rank did not complete its request.
    pub repetitions: u64,
    /// The place in the program that starts it, where the run has told places apart.
    pub call_site: Option<CallSite>,
}

impl Undone {
    /// True where calls or requests are wrong: calls that ranks left out, requests that were never completed, receives
    /// that nothing matched, amounts and types that do not fit. Messages that were never received and objects that were
    /// never freed are none: a program that ended by itself did without them.
    pub fn has_defects(&self) -> bool {
        let open = self.left_open.iter().any(|open| !open.may_be_complete);
        let calls = !self.not_called.is_empty() || !self.not_completed.is_empty() || open;
        let receives = self.not_matched.iter().any(|found| !found.is_of_sends());
        calls || receives || !self.amounts.is_empty() || !self.different_types.is_empty()
    }
}

impl Operations {
    /// The calls left out and the requests not completed; nothing where the program did not end by itself.
    pub fn undone(&self, trace: &Trace) -> Undone {
        let ended_well = has_ended_well(trace);
        let (mut not_called, mut left_out, mut amounts) = (Vec::new(), Vec::new(), Vec::new());
        for communicator in &self.communicators {
            let missing = ended_well.then(|| self::not_called(trace, communicator)).flatten();
            let of_it = self.mismatches.iter().find(|mismatch| mismatch.communicator_id == communicator.id);
            if missing.is_some() || of_it.is_some() {
                left_out.extend(self::left_out(trace, communicator, of_it.map(|mismatch| mismatch.sequence)));
            } else if ended_well {
                amounts.extend(self::amounts(trace, communicator));
            }
            not_called.extend(missing);
        }
        if !ended_well {
            return Undone { left_out, ..Undone::default() };
        }
        let mut unfinished = self.unfinished(trace);
        unfinished.retain(|unfinished| self.operations[unfinished.operation].key.has_request());
        let (not_matched, different_types) = not_matched(trace, self);
        let left_open = left_open(trace, self, &unfinished, &not_matched);
        let never_freed = self.never_freed(trace, &left_open);
        let not_completed = self.not_completed(unfinished);
        Undone { not_called, not_completed, left_open, amounts, not_matched, different_types, left_out, never_freed }
    }

    fn never_freed(&self, trace: &Trace, left_open: &[LeftOpen]) -> NeverFreed {
        const KEPT: u32 = flags::WORLD | flags::SELF | flags::INTER | flags::FOLDED;
        let requests = left_open.iter().map(|open| open.requests).fold(0, u64::saturating_add);
        let types = trace.parts.iter().map(|part| u64::from(part.rank_times().types_left)).sum();
        let mut found = NeverFreed { requests, types, ..NeverFreed::default() };
        for communicator in &self.communicators {
            let members = || communicator.members.iter().map(|&(part, entry)| (&trace.parts[part], entry));
            let all = members().fold(0, |all, (part, entry)| all | part.communicators()[entry].flags);
            let is_named = all & (flags::IDENTIFIED | KEPT) == flags::IDENTIFIED;
            if is_named && !members().all(|member| is_freed(&member)) {
                match all & (flags::WINDOW | flags::FILE) {
                    flags::WINDOW => found.windows += 1,
                    flags::FILE => found.files += 1,
                    _ => found.communicators += 1,
                }
            }
        }
        found
    }

    fn not_completed(&self, unfinished: Vec<Unfinished>) -> Vec<NotCompleted> {
        let mut found: BTreeMap<usize, (BTreeSet<u32>, u64)> = BTreeMap::new();
        for Unfinished { operation, inside, .. } in unfinished {
            let (ranks, repetitions) = found.entry(operation).or_default();
            ranks.extend(inside);
            *repetitions += 1;
        }
        let not_completed = |(operation, (ranks, repetitions)): (usize, (BTreeSet<u32>, u64))| {
            let key = &self.operations[operation].key;
            NotCompleted {
                operation,
                function: key.function.clone(),
                communicator: self.communicators[key.communicator].name.clone(),
                ranks: ranks.into_iter().collect(),
                repetitions,
                call_site: key.call_site.clone(),
            }
        };
        found.into_iter().map(not_completed).collect()
    }
}

/// True if all ranks came to `MPI_Finalize`, behind which no call follows.
fn has_ended_well(trace: &Trace) -> bool {
    let has_session = |part: &Part| {
        // The communicators of sessions come from these.
        part.operations().iter().any(|entry| part.text(entry.function).is_some_and(|name| name.contains("_from_group")))
    };
    trace.complete && trace.parts.iter().all(|part| part.info().state == state::FINALIZED && !has_session(part))
}

/// True if the rank has freed it: its entry says so, or, in traces without that flag, a call is recorded.
fn is_freed(&(part, communicator): &Member) -> bool {
    if part.communicators()[communicator].flags & flags::FREED != 0 {
        return true;
    }
    const FREEING: [&str; 4] = ["MPI_Comm_free", "MPI_Comm_disconnect", "MPI_Win_free", "MPI_File_close"];
    let mut of_it = part.operations().iter().filter(|entry| entry.communicator as usize == communicator);
    of_it.any(|entry| entry.calls > 0 && part.text(entry.function).is_some_and(|name| FREEING.contains(&&*name)))
}

fn not_called(trace: &Trace, communicator: &Communicator) -> Option<NotCalled> {
    let members: Vec<Member> = communicator.members.iter().map(|&(part, entry)| (&trace.parts[part], entry)).collect();
    let entry = |&(part, entry): &Member| -> CommunicatorEntry { part.communicators()[entry] };
    let is_counted = |member: &Member| {
        let is_identified = entry(member).flags & (flags::IDENTIFIED | flags::INTER) == flags::IDENTIFIED;
        is_identified && member.0.threads().iter().all(|thread| thread.failed == 0 && thread.untracked == 0)
    };
    let all_are_here = members.len() == communicator.size as usize && !communicator.folded;
    if !all_are_here || !members.iter().all(is_counted) {
        return None;
    }
    let sequence = members.iter().map(|member| entry(member).calls).min()?;
    let (missing, others): (Vec<Member>, Vec<Member>) =
        members.iter().partition(|member| entry(member).calls == sequence);
    let binding = binding_calls(&members[0]);
    if others.is_empty() || members.iter().all(|member| binding_calls(member) == binding) {
        return None;
    }
    let mut called: BTreeMap<(Option<String>, Option<String>), Vec<u32>> = BTreeMap::new();
    for member in &others {
        let kept = call_at(member, sequence);
        let texts = kept.map_or((None, None), |entry| (member.0.text(entry.function), member.0.text(entry.call_site)));
        called.entry(texts).or_default().push(member.0.rank());
    }
    let calls = CalledAlone::of_groups(called);
    let mut ranks: Vec<u32> = missing.iter().map(|member| member.0.rank()).collect();
    ranks.sort_unstable();
    Some(NotCalled { communicator: communicator.name.clone(), sequence, ranks, calls })
}

/// The calls of a member but those in which no rank waits for another in any library: programs whose ranks do not all
/// free a communicator go on all the same.
fn binding_calls(&(part, communicator): &Member) -> u64 {
    let is_binding = |entry: &&OperationEntry| {
        let name = part.text(entry.function).unwrap_or_default();
        Function::named(&name).is_none_or(|function| function.pattern != Pattern::None)
    };
    let of_it = part.operations().iter().filter(|entry| entry.communicator as usize == communicator);
    let free: u64 = of_it.filter(|entry| !is_binding(entry)).map(|entry| entry.calls).sum();
    part.communicators()[communicator].calls.saturating_sub(free)
}
