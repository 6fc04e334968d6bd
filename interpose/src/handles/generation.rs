//! The generations of handles: what a thread has kept of a handle is good until the handle means something else.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts what makes a handle mean something else: a data type or communicator freed.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// The handles that made the last generations, by their number.
static OUTDATED: [AtomicUsize; OUTDATED_KEPT] = [const { AtomicUsize::new(0) }; OUTDATED_KEPT];
pub(super) const OUTDATED_KEPT: usize = 64;

/// The present generation. To be read before what is to be kept is looked up.
pub fn present() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// The present generation, for a comparison with that of what was kept on this thread.
#[inline(always)]
pub(super) fn seen() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// True if no handle was outdated since this generation.
#[inline(always)]
pub fn is_present(generation: u64) -> bool {
    seen() == generation
}

/// The cached data of this handle is no longer good. To be called under the registry's lock.
pub fn outdate(handle: usize) {
    let next = seen() + 1;
    OUTDATED[next as usize % OUTDATED_KEPT].store(handle, Ordering::Release);
    GENERATION.store(next, Ordering::Release);
}

/// The present generation, where neither of the handles was outdated since an earlier one: so a thread that frees types
/// leaves what others have cached of theirs. `None` also where that is too long ago.
#[cold]
#[inline(never)]
pub(super) fn unchanged_since(earlier: u64, handles: [usize; 2]) -> Option<u64> {
    // Half of them: the other half may be stored while these are read.
    const MOST: u64 = OUTDATED_KEPT as u64 / 2;
    let now = present();
    if now - earlier > MOST {
        return None;
    }
    let outdated = |number: u64| OUTDATED[number as usize % OUTDATED_KEPT].load(Ordering::Acquire);
    let unchanged = (earlier + 1..=now).all(|number| !handles.contains(&outdated(number)));
    (unchanged && present() - now < MOST).then_some(now)
}
