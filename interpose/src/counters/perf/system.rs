//! The system calls of perf_event, as a trait, so that what is decided by their answers can be tried without a PMU.

use std::ffi::c_int;
use std::time::Duration;

use mpitrace_platform::perf::{self, Attributes, SOFTWARE, flag, format};
use mpitrace_platform::perf_event::Encoding;
use mpitrace_platform::time::Instant;

use crate::base::{descriptor, event, own_file};

/// A leader gives the counts of its group, with the times, and with the number of each event.
const READ_FORMAT: u64 = format::TIME_ENABLED | format::TIME_RUNNING | format::ID | format::GROUP;
/// How many words such a reading has before the counts: their number, time enabled and time running.
const HEAD: usize = 3;
/// How many words it has of each event: its count and its number.
const OF_EVENT: usize = 2;
/// The most events of a group, so that a reading fits on the stack; processors have about 8 counters.
pub const MOST: usize = 32;

/// How long a group may have to wait for its turn on the counters: the kernel takes turns every 4 ms
/// (`perf_event_mux_interval_ms`).
const TURN: Duration = Duration::from_millis(20);

/// The attributes of a counting event of the calling thread; a leader waits to be started. `config1` is passed on.
pub fn attributes(encoding: Encoding, leads: bool, config1: u64) -> Attributes {
    let mut flags = 0;
    let mut set = |wanted: bool, bits: u64| flags |= if wanted { bits } else { 0 };
    set(leads, flag::DISABLED);
    set(!encoding.user, flag::EXCLUDE_USER);
    set(!encoding.kernel, flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR);
    Attributes { read_format: READ_FORMAT, flags, config1, ..Attributes::new(encoding.kind, encoding.config) }
}

#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// How long the group was to count, ns.
    pub enabled: u64,
    /// How long it counted, ns.
    pub running: u64,
    /// The counts, in the order of opening.
    pub counts: [u64; MOST],
}

/// Opens, starts and closes events of the calling thread. Failures are numbers of errno.h.
pub trait System {
    /// A descriptor of the event, in the group of `leader`.
    fn open(&self, attributes: &Attributes, leader: Option<c_int>) -> Result<c_int, c_int>;
    /// Takes the event out of its group.
    fn close(&self, event: c_int);
    /// Starts the group anew, so that the kernel looks for counters for it.
    fn start(&self, leader: c_int);
    /// The group came to count within a few of the kernel's turns.
    fn runs(&self, leader: c_int) -> bool;
    /// The values of `config1` by which the processor lets user space read the counter of this event, best first.
    fn user_access(&self, encoding: Encoding) -> &'static [u64];
    fn paranoid(&self) -> Option<i32>;
}

pub struct Kernel;

impl System for Kernel {
    fn open(&self, attributes: &Attributes, leader: Option<c_int>) -> Result<c_int, c_int> {
        perf::open(attributes, leader, perf::CLOSE_ON_EXEC).map(descriptor::out_of_the_way)
    }

    fn close(&self, event: c_int) {
        descriptor::close(event);
    }

    fn start(&self, leader: c_int) {
        // The leader alone, whose members follow: enabled one by one, a member of another kind than the leader's counts
        // only from the next context switch on (Linux 6.18: 50 of 50 sleeps were not counted).
        event::restart(leader);
    }

    fn runs(&self, leader: c_int) -> bool {
        let begin = Instant::now();
        loop {
            match read(leader, None) {
                Some(reading) if reading.running > 0 => return true,
                None => return false,
                Some(_) if begin.elapsed() > TURN => return false,
                Some(_) => std::hint::spin_loop(),
            }
        }
    }

    fn user_access(&self, encoding: Encoding) -> &'static [u64] {
        // On arm64 bit 1 asks for it and bit 0 for 64 bits, which not every processor has; the kernel refuses what it
        // cannot do. On x86 nothing has to be asked.
        let asked = cfg!(target_arch = "aarch64")
            && encoding.kind != SOFTWARE
            && number_in("/proc/sys/kernel/perf_user_access") == Some(1);
        if asked { &[3, 2, 0] } else { &[0] }
    }

    fn paranoid(&self) -> Option<i32> {
        number_in("/proc/sys/kernel/perf_event_paranoid")
    }
}

/// Reads a group in one system call. `None`: the descriptor is not of a group with events of these numbers, if they are
/// given. The program has closed it then; where a file of its own has it that can be positioned, what was read is given
/// back.
pub fn read(leader: c_int, ids: Option<&[u64]>) -> Option<Reading> {
    let mut words = [0u64; HEAD + OF_EVENT * MOST];
    let bytes = event::read(leader, &mut words);
    let [members, enabled, running, ref events @ ..] = words;
    let mut reading = Reading { enabled, running, counts: [0; MOST] };
    let expected =
        members.wrapping_mul(OF_EVENT as u64).wrapping_add(HEAD as u64).wrapping_mul(size_of::<u64>() as u64);
    let mut is_ours = bytes > 0 && bytes as u64 == expected && ids.is_none_or(|ids| ids.len() as u64 == members);
    let events = events.chunks_exact(OF_EVENT).take(members.min(MOST as u64) as usize);
    for (place, (event, count)) in events.zip(&mut reading.counts).enumerate() {
        *count = event[0];
        is_ours &= ids.is_none_or(|ids| ids.get(place) == Some(&event[1]));
    }
    if !is_ours && bytes > 0 {
        event::give_back(leader, bytes);
    }
    is_ours.then_some(reading)
}

fn number_in(path: &str) -> Option<i32> {
    own_file::read_text(path).ok()?.trim().parse().ok()
}
