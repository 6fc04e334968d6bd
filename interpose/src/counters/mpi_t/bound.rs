//! The handles of variables that are bound to communicators, found by the communicator's handle without a lock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::lock::lock;
use crate::counters::mpi_t::interface::Handle;
use crate::record::published::Published;

/// Of one communicator, for each variable in the order of the plan. Never freed, as another thread may be looking.
pub type Handles = &'static [Handle];

/// Where the handles of a communicator may stand: the first of them is what its handle is mixed to.
struct Slot {
    /// 0: none.
    communicator: AtomicUsize,
    handles: Published<Vec<Handle>>,
}

/// Communicators at the same time, about half of it: programs have tens, libraries below them hundreds.
const SLOTS: usize = 1024;
/// How many slots are looked at: more communicators that mix to one place are rare.
const WAYS: usize = 8;

static TABLE: [Slot; SLOTS + WAYS] =
    [const { Slot { communicator: AtomicUsize::new(0), handles: Published::nothing() } }; SLOTS + WAYS];

/// Held by the thread that changes the table.
static CHANGING: Mutex<()> = Mutex::new(());

#[inline(always)]
fn slots(communicator: usize) -> &'static [Slot] {
    // The golden ratio's multiplier spreads what differs into the upper bits.
    let first = communicator.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SLOTS.trailing_zeros());
    &TABLE[first..first + WAYS]
}

/// The handles of a communicator that has been met.
#[inline(always)]
pub fn find(communicator: usize) -> Option<Handles> {
    let slot = slots(communicator).iter().find(|slot| slot.communicator.load(Ordering::Acquire) == communicator)?;
    // They were stored before the communicator was. They change only after the communicator is freed, which MPI lets no
    // thread do while another one is in a call on it.
    if communicator == 0 { None } else { slot.handles.get().map(Vec::as_slice) }
}

/// Keeps the handles of a communicator. False: there is no room.
pub fn keep(communicator: usize, handles: Vec<Handle>) -> bool {
    let _changing = lock(&CHANGING);
    let free = |slot: &&Slot| slot.communicator.load(Ordering::Relaxed) == 0;
    let Some(slot) = slots(communicator).iter().find(free) else { return false };
    slot.handles.set(Box::leak(Box::new(handles)));
    slot.communicator.store(communicator, Ordering::Release);
    true
}

/// Forgets a communicator and its handles, which are not found any more.
pub fn remove(communicator: usize) -> Option<Handles> {
    let _changing = lock(&CHANGING);
    let handles = find(communicator)?;
    let slot = slots(communicator).iter().find(|slot| slot.communicator.load(Ordering::Relaxed) == communicator)?;
    slot.communicator.store(0, Ordering::Release);
    Some(handles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_communicator_has_its_handles_until_it_is_forgotten() {
        let handles = |handle| vec![Handle { handle, count: 1 }, Handle { handle: 0, count: 0 }];
        let communicators: Vec<usize> = (0..300).map(|number| 0x8400_0000 + number).collect();
        for &communicator in &communicators {
            assert!(keep(communicator, handles(communicator * 2)));
        }
        for &communicator in &communicators {
            assert_eq!(find(communicator), Some(&handles(communicator * 2)[..]));
        }
        for &communicator in communicators.iter().step_by(2) {
            assert_eq!(remove(communicator), Some(&handles(communicator * 2)[..]));
            assert_eq!((find(communicator), remove(communicator)), (None, None));
        }
        for &communicator in communicators.iter().step_by(2) {
            assert!(keep(communicator, handles(1)));
        }
        assert_eq!(find(communicators[1]), Some(&handles(communicators[1] * 2)[..]));
        assert_eq!(find(communicators[2]), Some(&handles(1)[..]));
        assert_eq!((find(0), find(7)), (None, None));
    }
}
