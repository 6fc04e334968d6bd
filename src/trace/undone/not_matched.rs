//! Messages that were never received and receives that nothing matched, by the numbers of both.
//!
//! Each rank counts the messages that it has sent to each rank of a communicator and the receives that it has begun, of
//! each rank and of any. When a program has ended well each message has one receive. Nothing is said of ranks whose
//! counts are uncertain: of partners beyond the bound of the table, of failed calls and cancelled messages. Two errors
//! that cancel out, as of two tags, are not seen.

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_format::layout::{PartnerEntry, communicator_flags as flags, partner};
use serde::Serialize;

use super::count::Count;
use super::message_types::{DifferentTypes, different_types};
use crate::operations::{CallSite, Communicator, Operations};
use crate::partners::Partners;
use crate::reader::{Part, Trace};

/// Messages that one rank did not receive, or receives of one rank that nothing matched.
///
/// ```
/// use mpitrace_trace::undone::NotMatched;
///
/// let message = |direction| NotMatched {
///     direction,
///     from: vec![0],
///     to: 1,
///     communicator: "MPI_COMM_WORLD".to_owned(),
///     left: 1,
///     all: 5,
///     functions: Default::default(),
///     call_sites: Vec::new(),
/// };
/// assert!(message("send").is_of_sends() && !message("receive").is_of_sends());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotMatched {
    /// `send` or `receive`.
    pub direction: &'static str,
    /// The world ranks that sent, or were to send; of several it is not known which one. Empty: any.
    pub from: Vec<u32>,
    /// The world rank that receives.
    pub to: u32,
    /// The communicator's name.
    pub communicator: String,
    /// How many messages or receives are left.
    pub left: u64,
    /// How many there were in all.
    pub all: u64,
    /// The functions of the first of these.
    pub functions: BTreeSet<String>,
    /// Where these were called, where the run has told places apart.
    pub call_sites: Vec<CallSite>,
}

impl NotMatched {
    /// True: messages that were sent and never received; else receives that nothing matched.
    pub fn is_of_sends(&self) -> bool {
        self.direction == "send"
    }
}

/// The counts of one communicator: by sender and receiver, and by the receiver of messages of any rank.
#[derive(Default)]
struct Counts {
    pairs: BTreeMap<(u32, u32), [Count; 2]>,
    any: BTreeMap<u32, Count>,
}

/// All of them, of a trace of a program that has ended well, and messages whose types differ from those of their
/// receives.
pub(super) fn not_matched(trace: &Trace, operations: &Operations) -> (Vec<NotMatched>, Vec<DifferentTypes>) {
    let partners = Partners::new(trace, operations);
    let certain: BTreeSet<u32> = trace.parts.iter().filter(|part| is_certain(part)).map(Part::rank).collect();
    let mut counts: BTreeMap<usize, Counts> = BTreeMap::new();
    for (index, part) in trace.parts.iter().enumerate() {
        for entry in part.partners() {
            add(&mut counts, (index, part), entry, &partners);
        }
    }
    let (mut found, mut types) = (Vec::new(), Vec::new());
    for (id, counts) in counts {
        let communicator = &operations.communicators[id];
        if is_whole(trace, communicator) {
            let is_certain = members(trace, communicator).all(|rank| certain.contains(&rank));
            let of_it = of_communicator(&counts, &certain, is_certain, &communicator.name);
            // Not of messages that were not received.
            let unmatched: BTreeSet<u32> = of_it.iter().map(|one| one.to).collect();
            types.extend(types_of_communicator(&counts, &(&certain - &unmatched), is_certain, &communicator.name));
            found.extend(of_it);
        }
    }
    (found, types)
}

fn add(counts: &mut BTreeMap<usize, Counts>, (index, part): (usize, &Part), entry: &PartnerEntry, partners: &Partners) {
    let communicator = |local: u32| partners.communicator(index, local);
    if let Some(id) = partner::any_source(entry.partner).and_then(communicator) {
        let any = counts.entry(id).or_default().any.entry(part.rank()).or_default();
        any.add(part, entry.receives, entry.received_types, entry.received_by);
    }
    let id = partner::place(entry.partner).and_then(|(local, _)| communicator(local));
    if let Some((id, other)) = id.zip(partners.world_rank(index, entry.partner)) {
        let pairs = &mut counts.entry(id).or_default().pairs;
        let sent = &mut pairs.entry((part.rank(), other)).or_default()[0];
        sent.add(part, entry.messages, entry.sent_types, entry.sent_by);
        let received = &mut pairs.entry((other, part.rank())).or_default()[1];
        received.add(part, entry.receives, entry.received_types, entry.received_by);
    }
}

/// Requests of a rank that it has neither found complete nor freed.
pub(super) fn open_requests(part: &Part) -> u64 {
    let of_threads = part.partners().iter().filter(|entry| entry.partner == partner::NONE);
    let open = of_threads.fold(0u64, |sum, entry| sum.wrapping_add(entry.receives));
    // Fewer than none: those of calls that are not wrapped were found complete.
    if is_certain(part) { i64::max(open as i64, 0) as u64 } else { 0 }
}

/// True if all messages and receives of a rank are known.
fn is_certain(part: &Part) -> bool {
    let is_known = |entry: &PartnerEntry| {
        let has_rank = partner::place(entry.partner).is_some() || partner::any_source(entry.partner).is_some();
        has_rank || entry.partner == partner::NONE || entry.messages | entry.receives == 0
    };
    // Without a table nothing was counted.
    !part.partners().is_empty() && part.partners().iter().all(is_known)
}

fn members<'t>(trace: &'t Trace, communicator: &'t Communicator) -> impl Iterator<Item = u32> + 't {
    communicator.members.iter().map(|&(part, _)| trace.parts[part].rank())
}

/// True if the trace has all ranks of a communicator, which is no intercommunicator.
fn is_whole(trace: &Trace, communicator: &Communicator) -> bool {
    let has_group = |&(part, entry): &(usize, usize)| {
        let known = trace.parts[part].communicators()[entry].flags & (flags::IDENTIFIED | flags::INTER | flags::FOLDED);
        known == flags::IDENTIFIED
    };
    communicator.members.len() == communicator.size as usize && communicator.members.iter().all(has_group)
}

fn of_communicator(counts: &Counts, certain: &BTreeSet<u32>, all_certain: bool, name: &str) -> Vec<NotMatched> {
    let new = |direction, from: Vec<u32>, to, left, count: &Count| NotMatched {
        direction,
        from,
        to,
        communicator: name.to_owned(),
        left,
        all: count.number,
        functions: count.functions(),
        call_sites: count.call_sites(),
    };
    let mut found = Vec::new();
    // Of each receiver the senders with more messages than receives of them.
    let mut more: BTreeMap<u32, Vec<(u32, u64, &Count)>> = BTreeMap::new();
    for (&(from, to), [sent, received]) in &counts.pairs {
        if !certain.contains(&from) || !certain.contains(&to) {
            continue;
        }
        if received.number > sent.number {
            found.push(new("receive", vec![from], to, received.number - sent.number, received));
        } else if sent.number > received.number {
            more.entry(to).or_default().push((from, sent.number - received.number, sent));
        }
    }
    for (to, senders) in &more {
        let Some(any) = counts.any.get(to).filter(|any| any.number > 0) else {
            found.extend(senders.iter().map(|&(from, left, sent)| new("send", vec![from], *to, left, sent)));
            continue;
        };
        let left: u64 = senders.iter().map(|sender| sender.1).sum();
        if all_certain && left > any.number {
            let mut all = Count::default();
            senders.iter().for_each(|(_, _, sent)| all.join(sent));
            found.push(new("send", senders.iter().map(|sender| sender.0).collect(), *to, left - any.number, &all));
        }
    }
    for (&to, any) in &counts.any {
        let left: u64 = more.get(&to).into_iter().flatten().map(|sender| sender.1).sum();
        if all_certain && any.number > left {
            found.push(new("receive", Vec::new(), to, any.number - left, any));
        }
    }
    found
}

/// The data types that differ, in messages to the ranks that are certain.
fn types_of_communicator(
    counts: &Counts,
    certain: &BTreeSet<u32>,
    all_certain: bool,
    name: &str,
) -> Vec<DifferentTypes> {
    let none = Count::default();
    let mut found = Vec::new();
    // Of each receiver the senders, and the messages and receives of these.
    let mut of_each: BTreeMap<u32, (Vec<u32>, [Count; 2])> = BTreeMap::new();
    for (&(from, to), pair) in counts.pairs.iter().filter(|((_, to), _)| certain.contains(to)) {
        let (senders, together) = of_each.entry(to).or_default();
        senders.push(from);
        together.iter_mut().zip(pair).for_each(|(sum, one)| sum.join(one));
        if certain.contains(&from) {
            let any = counts.any.get(&to).unwrap_or(&none);
            found.extend(different_types((vec![from], to), name, &pair[0], &pair[1], any));
        }
    }
    for (to, (senders, [sent, received])) in of_each.into_iter().filter(|_| all_certain) {
        let any = counts.any.get(&to).filter(|_| !found.iter().any(|one: &DifferentTypes| one.to == to));
        found.extend(any.and_then(|any| different_types((senders, to), name, &sent, any, &received)));
    }
    found
}

#[cfg(test)]
mod tests {
    use mpitrace_functions::types::{self, classes};

    use super::*;
    use crate::undone::Undone;
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    /// The findings where three ranks have these entries: rank, partner, messages, receives.
    fn found(entries: &[(usize, u64, u64, u64)]) -> Vec<(&'static str, Vec<u32>, u32, u64, u64)> {
        let entries = entries.iter().map(|&(rank, partner, messages, receives)| {
            (rank, PartnerEntry { partner, messages, receives, ..PartnerEntry::default() })
        });
        let found = undone(entries).not_matched;
        found.into_iter().map(|one| (one.direction, one.from, one.to, one.left, one.all)).collect()
    }

    fn undone(entries: impl Iterator<Item = (usize, PartnerEntry)>) -> Undone {
        let mut ranks: Vec<SyntheticRank> = (0..3).map(|rank| SyntheticRank::new(rank, 3)).collect();
        for rank in &mut ranks {
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            rank.call(barrier, 1, 2);
            rank.partners.push(PartnerEntry { calls: 1, ..PartnerEntry::default() });
        }
        for (rank, entry) in entries {
            ranks[rank].partners.push(entry);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not_matched.mpitrace");
        synthetic::write(&path, &ranks).unwrap();
        let trace = Trace::open(&[&path]).unwrap();
        Operations::new(&trace).undone(&trace)
    }

    #[test]
    fn types_of_messages_are_compared_where_each_has_a_receive() {
        let types = |entries: &[(usize, u64, [u64; 2], [u16; 2])]| {
            let entries = entries.iter().map(|&(rank, partner, [messages, receives], [sent_types, received_types])| {
                (
                    rank,
                    PartnerEntry { partner, messages, receives, sent_types, received_types, ..PartnerEntry::default() },
                )
            });
            let found = undone(entries).different_types;
            found.into_iter().map(|one| (one.from, one.to, one.sent, one.received)).collect::<Vec<_>>()
        };
        let [int, float] = ["MPI_INT", "MPI_FLOAT"].map(|name| types::class(types::code(name).unwrap()));
        let sends = |rank, set| (rank, partner_of_rank(1), [2, 0], [set, 0]);
        let receives = |of, number, set| (1, of, [0, number], [0, set]);
        let from = partner_of_rank;
        assert_eq!(types(&[sends(0, int), receives(from(0), 2, int)]), []);
        let different = [(vec![0], 1, vec!["MPI_INT"], vec!["MPI_FLOAT"])];
        assert_eq!(types(&[sends(0, int), receives(from(0), 2, float)]), different);
        assert_eq!(types(&[sends(0, int), receives(ANY, 2, float)]), different);
        assert_eq!(types(&[sends(0, int), receives(from(0), 2, int | float)]), different, "no message is a float");
        assert_eq!(
            types(&[sends(0, int | float), receives(from(0), 2, float)]),
            [(vec![0], 1, vec!["MPI_INT"], vec!["MPI_FLOAT"])]
        );
        // A receive of any rank is of one of several.
        assert_eq!(types(&[sends(0, int), sends(2, float), receives(ANY, 4, int | float)]), []);
        let of_any = [sends(0, int), receives(from(0), 1, int), receives(ANY, 1, float)];
        assert_eq!(types(&of_any), [(vec![0], 1, vec!["MPI_INT"], vec!["MPI_FLOAT"])]);
        assert_eq!(types(&[&of_any[..], &[(2, partner::UNKNOWN, [1, 0], [0, 0])]].concat()), [], "of which type?");
        // One was not received, is empty, or is of a version that stored no types.
        assert_eq!(types(&[sends(0, int), receives(from(0), 1, float)]), []);
        assert_eq!(types(&[sends(0, int | classes::OTHER), receives(from(0), 2, int | float)]), []);
        for unknown in [0, classes::OTHER] {
            assert_eq!(types(&[sends(0, int), receives(from(0), 2, unknown)]), []);
            assert_eq!(types(&[sends(0, unknown), receives(from(0), 2, int)]), []);
        }
        let lost = (2, partner::UNKNOWN, [0, 1], [0, 0]);
        assert_eq!(types(&[sends(0, int), receives(from(0), 2, float), lost]).len(), 1);
        let lost = (1, partner::UNKNOWN, [0, 1], [0, 0]);
        assert_eq!(types(&[sends(0, int), receives(from(0), 2, float), lost]), []);
    }

    const fn partner_of_rank(rank: u32) -> u64 {
        partner::known(0, rank)
    }

    const ANY: u64 = partner::any(0);

    #[test]
    fn more_messages_than_receives_are_stated_and_the_other_way_round() {
        assert_eq!(found(&[(0, partner_of_rank(1), 3, 0), (1, partner_of_rank(0), 0, 3)]), []);
        assert_eq!(
            found(&[(0, partner_of_rank(1), 3, 0), (1, partner_of_rank(0), 0, 2)]),
            [("send", vec![0], 1, 1, 3)]
        );
        assert_eq!(found(&[(0, partner_of_rank(1), 3, 0)]), [("send", vec![0], 1, 3, 3)]);
        assert_eq!(
            found(&[(1, partner_of_rank(0), 5, 2)]),
            [("receive", vec![0], 1, 2, 2), ("send", vec![1], 0, 5, 5)]
        );
        // The table has entries of two kinds of threads.
        assert_eq!(
            found(&[(0, partner_of_rank(1), 3, 0), (1, partner_of_rank(0), 0, 2), (1, partner_of_rank(0), 0, 1)]),
            []
        );
    }

    #[test]
    fn receives_of_any_rank_take_what_is_left_of_each() {
        let [zero, two] = [(0, partner_of_rank(1), 3, 0), (2, partner_of_rank(1), 2, 0)];
        assert_eq!(found(&[zero, two, (1, ANY, 0, 5)]), []);
        assert_eq!(found(&[zero, two, (1, ANY, 0, 4), (1, partner_of_rank(0), 0, 1)]), []);
        assert_eq!(found(&[zero, two, (1, ANY, 0, 4)]), [("send", vec![0, 2], 1, 1, 5)], "of one of them");
        assert_eq!(found(&[zero, (1, ANY, 0, 1)]), [("send", vec![0], 1, 2, 3)]);
        assert_eq!(found(&[zero, two, (1, ANY, 0, 6)]), [("receive", vec![], 1, 1, 6)]);
        assert_eq!(found(&[two, (1, ANY, 0, 2), (1, partner_of_rank(0), 0, 1)]), [("receive", vec![0], 1, 1, 1)]);
    }

    #[test]
    fn requests_that_are_open_are_counted() {
        let open = |entries: &[(usize, u64, u64)]| {
            let entry =
                |&(rank, partner, receives)| (rank, PartnerEntry { partner, receives, ..PartnerEntry::default() });
            undone(entries.iter().map(entry)).never_freed.requests
        };
        // Some of one thread were completed by another one.
        assert_eq!(open(&[(0, partner::NONE, 5), (0, partner::NONE, 3u64.wrapping_neg()), (1, partner::NONE, 4)]), 6);
        assert_eq!(open(&[(0, partner::NONE, 5), (0, partner::UNKNOWN, 1), (1, partner::NONE, 1)]), 1, "of one rank");
        assert_eq!(open(&[(0, partner::NONE, 5u64.wrapping_neg()), (1, partner::NONE, 2)]), 2, "not seen when made");
    }

    #[test]
    fn nothing_is_said_where_counts_are_uncertain() {
        for uncertain in [partner::UNKNOWN, partner::OTHERS, partner::SEVERAL] {
            for rank in [0, 1] {
                for [messages, receives] in [[1, 0], [0, 1]] {
                    assert_eq!(found(&[(0, partner_of_rank(1), 3, 0), (rank, uncertain, messages, receives)]), []);
                }
            }
            // Any rank may have sent to a rank that receives of any.
            assert_eq!(found(&[(0, partner_of_rank(1), 3, 0), (1, ANY, 0, 2), (2, uncertain, 1, 0)]), []);
            assert_eq!(found(&[(1, ANY, 0, 2), (2, uncertain, 1, 0)]), []);
            assert_eq!(found(&[(0, partner_of_rank(1), 3, 0), (2, uncertain, 1, 0)]), [("send", vec![0], 1, 3, 3)]);
        }
    }
}
