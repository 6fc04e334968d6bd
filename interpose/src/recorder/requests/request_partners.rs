//! For which message each request is, by its handle: a table of fixed size without a lock.
//!
//! A slot is found by the handle. Whoever makes a request stores all of its slot, or clears it where the request is for
//! no message; so a slot that has a handle which is in use is of that request. Two threads may store in one slot at
//! once, and two requests may share one: a check word over the handle and the rest says whether all of it belongs
//! together. Else nothing is known of the request.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// 128 KiB, of which only what is used takes memory. Handles of one library lie close together, so that programs with
/// fewer requests at once have few in one slot.
const SLOTS: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// One of `mpitrace_format::layout::partner`.
    pub partner: u64,
    /// The tag as the program passed it.
    pub tag: i32,
    /// `awaited::RECEIVE` and `awaited::SEND` of `mpitrace_format::layout`, and those below; of a persistent request in
    /// the upper half the set of its types.
    pub flags: u32,
    /// Bytes that a start of a persistent request sends.
    pub bytes: u64,
}

/// In [`Message::flags`]: the request stays when it is complete.
pub const PERSISTENT: u32 = 16;
/// A persistent request that was started, and has not been found complete.
pub const ACTIVE: u32 = 32;
/// It is not among those that the program has to complete or free: it was made inside of another call, or by a thread
/// without a state.
pub const UNCOUNTED: u32 = 64;

impl Message {
    /// A message to this rank, or of it.
    pub fn new(partner: u64, tag: usize, flags: u32) -> Message {
        Message { partner, tag: tag as i32, flags, bytes: 0 }
    }

    /// The message of a persistent request with this set of types.
    pub fn of_types(self, types: u16) -> Message {
        Message { flags: self.flags | u32::from(types) << 16, ..self }
    }

    pub fn types(&self) -> u16 {
        (self.flags >> 16) as u16
    }

    /// True if it is among the requests that the program has to complete or free.
    pub fn is_counted(&self) -> bool {
        self.flags & UNCOUNTED == 0
    }

    /// True if a call can wait for it: a persistent request that is not started is complete.
    pub fn is_under_way(&self) -> bool {
        self.flags & (PERSISTENT | ACTIVE) != PERSISTENT
    }
}

pub struct RequestPartners([Slot; SLOTS]);

/// A check word, the partner, tag and flags, bytes.
#[repr(align(32))]
struct Slot([AtomicU64; 4]);

impl RequestPartners {
    /// A table that knows no request.
    pub const fn new() -> RequestPartners {
        RequestPartners([const { Slot([const { AtomicU64::new(0) }; 4]) }; SLOTS])
    }

    /// A request of this handle was made, for this message.
    #[inline(always)]
    pub fn store(&self, handle: usize, message: Message) {
        let words = [message.partner, u64::from(message.flags) << 32 | u64::from(message.tag as u32), message.bytes];
        let Slot([check, slots @ ..]) = self.slot(handle);
        check.store(handle as u64 ^ mixed(words), Relaxed);
        slots.iter().zip(words).for_each(|(slot, word)| slot.store(word, Relaxed));
    }

    /// A request of this handle was made, of which nothing is to be known, or it is gone.
    #[inline(always)]
    pub fn clear(&self, handle: usize) {
        // What the slot has of another handle stays.
        if self.find(handle).is_some() {
            self.slot(handle).0[0].store(0, Relaxed);
        }
    }

    /// The message of the request with this handle; `None`: not known.
    #[inline(always)]
    pub fn find(&self, handle: usize) -> Option<Message> {
        let Slot([check, slots @ ..]) = self.slot(handle);
        let words = [0, 1, 2].map(|word: usize| slots[word].load(Relaxed));
        let [partner, tag_and_flags, bytes] = words;
        let (tag, flags) = (tag_and_flags as i32, (tag_and_flags >> 32) as u32);
        (check.load(Relaxed) == handle as u64 ^ mixed(words)).then_some(Message { partner, tag, flags, bytes })
    }

    /// Handles of MPICH differ in their lowest bits, and those of messages from those of collectives and of persistent
    /// requests in the highest of 32; those of Open MPI differ from the sixth on.
    #[inline(always)]
    fn slot(&self, handle: usize) -> &Slot {
        &self.0[(handle ^ handle >> 6 ^ handle >> 20) % SLOTS]
    }
}

/// The words of two messages that differ by little give words that differ by more than two handles of one slot do.
#[inline(always)]
fn mixed([partner, tag_and_flags, bytes]: [u64; 3]) -> u64 {
    // The multipliers of splitmix64 and the golden ratio's. Not 0 for a slot that was never used.
    (partner ^ 1 << 63).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        ^ tag_and_flags.wrapping_mul(0x94d0_49bb_1331_11eb).rotate_left(21)
        ^ bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(42)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use mpitrace_format::layout::{awaited, partner};

    use super::*;

    fn message(number: u64) -> Message {
        let flags = [awaited::RECEIVE, awaited::SEND | PERSISTENT][number as usize % 2];
        Message {
            partner: partner::known(number as u32 % 3, number as u32),
            tag: -(number as i32),
            flags,
            bytes: number,
        }
    }

    #[test]
    fn what_was_stored_last_of_a_handle_is_found() {
        let table = Box::new(RequestPartners::new());
        // Those of MPICH, and Open MPI's: elements of 576 bytes.
        let mpich = (0..SLOTS).map(|index| 0x9800_0000 + index);
        let open_mpi = (0..256).map(|index| 0x5555_5567_8a00 + 576 * index);
        for handles in [mpich.collect::<Vec<usize>>(), open_mpi.collect()] {
            for turn in 0..3 {
                for (number, &handle) in (turn..).zip(&handles) {
                    table.store(handle, message(number));
                }
                assert!((turn..).zip(&handles).all(|(number, &handle)| table.find(handle) == Some(message(number))));
            }
            table.clear(handles[7]);
            assert_eq!((table.find(handles[7]), table.find(handles[6])), (None, Some(message(8))));
            let other = handles[6] ^ SLOTS << 6;
            table.clear(other);
            assert_eq!(table.find(handles[6]), Some(message(8)), "of another request");
            table.store(other, message(77));
            assert_eq!([other, handles[6]].map(|handle| table.find(handle)), [Some(message(77)), None]);
        }
        // Requests of MPICH for messages, for collectives and persistent ones have the same lowest bits.
        let kinds = [0xac00_0001, 0xec00_0001, 0x9c00_0001, 0x6c00_0001];
        (0..).zip(kinds).for_each(|(number, handle)| table.store(handle, message(number)));
        assert!((0..).zip(kinds).all(|(number, handle)| table.find(handle) == Some(message(number))));
        assert_eq!([0, 1, 64].map(|handle| RequestPartners::new().find(handle)), [None; 3], "an empty table");
    }

    /// Threads that make requests in one slot at once, as a program may that calls on several threads: what is found is
    /// what was stored for the handle, or nothing.
    #[test]
    fn a_torn_slot_and_a_foreign_one_are_unknown() {
        const STORES: u64 = 400_000;
        let table = &*Box::leak(Box::new(RequestPartners::new()));
        let handle = |thread: u64| 0x9800_0001 ^ (thread as usize) << 18;
        let is_of = |found: &Message, thread: u64| *found == message(found.bytes) && found.bytes % 4 == thread;
        assert!((1..4).all(|thread| std::ptr::eq(table.slot(handle(0)), table.slot(handle(thread)))));
        let done = AtomicBool::new(false);
        let found: Vec<(u64, u64)> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|thread| {
                    scope.spawn(move || {
                        let mut own = 0;
                        for number in (0..STORES).map(|turn| 4 * turn + thread) {
                            table.store(handle(thread), message(number));
                            let found = table.find(handle(thread));
                            assert!(found.is_none_or(|found| found == message(number)), "{number}: {found:?}");
                            own += u64::from(found.is_some());
                        }
                        own
                    })
                })
                .collect();
            let reader = scope.spawn(|| {
                let (mut known, mut looks) = (0, 0);
                while !done.load(Relaxed) {
                    for thread in 0..4 {
                        let found = table.find(handle(thread));
                        assert!(found.is_none_or(|found| is_of(&found, thread)), "{found:?}");
                        known += u64::from(found.is_some());
                        looks += 1;
                    }
                }
                (known, looks)
            });
            let own: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
            done.store(true, Relaxed);
            vec![(own, 4 * STORES), reader.join().unwrap()]
        });
        assert!(found[0].0 > 0 && found[0].0 <= found[0].1, "{found:?}");
    }

    #[test]
    fn a_persistent_request_can_be_waited_for_while_it_is_active() {
        let of = |flags| Message { flags, ..Message::default() }.is_under_way();
        assert_eq!([0, PERSISTENT, PERSISTENT | ACTIVE].map(of), [true, false, true]);
    }
}
