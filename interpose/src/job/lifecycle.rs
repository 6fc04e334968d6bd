//! `MPI_Init`, `MPI_Finalize`, `MPI_Abort` and `MPI_Pcontrol`.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::state;

use crate::boundary::mpi::Comm;
use crate::boundary::system;
use crate::clocks;
use crate::identity::communicator::mix;
use crate::identity::communicators;
use crate::job::launcher::Job;
use crate::job::run::{RUN, Run, World};
use crate::job::startup::{self, Identity, Prepared};
use crate::job::traced_ranks::{Answer, Found, TracedRanks};
use crate::job::writers::Writers;
use crate::job::{exit_writer, first_on_node, log, output, output_name, world};
use crate::record::{mode, thread};

/// `MPI_Init` and `MPI_Init_thread`.
pub fn init(forward: impl FnOnce() -> c_int) -> c_int {
    static ENTERED: AtomicBool = AtomicBool::new(false);
    if ENTERED.swap(true, Ordering::AcqRel) {
        // A second Init is the library's to refuse.
        return forward();
    }
    let prepared = thread::catch_panic(|| {
        let prepared = startup::prepare()?;
        let traced_ranks = TracedRanks::announce(Job::read(), &prepared.settings.segment_folders());
        Some((prepared, traced_ranks))
    });
    let result = thread::guarded(forward);
    if let Some((prepared, mut traced_ranks)) = prepared {
        if result == 0 {
            system::without_file_size_signal(|| thread::catch_panic(|| start(prepared, traced_ranks)));
        } else {
            traced_ranks.withdraw_markers();
        }
    }
    result
}

fn start(prepared: Prepared, mut traced_ranks: TracedRanks) -> Option<()> {
    let (rank, world_size) = (Comm::world().rank()?, Comm::world().size()?);
    log::set_rank(rank);

    let answer = if prepared.settings.joint {
        Answer::All
    } else {
        traced_ranks.all_traced(world_size, &output_name::meeting_folder(&prepared.settings, &prepared.folder))
    };
    traced_ranks.withdraw_markers();
    let comm = if answer == Answer::All && world_size > 1 { Comm::world().duplicate() } else { None };
    if comm.is_some() {
        // Making a communicator needed every rank: all have read what was settled.
        traced_ranks.withdraw_settlements();
    }
    let job_key = traced_ranks.job.key;
    let (job, same_output) = match (comm, &answer) {
        (Some(comm), _) => agreed(comm, job_key, &prepared),
        (None, Answer::Some { run, .. }) => (startup::token_of(*run, job_key), true),
        (None, Answer::All) => (startup::token(job_key, world_size), true),
    };
    let speaks = if world_size > 1 && comm.is_none() { traced_ranks.speaks() } else { rank == 0 };
    let world = World { job, traced_ranks, comm, finalized: AtomicBool::new(false) };
    if let Some(run) = RUN.get() {
        join(run, world);
    } else {
        startup::begin(prepared, &Identity { rank, world_size, job_key, job, speaks }, OnceLock::from(world));
    }
    let run = RUN.get()?;
    let live = run.live.get();
    if let Some(comm) = comm {
        let writers = Writers::of_world(run, run.world.get()?);
        let least = writers.least(live.map_or(0, |_| 1 + i64::from(same_output)));
        if rank == 0 && least < 2 {
            say_differing(run, least);
        }
        if least > 0 {
            clocks::start(run, live?, comm);
        }
    }
    live?;
    if let Answer::Some { found: Some(found), .. } = answer {
        log::line(&partly_traced(&found, world_size));
    }
    communicators::start(rank, world_size)?;
    clocks::watch_world();
    mode::start();
    Some(())
}

/// What is said of a program of which some ranks are not traced.
fn partly_traced(found: &Found, world_size: u32) -> String {
    let ranks = found.ranks;
    let why = match &found.folder {
        Some(folder) if ranks >= world_size => {
            format!("the nodes cannot agree in {}, which takes no symbolic links", folder.display())
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

/// What rank 0 says of settings that differ between ranks.
fn say_differing(run: &Run, least: i64) {
    if least == 0 {
        log::line("a rank has no memory for its records: the clocks are not synchronised");
    } else {
        let path = output_name::path_of(&run.settings, &run.folder, run.process);
        log::line(&format!("MPITRACE_OUTPUT is not the same on all ranks; rank 0 has it: {}", path.display()));
    }
}

/// The world comes to a run that began with a session.
fn join(run: &Run, world: World) {
    if let Some(live) = run.live.get() {
        live.change_rank(|rank| rank.job = world.job);
    }
    let _ = run.world.set(world);
}

/// The run's token, rank 0's; and whether this rank has the same pattern for the name of the trace as rank 0.
fn agreed(comm: Comm, job_key: u64, prepared: &Prepared) -> ([u8; 16], bool) {
    let pattern: Vec<u64> = prepared.settings.output.iter().flat_map(|text| text.bytes()).map(u64::from).collect();
    let pattern = mix(&pattern)[0];
    let token: [u64; 2] = bytemuck::cast(startup::token(job_key, 1));
    let mut words = [token[0], token[1], pattern];
    comm.broadcast(&mut words);
    (bytemuck::cast([words[0], words[1]]), words[2] == pattern)
}

/// `MPI_Finalize`: writes the trace, and always reaches the library's own.
pub fn finalize(forward: impl FnOnce() -> c_int) -> c_int {
    if let Some(run) = RUN.get()
        && let Some(world) = run.world.get()
        && !world.finalized.swap(true, Ordering::AcqRel)
    {
        system::without_file_size_signal(|| {
            thread::catch_panic(|| {
                finish(run, world);
                Some(())
            })
        });
    }
    forward()
}

fn finish(run: &Run, world: &World) {
    // Where a rank still has sessions open there is more to come, and every rank writes when it ends.
    if output::any_rank(run, world, world::any_session()) {
        clocks::finish();
        communicators::end_of_world();
        output::free_world(run, world);
        exit_writer::write_at_exit();
        if !world::any_session() {
            exit_writer::mark(run, state::FINALIZED);
        }
        return;
    }
    mode::stop();
    clocks::finish();
    exit_writer::mark(run, state::FINALIZED);
    run.ended.store(true, Ordering::Release);
    output::write(run, world);
    if world.comm.is_none() {
        world.traced_ranks.withdraw_settlements();
    }
}

/// `MPI_Abort`: the records lie safe already; the other ranks may be dead before they know.
pub fn abort(forward: impl FnOnce() -> c_int) -> c_int {
    if mode::is_on()
        && let Some(run) = RUN.get()
        && let Some(live) = run.live.get()
    {
        exit_writer::mark(run, state::ABORTED);
        // Programs call it on all ranks at once: one of each node says so.
        if let Some(folder) = live.folder()
            && first_on_node::is_first("aborts")
        {
            log::warn(&format!(
                "MPI_Abort: the records are kept: on each node `mpitrace recover {} -o FILE` makes a trace of them",
                folder.display()
            ));
        }
    }
    forward()
}

/// `MPI_Pcontrol`: 0 pauses recording on this rank, 1 resumes it.
pub fn pcontrol(forward: impl FnOnce() -> c_int, level: usize) -> c_int {
    match level as c_int {
        0 => mode::pause(true),
        1 => mode::pause(false),
        _ => {}
    }
    forward()
}
