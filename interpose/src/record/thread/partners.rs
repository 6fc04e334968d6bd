//! With whom this rank waits, and to whom it sends, over the whole run: a table of fixed size in the trace buffer.
//!
//! The thread with index 0 has entries of its own, which it changes without atomic operations; all others share the
//! second half of the table.

use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use mpitrace_format::layout::{MOST_PARTNERS, OTHER_PARTNERS, PARTNER_ENTRIES, partner};

use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread::partner_entry::SharedEntry;
use crate::record::thread::state::ThreadRef;

const HALF: usize = PARTNER_ENTRIES / 2;
/// A partner has one of so many entries, one behind the other.
const TRIES: usize = 8;

/// The first entry; null: there is none.
static TABLE: AtomicPtr<SharedEntry> = AtomicPtr::new(std::ptr::null_mut());

pub fn start(buffer: &TraceBuffer) {
    let Some(table) = buffer.make_partners() else { return };
    TABLE.store(table.as_ptr().cast(), Relaxed);
    for (half, threads) in [(0, 0), (HALF, 1)] {
        for value in 0..OTHER_PARTNERS {
            let entry = &entries(half)[value];
            entry.partner.store(value as u64, Relaxed);
            entry.threads.store(threads, Relaxed);
        }
    }
}

/// The entries of a half, which begins at this one; none before the start.
#[inline(always)]
fn entries(first: usize) -> &'static [SharedEntry] {
    let table = TABLE.load(Relaxed);
    if table.is_null() {
        return &[];
    }
    // SAFETY: the table has so many entries, which have memory, are aligned and last (`make_partners`). All fields are
    // atomic.
    unsafe { std::slice::from_raw_parts(table.add(first), HALF) }
}

/// In a child that was forked off: the table is the parent's.
pub fn stop() {
    TABLE.store(std::ptr::null_mut(), Relaxed);
}

#[inline(always)]
pub fn are_counted() -> bool {
    !TABLE.load(Relaxed).is_null()
}

/// A call of this thread that can wait, with this partner, took so many ticks.
pub fn waited(thread: ThreadRef, partner: u64, ticks: u64) {
    // One that was left by an exception.
    let partner = if partner::any_source(partner).is_some() { partner::UNKNOWN } else { partner };
    thread.with_interval(|interval| interval.add(partner, ticks));
    thread.set_partner(partner::UNKNOWN);
    change(thread, partner, [|entry| &entry.ticks, |entry| &entry.calls], [ticks, 1]);
}

/// This thread has sent a message of so many bytes and these types; `function` gives the reference of the name of the
/// function that did. The partner's entry, if this thread alone changes it.
pub fn sent(
    thread: ThreadRef,
    partner: u64,
    bytes: u64,
    types: u16,
    function: impl Fn() -> u32,
) -> Option<&'static SharedEntry> {
    let entry = change(thread, partner, [|entry| &entry.messages, |entry| &entry.bytes], [1, bytes])?;
    name(&entry.0.sent_by, function);
    insert(&entry.0.sent_types, types);
    Some(entry.0).filter(|_| entry.1)
}

/// This thread has begun to receive a message of this partner, or of [`partner::any`], as these types.
pub fn received(thread: ThreadRef, partner: u64, types: u16, function: impl Fn() -> u32) {
    if partner != partner::NONE
        && let Some((entry, _)) = change(thread, partner, [|entry| &entry.receives], [1])
    {
        name(&entry.received_by, function);
        insert(&entry.received_types, types);
    }
}

/// The program has so many requests more that it has to complete or free; modulo 2^64.
pub fn opened(thread: ThreadRef, more: u64) {
    change(thread, partner::NONE, [|entry| &entry.receives], [more]);
}

/// It is not known what became of a message: it was cancelled, or its call has failed or was made by a thread without a
/// state.
#[cold]
#[inline(never)]
pub fn lost() {
    if let Some(entry) = entries(HALF).get(partner::UNKNOWN as usize) {
        entry.receives.fetch_add(1, Relaxed);
    }
}

/// The function of the first message.
#[inline(always)]
fn name(place: &AtomicU32, function: impl Fn() -> u32) {
    if place.load(Relaxed) == 0 {
        place.store(function(), Relaxed);
    }
}

#[inline(always)]
fn insert(place: &AtomicU16, types: u16) {
    if place.load(Relaxed) & types != types {
        place.fetch_or(types, Relaxed);
    }
}

/// Adds to fields of a partner's entry. The entry, and if this thread alone changes it.
#[inline(always)]
fn change<const N: usize>(
    thread: ThreadRef,
    partner: u64,
    fields: [fn(&SharedEntry) -> &AtomicU64; N],
    values: [u64; N],
) -> Option<(&'static SharedEntry, bool)> {
    // Beyond the bound on threads they have no number of their own.
    let is_alone = thread.index() == 0 && thread.buffer().is_some();
    let half = entries(if is_alone { 0 } else { HALF });
    if half.is_empty() {
        return None;
    }
    Some((add(half, partner, is_alone, fields, values), is_alone))
}

#[inline(always)]
fn add<const N: usize>(
    half: &[SharedEntry],
    partner: u64,
    is_alone: bool,
    fields: [fn(&SharedEntry) -> &AtomicU64; N],
    values: [u64; N],
) -> &SharedEntry {
    let entry = find(half, partner, is_alone);
    for (field, value) in fields.into_iter().zip(values) {
        let field = field(entry);
        if is_alone {
            field.store(field.load(Relaxed).wrapping_add(value), Relaxed);
        } else {
            field.fetch_add(value, Relaxed);
        }
    }
    entry
}

/// The entry of a partner, made where there is none yet.
#[inline(always)]
fn find(half: &[SharedEntry], partner: u64, is_alone: bool) -> &SharedEntry {
    if partner < OTHER_PARTNERS as u64 {
        return &half[partner as usize];
    }
    // The golden ratio's multiplier spreads what differs into the upper bits.
    let first = (partner.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    for place in 0..TRIES {
        let entry = &half[OTHER_PARTNERS + (first + place) % MOST_PARTNERS];
        let known = entry.partner.load(Relaxed);
        if known == partner || known == 0 && take(entry, partner, is_alone) {
            return entry;
        }
    }
    &half[partner::OTHERS as usize]
}

/// Gives an empty entry to a partner. False: another thread has given it to another one.
#[cold]
fn take(entry: &SharedEntry, partner: u64, is_alone: bool) -> bool {
    entry.threads.store((!is_alone).into(), Relaxed);
    match entry.partner.compare_exchange(0, partner, Relaxed, Relaxed) {
        Ok(_) => true,
        Err(other) => other == partner,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half() -> Vec<SharedEntry> {
        (0..HALF as u64)
            .map(|index| {
                let partner = AtomicU64::new(if index < OTHER_PARTNERS as u64 { index } else { 0 });
                SharedEntry { partner, ..SharedEntry::default() }
            })
            .collect()
    }

    fn wait(half: &[SharedEntry], partner: u64, is_alone: bool, ticks: u64) {
        add(half, partner, is_alone, [|entry| &entry.ticks, |entry| &entry.calls], [ticks, 1]);
    }

    fn sums(half: &[SharedEntry]) -> Vec<(u64, u64, u64)> {
        let all = half.iter().map(|entry| [&entry.partner, &entry.ticks, &entry.calls].map(|word| word.load(Relaxed)));
        all.filter(|[_, _, calls]| *calls > 0).map(|[partner, ticks, calls]| (partner, ticks, calls)).collect()
    }

    #[test]
    fn each_partner_has_an_entry_and_the_rest_have_one_together() {
        let half = half();
        for rank in 0..1000 {
            (0..2).for_each(|_| wait(&half, partner::known(3, rank), true, u64::from(rank)));
        }
        for value in [partner::NONE, partner::UNKNOWN, partner::SEVERAL] {
            wait(&half, value, true, 7);
        }
        let sums = sums(&half);
        let of = |wanted| sums.iter().find(|(partner, ..)| *partner == wanted).map(|&(_, ticks, calls)| (ticks, calls));
        assert_eq!([partner::NONE, partner::UNKNOWN, partner::SEVERAL].map(of), [Some((7, 1)); 3]);
        let own: Vec<u64> = sums
            .iter()
            .filter_map(|&(partner, ticks, _)| {
                let (communicator, rank) = partner::place(partner)?;
                assert_eq!((communicator, ticks), (3, 2 * u64::from(rank)));
                Some(ticks)
            })
            .collect();
        assert!(own.len() > MOST_PARTNERS * 3 / 4 && own.len() <= MOST_PARTNERS, "{}", own.len());
        let (ticks, calls) = of(partner::OTHERS).unwrap();
        assert_eq!((ticks + own.iter().sum::<u64>(), calls), (999 * 1000, 2 * (1000 - own.len() as u64)));
    }

    #[test]
    fn threads_lose_nothing_of_each_other() {
        let half = half();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let half = &half;
                scope.spawn(move || {
                    (0..40_000)
                        .for_each(|call: u32| wait(half, partner::known(1, (call * 7 + thread) % 300), false, 3));
                });
            }
        });
        let sums = sums(&half);
        assert_eq!(sums.iter().map(|(_, _, calls)| calls).sum::<u64>(), 160_000);
        assert_eq!(sums.iter().map(|(_, ticks, _)| ticks).sum::<u64>(), 480_000);
        let mut partners: Vec<u64> = sums.iter().map(|sum| sum.0).collect();
        partners.sort_unstable();
        partners.dedup();
        assert_eq!(partners.len(), sums.len(), "no partner has two entries");
    }
}
