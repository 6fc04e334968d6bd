//! The run time of a repetition, out of when each rank entered and left the call.

pub mod completion_times;

use mpitrace_statistics::names::names;

/// When a call began and ended on one rank, ns of global time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// s_r.
    pub enter_ns: f64,
    /// e_r.
    pub exit_ns: f64,
    /// e_r - s_r on the rank's own clock: exact also where the clocks of two ranks disagree.
    pub duration_ns: f64,
}

/// Which of the three run times is meant.
///
/// ```
/// use mpitrace_trace::run_time::{RunTime, Span};
///
/// let span = |enter_ns, exit_ns| Span { enter_ns, exit_ns, duration_ns: exit_ns - enter_ns };
/// let ranks = [span(0.0, 2500.0), span(500.0, 2600.0)];
/// let values = RunTime::ALL.map(|definition| definition.value(ranks.into_iter()));
/// assert_eq!(values, [2500.0, 2600.0, 2100.0]);
/// assert_eq!(RunTime::default().name(), "local");
/// assert!(RunTime::Last.help().contains("last"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunTime {
    /// The longest time that any rank spent in the call: max(e_r - s_r).
    #[default]
    Local,
    /// From the first entry to the last exit: max(e_r) - min(s_r).
    Global,
    /// From the last entry to the last exit: max(e_r) - max(s_r).
    Last,
}

impl RunTime {
    /// The run time of a repetition whose ranks were in it for these times, ns. Not a number for no ranks.
    pub fn value(self, spans: impl Iterator<Item = Span>) -> f64 {
        let mut all = Spans::default();
        spans.for_each(|span| all.add(span));
        all.run_time(self)
    }

    /// All definitions, in the order in which help lists them.
    pub const ALL: [RunTime; 3] = [RunTime::Local, RunTime::Global, RunTime::Last];

    /// Its definition, in one line of help.
    pub fn help(self) -> &'static str {
        match self {
            RunTime::Local => "The longest time on any rank",
            RunTime::Global => "First entry to last exit",
            RunTime::Last => "Last entry to last exit",
        }
    }
}

names!(RunTime {
    Local => "local",
    Global => "global",
    Last => "last",
});

/// The times of the ranks in a repetition.
///
/// ```
/// use mpitrace_trace::run_time::{RunTime, Span, Spans};
///
/// let mut spans = Spans::default();
/// spans.add(Span { enter_ns: 10.0, exit_ns: 40.0, duration_ns: 30.0 });
/// spans.add(Span { enter_ns: 20.0, exit_ns: 45.0, duration_ns: 25.0 });
/// assert_eq!((spans.first_enter, spans.run_time(RunTime::Global)), (10.0, 35.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// When the first rank entered, ns of global time.
    pub first_enter: f64,
    last_enter: f64,
    last_exit: f64,
    longest: f64,
}

impl Default for Spans {
    fn default() -> Self {
        let (infinity, minus) = (f64::INFINITY, f64::NEG_INFINITY);
        Spans { first_enter: infinity, last_enter: minus, last_exit: minus, longest: f64::NAN }
    }
}

impl Spans {
    /// Takes in one more rank.
    pub fn add(&mut self, span: Span) {
        self.first_enter = self.first_enter.min(span.enter_ns);
        self.last_enter = self.last_enter.max(span.enter_ns);
        self.last_exit = self.last_exit.max(span.exit_ns);
        self.longest = self.longest.max(span.duration_ns);
    }

    /// The run time, ns.
    pub fn run_time(self, run_time: RunTime) -> f64 {
        match run_time {
            RunTime::Local => self.longest,
            RunTime::Global => self.last_exit - self.first_enter,
            RunTime::Last => self.last_exit - self.last_enter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_run_times_of_two_ranks_that_arrive_apart() {
        let spans = [(0.0, 50.0), (30.0, 45.0)].map(|(enter_ns, exit_ns)| Span {
            enter_ns,
            exit_ns,
            duration_ns: exit_ns - enter_ns,
        });
        let of = |run_time: RunTime| run_time.value(spans.into_iter());
        assert_eq!([of(RunTime::Local), of(RunTime::Global), of(RunTime::Last)], [50.0, 50.0, 20.0]);
        assert!(RunTime::Local.value(std::iter::empty()).is_nan());
    }
}
