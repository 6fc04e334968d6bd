//! The beginning of the tracing: what both ways into MPI, `MPI_Init` and `MPI_Session_init`, have in common.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};

use bytemuck::Zeroable;
use mpitrace_format::layout::{NO_RANK, RankHeader, RankTimes, keeps, live_columns, rank_times_flags, state};
use mpitrace_format::token;
use mpitrace_platform::time::time_of_day;

use crate::base::allocator::{self, Held};
use crate::base::ticks;
use crate::base::{first_on_node, kernel, log, mode, own_file, preloaded, system, unwinder};
use crate::call_sites::call_site;
use crate::counters::source::Wanted;
use crate::counters::{kinds, message_counters};
use crate::interruptions::{quota, watch};
use crate::job::run::{RUN, Run, World};
use crate::job::settings::{PointToPoint, Settings};
use crate::job::{kept, leftovers, metadata, output_name};
use crate::mpi::{self, abi};
use crate::operation::registry;
use crate::record::buffer::trace_buffer::{self, TraceBuffer};
use crate::record::thread::{self, messages, partners, waits};
use crate::recorder::check;

/// The facts that are found before the library initialises MPI.
pub struct Prepared {
    pub settings: Settings,
    pub folder: PathBuf,
    pub header: RankHeader,
}

/// `None` where nothing is to be traced.
pub fn prepare() -> Option<Prepared> {
    let settings = Settings::read();
    log::set_verbose(settings.verbose);
    if settings.disabled || preloaded::another_traces() {
        return None;
    }
    if !unwinder::load() {
        log::line("libgcc_s.so.1 cannot be loaded: nothing is traced");
        return None;
    }
    if settings.stacks {
        system::let_others_trace();
    }
    own_file::make_room();
    let source = ticks::choose_source();
    let header = RankHeader {
        boot_id: kernel::boot_id(),
        rank: NO_RANK,
        pid: std::process::id(),
        state: state::STARTING,
        clock_source: source,
        keeps: if settings.is_sample { keeps::SAMPLE } else { keeps::ALL },
        capacity: settings.capacity,
        nominal_hz: ticks::nominal_hz(),
        first_anchor: ticks::first_anchor(),
        ..RankHeader::zeroed()
    };
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Some(Prepared { settings, header, folder })
}

/// In a larger world what is asked of MPI about all its ranks may take more than the library's own reserve has.
const MANY_RANKS: u32 = 2048;

/// This rank, as the way into MPI has it.
pub struct Identity {
    pub rank: u32,
    pub world_size: u32,
    pub job_key: u64,
    /// The run's token.
    pub job: [u8; 16],
    /// True if this rank says what concerns all ranks.
    pub speaks: bool,
}

/// The run's token where the ranks cannot be asked: what the launcher gives them in common, or one of this process
/// alone.
pub fn token(job_key: u64, world_size: u32) -> [u8; 16] {
    if world_size > 1 {
        return token::before_agreement(job_key);
    }
    let now = time_of_day().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    token::of_one_run(job_key, now.as_nanos() as u64, std::process::id())
}

/// Makes the run, its trace buffer and its registry. `None` where the run exists already, and where there
/// is no memory for the records.
pub fn begin(prepared: Prepared, who: &Identity, world: OnceLock<World>) -> Option<&'static Run> {
    let run = Run {
        settings: prepared.settings,
        live: OnceLock::new(),
        rank: who.rank,
        world_size: who.world_size,
        world,
        folder: prepared.folder,
        process: std::process::id(),
        ended: AtomicBool::new(false),
        unfinished: Mutex::new(None),
    };
    // From here on this rank takes part at Finalize, whatever else fails: the others will wait for it there.
    RUN.set(run).ok()?;
    let run = RUN.get()?;
    log::set_rank(who.rank);
    first_on_node::set_job(who.job_key);
    if who.world_size > MANY_RANKS {
        // A group's members take some 40 bytes for each rank; rank 0 gathers where the parts of the trace are.
        let each = if who.rank == 0 { 512 } else { 128 };
        std::mem::forget(Held::bytes(each * u64::from(who.world_size)));
    }
    preloaded::say_namesakes(who.speaks);
    if who.speaks {
        run.settings.warnings.iter().for_each(|warning| log::line(warning));
        leftovers::limit_and_say(&run.settings);
        output_name::make_folder(&run.settings, &run.folder);
    }
    let (rank, world_size, abi) = (who.rank, who.world_size, abi::get().family);
    let header = RankHeader { job: who.job, rank, world_size, abi, ..prepared.header };
    let name = trace_buffer::segment_name(who.job_key);
    if run.settings.p2p > PointToPoint::Off {
        waits::start();
    }
    let planned = kinds::plan(Wanted {
        events: run.settings.events.clone(),
        pvars: run.settings.pvars.clone(),
        has_world: run.world.get().is_some(),
    });
    if who.speaks {
        planned.notes().for_each(log::line);
    }
    let columns = live_columns(planned.columns());
    let Some(live) = TraceBuffer::create(&run.settings.segment_folders(), &name, header, &columns) else {
        log::warn_on_node("memory", "no memory for the records; this rank is not traced");
        return None;
    };
    live.header.set_run(run.settings.run);
    say_other_folder(&run.settings, live.folder());
    if who.speaks && live.rank().capacity < run.settings.capacity {
        log::line(&format!(
            "each rank keeps at most {} records instead of {}: the address space is limited (ulimit -v)",
            live.rank().capacity,
            run.settings.capacity
        ));
    }
    run.live.set(live).ok()?;
    registry::start(live, registry::World { rank, size: world_size });
    planned.start(live);
    watch::set_hz(ticks::roughly_hz());
    let recorded = metadata::all(&run.settings, rank == 0, run.world.get().is_some());
    let reference = live.add_string(&mpitrace_format::metadata::encode(&recorded));
    live.header.set_metadata(reference);
    if !run.settings.is_sample {
        let path = output_name::block_file(&run.settings, &run.folder, rank);
        live.spill_to(path);
        live.sample_beyond(run.settings.output_max);
    }
    live.change_rank(|rank| rank.last_anchor = ticks::anchor());
    let flags = if run.settings.p2p > PointToPoint::Off { rank_times_flags::STAMPED } else { 0 };
    live.header.set_times(RankTimes { flags, ..RankTimes::default() });
    if who.speaks {
        let library = mpi::library_version().unwrap_or_default();
        log::detail(&format!(
            "tracing {world_size} ranks on {}, {} records per rank, trace buffers in {}",
            library.lines().next().unwrap_or("an MPI library that does not state its name"),
            run.settings.capacity,
            live.folder().unwrap_or(Path::new("private memory")).display()
        ));
    }
    if run.settings.call_site {
        call_site::start();
    }
    stop_in_children();
    kept::at_exit();
    watch::choose(run.settings.interruptions);
    quota::find(Path::new("/"));
    thread::start(live);
    if run.settings.p2p > PointToPoint::Off {
        partners::start(live);
    }
    if run.settings.p2p == PointToPoint::Records {
        messages::start();
    }
    Some(run)
}

/// Starts recording, at the end of Init; not where memory was exhausted before.
pub fn record() {
    let checks = RUN.get().is_some_and(|run| run.settings.check) && check::start();
    mode::start(!call_site::asked() && !ticks::are_of_the_system() && !checks);
    if allocator::is_exhausted() {
        mode::stop();
    }
}

/// A child that the program forks off shares the trace buffers, and the kernel does not map the pages of its counters
/// there: it goes on untraced.
fn stop_in_children() {
    extern "C" fn in_child() {
        mode::stop();
        message_counters::stop();
        partners::stop();
        // It may be inside a call, after which the thread looks at its page.
        if let Some(thread) = thread::current() {
            thread.forget_interruptions();
            thread.leave_entry();
        }
    }
    system::in_children(in_child);
}

/// Says so where the live records do not lie where they should: of the ranks of a node, the first that meets it.
fn say_other_folder(settings: &Settings, folder: Option<&Path>) {
    match (folder, &settings.segment_folder) {
        (None, _) => log::warn_on_node(
            "room",
            "no folder takes the trace buffer: it is in private memory, and a kill loses it \
             (MPITRACE_SEGMENT_DIR names a folder)",
        ),
        (Some(folder), Some(asked)) if folder != asked => log::warn_on_node(
            "folder",
            &format!(
                "MPITRACE_SEGMENT_DIR={} cannot hold the trace buffer: it is in {}",
                asked.display(),
                folder.display()
            ),
        ),
        _ => {}
    }
}
