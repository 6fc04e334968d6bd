//! The registers and the stack of a thread of another process, copied while it stands still.
//!
//! A thread that waits in the kernel is not stopped: the kernel has its stack pointer, and that it waits in the same
//! call after the stack was copied shows that nothing has changed. It is stopped (ptrace(2), `PTRACE_INTERRUPT`, no
//! signal) where it runs, or waits in a call that the kernel restarts by itself. Other calls would end with EINTR.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use super::memory::{Map, Memory};

/// No more of a stack is copied, in bytes: 512 KiB took 0.1 ms.
const LONGEST: u64 = 512 << 10;
/// A thread that has not stopped after this time is let go.
const PATIENCE: Duration = Duration::from_millis(200);
/// A thread that goes on from one call to the next while it is copied is tried so often.
const TRIES: usize = 3;
/// The calls that a stop does not end: signal(7), and tried with each of them.
#[rustfmt::skip]
const RESTARTED: &[libc::c_long] = &[
    libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_futex, libc::SYS_ppoll, libc::SYS_pselect6,
    libc::SYS_wait4, libc::SYS_waitid, libc::SYS_restart_syscall, libc::SYS_sched_yield,
    #[cfg(target_arch = "x86_64")] libc::SYS_poll,
    #[cfg(target_arch = "x86_64")] libc::SYS_select,
    #[cfg(target_arch = "x86_64")] libc::SYS_pause,
];

/// Why there is no stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It has ended.
    Ended,
    /// Another process traces it, by its number.
    Debugged(u32),
    /// The system does not permit it.
    Forbidden,
    /// It did not stop, or its stack cannot be read.
    Unreadable,
}

/// A thread as it stood.
#[derive(Debug)]
pub struct Thread {
    /// Where it is.
    pub registers: Registers,
    /// The address of the first byte of `stack`: its stack pointer.
    pub start: u64,
    /// The bytes from there on.
    pub stack: Vec<u8>,
}

/// The registers that a stack is unwound from. Those that are 0 are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The program counter.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer.
    pub fp: u64,
    /// arm64: the return address.
    pub lr: u64,
}

/// A thread that waits, as the kernel tells it in /proc.
struct Waits {
    /// The system call; -1: stopped outside of one.
    call: libc::c_long,
    /// Its first argument.
    first: u64,
    registers: Registers,
    /// All of it, with the arguments.
    text: String,
}

/// Copies a thread of the process. `maps` is what it has mapped.
///
/// # Errors
/// Why it cannot be copied; it goes on as before.
pub fn thread(memory: Memory, tid: u32, maps: &[Map]) -> Result<Thread, Why> {
    match tracer(memory.pid, tid) {
        None => return Err(Why::Ended),
        Some(0) => {}
        Some(tracer) => return Err(Why::Debugged(tracer)),
    }
    for _ in 0..TRIES {
        let Some(Waits { call, first, registers, text }) = waits(memory.pid, tid)? else { break };
        // Of a thread that is stopped all registers are known. Some functions cannot be unwound without the frame pointer,
        // as those of MPI_Finalize of MPICH 5, which reads from a socket.
        if RESTARTED.contains(&call) || call == libc::SYS_read && waits_for_all(memory.pid, first) {
            break;
        }
        let stack = copy(memory, registers.sp, maps)?;
        if waits(memory.pid, tid)?.is_some_and(|after| after.text == text) {
            return Ok(Thread { registers, start: registers.sp, stack });
        }
    }
    stopped(memory, tid, maps)
}

/// Copies a thread that waits in the kernel, without stopping it.
///
/// # Errors
/// Why it cannot be copied: it runs, or goes on from one call to the next.
pub fn waiting(memory: Memory, tid: u32, maps: &[Map]) -> Result<Thread, Why> {
    for _ in 0..TRIES {
        let Some(Waits { registers, text, .. }) = waits(memory.pid, tid)? else { break };
        let stack = copy(memory, registers.sp, maps)?;
        if waits(memory.pid, tid)?.is_some_and(|after| after.text == text) {
            return Ok(Thread { registers, start: registers.sp, stack });
        }
    }
    Err(Why::Unreadable)
}

/// The process that traces a thread; 0: none. `None`: it has ended.
fn tracer(pid: u32, tid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("TracerPid:")?.trim().parse().ok())
}

/// `None`: it runs.
fn waits(pid: u32, tid: u32) -> Result<Option<Waits>, Why> {
    let text = match std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(Why::Forbidden),
        // A kernel without this file.
        Err(_) => return Ok(None),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let address = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let [call, .., sp, pc] = words[..] else { return Ok(None) };
    let (Ok(call), Some(sp), Some(pc)) = (call.parse(), address(sp), address(pc)) else { return Ok(None) };
    let first = words.get(1).and_then(|word| address(word)).unwrap_or(u64::MAX);
    Ok(Some(Waits { call, first, registers: Registers { pc, sp, ..Registers::default() }, text }))
}

/// True if a stop does not change what read(2) returns from this descriptor of the process: of a pipe, and of a socket
/// that has no time limit and is satisfied with one byte (signal(7), socket(7)). Else the read would end with EINTR, or
/// with less than the socket waits for.
fn waits_for_all(pid: u32, descriptor: u64) -> bool {
    let file = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).unwrap_or_default();
    let file = file.to_string_lossy();
    if !file.starts_with("socket:") {
        return file.starts_with("pipe:");
    }
    let Some(socket) = copy_of(pid, descriptor) else { return false };
    let limit: Option<[libc::time_t; 2]> = option(&socket, libc::SO_RCVTIMEO);
    let least: Option<libc::c_int> = option(&socket, libc::SO_RCVLOWAT);
    limit == Some([0, 0]) && least == Some(1)
}

/// A descriptor of this process for the file of another one's.
fn copy_of(pid: u32, descriptor: u64) -> Option<OwnedFd> {
    // SAFETY: an open descriptor that nothing else here knows.
    let owned = |number: libc::c_long| (number >= 0).then(|| unsafe { OwnedFd::from_raw_fd(number as RawFd) });
    // SAFETY: takes numbers.
    let process = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: takes numbers.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor as libc::c_int, 0) })
}

/// An option of a socket, of numbers.
fn option<T: Copy + Default>(socket: &OwnedFd, name: libc::c_int) -> Option<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the socket is open; `value` and its length outlive the call, which writes no more than that, numbers.
    let code = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut length)
    };
    (code == 0).then_some(value)
}

/// The stack from its pointer to the end of what is mapped there.
fn copy(memory: Memory, sp: u64, maps: &[Map]) -> Result<Vec<u8>, Why> {
    let end = maps.iter().find(|map| map.range.contains(&sp)).ok_or(Why::Unreadable)?.range.end;
    memory.read(sp, (end - sp).min(LONGEST) as usize).ok_or(Why::Unreadable)
}

/// Stops the thread, copies it and lets it go on. In a thread of its own: what that has not let go, the kernel does
/// when it ends.
fn stopped(memory: Memory, tid: u32, maps: &[Map]) -> Result<Thread, Why> {
    std::thread::scope(|scope| {
        let tracer = scope.spawn(|| {
            let signal = stop(tid).map_err(|error| match error.raw_os_error() {
                Some(libc::ESRCH) => Why::Ended,
                Some(libc::EPERM | libc::EACCES) => Why::Forbidden,
                _ => Why::Unreadable,
            })?;
            let registers = registers(tid);
            let stack = registers.as_ref().ok().map(|registers| copy(memory, registers.sp, maps));
            request(libc::PTRACE_DETACH, tid, 0, signal as usize).map_err(|_| Why::Ended)?;
            let registers = registers.map_err(|_| Why::Unreadable)?;
            let stack = stack.unwrap_or(Err(Why::Unreadable))?;
            Ok(Thread { registers, start: registers.sp, stack })
        });
        tracer.join().unwrap_or(Err(Why::Unreadable))
    })
}

/// Stops a thread: the signal that it was about to take, with which it has to go on; 0: none.
fn stop(tid: u32) -> io::Result<libc::c_int> {
    request(libc::PTRACE_SEIZE, tid, 0, 0)?;
    request(libc::PTRACE_INTERRUPT, tid, 0, 0)?;
    let until = Instant::now() + PATIENCE;
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call. A thread that is traced is waited for as a child is.
        match unsafe { libc::waitpid(tid as libc::pid_t, &raw mut status, libc::__WALL | libc::WNOHANG) } {
            -1 => return Err(io::Error::last_os_error()),
            0 if Instant::now() > until => return Err(io::ErrorKind::TimedOut.into()),
            // Asleep this process would wake late, and the thread stand for that time.
            0 => std::thread::yield_now(),
            _ if !libc::WIFSTOPPED(status) => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            _ if status >> 16 == 0 => return Ok(libc::WSTOPSIG(status)),
            _ => return Ok(0),
        }
    }
}

fn request(request: libc::c_uint, tid: u32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: none of the requests that are made here writes to this process but PTRACE_GETREGSET, which gets the
    // address of a structure that says how large it is and outlives the call.
    match unsafe { libc::ptrace(request as _, tid as libc::pid_t, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The registers of a thread that is stopped.
fn registers(tid: u32) -> io::Result<Registers> {
    /// The general registers, of elf.h.
    const NT_PRSTATUS: usize = 1;
    // SAFETY: it is made of numbers, for which zeros are valid.
    let mut set: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let mut part = libc::iovec { iov_base: (&raw mut set).cast(), iov_len: size_of_val(&set) };
    request(libc::PTRACE_GETREGSET, tid, NT_PRSTATUS, &raw mut part as usize)?;
    #[cfg(target_arch = "x86_64")]
    return Ok(Registers { pc: set.rip, sp: set.rsp, fp: set.rbp, lr: 0 });
    #[cfg(target_arch = "aarch64")]
    return Ok(Registers { pc: set.pc, sp: set.sp, fp: set.regs[29], lr: set.regs[30] });
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Err(io::ErrorKind::Unsupported.into())
}
