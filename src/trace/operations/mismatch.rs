//! The rules of MPI for calls at one sequence number of a communicator: may they belong together?
//!
//! MPI 4.1, section 6.2.2 (type matching: amounts are equal) and the arguments that each function wants to be identical
//! on all ranks: root and reduction operator. Amounts are compared where one rank's call says what all others have to
//! pass ([`Function::amounts_agree`]): not over neighbourhoods, and on intercommunicators within each group where the
//! two may pass different amounts. Of the v-variants the amounts are those of one rank alone; only of Scatterv the root
//! has stored the sum of what all get. Data types are compared by their signatures, where these are known
//! ([`mpitrace_functions::types`]).
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.mpitrace");
//! # mpitrace_testing::synthetic::write_example(&path)?;
//! use mpitrace_trace::operations::{Called, MismatchKind, difference};
//! use mpitrace_trace::reader::Trace;
//!
//! let trace = Trace::open(&[path])?;
//! let part = &trace.parts[0];
//! let [sum, barrier] = [0, 1].map(|index| Called::new(part, &part.operations()[index], &part.communicators()[0]));
//! assert_eq!(difference(&[&sum.signature, &barrier.signature]), Some(MismatchKind::Function));
//! assert_eq!(MismatchKind::Function.name(), "function");
//! let call = sum.of_ranks(vec![0, 3]);
//! assert_eq!((call.function.as_str(), call.bytes), ("MPI_Allreduce", Some(8)));
//! assert_eq!(Called::of_call(&call).function(), "MPI_Allreduce");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use mpitrace_format::layout::{
    BESIDE_ROOT, CommunicatorEntry, NO_ROOT, OperationEntry, THIS_IS_ROOT, UNKNOWN_BYTES, communicator_flags as flags,
};
use mpitrace_functions::types::{self, Basic};
use mpitrace_functions::{Function, Size};

use mpitrace_statistics::names::names;
use serde::{Deserialize, Serialize};

use super::CallSite;
use super::communicators::Communicator;
use super::cursor::ABSENT;
use crate::reader::{Part, Trace};

/// Mismatches of one communicator that are described; further ones are only counted.
pub const DESCRIBED: usize = 64;

/// Calls of different ranks at one position of a communicator that may not belong together. They are in no operation
/// together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// Index into [`super::Operations::communicators`].
    #[serde(skip)]
    pub communicator_id: usize,
    /// The communicator's name.
    pub communicator: String,
    /// The position of the calls on the communicator.
    pub sequence: u64,
    /// The kind of the difference.
    pub kind: MismatchKind,
    /// The ranks' calls, those that called the same together; by their lowest rank.
    pub calls: Vec<MismatchedCall>,
}

/// The first difference: a function has to be the same before its arguments can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MismatchKind {
    /// Another function.
    Function,
    /// Another root.
    Root,
    /// Another reduction operator.
    Operator,
    /// Another amount of data.
    Size,
    /// Another signature of the data type.
    Datatype,
}

names!(MismatchKind {
    Function => "function",
    Root => "root",
    Operator => "operator",
    Size => "size",
    Datatype => "datatype",
});

/// The call of some ranks at a mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MismatchedCall {
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
    /// The plain C name.
    pub function: String,
    /// The root's rank in the communicator, or in its group of an intercommunicator, where these ranks know it.
    pub root: Option<i32>,
    /// The message size that these ranks passed, bytes. `None`: not known.
    pub bytes: Option<u64>,
    /// The data type, where the function has one: `derived` if it is not predefined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datatype: Option<String>,
    /// The reduction operator, where the function has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction: Option<String>,
    /// The place in the program of the lowest of these ranks, where the run has told places apart.
    pub call_site: Option<CallSite>,
}

/// The arguments of a rank in a call by which calls are compared and described.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct Called {
    /// The properties that have to agree between ranks.
    pub signature: Signature,
    root: Option<i32>,
    bytes: u64,
    datatype: Option<String>,
    reduction: Option<String>,
    /// As [`CallSite::parse`] takes it.
    call_site: Option<String>,
}

impl Called {
    /// An operation of a part, on this communicator of it.
    pub fn new(part: &Part, entry: &OperationEntry, communicator: &CommunicatorEntry) -> Called {
        Called {
            signature: Signature::new(part, entry, communicator),
            root: Root::new(entry, communicator).and_then(|root| root.rank),
            bytes: entry.bytes,
            datatype: part.text(entry.datatype),
            reduction: part.text(entry.reduction),
            call_site: part.text(entry.call_site),
        }
    }

    /// One that was described, and is not to be compared.
    pub fn of_call(call: &MismatchedCall) -> Called {
        let site = |site: &CallSite| {
            format!("{} {} {:x}", site.module, site.build_id.as_deref().unwrap_or_default(), site.offset)
        };
        Called {
            signature: Signature { function: call.function.clone(), ..Signature::default() },
            root: call.root,
            bytes: call.bytes.unwrap_or(UNKNOWN_BYTES),
            datatype: call.datatype.clone(),
            reduction: call.reduction.clone(),
            call_site: call.call_site.as_ref().map(site),
        }
    }

    /// The plain C name; empty: not known.
    pub fn function(&self) -> &str {
        &self.signature.function
    }

    /// The mismatched call of these ranks.
    pub fn of_ranks(&self, ranks: Vec<u32>) -> MismatchedCall {
        MismatchedCall {
            ranks,
            function: Some(self.function()).filter(|name| !name.is_empty()).unwrap_or("?").to_owned(),
            root: self.root,
            bytes: Some(self.bytes).filter(|&bytes| bytes != UNKNOWN_BYTES),
            datatype: self.datatype.as_deref().map(|name| types::plain_name(name).to_owned()),
            reduction: self.reduction.clone(),
            call_site: self.call_site.as_deref().and_then(CallSite::parse),
        }
    }
}

/// The arguments that have to agree. Not compared: `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct Signature {
    function: String,
    root: Option<Root>,
    reduction: Option<String>,
    bytes: Option<u64>,
    /// The code of its signature.
    datatype: Option<u32>,
    /// The group of an intercommunicator, where the other one may pass other amounts and data types.
    in_first: Option<bool>,
}

/// The root of a call, in a group of an intercommunicator or in the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
struct Root {
    in_first: bool,
    /// Not known to the other ranks of its group.
    rank: Option<i32>,
}

impl Root {
    fn new(entry: &OperationEntry, of: &CommunicatorEntry) -> Option<Root> {
        let [is_inter, in_first] = [flags::INTER, flags::FIRST].map(|flag| of.flags & flag != 0);
        match entry.root {
            NO_ROOT => None,
            THIS_IS_ROOT => Some(Root { in_first, rank: Some(of.rank as i32) }),
            BESIDE_ROOT => Some(Root { in_first, rank: None }),
            rank => Some(Root { in_first: in_first != is_inter, rank: Some(rank) }),
        }
    }

    fn differs(self, other: Root) -> bool {
        self.in_first != other.in_first || self.rank.zip(other.rank).is_some_and(|(one, other)| one != other)
    }
}

impl Signature {
    fn new(part: &Part, entry: &OperationEntry, communicator: &CommunicatorEntry) -> Signature {
        let name = part.text(entry.function).unwrap_or_default();
        let function = Function::named(&name);
        // Ranks beside the root of their group may pass anything.
        let compared = |holds: bool| holds && entry.root != BESIDE_ROOT;
        let amounts_agree = function.is_some_and(Function::amounts_agree);
        let is_of_groups = communicator.flags & flags::INTER != 0 && function.is_some_and(Function::groups_differ);
        Signature {
            root: Root::new(entry, communicator),
            reduction: part.text(entry.reduction).filter(|_| compared(true)),
            bytes: Some(entry.bytes).filter(|&bytes| compared(amounts_agree && bytes != UNKNOWN_BYTES)),
            datatype: function
                .filter(|of| compared(types_agree(of, communicator.flags)))
                .and_then(|_| code_of(part, entry)),
            in_first: is_of_groups.then_some(communicator.flags & flags::FIRST != 0),
            function: name,
        }
    }

    /// The difference from the other one; a value that is not known differs from none.
    fn differs(&self, other: &Signature) -> Option<MismatchKind> {
        fn differ<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            matches!((one, other), (Some(one), Some(other)) if one != other)
        }
        let in_one_group = self.in_first == other.in_first;
        let types_differ =
            self.datatype.zip(other.datatype).is_some_and(|(one, other)| Basic::codes_differ(one, other));
        let roots_differ = self.root.zip(other.root).is_some_and(|(one, other)| one.differs(other));
        if self.function != other.function {
            return Some(MismatchKind::Function);
        }
        [
            (roots_differ, MismatchKind::Root),
            (differ(&self.reduction, &other.reduction), MismatchKind::Operator),
            (in_one_group && differ(&self.bytes, &other.bytes), MismatchKind::Size),
            (in_one_group && types_differ, MismatchKind::Datatype),
        ]
        .into_iter()
        .find_map(|(differs, kind)| differs.then_some(kind))
    }
}

/// True if the types of the calls of a function are compared: in files and windows each rank has data of its own.
fn types_agree(function: &Function, of_communicator: u32) -> bool {
    of_communicator & (flags::WINDOW | flags::FILE) == 0 && function.types_agree()
}

/// The code of the data type of a call that passes data, if it is one that can be compared.
fn code_of(part: &Part, entry: &OperationEntry) -> Option<u32> {
    // Without data, any type may be passed.
    let name = Some(entry.datatype).filter(|_| !matches!(entry.bytes, 0 | UNKNOWN_BYTES))?;
    types::code(&part.text(name)?)
}

/// The first difference between any two of these.
pub fn difference(signatures: &[&Signature]) -> Option<MismatchKind> {
    let pairs =
        signatures.iter().enumerate().flat_map(|(at, one)| signatures[..at].iter().map(move |other| (one, other)));
    pairs.filter_map(|(one, other)| one.differs(other)).min()
}

/// The difference in the calls of a tuple, and the members of each group of equal calls.
pub(super) type Groups = (MismatchKind, Vec<Vec<usize>>);

/// The groups of the calls of a tuple that may not belong together. `None`: they may.
pub(super) fn groups(trace: &Trace, communicator: &Communicator, tuple: &[u32]) -> Option<Groups> {
    if communicator.folded {
        return None;
    }
    let mut of_signature: BTreeMap<Signature, Vec<usize>> = BTreeMap::new();
    for (member, (&(index, local), &operation)) in communicator.members.iter().zip(tuple).enumerate() {
        if operation == ABSENT {
            continue;
        }
        let part = &trace.parts[index];
        let entry = part.operations()[operation as usize];
        let signature = Signature::new(part, &entry, &part.communicators()[local]);
        of_signature.entry(signature).or_default().push(member);
    }
    let Some(kind) = difference(&of_signature.keys().collect::<Vec<_>>()) else {
        return scattered(trace, communicator, tuple).map(|groups| (MismatchKind::Size, groups));
    };
    let mut groups: Vec<Vec<usize>> = of_signature.into_values().collect();
    groups.sort();
    Some((kind, groups))
}

/// The root of a Scatterv and the others, where these get more than it sends to all. What it keeps for itself is not
/// known, so that they may get less.
fn scattered(trace: &Trace, communicator: &Communicator, tuple: &[u32]) -> Option<Vec<Vec<usize>>> {
    let (mut root, mut others, mut got) = (None, Vec::new(), 0u64);
    for (member, (&(index, local), &operation)) in communicator.members.iter().zip(tuple).enumerate() {
        let (part, known) = (&trace.parts[index], operation != ABSENT);
        let here = part.communicators()[local];
        let entry = known.then(|| part.operations()[operation as usize])?;
        let function = Function::named(&part.text(entry.function)?)?;
        let is_of_it = function.size == Size::Received && here.flags & flags::INTER == 0;
        if !is_of_it || entry.bytes == UNKNOWN_BYTES {
            return None;
        }
        if entry.root == here.rank as i32 {
            root = Some((member, entry.bytes));
        } else {
            others.push(member);
            got = got.saturating_add(entry.bytes);
        }
    }
    let (root, sent) = root?;
    (got > sent).then(|| vec![vec![root], others])
}

impl Mismatch {
    /// Describes the calls of a tuple that [`groups`] has found not to belong together.
    pub(super) fn at_place(
        trace: &Trace,
        communicator: &Communicator,
        sequence: u64,
        tuple: &[u32],
        (kind, groups): (MismatchKind, &[Vec<usize>]),
    ) -> Mismatch {
        let call = |members: &Vec<usize>| {
            let part = |member: usize| &trace.parts[communicator.members[member].0];
            let (first, entry) = (part(members[0]), part(members[0]).operations()[tuple[members[0]] as usize]);
            let here = first.communicators()[communicator.members[members[0]].1];
            let mut ranks: Vec<u32> = members.iter().map(|&member| part(member).rank()).collect();
            ranks.sort_unstable();
            Called::new(first, &entry, &here).of_ranks(ranks)
        };
        let mut calls: Vec<MismatchedCall> = groups.iter().map(call).collect();
        calls.sort_by(|one, other| one.ranks.cmp(&other.ranks));
        Mismatch { communicator_id: communicator.id, communicator: communicator.name.clone(), sequence, kind, calls }
    }
}
