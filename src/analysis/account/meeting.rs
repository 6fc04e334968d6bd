//! The waiting for the last rank in MPI_Init and in MPI_Finalize, where the ranks of a job meet.

use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::{Part, Trace};

/// When the ranks entered a function that each calls once, by part, global time, ns.
#[derive(Clone, Debug, Default)]
pub(super) struct Meeting {
    entries: Vec<f64>,
    errors: Vec<f64>,
    last: usize,
}

impl Meeting {
    /// The entries into MPI_Init.
    pub fn at_init(trace: &Trace, clock: &Clock) -> Option<Meeting> {
        Meeting::new(trace, clock, |part| Some(part.info().first_anchor.tick))
    }

    /// The entries into MPI_Finalize.
    pub fn at_finalize(trace: &Trace, clock: &Clock) -> Option<Meeting> {
        Meeting::new(trace, clock, Part::finalize_enter)
    }

    /// `None`: a rank has not entered it or has left no trace, or the clocks have no common time.
    fn new(trace: &Trace, clock: &Clock, entered: impl Fn(&Part) -> Option<u64>) -> Option<Meeting> {
        if !clock.is_synchronised() || trace.parts.len() != trace.world_size as usize {
            return None;
        }
        let entry = |(index, part)| Some(clock.of_part(index).nanoseconds(entered(part)?));
        let entries = trace.parts.iter().enumerate().map(entry).collect::<Option<Vec<f64>>>()?;
        let last = (0..entries.len()).max_by(|&one, &other| entries[one].total_cmp(&entries[other]))?;
        Some(Meeting { entries, errors: clock.errors_ns(trace), last })
    }

    /// The part that came last.
    pub fn last(&self) -> usize {
        self.last
    }

    /// When a part entered it, global time, ns.
    pub fn entry(&self, part: usize) -> f64 {
        self.entries[part]
    }

    /// How long before the last one a part entered it, ns; 0 where this is below the error of the two clocks.
    pub fn wait(&self, part: usize) -> f64 {
        let wait = self.entries[self.last] - self.entries[part];
        if wait > self.errors[part] + self.errors[self.last] { wait } else { 0.0 }
    }
}

/// The waiting of a rank for the last one in a function in which the ranks meet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wait {
    /// From its entry to that of the last one, ns.
    pub ns: f64,
    /// True: the MPI library works before the tracer does.
    pub is_library_first: bool,
}

/// The waiting of a rank in MPI_Init and in MPI_Finalize.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    pub init: Wait,
    pub finalize: Wait,
}

/// The time of a rank in a function in which the ranks meet, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Divided {
    pub waiting: f64,
    /// In the MPI library behind that.
    pub library: f64,
    /// In the tracer behind that.
    pub tracer: f64,
}

impl Wait {
    /// Divides the time in the function, `library` of it in the MPI library: whichever comes first waits, also where
    /// the library lets no rank wait for another one.
    pub fn divide(self, whole: f64, library: f64) -> Divided {
        let waiting = self.ns.min(whole);
        let left = whole - waiting;
        let library = if self.is_library_first { (library - waiting).max(0.0) } else { library }.min(left);
        Divided { waiting, library, tracer: left - library }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_taken_from_what_comes_first() {
        let divide = |ns, is_library_first, whole, library| {
            let Divided { waiting, library, tracer } = Wait { ns, is_library_first }.divide(whole, library);
            [waiting, library, tracer]
        };
        assert_eq!(divide(70.0, true, 100.0, 80.0), [70.0, 10.0, 20.0]);
        // The library lets no rank wait: the tracer's meeting behind it does.
        assert_eq!(divide(70.0, true, 100.0, 5.0), [70.0, 0.0, 30.0]);
        assert_eq!(divide(70.0, false, 100.0, 5.0), [70.0, 5.0, 25.0]);
        // No rank waits at all.
        assert_eq!(divide(70.0, true, 8.0, 5.0), [8.0, 0.0, 0.0]);
        assert_eq!(divide(0.0, true, 8.0, 5.0), [0.0, 5.0, 3.0]);
    }
}
