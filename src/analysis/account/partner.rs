//! The time of each rank in point-to-point calls that can wait, by partner, and what it sent to each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mpitrace_trace::clock::Clock;
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader::Trace;

use crate::messages::{MessageWait, Messages, each_call};

/// A rank and one of its partners, over the whole run and all communicators.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartnerAccount {
    /// The world rank.
    pub rank: u32,
    /// The partner's world rank; `None`: several ranks in one call, no rank, or not known.
    pub partner: Option<u32>,
    /// In point-to-point calls that can wait, all threads together, ns.
    pub ns: f64,
    /// The part of this time that is waiting for the partner, ns. Where message calls were not recorded, as far as it
    /// was late for exchanges between two collective calls.
    pub waiting_ns: f64,
    /// Such calls.
    pub calls: u64,
    /// Messages sent to it, ...
    pub messages: u64,
    /// ... and their bytes.
    pub bytes: u64,
}

pub(super) fn accounts(trace: &Trace, clock: &Clock, partners: &Partners) -> Vec<PartnerAccount> {
    let of_part = |(index, part): (usize, &mpitrace_trace::reader::Part)| {
        let mut accounts: BTreeMap<Option<u32>, PartnerAccount> = BTreeMap::new();
        // Others have receives only.
        for entry in part.partners().iter().filter(|entry| entry.calls | entry.messages != 0) {
            let partner = partners.world_rank(index, entry.partner);
            let none = PartnerAccount { rank: part.rank(), partner, ..PartnerAccount::default() };
            let account = accounts.entry(partner).or_insert(none);
            account.ns += clock.of_part(index).ticks_ns(entry.ticks);
            account.calls = account.calls.saturating_add(entry.calls);
            account.messages = account.messages.saturating_add(entry.messages);
            account.bytes = account.bytes.saturating_add(entry.bytes);
        }
        accounts.into_values()
    };
    trace.parts.iter().enumerate().flat_map(of_part).collect()
}

/// Adds the time that a part waited for another one to that of the two, of accounts as [`add_messages`] leaves them.
pub(super) fn add_wait(accounts: &mut [PartnerAccount], trace: &Trace, part: usize, late: usize, ns: f64) {
    let pair = (trace.parts[part].rank(), Some(trace.parts[late].rank()));
    if let Ok(known) = accounts.binary_search_by_key(&pair, |account| (account.rank, account.partner)) {
        accounts[known].waiting_ns += ns;
    }
}

/// Adds the waiting in message calls that were recorded, and shares out the time of those that are for several
/// partners: the waiting has the partner that was late, the rest is shared by all of them equally. Each of them has the
/// call. The accounts are in the order of ranks and partners.
pub(super) fn add_messages(
    accounts: Vec<PartnerAccount>,
    trace: &Trace,
    messages: &Messages,
    waits: &[Vec<MessageWait>],
) -> Vec<PartnerAccount> {
    let mut all: BTreeMap<(u32, Option<u32>), PartnerAccount> =
        accounts.into_iter().map(|account| ((account.rank, account.partner), account)).collect();
    let mut with = |rank: u32, partner: Option<u32>, change: &dyn Fn(&mut PartnerAccount)| {
        let none = PartnerAccount { rank, partner, ..PartnerAccount::default() };
        change(all.entry((rank, partner)).or_insert(none));
    };
    for ((part, calls), waits) in trace.parts.iter().zip(&messages.calls).zip(waits) {
        let rank = part.rank();
        let late = |wait: &MessageWait| trace.parts[wait.late].rank();
        waits.iter().for_each(|wait| with(rank, Some(late(wait)), &|of| of.waiting_ns += wait.ns()));
        let waited: HashMap<u32, &MessageWait> = waits.iter().map(|wait| (wait.call, wait)).collect();
        for range in each_call(calls).filter(|range| range.len() > 1) {
            let call = &calls[range.start];
            let known: Option<BTreeSet<u32>> = calls[range.clone()].iter().map(|of| of.partner).collect();
            let Some(partners) = known.filter(|partners| partners.len() > 1) else { continue };
            let whole = call.exit_ns - call.enter_ns;
            let wait = waited.get(&(range.start as u32));
            let waiting = wait.map_or(0.0, |wait| wait.ns().min(whole));
            with(rank, None, &|of| {
                of.ns = (of.ns - whole).max(0.0);
                of.calls = of.calls.saturating_sub(1);
            });
            let each = (whole - waiting) / partners.len() as f64;
            for partner in partners {
                with(rank, Some(partner), &|of| {
                    of.ns += each;
                    of.calls += 1;
                });
            }
            wait.into_iter().for_each(|wait| with(rank, Some(late(wait)), &|of| of.ns += waiting));
        }
    }
    all.into_values().filter(|account| account.calls | account.messages != 0).collect()
}

/// The partner with which a rank was for more than half of that time, of accounts in the order of ranks.
pub(super) fn of_most(accounts: &[PartnerAccount], rank: u32) -> Option<u32> {
    let place = |rank: u64| accounts.partition_point(|account| u64::from(account.rank) < rank);
    let of_rank = &accounts[place(rank.into())..place(u64::from(rank) + 1)];
    let all: f64 = of_rank.iter().map(|account| account.ns).sum();
    of_rank.iter().find(|account| account.ns > all / 2.0)?.partner
}

#[cfg(test)]
mod tests {
    use mpitrace_format::layout::message;
    use mpitrace_testing::synthetic;
    use mpitrace_trace::reader::MessageRecord;

    use super::*;
    use crate::messages::MessageCall;

    /// Rank 0 waits for two messages from 100 to 500 ns: that of rank 1 was there, that of rank 2 was sent at 400.
    #[test]
    fn a_call_for_several_messages_is_shared_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, &(0..3).map(|rank| synthetic::SyntheticRank::new(rank, 3)).collect::<Vec<_>>())
            .unwrap();
        let trace = Trace::open(&[path]).unwrap();
        let call = |partner: u32| MessageCall {
            record: MessageRecord { operation: 0, number: 0, bytes: 0, enter: 100, exit: 500, thread: 0 },
            enter_ns: 100.0,
            exit_ns: 500.0,
            flags: message::FINDS,
            partner: Some(partner),
            communicator: Some(0),
            tag: 0,
            start: None,
            message: None,
        };
        let messages = Messages { calls: vec![vec![call(1), call(2)], Vec::new(), Vec::new()], ..Messages::default() };
        let (from_ns, until_ns, left_ns) = (100.0, 400.0, 500.0);
        let wait = MessageWait { part: 0, late: 2, call: 0, late_call: 0, from_ns, until_ns, left_ns };
        let accounts = vec![PartnerAccount { rank: 0, partner: None, ns: 400.0, calls: 1, ..Default::default() }];
        let accounts = add_messages(accounts, &trace, &messages, &[vec![wait], Vec::new(), Vec::new()]);
        let found: Vec<_> = accounts.iter().map(|of| (of.partner, of.ns, of.waiting_ns, of.calls)).collect();
        assert_eq!(found, [(Some(1), 50.0, 0.0, 1), (Some(2), 350.0, 300.0, 1)]);
    }
}
