//! Init, Finalize, Abort and Pcontrol.

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Zeroable;
use trace::trace::layout::{COLUMNS, NO_RANK, REQUEST_COLUMNS, RankHeader, state};
use trace::trace::recover;

use crate::live::{self, Live};
use crate::presence::{Job, Presence};
use crate::run::Run;
use crate::settings::Settings;
use crate::{abi, communicators, factors, mode, mpi, output, registry, say, thread, ticks};

static RUN: OnceLock<Run> = OnceLock::new();

/// `MPI_Init` and `MPI_Init_thread`.
pub fn init(forward: impl FnOnce() -> c_int) -> c_int {
    static ENTERED: AtomicBool = AtomicBool::new(false);
    if ENTERED.swap(true, Ordering::AcqRel) {
        // A second Init is the library's to refuse.
        return forward();
    }
    let prepared = thread::sheltered(prepare);
    let result = forward();
    if let Some(mut prepared) = prepared
        && result == 0
    {
        thread::sheltered(|| start(&mut prepared));
    }
    result
}

/// What is done before the library's own Init.
struct Prepared {
    settings: Settings,
    presence: Option<Presence>,
    header: RankHeader,
    folder: PathBuf,
}

fn prepare() -> Option<Prepared> {
    let settings = Settings::read();
    say::set_verbose(settings.verbose);
    if settings.disabled {
        return None;
    }
    let source = ticks::choose_source();
    let header = RankHeader {
        boot_id: factors::boot_id(),
        rank: NO_RANK,
        pid: std::process::id(),
        state: state::STARTING,
        clock_source: source,
        ring: settings.ring.into(),
        capacity: settings.capacity,
        nominal_hz: ticks::nominal_hz(),
        first_anchor: ticks::anchor(),
        ..RankHeader::zeroed()
    };
    let presence = Some(Presence::announce(Job::read(), &settings.segment_folders()));
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Some(Prepared { settings, presence, header, folder })
}

fn start(prepared: &mut Prepared) -> Option<()> {
    let abi = abi::get();
    // SAFETY: MPI is initialised and the handle is MPI_COMM_WORLD.
    let word = |function: unsafe fn(usize, usize) -> bool| mpi::int(|place| unsafe { function(abi.comm_world, place) });
    let rank = u32::try_from(word(mpi::comm_rank)?).ok()?;
    let world_size = u32::try_from(word(mpi::comm_size)?).ok()?;
    say::set_rank(rank);

    let settings = std::mem::replace(&mut prepared.settings, Settings::read());
    let mut presence = prepared.presence.take()?;
    let output = output::path_of(&settings, &prepared.folder);
    let all_traced = presence.all_traced(world_size, output.parent().unwrap_or(Path::new(".")));
    presence.withdraw_markers();
    let world = if all_traced && world_size > 1 { own_world() } else { None };
    if world.is_some() {
        // Making a communicator needed every rank: all have read what was settled.
        presence.withdraw_settlements();
    }
    let job_key = presence.job.key;
    let run = Run {
        settings,
        live: OnceLock::new(),
        rank,
        world_size,
        job: token(world, job_key, rank),
        world,
        presence,
        folder: std::mem::take(&mut prepared.folder),
    };
    // From here on this rank takes part at Finalize, whatever else fails: the others will wait for it there.
    RUN.set(run).ok()?;
    let run = RUN.get()?;

    let speaks = rank == 0 || world.is_none() && world_size > 1;
    if speaks {
        run.settings.warnings.iter().for_each(|warning| say::line(warning));
        say_leftovers(&run.settings);
    }
    if !all_traced {
        say::warn(
            "some ranks of this program run without the tracer; each traced rank writes a file of its own, and their clocks and numbers stand alone",
        );
    }
    let header = RankHeader { job: run.job, rank, world_size, abi: abi.family, ..prepared.header };
    let name = live::segment_name(job_key);
    let columns: Vec<(&str, u32)> = COLUMNS.into_iter().chain(REQUEST_COLUMNS).collect();
    let Some(live) = Live::create(&run.settings.segment_folders(), &name, header, &columns) else {
        say::warn("no memory for the records; this rank runs untraced");
        return None;
    };
    if speaks {
        say_other_folder(&run.settings, live.folder());
    }
    let live: &'static Live = Box::leak(Box::new(live));
    run.live.set(live).ok()?;
    registry::start(live);
    communicators::start(rank, world_size)?;
    let recorded = factors::all(&run.settings, rank == 0);
    let reference = live.add_string(&trace::trace::factors::encode(&recorded));
    // SAFETY: the header is mapped, and nobody else writes to it yet.
    unsafe {
        let header = &mut *live.header();
        header.factors = reference;
        header.rank.last_anchor = ticks::anchor();
        header.rank.state = state::RUNNING;
    }
    if speaks {
        let library = mpi::library_version().unwrap_or_default();
        say::detail(&format!(
            "tracing {world_size} ranks on {}, {} records per rank, live in {}",
            library.lines().next().unwrap_or("an MPI library that does not tell its name"),
            run.settings.capacity,
            live.folder().unwrap_or(Path::new("private memory")).display()
        ));
    }
    thread::start(live);
    mode::start();
    Some(())
}

/// A communicator of the tracer's own. A private one inherits MPI_ERRORS_ARE_FATAL; ours returns them.
fn own_world() -> Option<usize> {
    let abi = abi::get();
    // SAFETY: MPI is initialised, all ranks are traced and so all come here.
    unsafe {
        let world = mpi::handle(|place| mpi::comm_dup(abi.comm_world, place))?;
        mpi::comm_set_errhandler(world, abi.errors_return);
        Some(world)
    }
}

/// The run's token: rank 0's, or where the ranks cannot be asked what the launcher gives them in common.
fn token(world: Option<usize>, job_key: u64, rank: u32) -> [u8; 16] {
    let mut token = [0; 16];
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    match world {
        Some(world) => {
            if rank == 0 {
                token[..8].copy_from_slice(&(now.as_nanos() as u64).to_le_bytes());
                token[8..].copy_from_slice(&(job_key ^ u64::from(std::process::id()) << 32).to_le_bytes());
            }
            // SAFETY: all ranks come here with a buffer of 16 bytes.
            unsafe { mpi::bcast(token.as_mut_ptr().expose_provenance(), token.len(), abi::get().byte, 0, world) };
        }
        None => {
            token[..8].copy_from_slice(&job_key.to_le_bytes());
            token[8..].copy_from_slice(&u64::from(rank == NO_RANK).to_le_bytes());
        }
    }
    token
}

/// Says so where the live records do not lie where they should.
fn say_other_folder(settings: &Settings, folder: Option<&Path>) {
    match (folder, &settings.segment_folder) {
        (None, _) => say::line(
            "no folder takes the live records, they lie in private memory: a kill loses them (MPITRACE_SEGMENT_DIR names a folder)",
        ),
        (Some(folder), Some(asked)) if folder != asked => say::line(&format!(
            "MPITRACE_SEGMENT_DIR={} takes no records, they lie in {}",
            asked.display(),
            folder.display()
        )),
        _ => {}
    }
}

fn say_leftovers(settings: &Settings) {
    // SAFETY: has no preconditions.
    let uid = unsafe { libc::getuid() };
    // Where this run's own records would be left; who names a folder is told of that one.
    let folders = match &settings.segment_folder {
        Some(folder) => vec![folder.clone()],
        None => settings.segment_folders(),
    };
    for folder in folders {
        let jobs =
            recover::leftovers(std::slice::from_ref(&folder), Some(uid)).map(recover::by_job).unwrap_or_default();
        if !jobs.is_empty() {
            let what = if jobs.len() == 1 { "a killed job".to_owned() } else { format!("{} killed jobs", jobs.len()) };
            say::line(&format!(
                "{} holds the records of {what}: mpitrace recover {0} -o FILE makes a trace of them",
                folder.display()
            ));
        }
    }
}

/// `MPI_Finalize`: writes the trace, and always reaches the library's own.
pub fn finalize(forward: impl FnOnce() -> c_int) -> c_int {
    static ENTERED: AtomicBool = AtomicBool::new(false);
    if let Some(run) = RUN.get()
        && !ENTERED.swap(true, Ordering::AcqRel)
    {
        mode::stop();
        if let Some(live) = run.live.get() {
            // SAFETY: the header is mapped; recording has ended.
            unsafe {
                let header = &mut *live.header();
                header.rank.last_anchor = ticks::anchor();
                header.rank.state = state::FINALIZED;
            }
        }
        thread::sheltered(|| {
            output::write(run);
            run.presence.withdraw_settlements();
            Some(())
        });
    }
    forward()
}

/// `MPI_Abort`: the records lie safe already; the other ranks may be dead before they know.
pub fn abort(forward: impl FnOnce() -> c_int) -> c_int {
    if mode::is_on()
        && let Some(live) = RUN.get().and_then(|run| run.live.get())
    {
        // SAFETY: the header is mapped.
        unsafe {
            let header = &mut *live.header();
            header.rank.last_anchor = ticks::anchor();
            header.rank.state = state::ABORTED;
        }
        if let Some(folder) = live.folder() {
            say::warn(&format!(
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
