//! Samples of a thread of another process, as the kernel takes them: a clock of its processor time that runs in
//! software, with the registers and the upper part of the user stack (perf_event_open(2)).
//!
//! The kernel writes them to a buffer that is mapped here; nothing is added to the other process. Where samples of the
//! kernel are not allowed there are none for that time. There the thread's context switches say how long it was on a
//! processor, so that the samples that are missing, and their times, follow: [`super::gaps`].

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use mpitrace_platform::perf::{self, flag};

use super::capture::Registers;
use super::memory::Map;

/// `perf_event_attr` with what sampling needs (`PERF_ATTR_SIZE_VER3`).
#[repr(C)]
struct Attributes {
    counting: perf::Attributes,
    config2: u64,
    branches: u64,
    registers: u64,
    stack_bytes: u32,
    clock: c_int,
}

/// `PERF_COUNT_SW_CPU_CLOCK` and `PERF_COUNT_SW_PAGE_FAULTS`.
const CPU_CLOCK: u64 = 0;
const PAGE_FAULTS: u64 = 2;

/// The registers of a sample, without flags and segments, and which of them are frame pointer, stack pointer and
/// program counter.
#[cfg(target_arch = "aarch64")]
const REGISTERS: (u64, [usize; 3]) = ((1 << 33) - 1, [29, 31, 32]);
#[cfg(not(target_arch = "aarch64"))]
const REGISTERS: (u64, [usize; 3]) = (0xff << 16 | 0x1ff, [6, 7, 8]);

/// `PERF_SAMPLE_IDENTIFIER`, `IP`, `TIME`, `REGS_USER` and `STACK_USER`.
const CONTENT: u64 = 1 << 16 | 1 | 1 << 2 | 1 << 12 | 1 << 13;
/// Bits of the flags that `perf` does not name: mmap, freq, watermark, sample_id_all, mmap2, use_clockid,
/// context_switch.
const MAPS: u64 = 1 << 8 | 1 << 23;
const FREQUENCY: u64 = 1 << 10;
const WATERMARK: u64 = 1 << 14;
const TRAILERS: u64 = 1 << 18;
const CLOCK: u64 = 1 << 25;
const SWITCHES: u64 = 1 << 26;

/// The part of a stack that a sample has, bytes.
const STACK: u32 = 8 << 10;
/// The buffer holds the samples of this time, s; ...
const HELD: f64 = 0.1;
/// ... of a low rate that of a longer one, in which the observer may get no processor, as far as this is enough, bytes;
/// ...
const HELD_LONGER: f64 = 0.6;
const ENOUGH: usize = 256 << 10;
/// ... within these bounds. A user may map 516 KiB for each processor by default, and as much as may be locked.
const SMALLEST: usize = 32 << 10;
const LARGEST: usize = 8 << 20;
/// Where the data begin, and how far they were written and read, in the first page (`perf_event_mmap_page`).
const PAGE: usize = 4096;
const HEAD: usize = 1024;
const TAIL: usize = 1032;

#[derive(Debug)]
pub enum Record<'b> {
    /// The thread has used a period of processor time.
    Tick(Moment<'b>),
    /// It has touched memory that has no page yet.
    Fault(Moment<'b>),
    /// It was put on a processor, or taken off, at this time.
    Switch(u64, bool),
    /// It has mapped code.
    Mapped(Map),
    /// So many records are missing before the next one.
    Lost(u64),
}

impl Record<'_> {
    /// When it was written, CLOCK_MONOTONIC_RAW in ns; `None`: not known.
    pub fn ns(&self) -> Option<u64> {
        match self {
            Record::Tick(moment) | Record::Fault(moment) => Some(moment.ns),
            Record::Switch(ns, _) => Some(*ns),
            Record::Mapped(_) | Record::Lost(_) => None,
        }
    }
}

#[derive(Debug)]
pub struct Moment<'b> {
    /// CLOCK_MONOTONIC_RAW, ns.
    pub ns: u64,
    /// The address in the kernel; `None`: the program's code ran.
    pub kernel: Option<u64>,
    /// Its registers there, or where it entered the kernel.
    pub registers: Registers,
    /// All of them.
    pub all: &'b [u8],
    /// The stack, from its pointer on.
    pub stack: &'b [u8],
}

pub struct Event {
    clock: File,
    /// Kept open.
    _faults: Option<OwnedFd>,
    /// The kernel's number of the events of faults.
    fault_id: u64,
    map: *mut u8,
    bytes: usize,
    record: Vec<u8>,
    /// True if there are samples of the kernel.
    pub sees_kernel: bool,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Event {}

impl Event {
    /// Samples a thread `hz` times per second of its processor time, from now on. If samples of the kernel are not
    /// allowed, and `switches` is true, the context switches of the thread are recorded as well.
    pub fn open(tid: u32, hz: f64, switches: bool) -> io::Result<Event> {
        let bytes = |seconds: f64| (hz * seconds * f64::from(STACK)) as usize;
        let (period, wanted) = ((1e9 / hz) as u64, bytes(HELD).max(bytes(HELD_LONGER).min(ENOUGH)));
        let mut data = wanted.clamp(SMALLEST, LARGEST).next_power_of_two();
        let (clock, sees_kernel, map) = loop {
            let with_kernel = open(tid, CPU_CLOCK, period, MAPS, data / 2);
            let (clock, sees_kernel) = match with_kernel {
                Ok(clock) => (clock, true),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    let switches = if switches { SWITCHES } else { 0 };
                    (open(tid, CPU_CLOCK, period, MAPS | switches | flag::EXCLUDE_KERNEL, data / 2)?, false)
                }
                Err(error) => return Err(error),
            };
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping at a place of the kernel's choice, which changes no other.
            let map = unsafe {
                libc::mmap(std::ptr::null_mut(), PAGE + data, protection, libc::MAP_SHARED, clock.as_raw_fd(), 0)
            };
            if map != libc::MAP_FAILED {
                break (File::from(clock), sees_kernel, map.cast());
            }
            if data <= SMALLEST {
                return Err(io::Error::last_os_error());
            }
            data /= 2;
        };
        let bytes = PAGE + data;
        let mut event = Event { clock, _faults: None, fault_id: 0, map, bytes, record: Vec::new(), sees_kernel };
        if !sees_kernel {
            // Where the thread enters the kernel for a page, which is much of what it does there.
            let faults = open(tid, PAGE_FAULTS, hz as u64, FREQUENCY | flag::EXCLUDE_KERNEL, data / 2)?;
            request(&faults, SET_OUTPUT, event.clock.as_raw_fd() as usize)?;
            request(&faults, ID, &raw mut event.fault_id as usize)?;
            event._faults = Some(faults);
        }
        Ok(event)
    }

    /// Becomes readable when the buffer is half full.
    pub fn descriptor(&self) -> RawFd {
        self.clock.as_raw_fd()
    }

    /// Takes what the buffer has.
    pub fn drain(&mut self, mut take: impl FnMut(Record<'_>)) {
        let word = |at: usize| {
            // SAFETY: within the first page, aligned, and mapped as long as `self` lives; the kernel changes it at any
            // time, as an atomic does.
            unsafe { AtomicU64::from_ptr(self.map.add(at).cast()) }
        };
        let (head, mut tail) = (word(HEAD).load(Ordering::Acquire), word(TAIL).load(Ordering::Relaxed));
        while head.wrapping_sub(tail) >= 8 {
            let mut header = [0; 8];
            self.copy(tail, &mut header);
            let length = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if length < header.len() {
                break;
            }
            let mut bytes = std::mem::take(&mut self.record);
            bytes.resize(length, 0);
            self.copy(tail, &mut bytes);
            if let Some(record) = parse(&bytes, self.fault_id) {
                take(record);
            }
            self.record = bytes;
            tail = tail.wrapping_add(length as u64);
            word(TAIL).store(tail, Ordering::Release);
        }
    }

    /// Copies bytes of the buffer, whose end is joined to its start. They are not written before its tail has passed.
    fn copy(&self, from: u64, to: &mut [u8]) {
        let data = self.bytes - PAGE;
        let first = from as usize % data;
        let until_end = to.len().min(data - first);
        // SAFETY: both parts lie within the data, which the kernel does not change before the tail has passed them.
        unsafe {
            std::ptr::copy_nonoverlapping(self.map.add(PAGE + first), to.as_mut_ptr(), until_end);
            std::ptr::copy_nonoverlapping(
                self.map.add(PAGE),
                to.as_mut_ptr().add(until_end),
                (to.len() - until_end).min(data),
            );
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing uses it any more.
        unsafe { libc::munmap(self.map.cast(), self.bytes) };
    }
}

/// `PERF_EVENT_IOC_SET_OUTPUT` and `PERF_EVENT_IOC_ID`.
const SET_OUTPUT: libc::Ioctl = 0x2405;
const ID: libc::Ioctl = 2 << 30 | 8 << 16 | 0x2407;

fn request(event: &OwnedFd, request: libc::Ioctl, argument: usize) -> io::Result<()> {
    // SAFETY: takes a number, or writes one word to an address that the caller has.
    match unsafe { libc::ioctl(event.as_raw_fd(), request, argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn open(tid: u32, config: u64, period: u64, flags: u64, wakeup_bytes: usize) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        counting: perf::Attributes {
            size: size_of::<Attributes>() as u32,
            sample_period: period,
            sample_type: CONTENT,
            flags: flags | flag::EXCLUDE_HYPERVISOR | WATERMARK | TRAILERS | CLOCK,
            wakeup_events: wakeup_bytes as u32,
            ..perf::Attributes::new(perf::SOFTWARE, config)
        },
        config2: 0,
        branches: 0,
        registers: REGISTERS.0,
        stack_bytes: STACK,
        clock: libc::CLOCK_MONOTONIC_RAW,
    };
    let (any_processor, no_leader) = (-1, -1);
    // SAFETY: the structure is as long as it says, and outlives the call; the descriptor is new.
    unsafe {
        let attributes = std::ptr::from_ref(&attributes);
        let event = libc::syscall(
            libc::SYS_perf_event_open,
            attributes,
            tid as libc::pid_t,
            any_processor,
            no_leader,
            perf::CLOSE_ON_EXEC,
        );
        if event < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(event as c_int)) }
    }
}

/// Reads a record; `None`: it is of another kind.
fn parse(bytes: &[u8], fault_id: u64) -> Option<Record<'_>> {
    let half = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let misc = u16::from_ne_bytes([bytes[4], bytes[5]]);
    match half(0)? {
        // PERF_RECORD_LOST
        2 => Some(Record::Lost(word(16)?)),
        // PERF_RECORD_SAMPLE
        9 => {
            let (id, address, ns) = (word(8)?, word(16)?, word(24)?);
            // PERF_SAMPLE_REGS_ABI_64; a thread of the kernel has no registers of a program.
            if word(32)? != 2 {
                return None;
            }
            let behind = 40 + 8 * REGISTERS.0.count_ones() as usize;
            let all = bytes.get(40..behind)?;
            let [fp, sp, pc] = REGISTERS.1.map(|number| word(40 + 8 * number));
            let lr = if cfg!(target_arch = "aarch64") { word(40 + 8 * 30)? } else { 0 };
            let registers = Registers { pc: pc?, sp: sp?, fp: fp?, lr };
            let length = word(behind)? as usize;
            let stack: Range<usize> = behind + 8..behind.checked_add(8)?.checked_add(length)?;
            // How much of it could be read stands behind it.
            let stack = bytes.get(stack.clone())?.get(..word(stack.end).unwrap_or(0) as usize)?;
            // PERF_RECORD_MISC_KERNEL
            let kernel = (misc & 7 == 1).then_some(address);
            let moment = Moment { ns, kernel, registers, all, stack };
            Some(if id == fault_id && id != 0 { Record::Fault(moment) } else { Record::Tick(moment) })
        }
        // PERF_RECORD_MMAP2
        10 => {
            let (address, length, offset) = (word(16)?, word(24)?, word(32)?);
            let name = bytes.get(72..)?;
            let name = &name[..name.iter().position(|byte| *byte == 0)?];
            let path = String::from_utf8_lossy(name).into_owned();
            Some(Record::Mapped(Map { range: address..address.checked_add(length)?, offset, path }))
        }
        // PERF_RECORD_SWITCH; its trailer is the time and the event's number. PERF_RECORD_MISC_SWITCH_OUT
        14 => Some(Record::Switch(word(8)?, misc & 1 << 13 == 0)),
        _ => None,
    }
}
