//! `MPI_Init`, `MPI_Finalize`, `MPI_Abort` and `MPI_Pcontrol`.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::{FinalizeTimes, RankTimes, interruption_flags, state};
use mpitrace_platform::prompt::Prompt;

use crate::base::ticks;
use crate::base::{descriptor, first_on_node, log, mode, symbol, system};
use crate::clocks::{self, Ranks};
use crate::counters::mpi_t;
use crate::job::agreement::Agreement;
use crate::job::launcher::Job;
use crate::job::run::{self, RUN, Run, World};
use crate::job::starting::Starting;
use crate::job::startup::{self, Identity, Prepared};
use crate::job::traced_ranks::{Answer, FoundRanks, TracedRanks};
use crate::job::writers::Writers;
use crate::job::{exit_writer, kept, output, output_name};
use crate::mpi::collectives::Collectives;
use crate::mpi::{Comm, abi, world};
use crate::operation::{communicator_table, datatype};
use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread;

pub fn init(forward: &dyn Fn() -> c_int) -> c_int {
    static ENTERED: AtomicBool = AtomicBool::new(false);
    if ENTERED.swap(true, Ordering::AcqRel) {
        // A second Init is the library's to refuse, unless it was closed and opened again.
        let result = thread::guarded(forward);
        if result == 0 && RUN.get().is_some_and(|run| run.ended.load(Ordering::Acquire)) {
            log::line("MPI_Init was called again after MPI_Finalize wrote the trace: further calls are not traced");
        }
        return result;
    }
    symbol::keep();
    let prepared = thread::catch_panic(|| {
        let prepared = startup::prepare()?;
        let (folders, run) = (prepared.settings.segment_folders(), prepared.settings.run);
        let (traced_ranks, starting) = TracedRanks::announce(Job::read(), prepared.header, run, &folders);
        Some((prepared, traced_ranks, starting))
    });
    let (result, library, _) = thread::timed(forward);
    if let Some((prepared, traced_ranks, starting)) = prepared
        && result == 0
    {
        let _prompt = Prompt::begin();
        system::without_file_size_signal(|| {
            thread::catch_panic(|| start(prepared, traced_ranks, starting));
            thread::catch_panic(|| started(library))
        });
    }
    result
}

/// From now on the program runs. MPI_Init took so many ticks in the library.
fn started(library: u64) -> Option<()> {
    let run = RUN.get()?;
    let live = run.live.get()?;
    live.change_rank(|rank| rank.state = state::RUNNING);
    let thread = thread::current()?;
    let tick = thread.begin_times();
    live.header.set_times(RankTimes {
        thread: thread.index() + 1,
        init: tick.wrapping_sub(ticks::first_anchor().tick),
        init_library: library,
        ..live.header.times()
    });
    Some(())
}

fn start(prepared: Prepared, mut traced_ranks: TracedRanks, starting: Option<Starting>) -> Option<()> {
    let (rank, world_size) = (Comm::world().rank()?, Comm::world().size()?);
    log::set_rank(rank);

    let answer = if prepared.settings.joint {
        Answer::All { meeting: None }
    } else {
        traced_ranks.all_traced(world_size, &output_name::meeting_folder(&prepared.settings, &prepared.folder))
    };
    let all_traced = matches!(answer, Answer::All { .. });
    let mut comm = OnceLock::new();
    let mut meeting = None;
    match answer {
        Answer::All { meeting: Some(number) } => {
            let opened = traced_ranks.meeting(number, rank, world_size);
            // It stays for as long as the program runs.
            meeting = opened.map(|meeting| &*Box::leak(Box::new(meeting)));
        }
        Answer::All { meeting: None } if world_size > 1 => {
            comm = Comm::world().duplicate().map_or_else(OnceLock::new, OnceLock::from);
            if comm.get().is_some() {
                // Making a communicator needed every rank: all have read what was settled.
                traced_ranks.withdraw_settlements();
            }
        }
        _ => {}
    }
    let job_key = traced_ranks.job.key;
    // Until the ranks have agreed on one, what the launcher gives them in common stands in the trace buffers.
    let job = match answer {
        // A number that the traced ranks have in common.
        Answer::Some { run, .. } => bytemuck::cast([run, job_key]),
        Answer::All { .. } => startup::token(job_key, world_size),
    };
    let speaks = if all_traced { rank == 0 } else { traced_ranks.speaks() };
    let world = World { token: OnceLock::new(), traced_ranks, meeting, comm };
    world::enter();
    if let Some(run) = RUN.get() {
        // The world comes to a run that began with a session.
        run.live.get().inspect(|live| live.change_rank(|rank| rank.job = job));
        let _ = run.world.set(world);
    } else {
        startup::begin(prepared, &Identity { rank, world_size, job_key, job, speaks }, OnceLock::from(world));
    }
    let run = RUN.get()?;
    let live = run.live.get().copied();
    // The trace buffer has its place from here on.
    drop(starting);
    let world = run.world.get()?;
    match world.together() {
        Some(together) => drop(agree(run, world, live, together, job_key)),
        None if matches!(answer, Answer::All { meeting: Some(_) }) => say_cannot_meet(),
        None if all_traced && world_size > 1 && rank == 0 => log::line(WITHOUT_COMMUNICATOR),
        None => {}
    }
    // Where the ranks could not agree.
    let _ = world.token.set(job);
    live?;
    if let Answer::Some { found: Some(found), .. } = answer {
        log::line(&partly_traced(&found, world_size));
    }
    communicator_table::start(rank, world_size)?;
    abi::get().find_complete_requests();
    clocks::watch_world();
    startup::record();
    Some(())
}

/// The line where all ranks are traced and the library makes no communicator for the tracer.
const WITHOUT_COMMUNICATOR: &str = "the MPI library does not duplicate MPI_COMM_WORLD; each rank writes a file of its own, without synchronised clocks";

/// Says that the ranks of this node, which are all traced, do not all come to the memory that they share.
fn say_cannot_meet() {
    if first_on_node::is_first("alone") {
        log::line(
            "a rank cannot open the file that the ranks share; each rank writes a file of its own, without synchronised clocks",
        );
    }
}

/// Finds with the other ranks what holds for all of them, and synchronises the clocks. All ranks come here.
fn agree(
    run: &Run,
    world: &World,
    live: Option<&'static TraceBuffer>,
    together: Collectives,
    job_key: u64,
) -> Option<()> {
    let ranks = Ranks {
        rank: run.rank,
        world_size: run.world_size,
        test_clock: run.settings.test_clock.of_rank(run.rank),
        comm: &world.comm,
    };
    // On one node the agreement is the meeting before which the page has to be there.
    let early = world.meeting.zip(live).map(|(meeting, live)| clocks::open_page(&ranks, live, [meeting.number(), 0]));
    let agreed = Agreement::reach(together, run, job_key, live);
    early.as_ref().inspect(|page| page.remove_name());
    if let Some(meeting) = world.meeting {
        // All ranks have opened the file, or none waits for it any more.
        if run.rank == 0 || agreed.is_none() {
            meeting.remove_names();
        }
        world.traced_ranks.withdraw_settlements();
        if agreed.is_none() {
            say_cannot_meet();
        }
    }
    let agreed = agreed?;
    let _ = world.token.set(agreed.token);
    if let Some(live) = live {
        live.change_rank(|rank| rank.job = agreed.token);
    }
    if run.rank == 0 && !agreed.all_record {
        log::line("a rank has no memory for its records: the clocks are not synchronised");
    }
    if run.rank == 0 && !agreed.same_output {
        let path = output_name::path_of(&run.settings, &run.folder, run.process);
        log::line(&format!("MPITRACE_OUTPUT is not the same on all ranks; that of rank 0 is used: {}", path.display()));
    }
    let live = live.filter(|_| agreed.all_record)?;
    let page = match early {
        Some(page) => page,
        None => {
            let page = clocks::open_page(&ranks, live, bytemuck::cast(agreed.token));
            let met = together.all(true);
            page.remove_name();
            met?;
            page
        }
    };
    clocks::start(&ranks, live, together, page, &agreed.clocks)
}

fn partly_traced(found: &FoundRanks, world_size: u32) -> String {
    let ranks = found.ranks;
    let why = match &found.folder {
        Some(folder) if ranks >= world_size => {
            format!("the nodes cannot agree in {}, where no symbolic links can be made", folder.display())
        }
        Some(folder) => format!(
            "{ranks} of {world_size} ranks were found to be traced: the others run without the tracer, or {} is not one folder for all nodes",
            folder.display()
        ),
        None => {
            format!("{ranks} of {world_size} ranks were found to be traced: the others run without the tracer")
        }
    };
    format!(
        "{why}; each traced rank writes a file of its own, without synchronised clocks (MPITRACE_JOINT=1 states that all ranks are traced)"
    )
}

/// `MPI_Finalize`: writes the trace, and always reaches the library's own.
///
/// Where the ranks meet without messages they do so behind the library's own, in which they wait for each other anyway:
/// a rank that waited before it would let the library make no progress, which messages of the program may need that are
/// under way.
pub fn finalize(forward: &dyn Fn() -> c_int) -> c_int {
    let enter = Cell::new(ticks::now());
    let ending = run::of_this_process().and_then(|run| Some((run, run.world.get()?)));
    let ending = ending.filter(|_| world::leave());
    let meeting = ending.and_then(|(_, world)| match world.together() {
        Some(Collectives::Memory(meeting)) => Some(meeting),
        _ => None,
    });
    let guarded = |work: &dyn Fn(&Run, &World)| {
        if let Some((run, world)) = ending {
            let _prompt = Prompt::begin();
            system::without_file_size_signal(|| {
                thread::catch_panic(|| {
                    work(run, world);
                    Some(())
                })
            });
        }
    };
    guarded(&|run, world| {
        let live = run.live.get().filter(|_| thread::current().is_some());
        // The boundary lies behind this look: an interruption before it is the program's, and in no other part.
        if let (Some(_), Some(thread)) = (live, thread::current()) {
            if thread.is_polling() {
                thread.leave_row();
            }
            enter.set(thread.boundary(|tick| thread.look_outside(tick, interruption_flags::BETWEEN)));
        }
        exit_writer::mark(run, state::FINALIZING);
        if let Some(live) = live {
            live.header.set_times(RankTimes { finalize_enter: enter.get(), ..live.header.times() });
        }
        if !world::any_session() {
            // They may need the library.
            exit_writer::close_counters(run);
        }
        if meeting.is_none() {
            finish(run, world);
        }
    });
    meeting.inspect(|meeting| meeting.finalizes());
    let before = ticks::now();
    let result = if meeting.is_some() { thread::guarded(forward) } else { forward() };
    let library = ticks::now().wrapping_sub(before);
    if let Some(meeting) = meeting {
        if result != 0 {
            meeting.leave();
        }
        guarded(&finish);
    }
    if !world::any_session() {
        symbol::forget();
    }
    guarded(&|run, _| {
        output::add_finalize_times(run, FinalizeTimes { whole: ticks::now().wrapping_sub(enter.get()), library });
        if run.ended.load(Ordering::Acquire) {
            if run.live.get().is_some_and(|live| live.give_back_all()) {
                kept::remove_copy();
            }
            descriptor::give_up_reserve();
        }
    });
    result
}

fn finish(run: &Run, world: &World) {
    // Where a rank still has sessions open there is more to come, and every rank writes when it ends.
    let writers = Writers::of_world(run, world);
    clocks::before_end();
    let no_session = writers.all(!world::any_session());
    let together = no_session.is_ok();
    if !no_session.unwrap_or(!world::any_session()) {
        if together {
            clocks::finish();
        }
        mpi_t::end_of_world();
        communicator_table::end_of_world();
        writers.free_unless(clocks::has_unreceived());
        exit_writer::write_at_exit();
        exit_writer::mark(run, if world::any_session() { state::SESSION } else { state::FINALIZED });
        return;
    }
    // Behind the library's own where ranks meet without messages: attributes may have freed types in it.
    if let Some(live) = run.live.get().filter(|_| mode::is_on()) {
        live.header.set_times(RankTimes { types_left: datatype::left(), ..live.header.times() });
    }
    mode::stop();
    if together {
        clocks::finish();
    }
    exit_writer::mark(run, state::FINALIZED);
    run.ended.store(true, Ordering::Release);
    output::write(run, world);
    if world.together().is_none() {
        world.traced_ranks.withdraw_settlements();
    }
}

/// `MPI_Abort`: the records lie safe already, or are copied.
pub fn abort(forward: &dyn Fn() -> c_int) -> c_int {
    if mode::is_on()
        && let Some(run) = run::of_this_process()
        && let Some(live) = run.live.get()
    {
        exit_writer::mark(run, state::ABORTED);
        thread::current().inspect(|thread| thread.times().set_last(ticks::now(), 0));
        system::without_file_size_signal(|| {
            thread::catch_panic(|| {
                kept::at_abort(run, live);
                Some(())
            })
        });
    }
    forward()
}

/// `MPI_Pcontrol`: 0 pauses recording on this rank, 1 resumes it.
pub fn pcontrol(forward: &dyn Fn() -> c_int, level: usize) -> c_int {
    match level as c_int {
        0 => mode::pause(true),
        1 => mode::pause(false),
        _ => {}
    }
    forward()
}
