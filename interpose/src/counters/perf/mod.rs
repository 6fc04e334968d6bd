//! perf_event: counters of the processor and of the kernel for the calling thread.
//!
//! A [`Counters`] belongs to the thread that opened it (it is neither Send nor Sync), and must not be used in a child
//! that was forked off: the kernel does not map the pages there.

mod group;
mod kind;
mod opening;
mod system;

#[cfg(test)]
mod arithmetic_tests;
#[cfg(test)]
mod machine_tests;

pub use kind::Events;

use mpitrace_platform::perf_event::Event;

use group::{Group, Quality};
use opening::Note;

/// The counters of a thread: one group of hardware events and one of software events. In one group of both, a hardware
/// event for which there is no counter would silence the software events too.
pub struct Counters {
    hardware: Group,
    software: Group,
}

impl Counters {
    /// Opens the events for the calling thread and starts them. What cannot be opened is left out, with a note that
    /// names it, the reason and the setting that would help.
    pub fn open(events: &[Event]) -> (Counters, Vec<Note>) {
        let of = |hardware: bool| {
            events.iter().enumerate().filter(|(_, event)| event.is_hardware() == hardware).collect::<Vec<_>>()
        };
        let (hardware, mut notes) = Group::open(&of(true));
        let (software, more) = Group::open(&of(false));
        notes.extend(more);
        opening::sort(&mut notes);
        (Counters { hardware, software }, notes)
    }

    /// The events that are counted, as places in the list.
    pub fn counted(&self) -> impl Iterator<Item = usize> {
        self.hardware.events().chain(self.software.events())
    }

    pub fn words(&self) -> usize {
        self.hardware.words() + self.software.words()
    }

    /// Reads all counters before a call into `reading`, which has [`Counters::words`] words; else it is left as it is.
    /// At most one system call a group. To be called on the thread that opened them.
    ///
    /// Hardware events come last here and first after the call, so that they do not count the other group's system
    /// call.
    #[inline(always)]
    pub fn read_before(&self, reading: &mut [u64]) {
        if let Some((hardware, software)) = self.parts(reading) {
            self.software.read_into(software);
            self.hardware.read_into(hardware);
        }
    }

    /// Reads the counters after the call; [`Counters::read_before`] says how.
    #[inline(always)]
    pub fn read_after(&self, reading: &mut [u64]) {
        if let Some((hardware, software)) = self.parts(reading) {
            self.hardware.read_into(hardware);
            self.software.read_into(software);
        }
    }

    #[inline(always)]
    fn parts<'a>(&self, reading: &'a mut [u64]) -> Option<(&'a mut [u64], &'a mut [u64])> {
        let words = self.hardware.words();
        (reading.len() == words + self.software.words()).then(|| reading.split_at_mut_checked(words))?
    }

    /// Stores what came together between two readings in `values`, one for each event of the list; one that is left out
    /// keeps what is there. The quality is that of the hardware events; software events are exact, unless the program
    /// has closed our descriptors.
    #[inline(always)]
    pub fn difference(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> Quality {
        let words = self.hardware.words();
        let (Some(before), Some(after)) = (before.split_at_checked(words), after.split_at_checked(words)) else {
            return Quality::Silent;
        };
        let software = self.software.difference(before.1, after.1, values);
        self.hardware.difference(before.0, after.0, values).max(software)
    }
}
