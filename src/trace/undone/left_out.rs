//! A call that a rank has left out in the middle of a job, or has made in addition: all its later calls on the
//! communicator are matched one off.
//!
//! MPI matches calls by their position, so that only what no longer fits shows it: the calls of most ranks and the
//! later ones of this rank are the same again if they are moved by one place. Said only where the calls cannot belong
//! together as they are: of a communicator with a mismatch, or on which the ranks' counts differ by one at the end.

use std::collections::{BTreeMap, HashMap};

use mpitrace_format::layout::{NO_ROOT, OPERATION_MASK, communicator_flags as flags};
use mpitrace_functions::Function;

use serde::Serialize;

use super::alone::CalledAlone;
use crate::operations::{CallSite, Communicator};
use crate::reader::{Part, Trace};

/// A call that some ranks have left out, or made in addition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The communicator's name.
    pub communicator: String,
    /// The first call from which on the ranks' calls do not fit.
    pub sequence: u64,
    /// The first of the equal calls before it, any of which it may be.
    pub earliest: u64,
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
    /// They have made it in addition to the others' calls, which these have not.
    pub is_additional: bool,
    /// The call, of those that made it.
    pub call: CalledAlone,
}

/// So many later calls have to fit, at least, and so many are looked at.
const LEAST: usize = 3;
const MOST: usize = 1024;
/// Nothing is concluded from more calls: each takes 4 bytes.
const MOST_CALLS: u64 = 1 << 26;

/// The call on a communicator that some of its ranks have left out or made in addition, if it is known which.
/// `first_mismatch`: the first sequence number with calls that are mismatched.
pub(super) fn left_out(trace: &Trace, communicator: &Communicator, first_mismatch: Option<u64>) -> Option<LeftOut> {
    let members = || communicator.members.iter().map(|&(part, entry)| (&trace.parts[part], entry));
    let calls: u64 = members().map(|(part, entry)| part.communicators()[entry].calls).sum();
    if communicator.folded || calls > MOST_CALLS {
        return None;
    }
    let mut numbers = HashMap::new();
    let mut groups: BTreeMap<Vec<u32>, Vec<(&Part, usize)>> = BTreeMap::new();
    for (part, entry) in members() {
        groups.entry(sequence(part, entry, &mut numbers)?).or_default().push((part, entry));
    }
    let (most, of_most) = groups.iter().max_by_key(|(calls, ranks)| (ranks.len(), calls.len()))?;
    let found = |(theirs, ranks): (&Vec<u32>, &Vec<(&Part, usize)>)| {
        let at = theirs.iter().zip(most).position(|(theirs, other)| theirs != other)?;
        let is_additional = match (fits(&theirs[at..], &most[at + 1..]), fits(&most[at..], &theirs[at + 1..])) {
            (true, false) => false,
            (false, true) => true,
            _ => return None,
        };
        let (long, short) = if is_additional { (theirs, most) } else { (most, theirs) };
        // It is known that the calls do not belong together as they are.
        if first_mismatch != Some(at as u64) && long.len() != short.len() + 1 {
            return None;
        }
        let equal = long[..at].iter().rev().take_while(|call| **call == long[at]).count();
        let (makers, made) = if is_additional { (ranks, theirs[at]) } else { (of_most, most[at]) };
        Some(LeftOut {
            communicator: communicator.name.clone(),
            sequence: at as u64,
            earliest: (at - equal) as u64,
            ranks: world_ranks(ranks),
            is_additional,
            call: called(makers, made, &numbers),
        })
    };
    groups.iter().filter(|(calls, _)| *calls != most).find_map(found)
}

/// True if the shorter one is how the longer one begins, as far as they are looked at, and says enough.
fn fits(one: &[u32], other: &[u32]) -> bool {
    let both = one.len().min(other.len()).min(MOST);
    both >= LEAST && one[..both] == other[..both] && one[..both].iter().any(|call| *call != one[0])
}

/// The properties that have to be the same on all ranks of a call: function, root, bytes; and the place in the program.
type Described = (String, i32, u64, Option<String>);

/// The calls of a member in order, each by the number of what it is; `None`: not all of them were kept.
fn sequence(part: &Part, communicator: usize, numbers: &mut HashMap<Described, u32>) -> Option<Vec<u32>> {
    let here = part.communicators()[communicator];
    let of_entry: Vec<Option<u32>> = part
        .operations()
        .iter()
        .map(|entry| {
            (entry.communicator as usize == communicator).then(|| {
                let name = part.text(entry.function).unwrap_or_default();
                let function = Function::named(&name);
                let is_inter = here.flags & flags::INTER != 0;
                let bytes = entry.bytes * u64::from(function.is_some_and(Function::amounts_agree) && !is_inter);
                let root = if is_inter { NO_ROOT } else { entry.root };
                let next = numbers.len() as u32;
                *numbers.entry((name, root, bytes, part.text(entry.call_site))).or_insert(next)
            })
        })
        .collect();
    let mut calls = Vec::new();
    for block in part.blocks() {
        let (operations, positions) = block.calls();
        for (operation, &position) in operations.iter().zip(&positions) {
            if let Some(number) = of_entry[(operation & OPERATION_MASK) as usize] {
                calls.push((position, number));
            }
        }
    }
    // Those of persistent requests have positions of their own.
    calls.retain(|(position, _)| *position < 1 << 63);
    calls.sort_unstable();
    let is_whole = calls.iter().enumerate().all(|(at, (position, _))| at as u64 == *position);
    (is_whole && calls.len() as u64 == here.calls).then(|| calls.into_iter().map(|(_, number)| number).collect())
}

fn world_ranks(members: &[(&Part, usize)]) -> Vec<u32> {
    let mut ranks: Vec<u32> = members.iter().map(|(part, _)| part.rank()).collect();
    ranks.sort_unstable();
    ranks
}

fn called(makers: &[(&Part, usize)], call: u32, numbers: &HashMap<Described, u32>) -> CalledAlone {
    let described = numbers.iter().find(|(_, number)| **number == call).map(|(described, _)| described);
    let (function, call_site) = described
        .map_or((None, None), |(name, _, _, site)| (Some(name.clone()), site.as_deref().and_then(CallSite::parse)));
    CalledAlone { ranks: world_ranks(makers), function, call_site }
}
