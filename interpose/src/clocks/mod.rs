//! The clocks of the ranks: which ranks read one and the same, and how the others are probed.
//!
//! Ranks that share a clock are tested against each other, never synchronised: that would only add error. One leader
//! for each clock takes part in the rest, which is the method's affair (`mpitrace_synchronise`).
//!
//! May call MPI, collectively, and allocate: in Init, in Finalize, and after a call with which a synchronisation is
//! due, only where all ranks are traced. On the way of other calls there is one comparison.

mod comparison;
mod domain;
mod local;
mod meeting;
mod peers;
mod published_map;
mod schedule;
mod synchronise;
mod time;
mod together;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use mpitrace_format::layout::{CommunicatorEntry, sync_kind};
use mpitrace_format::ticks::SimulatedClock;
use mpitrace_synchronise::{Method, Peers, Synchronisation};

use crate::boundary::abi;
use crate::boundary::mpi::Comm;
use crate::identity::registry;
use crate::job::log;
use crate::job::run::Run;
use crate::record::entry::Entry;
use crate::record::ticks;
use crate::record::trace_buffer::TraceBuffer;
use domain::Domain;
use local::LocalClock;
use peers::Leaders;
use schedule::Schedule;

/// What this rank has to do with the clocks.
struct Clocks {
    buffer: &'static TraceBuffer,
    how: Synchronisation,
    domain: Domain,
    clock: LocalClock,
    scale: Scale,
    /// Empty on ranks that lead no domain, and where there is but one.
    leaders: Option<Mutex<Leaders>>,
    schedule: Mutex<Schedule>,
    /// Meetings that not all leaders came to in time.
    missed: AtomicU32,
}

static CLOCKS: OnceLock<Clocks> = OnceLock::new();

/// Where global time begins, and how fast the reference ticks.
#[derive(Clone, Copy)]
struct Scale {
    /// The reference's tick at which it is 0.
    zero: u64,
    /// Ticks per second.
    hz: f64,
}

/// Finds the clock domains and synchronises them, at the end of Init. All ranks of the world come here together.
pub fn start(run: &Run, buffer: &'static TraceBuffer, world: Comm) -> Option<()> {
    let mut how = run.settings.synchronisation;
    let mut resync = run.settings.resync_seconds;
    let (epoch, hz) = agree(world, run.rank, &mut how, &mut resync)?;
    let (group, text) = run.settings.test_clock.of_rank(run.rank);
    let simulated = SimulatedClock::parse(text).filter(|_| group > 0);
    let text = match simulated {
        Some(_) => registry::lock()?.string(text),
        None => 0,
    };
    let domain = Domain::find(world, buffer, run.rank, group)?;
    let clock = LocalClock { simulated: simulated.map(|clock| (clock, epoch, hz)) };
    let leaders = Leaders::gather(world, run.rank, domain.leader() == run.rank, clock)?;
    let number = domain.number(leaders.as_ref().map_or(0, Peers::rank))?;
    let measured_hz = ticks::roughly_hz();
    buffer.change_rank(|rank| {
        if text != 0 {
            (rank.pretended, rank.pretended_epoch, rank.pretended_hz) = (text, epoch, hz);
        }
        (rank.domain_error, rank.domain_step) = domain.tested();
        (rank.clock_method, rank.max_ppm, rank.wander_ppb) = (how.method.number(), how.max_ppm, how.wander_ppb);
        (rank.leader, rank.domain, rank.measured_hz) = (domain.leader(), number, measured_hz);
    });
    let leaders = leaders.filter(|leaders| leaders.count() > 1 && how.method != Method::None);
    let schedule = Schedule::new(resync, hz);
    // Ranks that share a clock and no page have no global time while the program runs.
    if domain.is_alone() || domain.page().is_some() {
        published_map::start(domain.page());
    }
    let clocks = Clocks {
        buffer,
        how,
        domain,
        clock,
        scale: Scale { zero: epoch, hz },
        leaders: leaders.map(Mutex::new),
        schedule: Mutex::new(schedule),
        missed: AtomicU32::new(0),
    };
    CLOCKS.set(clocks).ok()?;
    let clocks = CLOCKS.get()?;
    clocks.synchronise(sync_kind::INIT);
    // The others wait until their leader's map is there.
    clocks.domain.meet();
    Some(())
}

/// Lets the first call after which clocks are synchronised be known: once MPI_COMM_WORLD is registered.
pub fn watch_world() -> Option<()> {
    let clocks = CLOCKS.get()?;
    let first =
        clocks.lock_schedule().first().filter(|_| clocks.leaders.is_some() && clocks.how.method == Method::Joint)?;
    // No call on MPI_COMM_WORLD can be under way before Init has returned.
    world_entry()?.set_sync_at(first);
    Some(())
}

fn world_entry() -> Option<Entry<CommunicatorEntry>> {
    Some(registry::lock()?.communicators.get(&abi::get().comm_world)?.entry())
}

/// Rank 0's parameters for all; the tick at which simulated clocks begin, and ticks per second.
fn agree(world: Comm, rank: u32, how: &mut Synchronisation, resync: &mut f64) -> Option<(u64, f64)> {
    let mut words = [0u64; 8];
    if rank == 0 {
        words = [
            how.method.number().into(),
            how.fit_points.into(),
            how.exchanges.into(),
            how.max_ppm.to_bits().into(),
            how.wander_ppb.to_bits().into(),
            resync.to_bits(),
            ticks::now(),
            ticks::roughly_hz().to_bits(),
        ];
    }
    if !world.broadcast(&mut words) {
        return None;
    }
    *how = Synchronisation {
        method: Method::numbered(words[0] as u32)?,
        fit_points: words[1] as u32,
        exchanges: words[2] as u32,
        max_ppm: f32::from_bits(words[3] as u32),
        wander_ppb: f32::from_bits(words[4] as u32),
    };
    *resync = f64::from_bits(words[5]);
    Some((words[6], f64::from_bits(words[7])))
}

/// After a blocking call on MPI_COMM_WORLD with which its `sync_at` is reached: the leaders agree on the next one, and
/// synchronise if it is time.
///
/// `entry` is MPI_COMM_WORLD's, whose calls come one after the other.
#[cold]
#[inline(never)]
pub fn after_call(entry: Entry<CommunicatorEntry>) {
    let calls = entry.calls();
    let next = crate::record::thread::catch_panic(|| CLOCKS.get()?.meet(calls));
    entry.set_sync_at(next.unwrap_or(u64::MAX));
}

/// The last synchronisation, in Finalize, where all ranks of the world come together.
pub fn finish() -> Option<()> {
    let clocks = CLOCKS.get()?;
    if !clocks.how.method.extrapolates() {
        clocks.synchronise(sync_kind::FINALIZE);
    }
    let (error, step) = clocks.domain.test_again();
    clocks.buffer.change_rank(|rank| {
        rank.domain_error = rank.domain_error.max(error);
        rank.domain_step = rank.domain_step.max(step);
    });
    if let Some(mut leaders) = clocks.lock_leaders() {
        leaders.free();
        let missed = clocks.missed.load(Ordering::Relaxed);
        if missed > 0 && Peers::rank(&*leaders) == 0 {
            log::line(&format!(
                "{missed} synchronisations of the clocks while the program ran were given up: some rank did not come in time"
            ));
        }
    }
    clocks.domain.free();
    Some(())
}
