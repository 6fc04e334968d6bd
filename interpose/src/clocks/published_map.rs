//! Global time while the program runs, for programs that ask for it: the map that the last synchronisation has given,
//! on a page that the ranks of a domain share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use mpitrace_format::ticks::AffineMap;

use crate::record::memory::Line;

/// From the domain's clock to the reference. The leader writes, all ranks of the domain read.
struct Live {
    /// Odd while the map is being changed.
    sequence: &'static AtomicU64,
    local0: &'static AtomicU64,
    reference0: &'static AtomicU64,
    skew: &'static AtomicU64,
}

/// Set before the first synchronisation.
static LIVE: OnceLock<Live> = OnceLock::new();

/// Takes a line of a page that the domain shares, or one of this rank's own, with the reference's own map on it.
pub fn start(line: Option<&'static Line>) {
    let own = || Box::leak(Box::new([const { AtomicU64::new(0) }; size_of::<Line>() / 8]));
    let [sequence, local0, reference0, skew, ..] = line.unwrap_or_else(|| own());
    let _ = LIVE.set(Live { sequence, local0, reference0, skew });
}

/// The leader has a new map.
pub fn set(map: &AffineMap) {
    let Some(live) = LIVE.get() else { return };
    let sequence = live.sequence.load(Ordering::Relaxed);
    live.sequence.store(sequence + 1, Ordering::Relaxed);
    fence(Ordering::Release);
    live.local0.store(map.local0, Ordering::Relaxed);
    live.reference0.store(map.reference0, Ordering::Relaxed);
    live.skew.store(map.skew.to_bits(), Ordering::Relaxed);
    live.sequence.store(sequence + 2, Ordering::Release);
}

/// The map as it is now; `None` before there is one.
pub fn get() -> Option<AffineMap> {
    let live = LIVE.get()?;
    loop {
        let before = live.sequence.load(Ordering::Acquire);
        let map = AffineMap {
            local0: live.local0.load(Ordering::Relaxed),
            reference0: live.reference0.load(Ordering::Relaxed),
            skew: f64::from_bits(live.skew.load(Ordering::Relaxed)),
        };
        fence(Ordering::Acquire);
        if before.is_multiple_of(2) && live.sequence.load(Ordering::Relaxed) == before {
            return Some(map);
        }
        std::hint::spin_loop();
    }
}
