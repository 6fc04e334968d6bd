//! `MPI_Init`, `MPI_Finalize`, `MPI_Abort` and `MPI_Pcontrol`.

use std::ffi::c_int;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::state;

use crate::boundary::mpi::Comm;
use crate::clocks;
use crate::identity::communicators;
use crate::job::launcher::Job;
use crate::job::run::{RUN, Run, World};
use crate::job::startup::{self, Identity, Prepared};
use crate::job::traced_ranks::TracedRanks;
use crate::job::{exit_writer, log, output, world};
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
            thread::catch_panic(|| start(prepared, traced_ranks));
        } else {
            traced_ranks.withdraw_markers();
        }
    }
    result
}

fn start(prepared: Prepared, mut traced_ranks: TracedRanks) -> Option<()> {
    let (rank, world_size) = (Comm::world().rank()?, Comm::world().size()?);
    log::set_rank(rank);

    let output = output::path_of(&prepared.settings, &prepared.folder, std::process::id());
    let all_traced = traced_ranks.all_traced(world_size, output.parent().unwrap_or(Path::new(".")));
    traced_ranks.withdraw_markers();
    let comm = if all_traced && world_size > 1 { Comm::world().duplicate() } else { None };
    if comm.is_some() {
        // Making a communicator needed every rank: all have read what was settled.
        traced_ranks.withdraw_settlements();
    }
    let job_key = traced_ranks.job.key;
    let job = match comm {
        Some(comm) => agreed_token(comm, job_key),
        None => startup::token(job_key, world_size),
    };
    let world = World { job, traced_ranks, comm, finalized: AtomicBool::new(false) };
    if let Some(run) = RUN.get() {
        join(run, world);
    } else {
        let who = Identity { rank, world_size, job_key, job, speaks: rank == 0 || comm.is_none() && world_size > 1 };
        startup::begin(prepared, &who, OnceLock::from(world));
    }
    let run = RUN.get()?;
    let live = run.live.get();
    if let Some(comm) = comm
        && output::all_ranks(run, run.world.get()?, live.is_some())
    {
        clocks::start(run, live?, comm);
    }
    live?;
    if !all_traced {
        log::warn(
            "some ranks of this program run without the tracer; each traced rank writes a file of its own, and their clocks and numbers stand alone",
        );
    }
    communicators::start(rank, world_size)?;
    clocks::watch_world();
    mode::start();
    Some(())
}

/// The world comes to a run that began with a session.
fn join(run: &Run, world: World) {
    if let Some(live) = run.live.get() {
        live.change_rank(|rank| rank.job = world.job);
    }
    let _ = run.world.set(world);
}

/// The run's token: rank 0's.
fn agreed_token(comm: Comm, job_key: u64) -> [u8; 16] {
    let mut token = startup::token(job_key, 1);
    comm.broadcast(&mut token);
    token
}

/// `MPI_Finalize`: writes the trace, and always reaches the library's own.
pub fn finalize(forward: impl FnOnce() -> c_int) -> c_int {
    if let Some(run) = RUN.get()
        && let Some(world) = run.world.get()
        && !world.finalized.swap(true, Ordering::AcqRel)
    {
        thread::catch_panic(|| {
            finish(run, world);
            Some(())
        });
    }
    forward()
}

fn finish(run: &Run, world: &World) {
    // Where a rank still has sessions open there is more to come, and every rank writes when it ends.
    if output::any_rank(run, world, world::any_session()) {
        clocks::finish();
        communicators::end_of_world();
        output::free_world(world);
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
    world.traced_ranks.withdraw_settlements();
}

/// `MPI_Abort`: the records lie safe already; the other ranks may be dead before they know.
pub fn abort(forward: impl FnOnce() -> c_int) -> c_int {
    if mode::is_on()
        && let Some(run) = RUN.get()
        && let Some(live) = run.live.get()
    {
        exit_writer::mark(run, state::ABORTED);
        if let Some(folder) = live.folder() {
            log::warn(&format!(
                "MPI_Abort: the records are kept; mpitrace recover {} -o FILE makes a trace of them",
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
