//! The calls of the C library and the kernel that Rust's library does not have, each behind a function that cannot be
//! misused.

use std::ffi::{CStr, c_int};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of the user of this process.
pub fn user() -> u32 {
    // SAFETY: getuid has no preconditions and cannot fail.
    unsafe { libc::getuid() }
}

/// The number of the calling thread, as the kernel has it.
pub fn thread() -> u32 {
    // SAFETY: gettid takes no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// The processor that the calling thread is on; `u32::MAX`: the kernel does not say.
#[inline]
pub fn processor() -> u32 {
    // SAFETY: takes no arguments; -1 where the kernel lacks the call.
    unsafe { libc::sched_getcpu() as u32 }
}

/// Processors that a thread may run on, a bit for each: room for as many as the kernel can be built for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processors([u64; 8192 / 64]);

impl Processors {
    /// The processors of the calling thread; `None`: the kernel does not say.
    pub fn allowed() -> Option<Processors> {
        let mut set = Processors([0; 8192 / 64]);
        // SAFETY: the kernel writes at most as many bytes as it is told, and the set is made of numbers.
        let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set.0), set.0.as_mut_ptr().cast()) };
        (result == 0).then_some(set)
    }

    /// This processor alone.
    pub fn only(processor: u32) -> Processors {
        let mut set = Processors([0; 8192 / 64]);
        if let Some(word) = set.0.get_mut(processor as usize / 64) {
            *word = 1 << (processor % 64);
        }
        set
    }

    /// Their numbers, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (0..8192).filter(|&number| self.0[number as usize / 64] >> (number % 64) & 1 == 1)
    }

    /// Lets the calling thread run on these alone; when this returns it is on one of them. False: the kernel refuses.
    pub fn allow(&self) -> bool {
        // SAFETY: the kernel reads as many bytes as it is told.
        unsafe { libc::sched_setaffinity(0, size_of_val(&self.0), self.0.as_ptr().cast()) == 0 }
    }
}

/// True if there is a process with this number.
pub fn exists(process: u32) -> bool {
    // SAFETY: takes numbers; without a signal only the process is looked for.
    let found = unsafe { libc::kill(process as libc::pid_t, 0) } == 0;
    found || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Context switches of the calling thread so far: those by which it gave up its processor, and the others.
#[inline]
pub fn switches() -> [u64; 2] {
    // SAFETY: a rusage is made of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call, which writes nothing else.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    [usage.ru_nvcsw as u64, usage.ru_nivcsw as u64]
}

/// Makes a folder that no other user may enter. It is refused where the name is taken, also by a link.
///
/// # Errors
/// The errors of mkdir(2).
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// The name of this host, of its network namespace's view.
pub fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as it says.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// Refuses the end of a file beyond RLIMIT_FSIZE: the kernel would send SIGXFSZ there, which ends the program.
///
/// # Errors
/// `EFBIG`: the file may not be so large.
pub fn check_size(end: u64) -> io::Result<()> {
    let is_beyond = file_size_limit().is_some_and(|limit| end > limit);
    if is_beyond { Err(io::Error::from_raw_os_error(libc::EFBIG)) } else { Ok(()) }
}

/// The name of the user, as the login has set it; else the number.
pub fn user_name() -> String {
    // Not from the user database, which may be asked over a network.
    let set = ["LOGNAME", "USER"].into_iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    set.filter(|name| !name.starts_with('.')).unwrap_or_else(|| user().to_string())
}

/// A time, where the program runs, in a format of strftime.
pub fn local_time(time: SystemTime, format: &CStr) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as libc::time_t;
    // SAFETY: a tm is made of numbers and of a pointer that may be null, so that zeros are a valid one.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    let mut text = [0u8; 64];
    // SAFETY: `seconds` and `local` outlive the call.
    unsafe { libc::localtime_r(&raw const seconds, &raw mut local) };
    // SAFETY: the buffer is as long as it says, the format is a C string, and `local` was filled in above.
    let length = unsafe { libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &raw const local) };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

fn limit(resource: libc::__rlimit_resource_t) -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` outlives the call, which writes nothing else.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur
}

/// How much address space this process may take, bytes; `None`: it is not limited.
pub fn address_space_limit() -> Option<u64> {
    Some(limit(libc::RLIMIT_AS)).filter(|&limit| limit != libc::RLIM_INFINITY)
}

/// The size of a page of memory, bytes.
pub fn page_size() -> u64 {
    // SAFETY: takes a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// How many descriptors this process may have.
pub fn descriptor_limit() -> u64 {
    limit(libc::RLIMIT_NOFILE)
}

/// How large a file this process may write, bytes; `None`: any.
fn file_size_limit() -> Option<u64> {
    Some(limit(libc::RLIMIT_FSIZE)).filter(|&limit| limit != libc::RLIM_INFINITY)
}

/// Does something of the tracer's own that may have other code write to files. Where files have a size limit the kernel
/// sends SIGXFSZ to whoever writes beyond it: meanwhile the write fails, and that is all.
pub fn without_file_size_signal<T>(work: impl FnOnce() -> T) -> T {
    if file_size_limit().is_none() { work() } else { without_signal(libc::SIGXFSZ, work) }
}

fn no_signals() -> libc::sigset_t {
    // SAFETY: a signal set is made of integers, of which zeros are the empty one.
    unsafe { std::mem::zeroed() }
}

/// Does something with another mask of signals on this thread: one that `how` combines with the present one.
fn with_mask<T>(how: c_int, signals: &libc::sigset_t, work: impl FnOnce() -> T) -> T {
    let mut before = no_signals();
    // SAFETY: both sets outlive the calls, which change this thread's mask alone.
    let is_changed = unsafe { libc::pthread_sigmask(how, signals, &raw mut before) } == 0;
    let done = work();
    if is_changed {
        // SAFETY: `before` was filled in above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    }
    done
}

/// Does something for which the kernel may send this thread a signal whose default action ends the program, and takes
/// the signal back. One that was pending before is the program's and stays pending.
pub fn without_signal<T>(signal: c_int, work: impl FnOnce() -> T) -> T {
    let mut signals = no_signals();
    // SAFETY: the set outlives the call, which changes nothing else.
    unsafe { libc::sigaddset(&raw mut signals, signal) };
    let was_pending = is_pending(signal);
    with_mask(libc::SIG_BLOCK, &signals, || {
        let done = work();
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // What is pending for the thread, as this one is, comes before what is pending for the process.
        // SAFETY: the set and the time outlive the call, which may be given no place for what it finds.
        while unsafe { libc::sigtimedwait(&raw const signals, std::ptr::null_mut(), &raw const at_once) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        if was_pending && !is_pending(signal) {
            // The one from before was the thread's too, and both were one.
            // SAFETY: the signal is blocked, so that nothing runs now.
            unsafe { libc::raise(signal) };
        }
        done
    })
}

fn is_pending(signal: c_int) -> bool {
    let mut pending = no_signals();
    // SAFETY: the set outlives the calls.
    unsafe {
        libc::sigpending(&raw mut pending);
        libc::sigismember(&raw const pending, signal) == 1
    }
}

/// How large the file system of a file is, and how much of it is free for this process, bytes; `None`: not known.
pub fn room(file: &impl AsRawFd) -> Option<(u64, u64)> {
    // SAFETY: the structure is made of integers.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor stays open as long as the file is borrowed, and `found` outlives the call.
    let known = unsafe { libc::fstatvfs(file.as_raw_fd(), &raw mut found) } == 0;
    // A file system without a limit of its own has no blocks.
    (known && found.f_blocks > 0).then(|| (found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize))
}

/// Takes memory for a range of a file. False where there is none, or the process may not have so large a file.
pub fn allocate(file: &impl AsRawFd, offset: u64, length: u64) -> bool {
    if check_size(offset + length).is_err() {
        return false;
    }
    // Kernels before 2024 undo the work on tmpfs when any signal is pending: a profiler's timer would have it begin
    // again for ever.
    without_signals(|| {
        loop {
            // SAFETY: the descriptor stays open as long as the file is borrowed; the call touches no memory of ours.
            match unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as libc::off_t, length as libc::off_t) } {
                0 => return true,
                libc::EINTR => {}
                _ => return false,
            }
        }
    })
}

/// Gives the memory of a range of a file of the node back: it holds zeros then. Some file systems keep it.
pub fn release(file: &impl AsRawFd, offset: u64, length: u64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the descriptor stays open as long as the file is borrowed; the call touches no memory of ours.
    let _ = unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as libc::off_t, length as libc::off_t) };
}

/// Does something while this thread takes no signals; what comes meanwhile is delivered behind it. A thread that is
/// made meanwhile takes none for ever.
pub fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    let mut all = no_signals();
    // SAFETY: the set outlives the call, which changes nothing else.
    unsafe { libc::sigfillset(&raw mut all) };
    with_mask(libc::SIG_SETMASK, &all, work)
}

/// Locks the whole file against other processes, until its descriptor is closed or this process ends in whatever way;
/// waits for those that hold it, if it is to.
///
/// # Errors
/// The errors of fcntl(2): with `wait` false also that another process holds the lock.
pub fn lock(file: &impl AsRawFd, wait: bool) -> io::Result<()> {
    let lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    let command = if wait { libc::F_SETLKW } else { libc::F_SETLK };
    loop {
        // SAFETY: the descriptor stays open as long as the file is borrowed, and `lock` outlives the call.
        if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw const lock) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Has `work` run when this process ends by `exit` or by returning from `main`.
pub fn at_exit(work: extern "C" fn()) {
    // SAFETY: the function takes nothing and may run at any time; this library stays mapped until after it.
    unsafe { libc::atexit(work) };
}

/// Has `work` run in every child that the process forks off. It may do no more than store to statics.
pub fn in_children(work: extern "C" fn()) {
    // SAFETY: the pointer has the same type but for `unsafe`, which asks for nothing here.
    let work: unsafe extern "C" fn() = work;
    // SAFETY: the function takes nothing, and does what a child of a process with threads may do.
    unsafe { libc::pthread_atfork(None, None, Some(work)) };
}

/// Lets every process of this user read this one by ptrace(2), where Yama forbids that. It holds until the process says
/// something else: the MPI library, which does so for its own ends, comes after this.
pub fn let_others_trace() {
    // SAFETY: prctl takes numbers here. A kernel without Yama refuses it, and needs none.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}
