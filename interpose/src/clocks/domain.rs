//! Which ranks read one and the same clock: same running kernel, same counter, and a page that they can share, through
//! which their clocks are tested against each other.

use std::os::unix::fs::MetadataExt;

use super::comparison::Test;
use super::page::{DomainPage, When};
use crate::mpi::collectives::Collectives;
use crate::record::communicator::mix;
use crate::record::trace_buffer::TraceBuffer;

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
        let own = if alone { u64::from(rank) + 1 } else { 0 };
        let value = mix(&[boot[0], boot[1], header.clock_source.into(), group.into(), device, inode, own])[0];
        Key { value, alone }
    }
}

pub struct Domain {
    /// Empty where this rank is alone.
    shared: Option<Shared>,
    /// The lowest world rank.
    pub leader: u32,
    pub tested: Test,
}

struct Shared {
    page: &'static DomainPage,
    /// This rank's number among them, and how many they are.
    number: u32,
    ranks: u32,
}

impl Domain {
    /// All ranks of the world come here, each with its key and the same token of the run. Takes one reduction over the
    /// world, after which all that share a page have registered there.
    pub fn find(world: Collectives, live: &TraceBuffer, rank: u32, key: Key, token: [u8; 16]) -> Option<Domain> {
        let token: [u64; 2] = bytemuck::cast(token);
        let number = mix(&[token[0], token[1], key.value])[0];
        let folder = live.folder().filter(|_| !key.alone);
        let page = folder.and_then(|folder| DomainPage::open(folder, number));
        let place = page.as_ref().map_or(0, DomainPage::register);
        let all_came = world.all(true);
        if let Some(page) = page.as_ref().filter(|_| place == 0) {
            page.remove_name();
        }
        all_came?;
        let domain = page.and_then(|page| {
            // It stays for as long as the program runs.
            let page: &'static DomainPage = Box::leak(Box::new(page));
            Domain::test(page, place, rank, &|| world.progress())
        });
        Some(domain.unwrap_or(Domain { shared: None, leader: rank, tested: Test::default() }))
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
        let alone = Domain { shared: None, leader: rank, tested };
        let Some(number) = number else { return Some(alone) };
        let (ranks, leader) = page.fitting();
        if ranks < 2 {
            return None;
        }
        Some(Domain { shared: Some(Shared { page, number, ranks }), leader, tested })
    }

    pub fn page(&self) -> Option<&'static DomainPage> {
        self.shared.as_ref().map(|shared| shared.page)
    }

    /// True if it has all of this many ranks: this is then known on each of them.
    pub fn has_all(&self, world_size: u32) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.ranks == world_size)
    }

    /// The test once more, when the program ends. `None`: it was not possible.
    pub fn test_again(&self, meanwhile: &dyn Fn()) -> Option<Test> {
        let Shared { page, number, ranks } = self.shared.as_ref()?;
        page.test(When::Finalize, *number, *ranks, || {}, meanwhile)
    }
}
