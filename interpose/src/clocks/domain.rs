//! Which ranks read one and the same clock: same running kernel, same counter, and a page that they can share, through
//! which their clocks are tested against each other.

use std::os::unix::fs::MetadataExt;

use super::page::{DomainPage, When};
use crate::base::hash::mix;
use crate::record::buffer::trace_buffer::TraceBuffer;

/// A key that ranks have in common that may share a clock.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// A number that the ranks of the domain share, and no others.
    pub value: u64,
    /// This rank has no folder to share a page in, or its kernel has no boot id: it is alone.
    alone: bool,
}

impl Key {
    /// This rank's; `group` differs between simulated clocks.
    pub fn new(live: &TraceBuffer, rank: u32, group: u32) -> Key {
        let header = live.rank();
        let place = live.folder().and_then(|folder| folder.metadata().ok()).map(|known| (known.dev(), known.ino()));
        let alone = place.is_none() || header.boot_id == [0; 16];
        let (device, inode) = place.unwrap_or((rank.into(), u64::MAX));
        let boot: [u64; 2] = bytemuck::cast(header.boot_id);
        let if_alone = if alone { u64::from(rank) + 1 } else { 0 };
        let value = mix(&[boot[0], boot[1], header.clock_source.into(), group.into(), device, inode, if_alone])[0];
        Key { value, alone }
    }
}

/// The page of a rank's clock, before the ranks of the world have met.
pub struct Candidate {
    page: Option<DomainPage>,
    /// This rank's number among those that have the page.
    place: u32,
}

impl Candidate {
    /// Opens the page of the ranks with this key and this number of the run, and states this rank's tick there.
    pub fn open(live: &TraceBuffer, key: Key, run: [u64; 2]) -> Candidate {
        let number = mix(&[run[0], run[1], key.value])[0];
        let folder = live.folder().filter(|_| !key.alone);
        let page = folder.and_then(|folder| DomainPage::open(folder, number));
        let place = page.as_ref().map_or(0, |page| {
            page.state_tick(When::Init);
            page.register(live.rank().rank)
        });
        Candidate { page, place }
    }

    /// Removes the name of the page: the ranks have met, or do not meet.
    pub fn remove_name(&self) {
        if let Some(page) = self.page.as_ref().filter(|_| self.place == 0) {
            page.remove_name();
        }
    }
}

pub struct Domain {
    /// Empty where this rank is alone.
    shared: Option<Shared>,
    /// The lowest world rank.
    pub leader: u32,
    /// The clocks differ by no more ticks, and this rank's was seen to step back by so many.
    pub bound: u64,
    pub step: u64,
}

struct Shared {
    page: &'static DomainPage,
    /// This rank's number among them, and how many they are.
    number: u32,
    ranks: u32,
}

impl Domain {
    /// The ranks of the world have met: all that share a page have registered there. No rank is asked by messages.
    pub fn find(candidate: Candidate, rank: u32, meanwhile: &dyn Fn()) -> Domain {
        let domain = candidate.page.and_then(|page| {
            // It stays for as long as the program runs.
            let page: &'static DomainPage = Box::leak(Box::new(page));
            Domain::test(page, candidate.place, rank, meanwhile)
        });
        domain.unwrap_or(Domain { shared: None, leader: rank, bound: 0, step: 0 })
    }

    /// `None`: this rank is alone.
    fn test(page: &'static DomainPage, place: u32, rank: u32, meanwhile: &dyn Fn()) -> Option<Domain> {
        let registered = page.registered();
        if registered < 2 {
            return None;
        }
        let mut number = None;
        let fits = || number = Some(page.register_fitting(rank));
        let tested = page.test(When::Init, place, registered, fits, meanwhile)?;
        // A clock that was seen to step back is another one; what the test saw of it stays known.
        let alone = Domain { shared: None, leader: rank, bound: tested.bound, step: tested.step };
        let (number, (ranks, leader)) = match number {
            _ if page.have_only_met(When::Init) => (place, page.all()),
            Some(number) => (number, page.fitting()),
            None => return Some(alone),
        };
        if ranks < 2 {
            return None;
        }
        Some(Domain { shared: Some(Shared { page, number, ranks }), leader, ..alone })
    }

    pub fn page(&self) -> Option<&'static DomainPage> {
        self.shared.as_ref().map(|shared| shared.page)
    }

    /// True if it has all of this many ranks. All ranks know it alike: where the page has all of them, all read one
    /// outcome of the test there; where it has not, no page has.
    pub fn has_all(&self, world_size: u32) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.ranks == world_size)
    }

    /// States this rank's tick, before the ranks meet at the end of the program.
    pub fn state_tick_again(&self) {
        if let Some(Shared { page, .. }) = &self.shared {
            page.state_tick(When::Finalize);
        }
    }

    /// The test once more, when the ranks have met at the end of the program: the largest step that this rank has seen.
    /// The others are not waited for.
    pub fn compare_again(&self, meanwhile: &dyn Fn()) -> Option<u64> {
        let Shared { page, number, ranks } = self.shared.as_ref()?;
        Some(page.compare(When::Finalize, *number, *ranks, || {}, meanwhile))
    }

    /// The bound that this test has found; `None`: not all ranks have done so.
    pub fn bound_again(&self) -> Option<u64> {
        let Shared { page, ranks, .. } = self.shared.as_ref()?;
        page.bound(When::Finalize, *ranks)
    }
}
