//! Messages that were never received and receives that nothing matched, by the numbers of both.
//!
//! Each rank counts the messages that it has sent to each rank of a communicator and the receives that it has begun, of
//! each rank and of any. When a program has ended well each message has one receive. Nothing is said of ranks whose
//! counts are uncertain: of partners beyond the bound of the table, of failed calls and cancelled messages. Two errors that
//! cancel out, as of two tags, are not seen.

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_format::layout::{PartnerEntry, communicator_flags as flags, partner};
use serde::Serialize;

use crate::operations::{Communicator, Operations};
use crate::partners::Partners;
use crate::reader::{Part, Trace};

/// Messages that one rank did not receive, or receives of one rank that nothing matched.
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
    /// Of so many.
    pub all: u64,
    /// The functions of the first of these.
    pub functions: BTreeSet<String>,
}

/// Messages or receives of one pair of ranks.
#[derive(Clone, Debug, Default)]
struct Count {
    number: u64,
    functions: BTreeSet<String>,
}

impl Count {
    fn add(&mut self, part: &Part, number: u64, function: u32) {
        if number > 0 {
            self.number = self.number.saturating_add(number);
            self.functions.extend(part.text(function));
        }
    }
}

/// Those of one communicator: by sender and receiver, and by the receiver of messages of any rank.
#[derive(Default)]
struct Counts {
    pairs: BTreeMap<(u32, u32), [Count; 2]>,
    any: BTreeMap<u32, Count>,
}

/// All of them, of a trace of a program that has ended well.
pub(crate) fn not_matched(trace: &Trace, operations: &Operations) -> Vec<NotMatched> {
    let partners = Partners::new(trace, operations);
    let certain: BTreeSet<u32> = trace.parts.iter().filter(|part| is_certain(part)).map(Part::rank).collect();
    let mut counts: BTreeMap<usize, Counts> = BTreeMap::new();
    for (index, part) in trace.parts.iter().enumerate() {
        for entry in part.partners() {
            add(
                &mut counts,
                part,
                entry,
                |local| partners.communicator(index, local),
                |with| partners.world_rank(index, with),
            );
        }
    }
    let mut found = Vec::new();
    for (id, counts) in counts {
        let communicator = &operations.communicators[id];
        if is_whole(trace, communicator) {
            let is_certain = members(trace, communicator).all(|rank| certain.contains(&rank));
            found.extend(of_communicator(&counts, &certain, is_certain, &communicator.name));
        }
    }
    found
}

fn add(
    counts: &mut BTreeMap<usize, Counts>,
    part: &Part,
    entry: &PartnerEntry,
    communicator: impl Fn(u32) -> Option<usize>,
    world_rank: impl Fn(u64) -> Option<u32>,
) {
    if let Some(id) = partner::any_source(entry.partner).and_then(&communicator) {
        let any = counts.entry(id).or_default().any.entry(part.rank()).or_default();
        any.add(part, entry.receives, entry.received_by);
    }
    let id = partner::place(entry.partner).and_then(|(local, _)| communicator(local));
    if let Some((id, other)) = id.zip(world_rank(entry.partner)) {
        let pairs = &mut counts.entry(id).or_default().pairs;
        pairs.entry((part.rank(), other)).or_default()[0].add(part, entry.messages, entry.sent_by);
        pairs.entry((other, part.rank())).or_default()[1].add(part, entry.receives, entry.received_by);
    }
}

/// True if all messages and receives of a rank are known.
fn is_certain(part: &Part) -> bool {
    let is_known = |entry: &PartnerEntry| {
        let has_rank = partner::place(entry.partner).is_some() || partner::any_source(entry.partner).is_some();
        has_rank || entry.messages | entry.receives == 0
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
        functions: count.functions.clone(),
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
            for (_, _, sent) in senders {
                all.number += sent.number;
                all.functions.extend(sent.functions.iter().cloned());
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    /// The findings where three ranks have these entries: rank, partner, messages, receives.
    fn found(entries: &[(usize, u64, u64, u64)]) -> Vec<(&'static str, Vec<u32>, u32, u64, u64)> {
        let mut ranks: Vec<SyntheticRank> = (0..3).map(|rank| SyntheticRank::new(rank, 3)).collect();
        for rank in &mut ranks {
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            rank.call(barrier, 1, 2);
            rank.partners.push(PartnerEntry { calls: 1, ..PartnerEntry::default() });
        }
        for &(rank, partner, messages, receives) in entries {
            ranks[rank].partners.push(PartnerEntry { partner, messages, receives, ..PartnerEntry::default() });
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not_matched.mpitrace");
        synthetic::write(&path, &ranks).unwrap();
        let trace = Trace::open(&[&path]).unwrap();
        let found = Operations::new(&trace).undone(&trace).not_matched;
        found.into_iter().map(|one| (one.direction, one.from, one.to, one.left, one.all)).collect()
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
