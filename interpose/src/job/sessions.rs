//! `MPI_Session_init` and `MPI_Session_finalize`: MPI without MPI_COMM_WORLD, as often as a program likes.
//!
//! A session is of one rank: no other rank need open one, and none may be waited for. So nothing here asks another
//! rank. The process set `mpi://WORLD` gives this rank's number; the trace is written when the process ends
//! ([`crate::job::exit_writer`]), since a session may be opened after the last one was closed.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::state;

use crate::base::{log, symbol};
use crate::job::exit_writer;
use crate::job::launcher::Job;
use crate::job::run::{self, RUN};
use crate::job::startup::{self, Identity};
use crate::mpi::world::{self, Session};
use crate::mpi::{Group, abi};
use crate::record::thread;

pub fn init(forward: &dyn Fn() -> c_int, session: usize) -> c_int {
    symbol::keep();
    let result = thread::guarded(forward);
    if result == 0 {
        thread::catch_panic(|| opened(abi::get().made(session)?));
    }
    result
}

fn opened(handle: usize) -> Option<()> {
    if let Some(run) = RUN.get()
        && run.ended.load(Ordering::Acquire)
    {
        log::line("calls in sessions opened after MPI_Finalize are not traced");
        return None;
    }
    let prepared = match RUN.get() {
        Some(_) => None,
        None => Some(startup::prepare()?),
    };
    let group = Group::of_session(handle)?;
    let ranks = group.rank().zip(group.size());
    world::sessions().push(Session { handle, world: group });
    if let Some(prepared) = prepared {
        let (rank, world_size) = ranks?;
        let job_key = Job::read().key;
        let job = startup::token(job_key, world_size);
        let who = Identity { rank, world_size, job_key, job, speaks: rank == 0 };
        let run = startup::begin(prepared, &who, OnceLock::new())?;
        run.live.get()?.change_rank(|rank| rank.state = state::SESSION);
        startup::record();
    } else {
        let run = run::of_this_process()?;
        exit_writer::mark(run, if world::is_inside() { state::RUNNING } else { state::SESSION });
    }
    exit_writer::write_at_exit();
    Some(())
}

pub fn finalize(forward: &dyn Fn() -> c_int, session: usize) -> c_int {
    let handle = abi::get().read(session);
    thread::catch_panic(|| {
        let mut sessions = world::sessions();
        let index = sessions.iter().position(|session| session.handle == handle)?;
        // Its group is given back with it.
        drop(sessions.swap_remove(index));
        let run = run::of_this_process()?;
        if sessions.is_empty() && !world::is_inside() {
            exit_writer::close_counters(run);
            exit_writer::mark(run, state::FINALIZED);
        }
        Some(())
    });
    thread::guarded(forward)
}
