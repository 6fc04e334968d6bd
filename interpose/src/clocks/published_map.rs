//! Global time while the program runs, for programs that ask for it: the map that the last synchronisation has given,
//! on a page that the ranks of a domain share.
//!
//! The page has room for two maps. The leader writes the one that is not in use and then says so: the other ranks never
//! wait for it, also where it dies while it writes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use mpitrace_format::ticks::AffineMap;

use crate::base::memory::Line;

/// From the domain's clock to the reference. The leader writes, all ranks of the domain read.
struct Live {
    /// How many maps were published: an even number says that the first of `maps` is in use.
    published: &'static AtomicU64,
    maps: [Place; 2],
}

/// The words of a map: local0, reference0, skew.
type Place = [&'static AtomicU64; 3];

/// So often at most a map is read: the leader publishes a new one every few seconds, a reading takes some ns.
const ATTEMPTS: u32 = 100;

/// Set before the first synchronisation.
static LIVE: OnceLock<Live> = OnceLock::new();

/// Takes a line of a page that the domain shares, or one of this rank's own, with the reference's own map on it.
pub fn start(line: Option<&'static Line>) {
    let _ = LIVE.set(Live::new(line.unwrap_or_else(|| own())));
}

/// A line of this rank's own.
fn own() -> &'static Line {
    Box::leak(Box::new([const { AtomicU64::new(0) }; size_of::<Line>() / 8]))
}

/// The leader has a new map.
pub fn set(map: &AffineMap) {
    if let Some(live) = LIVE.get() {
        live.publish(live.store(map));
    }
}

/// The map as it is now; `None` before there is one.
pub fn get() -> Option<AffineMap> {
    LIVE.get()?.get()
}

impl Live {
    fn new([published, a, b, c, d, e, f, _]: &'static Line) -> Live {
        Live { published, maps: [[a, b, c], [d, e, f]] }
    }

    /// Stores a map where none is in use: the number of maps to publish.
    fn store(&self, map: &AffineMap) -> u64 {
        let next = self.published.load(Ordering::Relaxed).wrapping_add(1);
        // A rank that reads what is stored here sees that the map before the last one is not in use.
        fence(Ordering::Release);
        let words = [map.local0, map.reference0, map.skew.to_bits()];
        for (place, word) in self.maps[(next % 2) as usize].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        next
    }

    fn publish(&self, number: u64) {
        self.published.store(number, Ordering::Release);
    }

    fn get(&self) -> Option<AffineMap> {
        (0..ATTEMPTS).find_map(|_| {
            let before = self.published.load(Ordering::Acquire);
            let [local0, reference0, skew] =
                self.maps[(before % 2) as usize].map(|place| place.load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            let is_whole = self.published.load(Ordering::Relaxed) == before;
            is_whole.then(|| AffineMap { local0, reference0, skew: f64::from_bits(skew) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live() -> Live {
        Live::new(own())
    }

    fn map(number: u64) -> AffineMap {
        AffineMap { local0: number, reference0: 2 * number, skew: number as f64 * 1e-9 }
    }

    #[test]
    fn a_leader_that_dies_while_it_writes_leaves_the_map_before() {
        let live = live();
        assert_eq!(live.get(), Some(AffineMap::IDENTITY));
        for number in 1..4 {
            live.store(&map(number));
            assert_eq!(live.get(), Some(if number == 1 { AffineMap::IDENTITY } else { map(number - 1) }));
            live.publish(live.store(&map(number)));
            assert_eq!(live.get(), Some(map(number)));
        }
    }

    #[test]
    fn a_map_is_read_whole_while_others_are_published() {
        let live = live();
        let read = std::thread::scope(|scope| {
            scope.spawn(|| (1..200_000).for_each(|number| live.publish(live.store(&map(number)))));
            let mut read = 0;
            while live.published.load(Ordering::Relaxed) < 199_999 {
                let Some(found) = live.get() else { continue };
                assert_eq!(found, map(found.local0));
                read += 1;
            }
            read
        });
        assert_eq!(live.get(), Some(map(199_999)), "after {read} readings");
    }
}
