//! Amounts and data types of v- and w-variants and over neighbourhoods that do not fit, by the sums of each rank over
//! its calls ([`mpitrace_format::amounts`]).

use std::collections::BTreeMap;

use mpitrace_format::amounts::can_be;
use mpitrace_format::layout::{communicator_flags as flags, unknown};
use mpitrace_functions::{Function, Pattern, Size};
use serde::Serialize;

use super::alone::{CalledAlone, call_at};
use crate::operations::Communicator;
use crate::reader::{Part, Trace};

/// Calls of a communicator in which ranks receive other amounts than are sent to them, or pass other counts where all
/// have to pass the same; or data of another kind than those that are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Amounts {
    /// `amounts` or `datatype`.
    pub kind: &'static str,
    /// The communicator's name.
    pub communicator: String,
    /// The call's position; `None`: in more than one call, or of data types.
    pub sequence: Option<u64>,
    /// The ranks' calls there, those that called the same together; where it is in more than one call the functions
    /// that it can be.
    pub calls: Vec<CalledAlone>,
}

/// The amounts of a communicator on which all ranks have made the same calls.
pub(super) fn amounts(trace: &Trace, communicator: &Communicator) -> Option<Amounts> {
    let members = || communicator.members.iter().map(|&(part, entry)| (&trace.parts[part], entry));
    let (mut sums, mut types, mut unknown) = ([0u32; 2], 0u16, 0);
    let calls = members().next().map(|(part, entry)| part.communicators()[entry].calls)?;
    for (part, entry) in members() {
        let entry = part.communicators()[entry];
        let is_known = entry.flags & (flags::IDENTIFIED | flags::FOLDED) == flags::IDENTIFIED;
        let all_counted = part.threads().iter().all(|thread| thread.failed == 0 && thread.untracked == 0);
        // Of others it is known that all calls were made.
        let may_differ = entry.flags & flags::INTER != 0 && entry.calls != calls;
        if !is_known || !all_counted || may_differ || entry.unknown & unknown::AMOUNTS != 0 {
            return None;
        }
        sums = [0, 1].map(|which: usize| sums[which].wrapping_add(entry.amounts[which]));
        types = types.wrapping_add(entry.types);
        unknown |= entry.unknown;
    }
    let is_whole = communicator.members.len() == communicator.size as usize;
    // Data that are not received have no other type.
    let of_types = sums == [0, 0] && types != 0 && unknown & unknown::TYPES == 0;
    let is_compared = |part: &Part, name: u32| is_compared(part, name, of_types);
    if !is_whole || !of_types && sums == [0, 0] {
        return None;
    }
    // A call that was not kept may be of any function.
    let found = (0..calls).filter(|&position| !of_types && can_be(position, sums)).find_map(|position| {
        let of_member = |member| {
            let kept = call_at(&member, position);
            kept.is_none_or(|kept| is_compared(member.0, kept.function)).then_some((member.0, kept))
        };
        let called: Vec<_> = members().map_while(of_member).collect();
        (called.len() == communicator.members.len()).then_some((position, called))
    });
    let name = |part: &Part, reference: u32| part.text(reference);
    let mut grouped: BTreeMap<(Option<String>, Option<String>), Vec<u32>> = BTreeMap::new();
    if let Some((_, called)) = &found {
        for (part, kept) in called {
            let texts = kept.map_or((None, None), |kept| (name(part, kept.function), name(part, kept.call_site)));
            grouped.entry(texts).or_default().push(part.rank());
        }
    } else {
        for (part, entry) in members() {
            let of_it = part.operations().iter().filter(|operation| operation.communicator as usize == entry);
            for operation in of_it.filter(|operation| operation.calls > 0 && is_compared(part, operation.function)) {
                let site = name(part, operation.call_site).filter(|_| of_types);
                let ranks = grouped.entry((name(part, operation.function), site)).or_default();
                if ranks.last() != Some(&part.rank()) {
                    ranks.push(part.rank());
                }
            }
        }
    }
    let calls = CalledAlone::of_groups(grouped);
    let kind = if of_types { "datatype" } else { "amounts" };
    Some(Amounts { kind, communicator: communicator.name.clone(), sequence: found.map(|found| found.0), calls })
}

/// True if a function of this name adds to the sums, or to that of types.
fn is_compared(part: &Part, name: u32, of_types: bool) -> bool {
    let function = part.text(name).and_then(|name| Function::named(&name));
    function.is_some_and(|function| match (function.pattern, of_types) {
        (Pattern::Neighbourhood, _) => true,
        (pattern, true) => !function.types_agree() && pattern == Pattern::AllToAll,
        (_, false) => matches!(function.size, Size::Sum | Size::Contributed | Size::Received),
    })
}
