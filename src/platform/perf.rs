//! Counters of the processor and of the kernel, as perf_event_open(2) is asked for them (linux/perf_event.h).

use std::ffi::{c_int, c_ulong};
use std::ptr::NonNull;

/// Hardware events by the kernel's generic names (`PERF_TYPE_HARDWARE`).
pub const HARDWARE: u32 = 0;
/// Events of the kernel's own (`PERF_TYPE_SOFTWARE`).
pub const SOFTWARE: u32 = 1;
/// Cache, operation and result (`PERF_TYPE_HW_CACHE`).
pub const CACHE: u32 = 3;
/// The processor's own code (`PERF_TYPE_RAW`).
pub const RAW: u32 = 4;

/// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
pub const CONTEXT_SWITCHES: u64 = 3;
/// `PERF_COUNT_SW_CPU_MIGRATIONS`.
pub const CPU_MIGRATIONS: u64 = 4;
/// `PERF_COUNT_SW_DUMMY`: counts nothing.
pub const DUMMY: u64 = 9;

/// `PERF_FLAG_FD_CLOEXEC`.
pub const CLOSE_ON_EXEC: c_ulong = 8;

/// The first version of `perf_event_attr`, which every kernel knows (`PERF_ATTR_SIZE_VER0`); nothing later is needed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// One of the types above.
    pub kind: u32,
    /// Bytes of this structure.
    pub size: u32,
    /// Which one of its type.
    pub config: u64,
    /// For sampling, which is not done here.
    pub sample_period: u64,
    /// For sampling, too.
    pub sample_type: u64,
    /// Bits of [`mod@format`].
    pub read_format: u64,
    /// Bits of [`flag`].
    pub flags: u64,
    /// For sampling.
    pub wakeup_events: u32,
    /// For breakpoints.
    pub breakpoint_type: u32,
    /// Shared with the address of a breakpoint.
    pub config1: u64,
}

/// Bytes of [`Attributes`].
const ATTRIBUTES_SIZE: usize = 64;
const _: () = assert!(size_of::<Attributes>() == ATTRIBUTES_SIZE);
const _: () = assert!(std::mem::offset_of!(Attributes, flags) == 40 && std::mem::offset_of!(Attributes, config1) == 56);

/// Bits of [`Attributes::flags`], in the order of the structure's bit field.
pub mod flag {
    /// Waits to be started.
    pub const DISABLED: u64 = 1;
    /// Not while the program runs.
    pub const EXCLUDE_USER: u64 = 1 << 4;
    /// Not while the kernel works for it.
    pub const EXCLUDE_KERNEL: u64 = 1 << 5;
    /// Not while a hypervisor does.
    pub const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
}

/// Bits of [`Attributes::read_format`].
pub mod format {
    /// `PERF_FORMAT_TOTAL_TIME_ENABLED`: how long the event was to count.
    pub const TIME_ENABLED: u64 = 1;
    /// `PERF_FORMAT_TOTAL_TIME_RUNNING`: how long it counted.
    pub const TIME_RUNNING: u64 = 1 << 1;
    /// `PERF_FORMAT_ID`: the kernel's number of each event, behind its count.
    pub const ID: u64 = 1 << 2;
    /// `PERF_FORMAT_GROUP`: a leader gives the counts of its group.
    pub const GROUP: u64 = 1 << 3;
}

impl Attributes {
    /// The attributes of a counting event, with all else 0.
    pub fn new(kind: u32, config: u64) -> Attributes {
        Attributes { kind, size: ATTRIBUTES_SIZE as u32, config, ..Attributes::default() }
    }
}

/// A descriptor of the event of the calling thread on any processor, in the group of `leader`; else the number of
/// errno.h.
pub fn open(attributes: &Attributes, leader: Option<c_int>, options: c_ulong) -> Result<c_int, c_int> {
    let (this_thread, any_processor) = (0, -1);
    // SAFETY: the structure is as long as it says, and outlives the call.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            this_thread,
            any_processor,
            leader.unwrap_or(-1),
            options,
        )
    };
    match event {
        ..0 => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        event => Ok(event as c_int),
    }
}

/// Bytes of the part of an event's page that has its fields (`perf_event_mmap_page`).
const PAGE: usize = 4096;

/// The first page of an event, mapped, without the buffer of samples that would follow; unmapped when it is dropped. In
/// a child that is forked off it is not mapped: the kernel leaves it out.
///
/// The system calls are made directly: UCX puts functions of its own in the place of the C library's, which hold a spin
/// lock.
#[derive(Debug)]
pub struct MappedPage {
    start: NonNull<u8>,
    /// The process that has mapped it.
    process: c_int,
}

// SAFETY: the mapping is the process', and is only read.
unsafe impl Send for MappedPage {}

impl MappedPage {
    /// Maps the page of the event, whose descriptor may be closed afterwards.
    ///
    /// # Errors
    /// The number of errno.h: the user's processes have mapped as many pages as they may
    /// (`kernel.perf_event_mlock_kb`).
    pub fn new(event: c_int) -> Result<MappedPage, c_int> {
        // SAFETY: a new mapping at a place of the kernel's choice, which changes no other.
        let address =
            unsafe { libc::syscall(libc::SYS_mmap, 0usize, PAGE, libc::PROT_READ, libc::MAP_SHARED, event, 0usize) };
        match NonNull::new(address as *mut u8) {
            // SAFETY: getpid takes nothing and cannot fail.
            Some(start) if address != -1 => Ok(MappedPage { start, process: unsafe { libc::getpid() } }),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        }
    }

    /// Where it lies: aligned to a page, and mapped as long as `self` lives. The kernel changes it at any time.
    #[inline(always)]
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for MappedPage {
    fn drop(&mut self) {
        // SAFETY: getpid takes nothing. The page was mapped in `new` with this length; in a child something else may
        // lie there.
        unsafe {
            if libc::getpid() == self.process {
                libc::syscall(libc::SYS_munmap, self.start.as_ptr(), PAGE);
            }
        }
    }
}

/// Type and number of the generic event of this name, without regard to capitals.
pub fn generic(name: &str) -> Option<(u32, u64)> {
    let same = |known: &str| known.eq_ignore_ascii_case(name);
    let among = |names: &[(&str, u64)]| names.iter().find(|(known, _)| same(known)).map(|(_, config)| *config);
    among(&HARDWARE_NAMES)
        .map(|config| (HARDWARE, config))
        .or_else(|| Some((SOFTWARE, among(&SOFTWARE_NAMES)?)))
        .or_else(|| Some((CACHE, cache_names().find(|(known, _)| same(known))?.1)))
}

/// The names that [`generic`] knows.
pub fn generic_names() -> impl Iterator<Item = String> {
    let named = HARDWARE_NAMES.iter().chain(&SOFTWARE_NAMES).map(|(name, _)| (*name).to_owned());
    named.chain(cache_names().map(|(name, _)| name))
}

/// Generic hardware events: `PERF_COUNT_HW_*` in linux/perf_event.h.
const HARDWARE_NAMES: [(&str, u64); 14] = [
    ("cycles", 0),
    ("cpu-cycles", 0),
    ("instructions", 1),
    ("cache-references", 2),
    ("cache-misses", 3),
    ("branches", 4),
    ("branch-instructions", 4),
    ("branch-misses", 5),
    ("bus-cycles", 6),
    ("stalled-cycles-frontend", 7),
    ("idle-cycles-frontend", 7),
    ("stalled-cycles-backend", 8),
    ("idle-cycles-backend", 8),
    ("ref-cycles", 9),
];

/// Events of the kernel: `PERF_COUNT_SW_*`.
const SOFTWARE_NAMES: [(&str, u64); 12] = [
    ("cpu-clock", 0),
    ("task-clock", 1),
    ("page-faults", 2),
    ("faults", 2),
    ("context-switches", 3),
    ("cs", 3),
    ("cpu-migrations", 4),
    ("migrations", 4),
    ("minor-faults", 5),
    ("major-faults", 6),
    ("alignment-faults", 7),
    ("emulation-faults", 8),
];

/// Caches in the order of `PERF_COUNT_HW_CACHE_*`, each with its [`OPERATIONS`], as `perf list` shows them.
const CACHES: [(&str, &[u64]); 7] = [
    ("L1-dcache", &[0, 1, 2]),
    ("L1-icache", &[0, 2]),
    ("LLC", &[0, 1, 2]),
    ("dTLB", &[0, 1, 2]),
    ("iTLB", &[0]),
    ("branch", &[0]),
    ("node", &[0, 1, 2]),
];

/// In the order of `PERF_COUNT_HW_CACHE_OP_*`: how accesses are called, and how those that miss.
const OPERATIONS: [(&str, &str); 3] =
    [("loads", "load-misses"), ("stores", "store-misses"), ("prefetches", "prefetch-misses")];

/// The names of all cache events with their encodings: cache | operation << 8 | result << 16.
fn cache_names() -> impl Iterator<Item = (String, u64)> {
    (0u64..).zip(CACHES).flat_map(|(cache, (name, operations))| {
        operations.iter().flat_map(move |&operation| {
            let (all, misses) = OPERATIONS[operation as usize];
            [(all, 0), (misses, 1)]
                .map(|(ending, result)| (format!("{name}-{ending}"), cache | operation << 8 | result << 16))
        })
    })
}
