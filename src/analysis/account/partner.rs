//! The time of each rank in point-to-point calls that can wait, by partner, and what it sent to each.

use std::collections::BTreeMap;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader::Trace;

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

/// Adds the time that a part waited for another one to that of the two.
pub(super) fn add_wait(accounts: &mut [PartnerAccount], trace: &Trace, part: usize, late: usize, ns: f64) {
    let pair = (trace.parts[part].rank(), Some(trace.parts[late].rank()));
    let known = accounts.iter_mut().find(|account| (account.rank, account.partner) == pair);
    known.into_iter().for_each(|account| account.waiting_ns += ns);
}

/// The partner with which a rank was for more than half of that time.
pub(super) fn of_most(accounts: &[PartnerAccount], rank: u32) -> Option<u32> {
    let of_rank = || accounts.iter().filter(|account| account.rank == rank);
    let all: f64 = of_rank().map(|account| account.ns).sum();
    of_rank().find(|account| account.ns > all / 2.0)?.partner
}
