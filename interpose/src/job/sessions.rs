//! `MPI_Session_init` and `MPI_Session_finalize`: MPI without MPI_COMM_WORLD, as often as a program likes.
//!
//! A session is a rank's own affair: no other rank need open one, and none may be waited for. So nothing here asks another
//! rank. Who this rank is, the process set `mpi://WORLD` tells; the trace is written when the process ends
//! ([`crate::job::exit_writer`]), since a session may be opened after the last one was closed.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::state;

use crate::boundary::{abi, mpi};
use crate::job::launcher::Job;
use crate::job::run::RUN;
use crate::job::startup::{self, Identity};
use crate::job::world::{self, Session};
use crate::job::{exit_writer, log};
use crate::record::{mode, thread};

/// `MPI_Session_init`.
pub fn init(forward: impl FnOnce() -> c_int, session: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        // SAFETY: the call has returned well, so this is the address of a session's handle.
        let handle = unsafe { abi::get().read(session) };
        thread::catch_panic(|| opened(handle));
    }
    result
}

fn opened(handle: usize) -> Option<()> {
    if let Some(run) = RUN.get()
        && run.ended.load(Ordering::Acquire)
    {
        log::line("MPI_Finalize has written the trace: what is called in sessions opened after it is not traced");
        return None;
    }
    let prepared = match RUN.get() {
        Some(_) => None,
        None => Some(startup::prepare()?),
    };
    // SAFETY: the handle is a session, the name a C string.
    let group = mpi::handle(|group| unsafe {
        mpi::group_from_session_pset(handle, c"mpi://WORLD".as_ptr().expose_provenance(), group)
    })?;
    world::sessions().push(Session { handle, world: group });
    if let Some(prepared) = prepared {
        // SAFETY: the group was made just now.
        let word = |function: unsafe fn(usize, usize) -> bool| mpi::int(|place| unsafe { function(group, place) });
        let rank = u32::try_from(word(mpi::group_rank)?).ok()?;
        let world_size = u32::try_from(word(mpi::group_size)?).ok()?;
        let job_key = Job::read().key;
        let job = startup::token(job_key, world_size);
        let who = Identity { rank, world_size, job_key, job, speaks: rank == 0 };
        startup::begin(prepared, &who, OnceLock::new())?;
        mode::start();
    } else {
        exit_writer::mark(RUN.get()?, state::RUNNING);
    }
    exit_writer::write_at_exit();
    Some(())
}

/// `MPI_Session_finalize`.
pub fn finalize(forward: impl FnOnce() -> c_int, session: usize) -> c_int {
    // SAFETY: any address but null is what the program says is a handle's.
    let handle = unsafe { abi::get().read_if_any(session) };
    thread::catch_panic(|| {
        let mut sessions = world::sessions();
        let index = sessions.iter().position(|session| session.handle == handle)?;
        let mut closed = sessions.swap_remove(index);
        // SAFETY: the group is the tracer's own. A 4-byte handle lies in the word's first 4 bytes.
        unsafe { mpi::group_free((&raw mut closed.world).expose_provenance()) };
        let run = RUN.get()?;
        if sessions.is_empty() && !world::is_in(run) {
            exit_writer::mark(run, state::FINALIZED);
        }
        Some(())
    });
    thread::guarded(forward)
}
