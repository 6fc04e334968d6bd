//! The clocks of the ranks: which ranks read one and the same, and how the others are probed.
//!
//! Ranks that share a clock are tested against each other, never synchronised: that would only add error. One leader
//! for each clock takes part in the method (`mpitrace_synchronise`).
//!
//! May call MPI and allocate: in Init, collectively too, in Finalize, and after a call with which a synchronisation is
//! due, only where all ranks are traced. On the way of other calls there is one comparison.

mod comparison;
mod domain;
mod meeting;
mod numbering;
mod page;
mod parameters;
mod peers;
mod placement;
mod schedule;
mod synchronise;

use std::sync::{Mutex, OnceLock};

use mpitrace_format::layout::CommunicatorEntry;
use mpitrace_format::ticks::SimulatedClock;
use mpitrace_synchronise::{Method, Synchronisation, Widths};
pub use parameters::Parameters;
pub use peers::has_unreceived;

use crate::base::entry::Entry;
use crate::base::log;
use crate::base::ticks;
use crate::mpi::collectives::Collectives;
use crate::mpi::{Comm, abi};
use crate::operation::registry;
use crate::record::buffer::trace_buffer::TraceBuffer;
pub use domain::Candidate;
use domain::{Domain, Key};
pub use page::DomainPage;
use peers::{Leaders, LocalClock};
use schedule::Schedule;

struct Clocks {
    buffer: &'static TraceBuffer,
    world: Collectives,
    how: Synchronisation,
    domain: Domain,
    /// Empty on ranks that lead no domain, and where there is but one.
    leading: Option<Mutex<Leading>>,
}

struct Leading {
    leaders: Leaders,
    schedule: Schedule,
    /// How tight the probes were so far.
    widths: Widths,
    /// Meetings that not all leaders came to in time.
    missed: u32,
}

static CLOCKS: OnceLock<Clocks> = OnceLock::new();

/// The ranks of the world, as this one knows them.
pub struct Ranks<'w> {
    pub rank: u32,
    pub world_size: u32,
    /// This rank's group in `MPITRACE_TEST_CLOCK` (0: none) and that group's text.
    pub test_clock: (u32, &'w str),
    /// The tracer's own duplicate of MPI_COMM_WORLD, made where messages are needed.
    pub comm: &'w OnceLock<Comm>,
}

/// Opens the page of this rank's clock, before the ranks of the world meet. `run` is the same on all of them, and in no
/// other run.
pub fn open_page(ranks: &Ranks<'_>, buffer: &TraceBuffer, run: [u64; 2]) -> Candidate {
    Candidate::open(buffer, Key::new(buffer, ranks.rank, ranks.test_clock.0), run)
}

/// Finds the clock domains and synchronises them, at the end of Init. All ranks of the world have met, and come here
/// with what they have agreed on. Several domains need messages: from then on the ranks have a communicator.
pub fn start(
    ranks: &Ranks<'_>,
    buffer: &'static TraceBuffer,
    world: Collectives,
    candidate: Candidate,
    agreed: &Parameters,
) -> Option<()> {
    let Parameters { how, resync_seconds, epoch, hz } = *agreed;
    let (group, text) = ranks.test_clock;
    let domain = Domain::find(candidate, ranks.rank, &|| world.progress());
    let simulated = SimulatedClock::parse(text).filter(|_| group > 0);
    let clock = LocalClock { simulated: simulated.map(|clock| (clock, epoch, hz)) };
    let leads = domain.leader == ranks.rank;
    let one_domain = domain.has_all(ranks.world_size);
    // This domain's number.
    let mut number = 0;
    let (world, leaders) = if one_domain {
        (world, None)
    } else {
        let comm = ranks.comm.get().copied().or_else(|| Comm::world().duplicate())?;
        let _ = ranks.comm.set(comm);
        let leading = numbering::leading_ranks(comm, ranks.rank, ranks.world_size, leads)?;
        number = leading.binary_search(&domain.leader).ok()? as u32;
        let in_turn = how.method.goes_in_turn();
        let leaders = leads.then(|| Leaders::new(comm, leading, number, in_turn, clock));
        (Collectives::Messages(comm), leaders)
    };
    let text = match simulated {
        Some(_) => registry::lock()?.string(text),
        None => 0,
    };
    let measured_hz = ticks::roughly_hz();
    buffer.change_rank(|rank| {
        if text != 0 {
            (rank.pretended, rank.pretended_epoch, rank.pretended_hz) = (text, epoch, hz);
        }
        (rank.domain_error, rank.domain_step) = (domain.bound, domain.step);
        (rank.max_ppm, rank.wander_ppb) = (how.max_ppm, how.wander_ppb);
        (rank.leader, rank.domain, rank.measured_hz) = (domain.leader, number, measured_hz);
    });
    let leaders = leaders.filter(|leaders| leaders.ranks.len() > 1 && how.method != Method::None);
    let schedule = Schedule::new(resync_seconds, hz);
    let mut clocks = Clocks {
        buffer,
        world,
        how,
        domain,
        leading: leaders.map(|leaders| Mutex::new(Leading { leaders, schedule, widths: Widths::default(), missed: 0 })),
    };
    clocks.synchronise_first();
    if let Some(page) = clocks.domain.page().filter(|_| !one_domain) {
        let progress = || world.progress();
        // The others wait until their leader has synchronised, and learn by which method.
        if leads {
            page.set_ready(clocks.how.method.number());
        } else if let Some(method) = page.wait_until_ready(2 * meeting::LONG, &progress).and_then(Method::numbered) {
            clocks.how.method = method;
        }
    }
    buffer.change_rank(|rank| rank.clock_method = clocks.how.method.number());
    CLOCKS.set(clocks).ok()
}

/// The page that this rank shares with others of its node; `None`: it shares none.
pub fn shared_page() -> Option<&'static DomainPage> {
    CLOCKS.get()?.domain.page()
}

/// Lets the first call after which clocks are synchronised be known: once MPI_COMM_WORLD is registered.
pub fn watch_world() -> Option<()> {
    let clocks = CLOCKS.get()?;
    let first = clocks.lock()?.schedule.first().filter(|_| clocks.how.method == Method::Joint)?;
    // No call on MPI_COMM_WORLD can be under way before Init has returned.
    registry::lock()?.communicators.get(&abi::get().comm_world)?.entry().set_sync_at(first);
    Some(())
}

/// After a blocking call on MPI_COMM_WORLD with which its `sync_at` is reached: the leaders agree on the next one, and
/// synchronise if it is time.
///
/// `entry` is MPI_COMM_WORLD's, whose calls come one after the other.
#[cold]
#[inline(never)]
pub fn after_call(entry: Entry<CommunicatorEntry>) {
    // As the leaders have agreed: this rank may have made more, where it has left one by longjmp.
    let calls = entry.sync_at();
    let next = crate::record::thread::catch_panic(|| CLOCKS.get()?.meet(calls));
    entry.set_sync_at(next.unwrap_or(u64::MAX));
}

/// States this rank's tick, before the ranks of the world meet in Finalize.
pub fn before_end() {
    if let Some(clocks) = CLOCKS.get() {
        clocks.domain.state_tick_again();
    }
}

/// The last synchronisation, in Finalize, where all ranks of the world have met.
pub fn finish() -> Option<()> {
    let clocks = CLOCKS.get()?;
    if !clocks.how.method.extrapolates() {
        clocks.synchronise_last();
    }
    if let Some(step) = clocks.domain.compare_again(&|| clocks.world.progress()) {
        clocks.buffer.change_rank(|rank| rank.domain_step = rank.domain_step.max(step));
    }
    let leading = clocks.lock()?;
    if leading.missed > 0 && leading.leaders.number == 0 {
        log::line(&format!(
            "{} synchronisations of the clocks while the program ran were abandoned: a rank was late",
            leading.missed
        ));
    }
    Some(())
}

/// The error of this rank's clock, ticks, once the ranks have met again behind the last test: one invariant counter is
/// as far apart on two processors at the end as at the start, so the closer bound holds. Where a rank has not come yet
/// that of Init does.
pub fn settle_error() -> Option<u64> {
    let clocks = CLOCKS.get()?;
    let bound = clocks.domain.bound_again()?;
    clocks.buffer.change_rank(|rank| rank.domain_error = rank.domain_error.min(bound));
    Some(clocks.buffer.rank().domain_error)
}
