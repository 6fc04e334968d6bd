//! The time of the ranks' processes around MPI: from their start to the entry of MPI_Init, and from the return of
//! MPI_Finalize to their end.

use mpitrace_format::metadata::{self, STARTED_NS};
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::{Part, Trace};
use serde::Serialize;

const NS: f64 = 1e9;

/// The time of a process around MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OfProcess {
    /// The world rank.
    pub rank: u32,
    /// From its start to the entry of MPI_Init, s, to 10 ms; `null`: not known.
    pub before_init_s: Option<f64>,
    /// From the return of MPI_Finalize to its end, s; `null`: not seen by `mpitrace run`.
    pub after_finalize_s: Option<f64>,
}

/// The time around MPI of all processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Around {
    /// The mean of [`OfProcess::before_init_s`]; `null`: not known of all ranks.
    pub before_init_s: Option<f64>,
    /// The mean of [`OfProcess::after_finalize_s`]; `null`: not known of all ranks.
    pub after_finalize_s: Option<f64>,
    /// By rank.
    pub around: Vec<OfProcess>,
}

impl Around {
    /// As far as the trace alone has it.
    pub fn new(trace: &Trace) -> Around {
        let of_process =
            |part: &Part| OfProcess { rank: part.rank(), before_init_s: before_init_s(part), after_finalize_s: None };
        Around { around: trace.parts.iter().map(of_process).collect(), ..Around::default() }.with_means()
    }

    /// With the ends that `mpitrace run` saw.
    pub fn with_ends(mut self, trace: &Trace, clock: &Clock, observed: &RunSamples) -> Around {
        for &(part, end) in &observed.ends {
            let of = &trace.parts[part];
            let returned = of.finalize_enter().zip(of.finalize_times()).map(|(enter, times)| enter + times.whole);
            let after_ns = returned.map(|returned| clock.of_part(part).duration_ns(returned, end.max(returned)));
            self.around[part].after_finalize_s = after_ns.map(|ns| ns / NS);
        }
        self.with_means()
    }

    fn with_means(self) -> Around {
        let mean = |of: fn(&OfProcess) -> Option<f64>| {
            let all = self.around.iter().map(of).collect::<Option<Vec<f64>>>()?;
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        let [before_init_s, after_finalize_s] =
            [|of: &OfProcess| of.before_init_s, |of: &OfProcess| of.after_finalize_s].map(mean);
        Around { before_init_s, after_finalize_s, ..self }
    }
}

/// The time from the start of a rank's process to the entry of MPI_Init.
fn before_init_s(part: &Part) -> Option<f64> {
    let metadata = part.metadata();
    let started: u64 = metadata::get(&metadata, STARTED_NS)?.parse().ok()?;
    Some(part.info().first_anchor.raw_ns.checked_sub(started)? as f64 / NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_of_all_ranks_or_not_known() {
        let of = |before: [Option<f64>; 2]| {
            let around = before.map(|before_init_s| OfProcess { before_init_s, ..OfProcess::default() }).to_vec();
            Around { around, ..Around::default() }.with_means().before_init_s
        };
        assert_eq!(of([Some(1.0), Some(2.0)]), Some(1.5));
        assert_eq!(of([Some(1.0), None]), None);
        assert_eq!(Around::default().with_means(), Around::default());
    }
}
