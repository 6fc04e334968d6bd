//! Which ranks read one and the same clock: same running kernel, same counter, and a page that they can share, through
//! which their clocks are tested against each other.

use std::os::unix::fs::MetadataExt;

use super::comparison::{self, Test};
use super::together::all;
use crate::boundary::mpi::Comm;
use crate::identity::communicator::mix;
use crate::record::memory::SharedPage;
use crate::record::trace_buffer::TraceBuffer;

/// The ranks that share this one's clock.
pub struct Domain {
    /// Empty where this rank is alone.
    comm: Option<Comm>,
    /// Whether that is a communicator of the domain's own, not the world's.
    owned: bool,
    leader: u32,
    tested: Test,
    /// What the ranks share for as long as the program runs.
    page: Option<&'static SharedPage>,
    folder: Option<std::path::PathBuf>,
}

impl Domain {
    /// All ranks of the world come here. `group` tells simulated clocks apart.
    pub fn find(world: Comm, live: &TraceBuffer, rank: u32, group: u32) -> Option<Domain> {
        let header = live.rank();
        let folder = live.folder().map(std::path::Path::to_owned);
        let place = folder.as_ref().and_then(|folder| folder.metadata().ok()).map(|known| (known.dev(), known.ino()));
        // Without a folder there is no page to share, and a rank is alone with its clock; so it is on a kernel that
        // does not tell who it is.
        let alone = place.is_none() || header.boot_id == [0; 16];
        let (device, inode) = place.unwrap_or((rank.into(), u64::MAX));
        let boot: [u64; 2] = bytemuck::cast(header.boot_id);
        let own = if alone { u64::from(rank) + 1 } else { 0 };
        let key = mix(&[boot[0], boot[1], header.clock_source.into(), group.into(), device, inode, own])[0];
        // All ranks on one host, the most common case, take no communicator beyond the world's: Intel MPI 2021 hung in
        // later calls on intercommunicators of programs that had split communicators in Init before (5 of 16 runs,
        // tracer or not). The complement's least is the complement of the most.
        let one = world.min(key as i64)? == !world.min(!(key as i64))?;
        let comm = if one { world } else { world.split((key & 0x7fff_ffff) as i32, rank)? };
        // Two domains of one colour: not one in 2^31 pairs, but then nothing of what follows would be true.
        let same = comm.min(key as i64) == Some(key as i64);
        let test = if all(comm, same) { comparison::test(comm, folder.as_deref()) } else { None };
        // Who cannot be tested, or was seen to step back, is alone.
        let fits = test.is_some_and(|test| test.step == 0);
        let all_fit = comm.min(fits.into())? == 1;
        let mine = if all_fit { comm } else { comm.split(if fits { 0 } else { rank as i32 + 1 }, rank)? };
        if comm != world && comm != mine {
            comm.free();
        }
        let leader = mine.min(rank.into())? as u32;
        let alone = mine.size()? == 1;
        let owned = mine != world;
        if alone && owned {
            mine.free();
        }
        // Where a test has split a domain, what it saw stays known.
        let tested = test.filter(|test| !alone || test.step > 0).unwrap_or_default();
        let number = u32::from(rank != leader);
        let page = if alone { None } else { comparison::share(mine, number, folder.as_deref()) };
        let shared = !alone && all(mine, page.is_some());
        let page = page.filter(|_| shared).map(|page| &*Box::leak(Box::new(page)));
        Some(Domain { comm: (!alone).then_some(mine), owned, leader, tested, page, folder })
    }

    /// The page that the ranks of the domain share, of zeros.
    pub fn page(&self) -> Option<&'static SharedPage> {
        self.page
    }

    /// Whether this rank is alone in it.
    pub fn is_alone(&self) -> bool {
        self.comm.is_none()
    }

    /// Waits for all ranks of the domain.
    pub fn meet(&self) {
        if let Some(comm) = self.comm {
            comm.min(0);
        }
    }

    /// The lowest world rank.
    pub fn leader(&self) -> u32 {
        self.leader
    }

    /// What the test has shown: the most that clocks can differ, and the largest step back, ticks.
    pub fn tested(&self) -> (u64, u64) {
        (self.tested.bound, self.tested.step)
    }

    /// The leader's number among the leaders, on all ranks of the domain; `mine` is 0 on all but the leader.
    pub fn number(&self, mine: usize) -> Option<u32> {
        match self.comm {
            Some(comm) => comm.sum(mine as i64).map(|number| number as u32),
            None => Some(mine as u32),
        }
    }

    /// The test once more, when the program ends.
    pub fn test_again(&self) -> (u64, u64) {
        let again = self.comm.and_then(|comm| comparison::test(comm, self.folder.as_deref())).unwrap_or_default();
        (again.bound, again.step)
    }

    /// Gives the communicator back.
    pub fn free(&self) {
        if let Some(comm) = self.comm.filter(|_| self.owned) {
            comm.free();
        }
    }
}
