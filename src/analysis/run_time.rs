//! The run time of a repetition, out of when each rank entered and left the call.

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
    /// The run time of a repetition whose ranks were in it as `spans` tell, ns. Not a number for no ranks.
    pub fn of(self, spans: impl Iterator<Item = Span>) -> f64 {
        let mut first_enter = f64::INFINITY;
        let mut last_enter = f64::NEG_INFINITY;
        let mut last_exit = f64::NEG_INFINITY;
        let mut longest = f64::NAN;
        for span in spans {
            first_enter = first_enter.min(span.enter_ns);
            last_enter = last_enter.max(span.enter_ns);
            last_exit = last_exit.max(span.exit_ns);
            longest = longest.max(span.duration_ns);
        }
        match self {
            RunTime::Local => longest,
            RunTime::Global => last_exit - first_enter,
            RunTime::Last => last_exit - last_enter,
        }
    }

    /// All definitions, in the order in which help lists them.
    pub const ALL: [RunTime; 3] = [RunTime::Local, RunTime::Global, RunTime::Last];

    /// The definition with this name.
    pub fn named(name: &str) -> Option<RunTime> {
        RunTime::ALL.into_iter().find(|time| time.name() == name)
    }

    /// What it measures, in one line of help.
    pub fn help(self) -> &'static str {
        match self {
            RunTime::Local => "The longest time on any rank",
            RunTime::Global => "First entry to last exit",
            RunTime::Last => "Last entry to last exit",
        }
    }

    /// The name in options and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RunTime::Local => "local",
            RunTime::Global => "global",
            RunTime::Last => "last",
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
        let of = |run_time: RunTime| run_time.of(spans.into_iter());
        assert_eq!([of(RunTime::Local), of(RunTime::Global), of(RunTime::Last)], [50.0, 50.0, 20.0]);
        assert!(RunTime::Local.of(std::iter::empty()).is_nan());
    }
}
